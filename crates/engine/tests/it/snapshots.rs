//! Snapshots: what is not one is refused, and what is one has exactly these bytes. That an engine goes on from its
//! snapshot as before is part of the judge.

use maitred_engine::{
    Engine, RULES_MAX, SnapshotError,
    bounds::Bounds,
    command::{Acquire, Ask, Confirm, Line, Verb},
};

use crate::support::{Chance, HOUR, House, MINUTE, admit, ask, name, place, rate, uuid_v7};

/// One of everything that a state can have.
fn furnished() -> House {
    let mut house = House::with_limit(2, Bounds::default());
    house.declare("m", 1);
    house.say(Verb::SetCapacity { limit: name("m"), capacity: Some(1) });
    house.say(Verb::Pause { limit: name("m") });
    for slot in ["a", "b", "c"] {
        house.acquire(slot);
    }
    let line = Some(Line { writer: 5, number: 6 });
    let asks = vec![Ask { limit: name("l"), weight: 2 }, Ask { limit: name("m"), weight: 1 }];
    let wide = Acquire { asks, run: Some(name("r")), label: Some(name("Ana")), line, ..ask("d", "l") };
    house.say(Verb::Acquire(Acquire { confirm: Confirm::Auto, ..wide }));
    house.say_once(&uuid_v7(house.at, 1), admit(Some("r"), vec![rate("k", 9, HOUR), place("k", 2)]));
    house.say_once("m1", Verb::Confirm { slot: name("a") });
    house.say_once("m2", Verb::Release { slot: name("b") });
    house.say_in("other", None, admit(Some("s"), vec![place("k", 2)]));
    house.advance(2 * MINUTE);
    house
}

/// Limits, slots and keys that live at other places in memory, since they came or went in another order.
#[test]
fn equal_states_are_equal_bytes_whatever_came_before() {
    let play = |backwards: bool| {
        let mut house = House::new(Bounds::default());
        let order = |mut names: Vec<&'static str>| {
            if backwards {
                names.reverse();
            }
            names
        };
        order(vec!["l", "m"]).into_iter().for_each(|limit| drop(house.declare(limit, 5)));
        ["a", "b"].into_iter().for_each(|slot| drop(house.acquire(slot)));
        order(vec!["j", "k"]).into_iter().for_each(|key| {
            house.say(admit(Some(key), vec![rate(key, 9, HOUR), place("k", 9)]));
        });
        house.engine
    };
    let (one, two) = (play(false), play(true));
    assert_eq!(one.snapshot().len(), two.snapshot().len());
    assert_eq!((one.state_digest(), one.outcome_digest()), (two.state_digest(), two.outcome_digest()));
}

#[test]
fn a_cut_snapshot_is_refused() {
    let bytes = furnished().engine.snapshot();
    for len in 0..bytes.len() {
        assert!(Engine::restore(&bytes[..len]).is_err(), "cut to {len}");
    }
    let mut longer = bytes;
    longer.push(0);
    assert!(Engine::restore(&longer).is_err());
}

#[test]
fn a_newer_snapshot_is_refused_politely() {
    let mut bytes = furnished().engine.snapshot();
    bytes[0] = 2;
    assert_eq!(Engine::restore(&bytes).err(), Some(SnapshotError::Newer { found: 2, known: 1 }));
}

#[test]
fn newer_rules_are_refused_politely() {
    let newer = RULES_MAX + 1;
    let mut bytes = Engine::new([7, 8], Bounds::default()).snapshot();
    // The version, a time of 0, the rules.
    assert_eq!(bytes[..3], [1, 0, RULES_MAX as u8]);
    bytes[2] = newer as u8;
    let refused = Engine::restore(&bytes).err();
    assert_eq!(refused, Some(SnapshotError::NewerRules { found: newer }));
    assert!(refused.is_some_and(|error| error.to_string().contains("start the newer binary")));
}

/// Whatever the bytes: no panic, and an engine only if these are exactly its bytes.
#[test]
fn damaged_bytes_are_refused_or_are_what_they_say() {
    let bytes = furnished().engine.snapshot();
    let mut accepted = 0;
    for bit in 0..bytes.len() * 8 {
        let mut damaged = bytes.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        accepted += u32::from(is_sound(&damaged, &format!("bit {bit}")));
    }
    for seed in 0..20_000 {
        let mut chance = Chance(seed);
        let mut damaged = bytes.clone();
        for _ in 0..1 + chance.below(4) {
            let at = chance.below(damaged.len() as u64) as usize;
            damaged[at] = chance.below(256) as u8;
        }
        accepted += u32::from(is_sound(&damaged, &format!("seed {seed}")));
    }
    assert!(accepted > 0, "some bits stand for themselves, such as those of a hash");
}

fn is_sound(bytes: &[u8], context: &str) -> bool {
    let Ok(mut engine) = Engine::restore(bytes) else { return false };
    assert_eq!(engine.snapshot(), bytes, "{context}");
    // And it can go on.
    let mut house = House::new(Bounds::default());
    std::mem::swap(&mut house.engine, &mut engine);
    house.advance(0);
    house.release("a");
    house.advance(400 * 24 * HOUR);
    true
}
