//! Histories for all three layers: twenty that are odd and possible, twenty that no limiter can have made, each with the
//! layers that must see it; and some hundreds by chance, which are possible as they are and mostly not once they are
//! tampered with.

use std::collections::BTreeMap;

use super::{Asked, Call, Told, check, search, sweep};

/// `0-3 acquire a: granted 7@40` — milliseconds, what, and what was told at which revision. `wait` acquires on a line.
fn parse(text: &str) -> Vec<Call> {
    text.split(';').enumerate().map(|(number, line)| parse_call(number as u32, line.trim())).collect()
}

fn parse_call(caller: u32, line: &str) -> Call {
    let (what, told) = line.split_once(": ").expect("a call and what it was told");
    let words: Vec<&str> = what.split(' ').collect();
    let (began, ended) = words[0].split_once('-').expect("from and until");
    let ms = |text: &str| text.parse::<u64>().expect("milliseconds") * 1_000;
    let slot = words[2].to_owned();
    let asked = match words[1] {
        "acquire" => Asked::Acquire { slot, limit: "l".to_owned(), waits: false },
        "wait" => Asked::Acquire { slot, limit: "l".to_owned(), waits: true },
        "release" => Asked::Release { slot },
        "look" => Asked::Look { slot },
        other => panic!("{other}"),
    };
    Call { caller, began_at: ms(began), ended_at: ms(ended), asked, told: parse_told(told) }
}

fn parse_told(text: &str) -> Told {
    let (what, revision) = text.split_once('@').unwrap_or((text, "0"));
    let revision = revision.parse().expect("a revision");
    match what.split_once(' ') {
        Some(("granted", fence)) => Told::Granted { fence: fence.parse().expect("a fence"), revision },
        _ => match what {
            "queued" => Told::Queued { revision },
            "released" => Told::Released { now: true, revision },
            "gone" => Told::Released { now: false, revision },
            "ended" => Told::Ended { revision },
            "refused" => Told::Refused,
            "unknown" => Told::Unknown,
            other => panic!("{other}"),
        },
    }
}

fn room(capacity: u64) -> BTreeMap<String, u64> {
    [("l".to_owned(), capacity)].into()
}

/// Which of the layers finds something wrong: all three together, the clock alone, the search alone.
fn seen_by(calls: &[Call], capacity: u64) -> [bool; 3] {
    let (room, mut wrong) = (room(capacity), Vec::new());
    search::check(calls, &room, &mut wrong);
    [check(calls, &room).is_err(), !sweep::check(calls, &room).is_empty(), !wrong.is_empty()]
}

const GOOD: [(&str, u64, &str); 20] = [
    (
        "one after the other",
        1,
        "0-1 acquire a: granted 1@1; 2-3 release a: released@2; 4-5 acquire b: granted 2@3",
    ),
    ("two at once", 1, "0-9 acquire a: granted 1@1; 0-9 acquire b: queued@2"),
    ("two at once, the other way", 1, "0-9 acquire a: queued@2; 0-9 acquire b: granted 1@1"),
    ("room for two", 2, "0-1 acquire a: granted 1@1; 2-3 acquire b: granted 2@2; 4-5 acquire c: queued@3"),
    (
        "a lost acquire that happened",
        1,
        "0-1 acquire a: unknown; 2-3 acquire b: queued@2; 4-5 look a: granted 1@2",
    ),
    (
        "a lost acquire that did not",
        1,
        "0-1 acquire a: unknown; 2-3 acquire b: granted 1@1; 4-5 acquire a: queued@2",
    ),
    (
        "a lost acquire that came late",
        1,
        "0-1 acquire a: unknown; 2-3 acquire b: granted 1@1; 4-5 look a: ended@1; 6-7 look a: queued@2",
    ),
    (
        "a lost release that happened",
        1,
        "0-1 acquire a: granted 1@1; 2-3 release a: unknown; 4-5 acquire b: granted 2@3",
    ),
    (
        "a lost release that did not",
        1,
        "0-1 acquire a: granted 1@1; 2-3 release a: unknown; 4-5 acquire b: queued@2",
    ),
    (
        "a lost release that came late",
        1,
        "0-1 acquire a: granted 1@1; 2-3 release a: unknown; 4-5 acquire b: queued@2; 6-7 look b: granted 2@3",
    ),
    (
        "a refused release",
        1,
        "0-1 acquire a: granted 1@1; 2-3 release a: refused; 4-5 acquire b: queued@2; 6-7 look a: granted 1@2",
    ),
    ("asked again", 1, "0-1 acquire a: granted 1@1; 2-3 acquire a: granted 1@2; 4-5 acquire a: granted 1@3"),
    ("released twice", 1, "0-1 acquire a: granted 1@1; 2-3 release a: released@2; 4-5 release a: gone@2"),
    (
        "released by two at once",
        1,
        "0-1 acquire a: granted 1@1; 2-9 release a: gone@2; 2-9 release a: released@2",
    ),
    (
        "asked for after its end",
        1,
        "0-1 acquire a: granted 1@1; 2-3 release a: released@2; 4-5 acquire a: gone@2",
    ),
    (
        "woken on the line",
        1,
        "0-1 acquire a: granted 1@1; 2-9 wait b: granted 2@3; 5-6 release a: released@3",
    ),
    (
        "hung up while it waited",
        1,
        "0-1 acquire a: granted 1@1; 2-3 wait b: unknown; 4-5 acquire c: queued@3; 6-7 release a: released@5; \
         8-9 look c: granted 2@5",
    ),
    (
        "hung up when it had just been granted",
        1,
        "0-1 acquire a: granted 1@1; 2-3 wait b: unknown; 4-5 release a: released@3; 6-7 acquire c: granted 3@5",
    ),
    (
        "a look that began before the release",
        1,
        "0-1 acquire a: granted 1@1; 2-9 look a: granted 1@1; 3-4 release a: released@2; 5-6 acquire b: granted 2@3",
    ),
    (
        "three in their order",
        1,
        "0-1 acquire a: granted 1@1; 2-3 acquire b: queued@2; 4-5 acquire c: queued@3; 6-7 release a: released@4; \
         8-9 look b: granted 2@4; 10-11 release b: released@5; 12-13 look c: granted 3@5",
    ),
];

const BAD: [(&str, u64, &str, [bool; 3]); 20] = [
    ("two in room for one", 1, "0-1 acquire a: granted 1@1; 2-3 acquire b: granted 2@2", [true, true, true]),
    (
        "three in room for two",
        2,
        "0-1 acquire a: granted 1@1; 2-3 acquire b: granted 2@2; 4-5 acquire c: granted 3@3",
        [true, true, true],
    ),
    (
        "two inside, and the revisions hide it",
        1,
        "0-1 acquire a: granted 1@1; 2-3 acquire b: granted 2@3; 4-5 release a: released@2",
        [true, true, true],
    ),
    (
        "a release that was refused made room",
        1,
        "0-1 acquire a: granted 1@1; 2-3 release a: refused; 4-5 acquire b: granted 2@3",
        [true, true, true],
    ),
    ("queued beside free room", 1, "0-1 acquire a: queued@1", [true, false, true]),
    (
        "still waiting after the release",
        1,
        "0-1 acquire a: granted 1@1; 2-3 acquire b: queued@2; 4-5 release a: released@3; 6-7 look b: queued@3",
        [true, false, true],
    ),
    (
        "overtaken",
        1,
        "0-1 acquire a: granted 1@1; 2-3 acquire b: queued@2; 4-5 acquire c: queued@3; 6-7 release a: released@4; \
         8-9 look c: granted 2@4; 10-11 release c: released@5; 12-13 look b: granted 3@5",
        [true, true, true],
    ),
    (
        "overtaken by somebody new",
        1,
        "0-1 acquire a: granted 1@1; 2-3 acquire b: queued@2; 4-5 release a: released@3; 6-7 acquire c: granted 2@4; \
         8-9 release c: released@5; 10-11 look b: granted 3@5",
        [true, false, true],
    ),
    (
        "held again after its release",
        1,
        "0-1 acquire a: granted 1@1; 2-3 release a: released@2; 4-5 look a: granted 1@2",
        [true, true, true],
    ),
    (
        "queued again after its release",
        1,
        "0-1 acquire a: granted 1@1; 2-3 release a: released@2; 4-5 acquire a: queued@3",
        [true, true, true],
    ),
    (
        "granted anew after its release",
        1,
        "0-1 acquire a: granted 1@1; 2-3 release a: released@2; 4-5 acquire a: granted 2@3",
        [true, true, true],
    ),
    (
        "released twice, both times now",
        1,
        "0-1 acquire a: granted 1@1; 2-3 release a: released@2; 4-5 release a: released@3",
        [true, false, true],
    ),
    (
        "released and never granted",
        1,
        "0-1 acquire a: granted 1@1; 2-3 acquire b: queued@2; 4-5 release b: released@3",
        [true, false, true],
    ),
    (
        "one fence for two",
        1,
        "0-1 acquire a: granted 1@1; 2-3 release a: released@2; 4-5 acquire b: granted 1@3",
        [true, false, true],
    ),
    (
        "a fence that goes back",
        1,
        "0-1 acquire a: granted 5@1; 2-3 release a: released@2; 4-5 acquire b: granted 4@3",
        [true, true, true],
    ),
    (
        "a slot with two fences",
        1,
        "0-1 acquire a: granted 1@1; 2-3 look a: granted 2@2",
        [true, false, false],
    ),
    ("a look into the past", 1, "0-1 acquire a: granted 1@5; 2-3 look a: granted 1@4", [true, false, false]),
    (
        "a look that knows of no grant",
        1,
        "0-1 acquire a: granted 1@1; 2-3 acquire b: queued@2; 4-5 release a: released@3; 6-7 look b: granted 2@3; \
         8-9 look b: queued@3",
        [true, false, true],
    ),
    (
        "granted before anybody had gone",
        1,
        "0-1 acquire a: granted 1@1; 2-3 acquire b: queued@2; 4-5 look b: granted 2@3; 6-7 look a: granted 1@3",
        [true, true, true],
    ),
    (
        "gone although nobody ended it",
        1,
        "0-1 acquire a: granted 1@1; 2-3 look a: gone@2",
        [true, false, true],
    ),
];

#[test]
fn twenty_odd_histories_are_possible() {
    for (name, capacity, text) in GOOD {
        let calls = parse(text);
        assert_eq!(seen_by(&calls, capacity), [false; 3], "{name}: {:?}", check(&calls, &room(capacity)));
    }
}

#[test]
fn twenty_impossible_histories_are_seen() {
    for (name, capacity, text, layers) in BAD {
        assert_eq!(seen_by(&parse(text), capacity), layers, "{name}");
    }
}

/// SplitMix64.
struct Chance(u64);

impl Chance {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % bound
    }
}

/// Eight slots at a plain limiter, one change a millisecond; calls begin before and are answered after.
fn by_chance(chance: &mut Chance, capacity: usize) -> Vec<Call> {
    let (mut queue, mut fences, mut ended) = (Vec::new(), BTreeMap::new(), Vec::new());
    let (mut calls, mut fence) = (Vec::new(), 0);
    // A caller has one call at a time.
    let mut busy_until = [0; 8];
    for revision in 1..60_u64 {
        let (number, at) = (chance.below(8) as usize, revision * 1_000);
        if busy_until[number] > at {
            continue;
        }
        let slot = format!("s{number}");
        let is_known = queue.contains(&number) || fences.contains_key(&number) || ended.contains(&number);
        let wants_release = is_known && chance.below(2) == 0;
        let was_held = fences.contains_key(&number);
        if wants_release && was_held {
            fences.remove(&number);
            ended.push(number);
        } else if !wants_release && !is_known {
            queue.push(number);
        }
        while fences.len() < capacity && !queue.is_empty() {
            fence += 1;
            fences.insert(queue.remove(0), fence);
        }
        let told = match (wants_release, fences.get(&number)) {
            (true, _) if was_held => Told::Released { now: true, revision },
            (_, Some(fence)) => Told::Granted { fence: *fence, revision },
            _ if ended.contains(&number) => Told::Released { now: false, revision },
            _ => Told::Queued { revision },
        };
        let asked = match wants_release {
            true => Asked::Release { slot },
            false => Asked::Acquire { slot, limit: "l".to_owned(), waits: false },
        };
        let (began_at, ended_at) =
            (busy_until[number].max(at - 1_000 * chance.below(4).min(revision)), at + chance.below(4_000));
        busy_until[number] = ended_at + 1;
        let told = if chance.below(10) == 0 { Told::Unknown } else { told };
        calls.push(Call { caller: number as u32, began_at, ended_at, asked, told });
    }
    calls
}

#[test]
fn those_by_chance_are_possible() {
    for seed in 0..200 {
        let mut chance = Chance(seed);
        let capacity = 1 + chance.below(3);
        let calls = by_chance(&mut chance, capacity as usize);
        assert_eq!(
            seen_by(&calls, capacity),
            [false; 3],
            "seed {seed}: {:?}",
            check(&calls, &room(capacity))
        );
    }
}

/// One answer is another's: most such histories are impossible, and at least half of them are seen to be.
#[test]
fn most_that_are_tampered_with_are_seen() {
    let mut seen = 0;
    for seed in 0..200 {
        let mut chance = Chance(seed);
        let capacity = 1 + chance.below(3);
        let mut calls = by_chance(&mut chance, capacity as usize);
        let (one, other) = (chance.below(20) as usize, 20 + chance.below(20) as usize);
        let told = calls[one].told.clone();
        calls[one].told = std::mem::replace(&mut calls[other].told, told);
        seen += u32::from(seen_by(&calls, capacity)[0]);
    }
    println!("{seen} of 200 were seen");
    assert!(seen > 100, "only {seen} of 200 were seen");
}
