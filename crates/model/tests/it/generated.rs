//! The generator reaches what it is meant to reach, and the shrinker leaves what matters.

use std::collections::BTreeMap;

use maitred_model::{Acquire, Answer, Kind, Model, SlotView, State, Step, Verb, generate, shrink};

fn word(verb: &Verb) -> String {
    verb.to_string().split(' ').next().expect("a word").to_owned()
}

fn outcome(answer: &Answer) -> String {
    match answer {
        Answer::Done => "ok".into(),
        Answer::Slot(slot) => slot.state.to_string(),
        Answer::Released(released) => format!("released {released}"),
        Answer::Error(code) => (*code).into(),
        Answer::Verdict(verdict) => match verdict.blocking.as_ref().map(|blocking| blocking.kind) {
            None => "allowed".into(),
            Some(Kind::Rate) => "over rate".into(),
            Some(Kind::Concurrency) => "over concurrency".into(),
        },
    }
}

fn play(model: &mut Model, step: &Step) -> Answer {
    model.command(step.at_ms, &step.namespace, step.request_id.as_deref(), step.verb.clone())
}

#[test]
fn every_outcome_is_reached() {
    let mut seen: BTreeMap<String, u64> = BTreeMap::new();
    for seed in 0..60 {
        let mut model = Model::new();
        for step in generate(seed, 120) {
            let answer = play(&mut model, &step);
            *seen.entry(format!("{} => {}", word(&step.verb), outcome(&answer))).or_default() += 1;
        }
    }
    let wanted = [
        "acquire => queued",
        "acquire => reserved",
        "acquire => busy",
        "acquire => timed_out",
        "acquire => released",
        "acquire => expired",
        "acquire => left",
        "acquire => run_ended",
        "acquire => conflict",
        "acquire => limit_not_found",
        "acquire => limit_retired",
        "acquire => never_fits",
        "confirm => busy",
        "confirm => queued",
        "confirm => unknown",
        "leave => left",
        "leave => busy",
        "release => released true",
        "release => released false",
        "release => conflict",
        "hang_up => left",
        "hang_up => released",
        "hang_up => queued",
        "line_end => queued",
        "line_end => busy",
        "drop_lines => ok",
        "end => ok",
        "admit => allowed",
        "admit => over rate",
        "admit => over concurrency",
        "capacity => ok",
        "max_hold => limit_not_found",
        "pause => ok",
        "resume => ok",
        "deploy => ok",
    ];
    let missing: Vec<&str> = wanted.into_iter().filter(|it| !seen.contains_key(*it)).collect();
    assert!(missing.is_empty(), "never seen: {missing:?}; seen: {seen:#?}");
}

#[test]
fn times_fall_on_what_is_due_and_beyond_an_outage() {
    let (mut on_the_due, mut in_an_outage, mut backwards) = (0, 0, 0);
    for seed in 0..20 {
        let mut model = Model::new();
        for step in generate(seed, 120) {
            let due_ms = model.next_due().unwrap_or(u64::MAX);
            on_the_due += u64::from(step.at_ms == due_ms);
            in_an_outage += u64::from(step.at_ms > due_ms.saturating_add(5000));
            backwards += u64::from(step.at_ms < model.now_ms());
            play(&mut model, &step);
        }
    }
    assert!(
        on_the_due > 100 && in_an_outage > 50 && backwards > 20,
        "{on_the_due} {in_an_outage} {backwards}"
    );
}

#[test]
fn the_same_seed_is_the_same_sequence() {
    assert_eq!(generate(7, 80), generate(7, 80));
    assert_ne!(generate(7, 80), generate(8, 80));
}

/// Every slot ever asked for in the default namespace, as it is now.
fn slots(model: &Model, asked: &[Acquire]) -> Vec<(Acquire, SlotView)> {
    let view = |ask: &Acquire| (ask.clone(), model.slot(model.now_ms(), "default", &ask.slot));
    asked.iter().map(view).collect()
}

fn weight_of(slots: &[(Acquire, SlotView)], limit: &str, state: State) -> u64 {
    let in_state = slots.iter().filter(|(_, view)| view.state == state);
    in_state
        .flat_map(|(ask, _)| &ask.limits)
        .filter(|(named, _)| named == limit)
        .map(|(_, weight)| weight)
        .sum()
}

/// Whether a slot is first in each of its queues and has room in each of its limits, judged from what is shown.
fn could_be_granted(model: &Model, ask: &Acquire) -> bool {
    ask.limits.iter().all(|(limit, weight)| {
        let seen = model.limit(model.now_ms(), "default", limit).expect("it is in use");
        let queue = model.queue(model.now_ms(), "default", limit).expect("it is in use");
        let has_room = !seen.paused && seen.busy + seen.reserved + weight <= seen.capacity;
        has_room && queue.first() == Some(&ask.slot)
    })
}

/// D4: the counts are those of the slots. S3, S12: nobody who could be granted waits. S14: no two grants share a fence.
#[test]
fn what_is_shown_holds_together_after_every_command() {
    for seed in 100..140 {
        let mut model = Model::new();
        let mut asked: Vec<Acquire> = Vec::new();
        for step in generate(seed, 100) {
            play(&mut model, &step);
            if let Verb::Acquire(ask) = &step.verb
                && step.namespace == "default"
                && !asked.iter().any(|earlier| earlier.slot == ask.slot)
            {
                asked.push(ask.clone());
            }
            let slots = slots(&model, &asked);
            for limit in ["a", "b", "c", "d"] {
                let Ok(seen) = model.limit(model.now_ms(), "default", limit) else { continue };
                let counted =
                    (weight_of(&slots, limit, State::Busy), weight_of(&slots, limit, State::Reserved));
                assert_eq!((seen.busy, seen.reserved), counted, "seed {seed}, {step}");
            }
            let waiting = slots.iter().filter(|(_, view)| view.state == State::Queued);
            for (ask, _) in waiting {
                assert!(!could_be_granted(&model, ask), "seed {seed}, {step}: {ask} waits beside its room");
            }
            let mut fences: Vec<u64> = slots.iter().filter_map(|(_, view)| view.fence).collect();
            fences.sort_unstable();
            assert!(fences.windows(2).all(|pair| pair[0] < pair[1]), "seed {seed}, {step}: {fences:?}");
        }
    }
}

#[test]
fn a_shrunk_sequence_keeps_only_what_fails() {
    let is_pause = |step: &Step| matches!(step.verb, Verb::Pause { .. });
    let is_admit = |step: &Step| matches!(step.verb, Verb::Admit { .. });
    let fails = |steps: &[Step]| {
        let pause = steps.iter().position(is_pause);
        pause.is_some_and(|at| steps[at..].iter().any(is_admit))
    };
    let seed = (0..50).find(|seed| fails(&generate(*seed, 200))).expect("one such seed");
    let shrunk = shrink(generate(seed, 200), fails);
    assert_eq!(shrunk.len(), 2, "seed {seed}");
    assert!(is_pause(&shrunk[0]) && is_admit(&shrunk[1]), "seed {seed}");
}
