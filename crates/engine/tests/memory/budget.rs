//! What a unit of each kind costs in memory (N3, B1); the allocator's own share is in it. The numbers of units are the
//! worst ones, at which the hash tables have just doubled.

use maitred_engine::{
    bounds::Bounds,
    command::{Acquire, Verb},
};

use crate::{
    resident_bytes,
    support::{House, START, admit, ask, name, rate, uuid_v7},
};

const UNITS: u64 = 930_000;
const SLOT_BYTES: u64 = 600;
const KEY_BYTES: u64 = 250;
const REMEMBERED_BYTES: u64 = 64;

fn bytes_a_unit(what: &str, house: &mut House, mut add: impl FnMut(&mut House, u64)) -> u64 {
    let before = resident_bytes();
    for number in 0..UNITS {
        add(house, number);
        house.events.clear();
    }
    let each = (resident_bytes() - before) / UNITS;
    println!("{what}: {each} bytes");
    each
}

/// One test for all, so that nothing else grows in the process meanwhile.
#[test]
fn units_stay_within_their_budgets() {
    let mut house = House::with_limit(1, Bounds::default());
    house.acquire("holder");
    let waiting = bytes_a_unit("a waiting slot with a run of its own", &mut house, |house, number| {
        let run = Some(name(&uuid_v7(START, number)));
        let slot = uuid_v7(START + 1, number);
        house.say(Verb::Acquire(Acquire { run, ..ask(&slot, "l") }));
    });
    assert_eq!(u64::from(house.engine.stats().waiting), UNITS);
    assert!(waiting <= SLOT_BYTES, "a waiting slot takes {waiting} bytes");

    let mut house = House::new(Bounds::default());
    let key = bytes_a_unit("a live key", &mut house, |house, number| {
        house.say(admit(None, vec![rate(&format!("user=0123456789-0123456-{number:08}"), 9, 60_000)]));
    });
    assert_eq!(u64::from(house.engine.stats().counters), UNITS);
    assert!(key <= KEY_BYTES, "a live key takes {key} bytes");

    let mut house = House::with_limit(1, Bounds::default());
    house.acquire("holder");
    let remembered = bytes_a_unit("a remembered id", &mut house, |house, number| {
        let slot = uuid_v7(START, number);
        house.say(Verb::Acquire(Acquire { timeout_ms: 0, ..ask(&slot, "l") }));
    });
    assert_eq!(u64::from(house.engine.stats().remembered_timed), UNITS);
    assert!(remembered <= REMEMBERED_BYTES, "a remembered id takes {remembered} bytes");
}
