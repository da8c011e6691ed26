//! Thirty simulated hours with everything going wrong, and proofs that going wrong is seen.

use maitred_simulator::{Planted, Report, run, run_many, run_planted};

const HOURS: f64 = 30.0;

fn must_hold(report: &Report) {
    assert!(report.failures.is_empty(), "{report}");
}

#[test]
fn thirty_hours_hold_and_meet_everything() {
    let report = run_many(1, HOURS, 0.5);
    println!("{report}");
    must_hold(&report);
    assert_eq!(report.not_covered(), Vec::<&str>::new(), "{report}");
}

/// A seed is a history: played twice it is the same to the last record, and no two seeds have the same.
#[test]
fn a_seed_is_a_history() {
    let traces: Vec<u64> = (1..=12)
        .map(|seed| {
            let (first, second) = (run(seed, 0.2), run(seed, 0.2));
            assert_eq!((first.trace, first.records), (second.trace, second.records), "seed {seed}");
            first.trace
        })
        .collect();
    let mut different = traces.clone();
    different.sort_unstable();
    different.dedup();
    assert_eq!(different.len(), traces.len());
}

fn first_failure(planted: Planted) -> String {
    let failures = (1..60).flat_map(|seed| run_planted(seed, 0.3, Some(planted)).failures);
    let mut failures = failures.map(|failure| failure.to_string());
    failures.next().unwrap_or_else(|| panic!("{planted:?} was not seen"))
}

#[test]
fn an_answer_before_the_flush_is_seen() {
    let failure = first_failure(Planted::AnswersBeforeSync);
    assert!(failure.contains("before it is durable"), "{failure}");
}

#[test]
fn an_ignored_conflict_is_seen() {
    let failure = first_failure(Planted::IgnoresConflict);
    let words = ["other outcomes", "before it is durable", "published before"];
    assert!(words.iter().any(|word| failure.contains(word)), "{failure}");
}

#[test]
fn a_line_that_outlives_its_process_is_seen() {
    let failure = first_failure(Planted::KeepsDeadLines);
    assert!(failure.contains("a process that is gone"), "{failure}");
}
