//! Every bound of a whole server (N3) filled as it ships: what is over is refused with its own reason, and a unit takes no
//! more memory than the book says. It takes minutes and 6 GB: `cargo xtask soak --only bounds`.

use maitred_engine::{
    bounds::Bounds,
    command::{Acquire, Verb},
    outcome::{Outcome, Refusal},
};

use crate::{
    resident_bytes,
    support::{DAY, House, START, admit, ask, declaration, name, rate, uuid_v7},
};

/// Adds so many units; none is refused, the next one is, and each took at most so much memory.
fn fill(
    what: &str,
    (units, bytes_each): (u64, u64),
    house: &mut House,
    mut add: impl FnMut(&mut House, u64) -> Outcome,
) -> Refusal {
    let before = resident_bytes();
    for number in 0..units {
        let outcome = add(house, number);
        assert!(!matches!(outcome, Outcome::Refused(_)), "{what} {number} of {units}: {outcome:?}");
        house.events.clear();
    }
    let each = resident_bytes().saturating_sub(before) / units;
    println!("{what}: {units} of them, {each} bytes each, {bytes_each} are the most");
    assert!(each <= bytes_each, "{what}: {each} bytes each, {bytes_each} are the most");
    match add(house, units) {
        Outcome::Refused(refusal) => refusal,
        other => panic!("{what}: one more than {units} was not refused: {other:?}"),
    }
}

fn waits(house: &mut House, limit: &str, number: u64) -> Outcome {
    let run = Some(name(&uuid_v7(START, number)));
    let slot = uuid_v7(START + 1, number);
    house.say(Verb::Acquire(Acquire { run, timeout_ms: 30 * DAY, ..ask(&slot, limit) }))
}

#[test]
#[ignore = "takes minutes and gigabytes: cargo xtask soak --only bounds"]
fn waiting_slots() {
    let bounds = Bounds::default();
    let mut house = House::with_limit(1, bounds);
    house.declare("m", 1);
    house.acquire("holder");
    house.say(Verb::Acquire(ask("holder-m", "m")));
    let of_one = u64::from(bounds.waiting_per_limit);
    let full = fill("slots waiting in one limit", (of_one, 600), &mut house, |house, number| {
        waits(house, "l", number)
    });
    assert_eq!(full, Refusal::QueueFull { limit: Some(name("l")) });
    let rest = u64::from(bounds.waiting) - of_one;
    let full = fill("slots waiting in all", (rest, 600), &mut house, |house, number| {
        waits(house, "m", 10_000_000 + number)
    });
    assert!(matches!(full, Refusal::QueueFull { .. }), "{full:?}");
}

#[test]
#[ignore = "takes minutes and gigabytes: cargo xtask soak --only bounds"]
fn live_slots() {
    let bounds = Bounds::default();
    let mut house = House::new(bounds);
    let limits = 40;
    for limit in 0..=limits {
        house.declare(&format!("l{limit}"), 100_000);
    }
    let full = fill("slots that have not ended", (bounds.slots.into(), 600), &mut house, |house, number| {
        waits(house, &format!("l{}", number % (limits + 1)), number)
    });
    assert_eq!(full, Refusal::TooManySlots);
}

#[test]
#[ignore = "takes minutes and gigabytes: cargo xtask soak --only bounds"]
fn live_keys() {
    let bounds = Bounds::default();
    let mut house = House::new(bounds);
    let full = fill("live keys", (bounds.keys.into(), 250), &mut house, |house, number| {
        house.say(admit(None, vec![rate(&format!("user=0123456789-0123456-{number:08}"), 9, DAY)]))
    });
    assert_eq!(full, Refusal::TooManyKeys);
}

#[test]
#[ignore = "takes minutes and gigabytes: cargo xtask soak --only bounds"]
fn limits_and_namespaces() {
    let bounds = Bounds::default();
    let mut house = House::new(bounds);
    let full = fill("limits", (bounds.limits.into(), 1_024), &mut house, |house, number| {
        house.declare(&format!("limit-{number}"), 1)
    });
    assert_eq!(full, Refusal::TooManyLimits);
    let mut house = House::new(bounds);
    let full = fill("namespaces", (bounds.namespaces.into(), 4_096), &mut house, |house, number| {
        house.say_in(&format!("space-{number}"), None, Verb::Declare(declaration("l", 1)))
    });
    assert_eq!(full, Refusal::TooManyNamespaces);
}

#[test]
#[ignore = "takes minutes and gigabytes: cargo xtask soak --only bounds"]
fn remembered_ids() {
    let bounds = Bounds::default();
    let mut house = House::with_limit(1, bounds);
    house.acquire("holder");
    let most = u64::from(bounds.remembered_other) - 1;
    let full = fill("ids without a time", (most, 64), &mut house, |house, number| {
        house.say(Verb::Acquire(Acquire { timeout_ms: 0, ..ask(&format!("plain-{number}"), "l") }))
    });
    assert_eq!(full, Refusal::IdempotencyFull);
    // Those that carry a time, and none that is to come, are never refused when they are new: the oldest is forgotten.
    let before = resident_bytes();
    let timed = u64::from(bounds.remembered_timed);
    let first = START - timed / 1_000 - 1_000;
    for number in 0..timed + 1_000 {
        let slot = uuid_v7(first + number / 1_000, number);
        house.say(Verb::Acquire(Acquire { timeout_ms: 0, ..ask(&slot, "l") }));
        house.events.clear();
    }
    let each = resident_bytes().saturating_sub(before) / timed;
    println!("ids with a time: {timed} of them, {each} bytes each, 64 are the most");
    assert_eq!(u64::from(house.engine.stats().remembered_timed), timed);
    assert!(each <= 64, "{each} bytes each");
    let forgotten = house.say(Verb::Acquire(Acquire { timeout_ms: 0, ..ask(&uuid_v7(first, 0), "l") }));
    assert!(matches!(forgotten, Outcome::Refused(Refusal::TooOld { .. })), "{forgotten:?}");
}
