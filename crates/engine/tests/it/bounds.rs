//! Every collection has a bound and a refusal of its own (N3); what is refused has changed nothing.

use maitred_engine::{
    bounds::Bounds,
    command::{Acquire, Ask, RunStatus, Verb},
    outcome::{End, Outcome, Refusal, SlotStatus},
};

use crate::support::{HOUR, House, MINUTE, admit, ask, declaration, end, name, place, rate};

fn refused(house: &mut House, verb: Verb) -> Refusal {
    let before = house.engine.snapshot();
    let outcome = house.say(verb);
    let Outcome::Refused(refusal) = outcome else { panic!("not refused: {outcome:?}") };
    // Only the digest of outcomes, at a fixed place near the front, may differ.
    let after = house.engine.snapshot();
    let differing = before.iter().zip(&after).filter(|(a, b)| a != b).count();
    assert!(before.len() == after.len() && differing <= 8, "a refusal changed {differing} bytes");
    refusal
}

#[test]
fn slots_waiting_in_a_limit() {
    let mut house = House::with_limit(1, Bounds { waiting_per_limit: 2, ..Bounds::default() });
    for slot in ["a", "b", "c"] {
        assert!(matches!(house.acquire(slot), Outcome::Slot(_)));
    }
    let full = Refusal::QueueFull { limit: Some(name("l")) };
    assert_eq!(refused(&mut house, Verb::Acquire(ask("d", "l"))), full);
    assert_eq!(full.code(), "queue_full");
    let no_wait = Acquire { timeout_ms: 0, ..ask("d", "l") };
    assert_eq!(house.say(Verb::Acquire(no_wait)), Outcome::Slot(SlotStatus::Ended(End::TimedOut)));
}

#[test]
fn slots_waiting_in_all() {
    let mut house = House::with_limit(1, Bounds { waiting: 1, ..Bounds::default() });
    house.declare("free", 1);
    house.acquire("a");
    house.acquire("b");
    assert_eq!(refused(&mut house, Verb::Acquire(ask("c", "l"))), Refusal::QueueFull { limit: None });
    assert!(matches!(house.say(Verb::Acquire(ask("d", "free"))), Outcome::Slot(SlotStatus::Reserved { .. })));
}

#[test]
fn a_slot_is_put_back_even_into_a_full_queue() {
    let mut house = House::with_limit(1, Bounds { waiting_per_limit: 1, ..Bounds::default() });
    house.acquire("a");
    house.acquire("b");
    house.advance(2 * MINUTE);
    assert!(matches!(house.status("a"), SlotStatus::Queued { place: 1, .. }));
    assert!(matches!(house.status("b"), SlotStatus::Reserved { .. }));
}

#[test]
fn slots_alive() {
    let mut house = House::with_limit(5, Bounds { slots: 2, ..Bounds::default() });
    house.acquire("a");
    house.acquire("b");
    assert_eq!(refused(&mut house, Verb::Acquire(ask("c", "l"))), Refusal::TooManySlots);
    house.release("a");
    assert!(matches!(house.acquire("c"), Outcome::Slot(SlotStatus::Reserved { .. })));
}

#[test]
fn limits_and_namespaces() {
    let mut house = House::with_limit(1, Bounds { limits: 2, namespaces: 1, ..Bounds::default() });
    house.declare("m", 1);
    assert_eq!(refused(&mut house, Verb::Declare(declaration("n", 1))), Refusal::TooManyLimits);
    let three = ["l", "m", "n"].map(|limit| declaration(limit, 1)).to_vec();
    assert_eq!(refused(&mut house, Verb::Deploy(three)), Refusal::TooManyLimits);
    let others = ["x", "y"].map(|limit| declaration(limit, 1)).to_vec();
    assert_eq!(house.say(Verb::Deploy(others)), Outcome::Done, "what is left out makes room");
    let elsewhere = house.say_in("other", None, Verb::Declare(declaration("l", 1)));
    assert_eq!(elsewhere, Outcome::Refused(Refusal::TooManyNamespaces));
    let counted = house.say_in("other", None, admit(None, vec![rate("k", 1, MINUTE)]));
    assert_eq!(counted, Outcome::Refused(Refusal::TooManyNamespaces));
    assert_eq!(house.say_in("other", None, Verb::Deploy(vec![])), Outcome::Done, "that declares nothing");
}

#[test]
fn what_an_operator_set_counts_while_it_is_kept() {
    let mut house = House::with_limit(1, Bounds { limits: 1, ..Bounds::default() });
    house.say(Verb::SetCapacity { limit: name("l"), capacity: Some(7) });
    house.say(Verb::Deploy(vec![]));
    assert!(house.engine.limit("default", "l").is_none());
    assert_eq!(refused(&mut house, Verb::Declare(declaration("m", 1))), Refusal::TooManyLimits);
    house.declare("l", 1);
    assert_eq!(house.engine.limit("default", "l").map(|limit| limit.capacity), Some(7));
}

#[test]
fn live_keys_are_never_evicted_and_dead_ones_never_counted() {
    let mut house = House::new(Bounds { keys: 3, ..Bounds::default() });
    house.say(admit(Some("r"), vec![rate("a", 9, MINUTE), rate("b", 9, HOUR), place("a", 1)]));
    assert_eq!(refused(&mut house, admit(None, vec![rate("c", 9, MINUTE)])), Refusal::TooManyKeys);
    assert!(
        matches!(house.say(admit(None, vec![rate("a", 9, MINUTE)])), Outcome::Admission(_)),
        "no new key"
    );
    house.at += MINUTE;
    assert!(matches!(house.say(admit(None, vec![rate("c", 9, MINUTE)])), Outcome::Admission(_)), "a is over");
    house.say(end("r", RunStatus::Succeeded));
    assert!(
        matches!(house.say(admit(None, vec![rate("d", 9, MINUTE)])), Outcome::Admission(_)),
        "the place is free"
    );
    assert_eq!(house.engine.stats().counters, 3);
}

#[test]
fn an_over_takes_no_key() {
    let mut house = House::new(Bounds { keys: 1, ..Bounds::default() });
    house.say(admit(None, vec![rate("a", 1, MINUTE), rate("b", 0, MINUTE)]));
    assert_eq!((house.engine.stats().counters, house.engine.namespaces().len()), (0, 0));
}

/// A window or place that nobody asks about again is taken out of memory all the same (R9).
#[test]
fn what_has_ended_costs_nothing() {
    let mut house = House::new(Bounds::default());
    for number in 0..1_000 {
        let key = format!("k{number}");
        house.say(admit(Some(&format!("r{number}")), vec![rate(&key, 1, MINUTE), place(&key, 1)]));
    }
    house.advance(HOUR);
    (0..30).for_each(|_| drop(house.advance(1)));
    let stats = house.engine.stats();
    assert_eq!((stats.counters, stats.places, stats.runs), (0, 0, 0));
}

#[test]
fn numbers_at_their_bounds_break_nothing() {
    let mut house = House::with_limit(100_000, Bounds::default());
    let asks = vec![Ask { limit: name("l"), weight: 100_000 }];
    let longest = Acquire { timeout_ms: 400 * 24 * HOUR, asks, ..ask("a", "l") };
    assert!(matches!(house.say(Verb::Acquire(longest)), Outcome::Slot(SlotStatus::Reserved { .. })));
    let most = (1 << 53) - 1;
    house.say(admit(None, vec![rate("k", most, 400 * 24 * HOUR)]));
    house.at = u64::MAX;
    house.acquire("b");
    house.say(admit(None, vec![rate("k", most, 400 * 24 * HOUR)]));
    assert!(house.engine.now() < u64::MAX / 2);
    house.at = 0;
    assert!(matches!(house.acquire("c"), Outcome::Slot(SlotStatus::Reserved { .. })), "time stands still");
}
