//! Good histories, odd ones among them, and bad ones.

use super::{Asked, Call, Told, check};

/// `(began, ended, what, told)`, in milliseconds.
fn history(calls: &[(u64, u64, &str, Told)]) -> Result<super::Looked, Vec<String>> {
    let calls: Vec<Call> = (0..)
        .zip(calls)
        .map(|(caller, (began, ended, what, told))| {
            let (verb, slot) = what.split_once(' ').unwrap();
            let slot = slot.to_owned();
            let asked = match verb {
                "acquire" => Asked::Acquire { slot, limit: "l".to_owned(), waits: false },
                "release" => Asked::Release { slot },
                _ => Asked::Look { slot },
            };
            let (began_at, ended_at) = (began * 1_000, ended * 1_000);
            Call { caller, began_at, ended_at, asked, told: told.clone() }
        })
        .collect();
    check(&calls, &[("l".to_owned(), 1)].into())
}

fn granted(fence: u64, revision: u64) -> Told {
    Told::Granted { fence, revision }
}

fn released(revision: u64) -> Told {
    Told::Released { now: true, revision }
}

fn queued(revision: u64) -> Told {
    Told::Queued { revision }
}

#[track_caller]
fn seen(calls: &[(u64, u64, &str, Told)], what: &str) {
    let wrong = history(calls).expect_err(what).join("\n");
    assert!(wrong.contains(what), "{wrong}");
}

#[test]
fn a_good_history() {
    let looked = history(&[
        (0, 3, "acquire a", granted(7, 40)),
        (1, 2, "acquire b", queued(40)),
        (2, 5, "acquire c", Told::Unknown),
        (4, 5, "look b", queued(43)),
        (9, 10, "release a", released(44)),
        (11, 12, "look b", granted(8, 44)),
        (11, 13, "look a", Told::Released { now: false, revision: 44 }),
        (14, 15, "release b", released(46)),
        (16, 17, "acquire c", granted(9, 46)),
    ]);
    let looked = looked.expect("nothing is wrong with it");
    assert_eq!(
        (looked.calls, looked.unknown, looked.grants, looked.releases, looked.waited),
        (9, 1, 3, 2, 1)
    );
}

#[test]
fn two_where_one_has_room() {
    let two = [
        (0, 3, "acquire a", granted(7, 40)),
        (1, 4, "acquire b", granted(8, 41)),
        (5, 6, "release a", released(44)),
    ];
    seen(&two, "2 slots of l, which has room for 1, at 41");
    // In one record the release comes first.
    let one = [two[0].clone(), two[2].clone(), (5, 6, "acquire b", granted(8, 44))];
    assert!(history(&one).is_ok());
}

/// The answer to the release was lost: it happened some time after it was last seen held.
#[test]
fn a_release_that_nobody_was_told() {
    let calls = [
        (0, 3, "acquire a", granted(7, 40)),
        (4, 5, "release a", Told::Unknown),
        (6, 7, "acquire b", granted(8, 42)),
        (8, 9, "release a", Told::Released { now: false, revision: 42 }),
    ];
    assert!(history(&calls).is_ok());
}

#[test]
fn a_revision_that_is_behind_what_was_known() {
    seen(&[(0, 3, "acquire a", granted(7, 40)), (4, 5, "look a", granted(7, 39))], "is not behind it");
    let same = [(0, 3, "acquire a", granted(7, 40)), (4, 5, "release a", released(40))];
    seen(&same, "is not behind it");
    assert!(history(&[(0, 5, "acquire a", granted(7, 40)), (4, 6, "look a", granted(7, 40))]).is_ok());
}

#[test]
fn what_takes_effect_twice() {
    seen(&[(0, 3, "acquire a", granted(7, 40)), (4, 5, "look a", granted(8, 41))], "the fences 7 and 8");
    let twice = [
        (0, 3, "acquire a", granted(7, 40)),
        (4, 5, "release a", released(41)),
        (6, 7, "release a", released(42)),
    ];
    seen(&twice, "released at 41 and at 42");
    let shared = [
        (0, 3, "acquire a", granted(7, 40)),
        (4, 5, "release a", released(41)),
        (6, 7, "acquire b", granted(7, 42)),
    ];
    seen(&shared, "have the fence 7");
}

#[test]
fn somebody_who_overtakes() {
    let overtaken = [
        (0, 1, "acquire a", queued(40)),
        (2, 3, "acquire b", queued(41)),
        (4, 5, "look b", granted(8, 42)),
        (6, 7, "release b", released(43)),
        (8, 9, "look a", granted(9, 43)),
    ];
    seen(&overtaken, "a of l waited since 40, and b, since 41, came first");
}

/// Of a slot whose first answer was lost it is not known since when it waits: it may have been before.
#[test]
fn somebody_who_only_seems_to_overtake() {
    let calls = [
        (0, 1, "acquire h", granted(7, 39)),
        (2, 3, "acquire b", Told::Unknown),
        (2, 3, "acquire a", queued(40)),
        (4, 5, "acquire b", queued(41)),
        (4, 5, "release h", released(42)),
        (6, 7, "look b", granted(8, 42)),
        (8, 9, "release b", released(43)),
        (10, 11, "look a", granted(9, 43)),
    ];
    assert!(history(&calls).is_ok());
}

#[test]
fn a_slot_that_comes_back() {
    let back = [
        (0, 3, "acquire a", granted(7, 40)),
        (4, 5, "release a", released(41)),
        (6, 7, "look a", granted(7, 42)),
    ];
    seen(&back, "was released at 41, and");
}
