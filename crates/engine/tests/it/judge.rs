//! The judge: random commands played on the engine and on the slow, obvious model of the rules, which was written from
//! the specification alone. After every command both must answer alike and look alike from outside.
//!
//! On the way the engine is replaced by its own snapshot now and then, which must change nothing, and in the end the
//! whole sequence is played once more without snapshots, which must give the same digests.
//!
//! The full number of cases is played in release, or with the feature `check`, which also looks at the whole state of
//! the engine after every command. `MAITRED_JUDGE_CASES` sets another number, `MAITRED_JUDGE_SEED` plays that seed
//! alone.

#[allow(dead_code, reason = "the small world and the simulator use the rest of it")]
pub mod commanded;
mod commands;
mod compare;

use maitred_model::{Step, generate, shrink};

use self::compare::{Defect, play};

const CASES: u64 = if cfg!(feature = "check") || !cfg!(debug_assertions) { 20_000 } else { 1_000 };
const STEPS: usize = 60;

fn number_from(variable: &str) -> Option<u64> {
    std::env::var(variable).ok().map(|text| text.parse().expect("a number"))
}

fn report(seed: u64, steps: Vec<Step>, defect: Defect) -> String {
    let shrunk = shrink(steps, |steps| play(seed, steps, defect).is_err());
    let lines: Vec<String> = shrunk.iter().map(Step::to_string).collect();
    let difference = play(seed, &shrunk, defect).expect_err("what is left still fails");
    format!(
        "seed {seed} (MAITRED_JUDGE_SEED={seed} plays it alone), as short as it gets:\n{}\n{difference}",
        lines.join("\n")
    )
}

fn judge(seed: u64) {
    let steps = generate(seed, STEPS);
    if play(seed, &steps, Defect::None).is_err() {
        panic!("{}", report(seed, steps, Defect::None));
    }
}

#[test]
fn engine_and_model_agree() {
    if let Some(seed) = number_from("MAITRED_JUDGE_SEED") {
        return judge(seed);
    }
    let cases = number_from("MAITRED_JUDGE_CASES").unwrap_or(CASES);
    (0..cases).for_each(judge);
    println!("{cases} cases of seeds from 0: engine and model agree");
}

/// Queues, lapses, outages and the rest must be met, or the judge has nothing to say.
#[test]
fn the_cases_meet_what_they_are_for() {
    let mut met = compare::Met::default();
    for seed in 0..200 {
        met.add(&play(seed, &generate(seed, STEPS), Defect::None).expect("judged by the other test"));
    }
    println!("200 cases met {met:?}");
    assert!(met.is_enough(), "too little was met: {met:?}");
}

/// A judge that never finds anything proves nothing: with a command withheld from the engine it must see it.
#[test]
fn a_planted_defect_is_seen() {
    for defect in [Defect::ForgetsConfirm, Defect::ForgetsLeave, Defect::ForgetsRunEnd, Defect::SkipsTime] {
        let seen = (0..300).find(|&seed| play(seed, &generate(seed, STEPS), defect).is_err());
        let seed = seen.unwrap_or_else(|| panic!("{defect:?} was not seen"));
        let report = report(seed, generate(seed, STEPS), defect);
        assert!(report.lines().count() < 14, "not shrunk enough:\n{report}");
    }
}
