//! Listings and events.

use std::collections::BTreeSet;

use maitred_engine::{
    bounds::Bounds,
    command::{Acquire, Hold, RunStatus, Verb},
    event::{EventKind, Was},
    names::{LimitName, Namespace},
    outcome::End,
};

use crate::support::{HOUR, House, MINUTE, START, admit, ask, end, name, place, rate};

fn with_run(slot: &str, run: &str) -> Acquire {
    Acquire { run: Some(name(run)), label: Some(name("call 7")), ..ask(slot, "l") }
}

#[test]
fn limits_come_by_name_and_in_pages() {
    let mut house = House::new(Bounds::default());
    for limit in ["m", "a", "z", "b"] {
        house.declare(limit, 1);
    }
    let names = |after, most| {
        let limits = house.engine.limits("default", after, most);
        limits.into_iter().map(|limit| limit.limit.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(names(None, 2), ["a", "b"]);
    assert_eq!(names(Some("b"), 9), ["m", "z"]);
    assert_eq!(names(Some("not there"), 9), ["z"]);
    assert!(house.engine.limits("nobody", None, 9).is_empty());
}

/// B107: everything is listed once, page by page.
#[test]
fn keys_and_runs_are_paged_through_once() {
    let mut house = House::new(Bounds::default());
    for number in 0..25 {
        let (key, run) = (format!("k{number}"), format!("r{number}"));
        house.say(admit(Some(&run), vec![rate(&key, 5, HOUR), place(&key, 5), place("only-places", 99)]));
        house.say_in("other", None, admit(Some(&run), vec![rate(&key, 5, HOUR), place(&key, 5)]));
    }
    let (mut keys, mut cursor) = (Vec::new(), Some(0));
    while let Some(from) = cursor {
        let (page, next) = house.engine.keys(house.at, "default", from, 7);
        assert!(page.len() <= 7);
        keys.extend(
            page.into_iter().map(|key| (key.key.to_string(), key.counter.map(|it| it.used), key.in_flight)),
        );
        cursor = next;
    }
    let different: BTreeSet<_> = keys.iter().cloned().collect();
    assert_eq!((keys.len(), different.len()), (26, 26));
    assert!(
        different.contains(&("k3".into(), Some(1), 1))
            && different.contains(&("only-places".into(), None, 25))
    );

    let (mut runs, mut cursor) = (Vec::new(), Some(0));
    while let Some(from) = cursor {
        let (page, next) = house.engine.runs("default", from, 7);
        runs.extend(page.into_iter().map(|run| run.run.to_string()));
        cursor = next;
    }
    assert_eq!((runs.len(), runs.iter().collect::<BTreeSet<_>>().len()), (25, 25));
}

#[test]
fn a_run_shows_what_it_holds_until_that_is_over() {
    let mut house = House::with_limit(1, Bounds::default());
    house.say(Verb::Acquire(with_run("a", "r")));
    house.say(admit(Some("r"), vec![place("k", 1)]));
    let run = house.engine.run("default", "r").expect("it holds something");
    assert_eq!((run.slots.len(), run.places.len(), run.hits), (1, 1, 0));
    assert_eq!(run.places[0].2, START + HOUR);
    house.release("a");
    house.advance(HOUR);
    assert_eq!(house.engine.run("default", "r"), None);
}

/// The whole story of a slot goes out with its end.
#[test]
fn an_end_tells_the_story() {
    let mut house = House::with_limit(1, Bounds::default());
    house.say(Verb::Acquire(with_run("a", "r")));
    house.advance(2 * MINUTE);
    house.take_events();
    house.release("a");
    let [EventKind::SlotEnded(story)] = &house.take_events()[..] else { panic!("one event") };
    assert_eq!((story.end, story.was, story.laps), (End::Released, Was::Reserved, 1));
    assert_eq!((story.asked_at, story.granted_at, story.fence), (START, Some(START + 2 * MINUTE), Some(2)));
    assert_eq!((story.run.clone(), story.by.clone()), (Some(name("r")), Some(name("tester"))));
    assert_eq!((story.limits.clone(), story.label.clone()), (vec![(name("l"), 1)], Some(name("call 7"))));
}

/// S9: all of the run's slots end, in order of arrival, before anything is granted.
#[test]
fn a_run_ends_before_others_are_granted() {
    let mut house = House::with_limit(1, Bounds::default());
    house.say(Verb::Acquire(Acquire { hold: Hold::Run, ..with_run("a", "r") }));
    house.say(Verb::Acquire(with_run("b", "r")));
    house.acquire("c");
    house.take_events();
    house.say(end("r", RunStatus::Failed));
    let told: Vec<String> = house
        .take_events()
        .iter()
        .map(|event| match event {
            EventKind::RunEnded { run, .. } => format!("{run} ended"),
            EventKind::SlotEnded(story) => format!("{} {}", story.id, story.end.as_str()),
            EventKind::SlotGranted { slot, .. } => format!("{} granted", slot.id),
            other => format!("{other:?}"),
        })
        .collect();
    assert_eq!(told, ["r ended", "a run_ended", "b run_ended", "c granted"]);
}

#[test]
fn what_changes_nothing_tells_nothing() {
    let mut house = House::with_limit(1, Bounds::default());
    house.say(Verb::Pause { limit: name("l") });
    house.take_events();
    house.declare("l", 1);
    house.say(Verb::Pause { limit: name("l") });
    house.say(Verb::SetCapacity { limit: name("l"), capacity: None });
    house.release("nobody");
    house.say(admit(None, vec![rate("k", 1, MINUTE)]));
    assert!(house.take_events().is_empty());
    house.say(Verb::ResetRate { task: name("t"), key: name("k") });
    house.say(Verb::ResetRate { task: name("t"), key: name("k") });
    assert_eq!(house.take_events().len(), 1);
    assert_eq!(house.engine.counter(house.at, "default", "t", "k"), None);
}

/// S5: what is put back waits anew, within what is left of its timeout.
#[test]
fn a_slot_that_lapsed_shows_since_when_it_waits() {
    let mut house = House::with_limit(1, Bounds::default());
    house.acquire("a");
    house.advance(MINUTE);
    house.acquire("b");
    house.advance(MINUTE);
    let late = house.engine.slot("default", "a").expect("it waits again");
    assert_eq!((late.asked_at, late.queued_at, late.laps), (START, START + 2 * MINUTE, 1));
    assert_eq!(late.gives_up_at, START + crate::support::DAY);
    let first = house.engine.limit("default", "l").expect("it is there");
    assert_eq!(
        (first.oldest_queued_at, first.oldest_granted_at),
        (Some(START + 2 * MINUTE), Some(START + 2 * MINUTE))
    );
    house.take_events();
    house.advance(2 * MINUTE);
    let granted = house.take_events().into_iter().find_map(|event| match event {
        EventKind::SlotGranted { slot, waited_ms, .. } => Some((slot.id.to_string(), waited_ms)),
        _ => None,
    });
    assert_eq!(granted, Some(("a".to_owned(), 2 * MINUTE)));
}

/// D4, O2: busy by grant, then reserved by grant; and the pages of both lists fit together.
#[test]
fn holders_come_by_grant_and_the_queue_in_order() {
    let mut house = House::with_limit(4, Bounds::default());
    for slot in ["a", "b", "c", "d", "e", "f", "g"] {
        house.acquire(slot);
    }
    for slot in ["d", "b"] {
        house.say(Verb::Confirm { slot: name(slot) });
    }
    let ids = |slots: Vec<maitred_engine::view::SlotView>| {
        slots.iter().map(|slot| slot.slot.to_string()).collect::<Vec<_>>().join("")
    };
    assert_eq!(ids(house.engine.holders("default", "l", 0, 9)), "bdac");
    assert_eq!(ids(house.engine.holders("default", "l", 1, 2)), "da");
    assert_eq!(ids(house.engine.queue("default", "l", 0, 9)), "efg");
    assert_eq!(ids(house.engine.queue("default", "l", 1, 1)), "f");
    assert_eq!(ids(house.engine.queue("default", "l", 3, 9)), "");
}

/// O4: what an operator changes is told once, with what it was before; what is there already is not told again.
#[test]
fn a_change_is_told_and_no_change_is_not() {
    let mut house = House::with_limit(2, Bounds::default());
    let (namespace, limit) = (name::<Namespace>("default"), name::<LimitName>("l"));
    let capacity = |capacity| Verb::SetCapacity { limit: limit.clone(), capacity };
    let max_hold = |max_hold_ms| Verb::SetMaxHold { limit: limit.clone(), max_hold_ms };
    let told_capacity = |before, after| EventKind::CapacityOverridden {
        namespace: namespace.clone(),
        limit: limit.clone(),
        before,
        after,
    };
    let told_max_hold = |before, after| EventKind::MaxHoldOverridden {
        namespace: namespace.clone(),
        limit: limit.clone(),
        before,
        after,
    };
    let paused = EventKind::LimitPaused { namespace: namespace.clone(), limit: limit.clone() };
    let resumed = EventKind::LimitResumed { namespace: namespace.clone(), limit: limit.clone() };
    let acts = [
        (capacity(Some(5)), told_capacity(None, Some(5))),
        (capacity(Some(6)), told_capacity(Some(5), Some(6))),
        (capacity(None), told_capacity(Some(6), None)),
        (max_hold(Some(MINUTE)), told_max_hold(None, Some(MINUTE))),
        (max_hold(Some(HOUR)), told_max_hold(Some(MINUTE), Some(HOUR))),
        (max_hold(None), told_max_hold(Some(HOUR), None)),
        (Verb::Pause { limit: limit.clone() }, paused),
        (Verb::Resume { limit: limit.clone() }, resumed),
    ];
    house.take_events();
    for (act, told) in acts {
        house.say(act.clone());
        assert_eq!(house.take_events(), [told], "{act:?}");
        house.say(act.clone());
        assert!(house.take_events().is_empty(), "{act:?} a second time");
    }
}
