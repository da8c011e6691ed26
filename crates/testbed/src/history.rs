//! What callers asked, what they were told, and whether all of it can be true of one limiter (D6).
//!
//! # Worked example
//! ```text
//!  0 ms  c1 acquires a ----------> 3 ms  granted, fence 7, revision 40
//!  1 ms  c2 acquires b --> 2 ms  queued, revision 40
//!  9 ms  c1 releases a -> 10 ms  released, revision 44
//! 11 ms  c2 looks at b -> 12 ms  granted, fence 8, revision 44
//! ```
//! Every answer carries the revision at which it is the truth, so one journal gives all of them one order. It is a
//! possible history if that order agrees with the clock (what began after an answer is not before it), if at each
//! revision no more is held than the limit has room for, and if grants come in the order in which slots were queued.
//! Here `a` is held in the revisions 40 to 43, `b` from 44 on: never both.
//!
//! # Why that is enough
//! A caller can only see more than one limiter by an order of its own knowledge that no single order contains. Times
//! are of one clock here (the callers are tasks of one process), so "began after" is known, not guessed.
//!
//! # Three layers
//! 1. *Revisions*, as above: all of a history, in the order that the answers themselves claim.
//! 2. *The clock* (`sweep`): all of it, believing no revision: who is surely inside at one time, who came first.
//! 3. *Search* (`search`): of each limit the first calls, believing neither: is there any order at all, of these calls and
//!    of those whose fate is not known, in which a plain limiter gives these answers?
//!
//! Holds and waits of a judged run must be longer than the run, and its slots `auto`: nothing expires, lapses or times
//! out.

mod search;
mod sweep;

use std::collections::BTreeMap;

/// One call and its answer.
#[derive(Clone, Debug)]
pub struct Call {
    pub caller: u32,
    /// Microseconds by the clock that all callers share.
    pub began_at: u64,
    pub ended_at: u64,
    pub asked: Asked,
    pub told: Told,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Asked {
    /// A slot of this limit; the same slot may be asked for again. Who waits on the line may be told of a later revision
    /// than that at which the slot was queued.
    Acquire {
        slot: String,
        limit: String,
        waits: bool,
    },
    Release {
        slot: String,
    },
    /// How one slot is, at the journal's end.
    Look {
        slot: String,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Told {
    Queued {
        revision: u64,
    },
    Granted {
        fence: u64,
        revision: u64,
    },
    /// By this call, or by an earlier one.
    Released {
        now: bool,
        revision: u64,
    },
    /// It has ended otherwise, or was never there.
    Ended {
        revision: u64,
    },
    /// Nothing was done.
    Refused,
    /// It may have been done.
    Unknown,
}

impl Told {
    fn revision(&self) -> Option<u64> {
        match self {
            Told::Queued { revision }
            | Told::Granted { revision, .. }
            | Told::Released { revision, .. }
            | Told::Ended { revision } => Some(*revision),
            Told::Refused | Told::Unknown => None,
        }
    }
}

/// What was looked at, so that a run in which nothing happened does not count as a good one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Looked {
    pub calls: usize,
    pub unknown: usize,
    pub grants: usize,
    pub releases: usize,
    /// Slots of which it is known that they waited and were granted.
    pub waited: usize,
    /// Calls for which an order was searched and found, and limits for which the search was given up.
    pub searched: usize,
    pub given_up: usize,
}

/// All that is known of one slot.
#[derive(Debug, Default)]
struct Slot {
    limit: String,
    is_known: bool,
    /// The earliest revision at which it was told to wait: it was queued then, or before.
    queued: Option<u64>,
    /// The revision at which it was queued, where its first acquire was told so at once.
    queued_at: Option<u64>,
    /// The earliest at which it was told to be granted, and its fence.
    granted: Option<(u64, u64)>,
    /// The latest at which it was told so.
    granted_until: u64,
    released: Option<u64>,
}

/// Says what was looked at, or everything that cannot be.
pub fn check(calls: &[Call], capacities: &BTreeMap<String, u64>) -> Result<Looked, Vec<String>> {
    let mut wrong = Vec::new();
    let slots = gather(calls, &mut wrong);
    real_time(calls, &mut wrong);
    fences(&slots, &mut wrong);
    capacity(&slots, capacities, &mut wrong);
    first_come(&slots, &mut wrong);
    what_is_gone_stays_gone(calls, &slots, &mut wrong);
    wrong.extend(sweep::check(calls, capacities));
    let searched = search::check(calls, capacities, &mut wrong);
    match wrong.is_empty() {
        true => Ok(looked(calls, &slots, searched)),
        false => Err(wrong),
    }
}

fn looked(calls: &[Call], slots: &BTreeMap<&str, Slot>, searched: search::Searched) -> Looked {
    let count = |fits: fn(&Slot) -> bool| slots.values().filter(|slot| fits(slot)).count();
    Looked {
        calls: calls.len(),
        unknown: calls.iter().filter(|call| call.told == Told::Unknown).count(),
        grants: count(|slot| slot.granted.is_some()),
        releases: count(|slot| slot.released.is_some()),
        waited: count(|slot| slot.queued.is_some() && slot.granted.is_some()),
        searched: searched.calls,
        given_up: searched.given_up,
    }
}

/// One slot, one grant, one release: nothing takes effect twice.
fn gather<'a>(calls: &'a [Call], wrong: &mut Vec<String>) -> BTreeMap<&'a str, Slot> {
    let mut slots: BTreeMap<&str, Slot> = BTreeMap::new();
    let mut in_order: Vec<&Call> = calls.iter().collect();
    in_order.sort_by_key(|call| call.began_at);
    for call in in_order {
        let slot = slots.entry(call.slot()).or_default();
        if let (Asked::Acquire { limit, waits, .. }, false) = (&call.asked, slot.is_known) {
            (slot.limit, slot.is_known) = (limit.clone(), true);
            slot.queued_at = match call.told {
                Told::Queued { revision } if !waits => Some(revision),
                _ => None,
            };
        }
        match call.told {
            Told::Queued { revision } => {
                slot.queued = Some(slot.queued.map_or(revision, |known| known.min(revision)));
            }
            Told::Granted { fence, revision } => {
                slot.granted_until = slot.granted_until.max(revision);
                match slot.granted {
                    Some((_, known)) if known != fence => {
                        wrong.push(format!("{} has the fences {known} and {fence}", call.slot()));
                    }
                    Some((known, _)) => slot.granted = Some((known.min(revision), fence)),
                    None => slot.granted = Some((revision, fence)),
                }
            }
            Told::Released { now: true, revision } => {
                if let Some(known) = slot.released.replace(revision) {
                    wrong.push(format!("{} was released at {known} and at {revision}", call.slot()));
                }
            }
            _ => {}
        }
    }
    slots
}

/// What began after an answer is not before it; a change made after it is behind it.
fn real_time(calls: &[Call], wrong: &mut Vec<String>) {
    let mut ended: Vec<(u64, u64, &Call)> =
        calls.iter().filter_map(|call| Some((call.ended_at, call.told.revision()?, call))).collect();
    ended.sort_by_key(|(at, ..)| *at);
    let mut began: Vec<&Call> = calls.iter().filter(|call| call.told.revision().is_some()).collect();
    began.sort_by_key(|call| call.began_at);
    let mut before = ended.into_iter().peekable();
    let mut newest: Option<(u64, &Call)> = None;
    for call in began {
        while let Some((_, revision, earlier)) = before.next_if(|(at, ..)| *at < call.began_at) {
            if newest.is_none_or(|(known, _)| revision > known) {
                newest = Some((revision, earlier));
            }
        }
        let own = call.told.revision().unwrap_or_default();
        if let Some((known, earlier)) = newest
            && (own < known || (own == known && call.is_change()))
        {
            wrong.push(format!("{call:?} began after the answer to {earlier:?}, and is not behind it"));
        }
    }
}

/// Grants have fences of their own, and a later one has a greater one.
fn fences(slots: &BTreeMap<&str, Slot>, wrong: &mut Vec<String>) {
    let mut grants: Vec<(u64, &str)> =
        slots.iter().filter_map(|(name, slot)| Some((slot.granted?.1, *name))).collect();
    grants.sort_unstable();
    for pair in grants.windows(2) {
        if pair[0].0 == pair[1].0 {
            wrong.push(format!("{} and {} have the fence {}", pair[0].1, pair[1].1, pair[0].0));
        }
    }
}

/// At each revision, what was granted by then and released later. Of a slot whose release was not told it is only known
/// that it was held as long as it was told to be.
fn capacity(slots: &BTreeMap<&str, Slot>, capacities: &BTreeMap<String, u64>, wrong: &mut Vec<String>) {
    let mut changes: BTreeMap<(&str, u64), (i64, &str)> = BTreeMap::new();
    for (name, slot) in slots {
        let Some((granted, _)) = slot.granted else { continue };
        changes.entry((&slot.limit, granted)).or_insert((0, name)).0 += 1;
        let until = slot.released.unwrap_or(slot.granted_until + 1);
        changes.entry((&slot.limit, until)).or_insert((0, name)).0 -= 1;
    }
    let mut held: BTreeMap<&str, i64> = BTreeMap::new();
    for ((limit, revision), (change, name)) in changes {
        let now = held.entry(limit).or_default();
        *now += change;
        let most = capacities.get(limit).copied().unwrap_or_default() as i64;
        if *now > most {
            wrong.push(format!(
                "{now} slots of {limit}, which has room for {most}, at {revision} (one is {name})"
            ));
        }
    }
}

/// What waited before another was queued was granted before it.
fn first_come(slots: &BTreeMap<&str, Slot>, wrong: &mut Vec<String>) {
    let mut queues: BTreeMap<&str, Vec<(&str, &Slot)>> = BTreeMap::new();
    for (name, slot) in slots {
        if slot.queued.is_some() && slot.granted.is_some() {
            queues.entry(&slot.limit).or_default().push((name, slot));
        }
    }
    for (limit, queue) in queues {
        overtaken(limit, queue, wrong);
    }
}

fn overtaken(limit: &str, queue: Vec<(&str, &Slot)>, wrong: &mut Vec<String>) {
    let fence = |slot: &Slot| slot.granted.map_or(0, |(_, fence)| fence);
    let mut earlier = queue.clone();
    earlier.sort_by_key(|(_, slot)| slot.queued);
    let mut later: Vec<_> = queue.into_iter().filter(|(_, slot)| slot.queued_at.is_some()).collect();
    later.sort_by_key(|(_, slot)| slot.queued_at);
    let mut earlier = earlier.into_iter().peekable();
    let mut last_granted: Option<(&str, &Slot)> = None;
    for (name, slot) in later {
        // Those of one record are not told apart.
        while let Some(before) = earlier.next_if(|(_, before)| before.queued < slot.queued_at) {
            if last_granted.is_none_or(|(_, known)| fence(before.1) > fence(known)) {
                last_granted = Some(before);
            }
        }
        if let Some((other, before)) = last_granted.filter(|(_, before)| fence(before) > fence(slot)) {
            let (since, at) = (before.queued.unwrap_or(0), slot.queued_at.unwrap_or(0));
            wrong
                .push(format!("{other} of {limit} waited since {since}, and {name}, since {at}, came first"));
        }
    }
}

/// Whoever looks after a release was answered does not see the slot held, nor waiting.
fn what_is_gone_stays_gone(calls: &[Call], slots: &BTreeMap<&str, Slot>, wrong: &mut Vec<String>) {
    for call in calls {
        let Some(released) = slots.get(call.slot()).and_then(|slot| slot.released) else { continue };
        let revision = match call.told {
            Told::Granted { revision, .. } | Told::Queued { revision } => revision,
            _ => continue,
        };
        if revision > released {
            wrong.push(format!("{} was released at {released}, and {call:?}", call.slot()));
        }
    }
}

impl Call {
    fn slot(&self) -> &str {
        match &self.asked {
            Asked::Acquire { slot, .. } | Asked::Release { slot } | Asked::Look { slot } => slot,
        }
    }

    /// It has put something into the journal of its own: an acquire that was answered at once, a release that was one.
    fn is_change(&self) -> bool {
        matches!(self.told, Told::Released { now: true, .. })
    }
}

#[cfg(test)]
mod layers_tests;
#[cfg(test)]
mod tests;
