//! What is remembered of ids (A5, B1), as it is seen from outside.

use std::collections::BTreeMap;

use maitred_engine::{
    bounds::Bounds,
    command::{RunStatus, Verb},
    outcome::{Admission, End, Outcome, Refusal, SlotStatus, Verdict},
};

use crate::support::{Chance, DAY, House, MINUTE, START, admit, ask, end, name, rate, uuid_v7};

fn few(timed: u32, other: u32) -> Bounds {
    Bounds { remembered_timed: timed, remembered_other: other, ..Bounds::default() }
}

fn ended(end: End) -> Outcome {
    Outcome::Slot(SlotStatus::Ended(end))
}

fn one_hit() -> Verb {
    admit(None, vec![rate("k", 5, MINUTE)])
}

fn used(house: &House) -> u64 {
    house.engine.counter(house.at, "default", "t", "k").map_or(0, |counter| counter.used)
}

fn is_replayed(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::Admission(Admission { replayed: true, .. }))
}

#[test]
fn a_request_has_one_effect_and_gets_its_first_verdict() {
    let mut house = House::new(Bounds::default());
    assert!(!is_replayed(&house.say_once("m1", one_hit())));
    assert!(is_replayed(&house.say_once("m1", one_hit())));
    assert_eq!(used(&house), 1);
    house.say(one_hit());
    let Outcome::Admission(again) = house.say_once("m1", one_hit()) else { panic!("no admission") };
    assert_eq!(
        (again.verdict, again.results[0].used),
        (Verdict::Allowed, 2),
        "the verdict of then, the numbers of now"
    );
}

#[test]
fn an_id_with_other_content_is_a_conflict() {
    let mut house = House::with_limit(1, Bounds::default());
    house.say_once("m1", one_hit());
    let conflict = Outcome::Refused(Refusal::Conflict);
    assert_eq!(house.say_once("m1", admit(None, vec![rate("k", 6, MINUTE)])), conflict);
    assert_eq!(house.say_once("m1", end("r", RunStatus::Failed)), conflict);
    assert_eq!(house.say_once("m1", Verb::Release { slot: name("a") }), conflict);
    assert_eq!(
        house.say_in("other", Some("m1"), end("r", RunStatus::Failed)),
        Outcome::Done,
        "another namespace"
    );
}

#[test]
fn an_over_is_a_verdict_and_is_given_again() {
    let mut house = House::new(Bounds::default());
    let two_of_one = || admit(None, vec![rate("k", 1, MINUTE), rate("j", 0, 2 * MINUTE)]);
    let over = Verdict::OverRate { spec: 1, retry_after_s: 120 };
    for at in [0, 1, 3 * MINUTE] {
        house.at = START + at;
        let Outcome::Admission(said) = house.say_once("m1", two_of_one()) else { panic!("no admission") };
        assert_eq!((said.verdict, said.replayed), (over, at > 0));
    }
}

#[test]
fn a_refusal_changed_nothing_and_is_not_remembered() {
    let mut house = House::new(Bounds::default());
    let pause = || Verb::Pause { limit: name("l") };
    assert!(matches!(house.say_once("m1", pause()), Outcome::Refused(Refusal::LimitNotFound { .. })));
    house.declare("l", 1);
    assert_eq!(house.say_once("m1", pause()), Outcome::Done);
}

#[test]
fn a_release_is_answered_as_the_first_time() {
    let mut house = House::with_limit(1, Bounds::default());
    house.acquire("a");
    let release = |house: &mut House| house.say_once("m1", Verb::Release { slot: name("a") });
    let released = Outcome::Release { released: true, status: SlotStatus::Ended(End::Released) };
    assert_eq!(release(&mut house), released);
    assert_eq!(release(&mut house), released);
    assert!(matches!(house.release("a"), Outcome::Release { released: false, .. }));
}

#[test]
fn an_ended_slot_is_remembered_for_a_day() {
    let mut house = House::with_limit(1, few(10, 10));
    house.acquire("a");
    house.release("a");
    house.advance(DAY);
    for slot in ["x", "y"] {
        house.acquire(slot);
        house.release(slot);
    }
    assert_eq!(house.acquire("a"), ended(End::Released));
    let with_a_run =
        Verb::Acquire(maitred_engine::command::Acquire { run: Some(name("r")), ..ask("a", "l") });
    assert_eq!(house.say(with_a_run), Outcome::Refused(Refusal::Conflict));
}

#[test]
fn a_timed_id_from_before_the_horizon_is_refused() {
    let mut house = House::with_limit(1, few(2, 0));
    let ids: Vec<String> = (0..4).map(|n| uuid_v7(START + n, n)).collect();
    for id in &ids {
        house.acquire(id);
        house.release(id);
    }
    let horizon = START + 2;
    assert_eq!(house.engine.stats().horizon, horizon);
    assert_eq!(house.acquire(&ids[0]), Outcome::Refused(Refusal::TooOld { horizon }));
    assert_eq!(house.acquire(&ids[3]), ended(End::Released));
    assert_eq!(house.say_once(&ids[1], one_hit()), Outcome::Refused(Refusal::TooOld { horizon }));
    assert_eq!(used(&house), 0);
}

#[test]
fn when_the_share_of_other_ids_is_full_new_ones_are_refused_and_releases_are_not() {
    let mut house = House::with_limit(5, few(10, 2));
    house.acquire("a");
    house.acquire("b");
    let full = Outcome::Refused(Refusal::IdempotencyFull);
    assert_eq!(house.acquire("c"), full);
    assert_eq!(house.say_once("m1", one_hit()), full);
    assert!(matches!(house.acquire(&uuid_v7(START, 1)), Outcome::Slot(SlotStatus::Reserved { .. })));
    let release = house.say_once("m2", Verb::Release { slot: name("a") });
    assert!(matches!(release, Outcome::Release { released: true, .. }));
    house.release("b");
    assert_eq!(house.acquire("a"), ended(End::Released), "its place in the memory was kept for it");
    assert_eq!(house.acquire("c"), full, "a day has not passed");
    house.advance(DAY + MINUTE);
    assert!(matches!(house.acquire("c"), Outcome::Slot(SlotStatus::Reserved { .. })));
}

/// No id acts twice: a timed one never, another one not within a day. Whatever is forgotten on the way.
#[test]
fn nothing_acts_twice() {
    for seed in 0..300 {
        let mut chance = Chance(seed);
        let mut house = House::with_limit(3, few(4, 6));
        let mut acted: BTreeMap<String, u64> = BTreeMap::new();
        for step in 0..200 {
            house.at += [0, 1, 700, MINUTE, 3 * 60 * MINUTE][chance.below(5) as usize];
            let made_at = house.at - chance.below(2 * MINUTE).min(house.at - START);
            let id = match chance.below(3) {
                0 => format!("m{}", chance.below(8)),
                1 => uuid_v7(made_at + MINUTE, step),
                _ => acted
                    .keys()
                    .nth(chance.below(acted.len().max(1) as u64) as usize)
                    .cloned()
                    .unwrap_or("n".into()),
            };
            let before = used(&house);
            house.say_once(&id, admit(None, vec![rate("k", u64::pow(2, 53) - 1, 400 * DAY)]));
            if used(&house) == before {
                continue;
            }
            if let Some(at) = acted.insert(id.clone(), house.at) {
                let may = !id.contains("-7") && house.at >= at + DAY;
                assert!(may, "seed {seed}, step {step}: {id} acted again after {} ms", house.at - at);
            }
        }
        assert!(acted.len() > 10, "seed {seed}: only {} ids acted", acted.len());
    }
}

/// A confirm names its slot and is the same however often it comes: an id of its own takes no place and is never too much.
#[test]
fn an_id_of_a_call_that_names_a_slot_is_not_looked_at() {
    let mut house = House::with_limit(1, few(1, 1));
    house.acquire("a");
    let confirm = Verb::Confirm { slot: name("a") };
    let outcome = house.say_once("an-id", confirm.clone());
    assert!(matches!(outcome, Outcome::Slot(SlotStatus::Busy { .. })), "{outcome:?}");
    assert!(!house.engine.knows_request(&name("default"), &name("an-id")));
    let pause = Verb::Pause { limit: name("l") };
    assert_eq!(house.say_once("an-id", pause), Outcome::Refused(Refusal::IdempotencyFull));
}
