//! What the callers' clock alone shows, whatever revisions the answers claim.
//!
//! ```text
//! c1   acquire a |---> granted                          release a |--> released
//! c2                 acquire b |--> granted    release b |--> unknown
//!      a surely inside     [------------------------]
//!      b surely inside                  [------]
//! ```
//! A slot is *surely inside* from the moment an answer said that it is granted until somebody begins a call that may end
//! it: a release, or an acquire on whose line nobody heard an answer (whoever hangs up gives back). Never may more be
//! surely inside than the limit has room for. And whoever was told something before another began has the lower fence:
//! granted before the other asked; or queued before the other asked, where both waited.

use std::collections::BTreeMap;

use super::{Asked, Call, Told};

/// What the clock says of one slot; times as in [`Call`].
#[derive(Debug)]
struct Seen<'a> {
    limit: &'a str,
    asked_at: u64,
    /// When an answer first said that it waits, and that it is granted.
    waits_at: Option<u64>,
    granted_at: Option<u64>,
    fence: Option<u64>,
    /// From when on it may have been given back.
    may_end_at: u64,
    released_at: Option<u64>,
}

/// Everything that cannot be.
pub(super) fn check(calls: &[Call], capacities: &BTreeMap<String, u64>) -> Vec<String> {
    let slots = gather(calls);
    let mut wrong = Vec::new();
    for (limit, capacity) in capacities {
        let of_limit: Vec<(&str, &Seen)> =
            slots.iter().filter(|(_, slot)| slot.limit == limit).map(|(name, slot)| (*name, slot)).collect();
        crowded(limit, *capacity as i64, &of_limit, &mut wrong);
        first_come(limit, &of_limit, &mut wrong);
    }
    granted_in_order(&slots, &mut wrong);
    back_again(calls, &slots, &mut wrong);
    wrong
}

fn gather(calls: &[Call]) -> BTreeMap<&str, Seen<'_>> {
    let mut slots: BTreeMap<&str, Seen> = BTreeMap::new();
    let mut acquires: Vec<&Call> = calls.iter().filter(|call| call.limit().is_some()).collect();
    acquires.sort_by_key(|call| call.began_at);
    for call in acquires {
        slots.entry(call.slot()).or_insert(Seen {
            limit: call.limit().unwrap_or_default(),
            asked_at: call.began_at,
            waits_at: None,
            granted_at: None,
            fence: None,
            may_end_at: u64::MAX,
            released_at: None,
        });
    }
    for call in calls {
        if let Some(slot) = slots.get_mut(call.slot()) {
            slot.note(call);
        }
    }
    slots
}

impl Seen<'_> {
    fn note(&mut self, call: &Call) {
        let earlier = |known: Option<u64>| Some(known.map_or(call.ended_at, |at| at.min(call.ended_at)));
        let may_end = match (&call.asked, &call.told) {
            (Asked::Release { .. }, told) => *told != Told::Refused,
            (Asked::Acquire { waits, .. }, told) => *waits && *told == Told::Unknown,
            (Asked::Look { .. }, _) => false,
        };
        if may_end {
            self.may_end_at = self.may_end_at.min(call.began_at);
        }
        match call.told {
            Told::Queued { .. } => self.waits_at = earlier(self.waits_at),
            Told::Granted { fence, .. } => {
                self.granted_at = earlier(self.granted_at);
                self.fence = Some(fence);
            }
            Told::Released { .. } => self.released_at = earlier(self.released_at),
            Told::Ended { .. } | Told::Refused | Told::Unknown => {}
        }
    }
}

fn crowded(limit: &str, most: i64, slots: &[(&str, &Seen)], wrong: &mut Vec<String>) {
    let inside = |slot: &Seen| slot.granted_at.filter(|at| *at < slot.may_end_at);
    let mut changes: Vec<(u64, i64, &str)> = Vec::new();
    for (name, slot) in slots {
        if let Some(at) = inside(slot) {
            changes.extend([(at, 1, *name), (slot.may_end_at, -1, *name)]);
        }
    }
    // At one instant those that leave go first.
    changes.sort_unstable();
    let mut now = 0;
    for (at, change, name) in changes {
        now += change;
        if now > most && change > 0 {
            wrong.push(format!(
                "by the clock {now} are surely inside {limit}, which has room for {most}, at {at} us (one is {name})"
            ));
        }
    }
}

/// Who was told to wait before another asked, and both waited, is granted before it.
fn first_come(limit: &str, slots: &[(&str, &Seen)], wrong: &mut Vec<String>) {
    let waited = |slot: &&(&str, &Seen)| slot.1.waits_at.is_some() && slot.1.fence.is_some();
    let told = |slot: &Seen| slot.waits_at.unwrap_or_default();
    in_order(slots.iter().filter(waited).copied().collect(), told, |other, name| {
        wrong.push(format!("by the clock {other} waited for {limit} before {name} asked, and came after it"));
    });
}

/// Fences are of one sequence, over all limits.
fn granted_in_order(slots: &BTreeMap<&str, Seen>, wrong: &mut Vec<String>) {
    let granted = slots.iter().filter(|(_, slot)| slot.granted_at.is_some());
    let granted = granted.map(|(name, slot)| (*name, slot)).collect();
    in_order(
        granted,
        |slot| slot.granted_at.unwrap_or_default(),
        |other, name| {
            wrong.push(format!(
                "by the clock {other} was granted before {name} asked, and has the higher fence"
            ));
        },
    );
}

/// Of those that were told something before another asked, none has a higher fence.
fn in_order<'a>(
    slots: Vec<(&'a str, &'a Seen<'a>)>,
    told_at: impl Fn(&Seen) -> u64,
    mut overtaken: impl FnMut(&str, &str),
) {
    let mut by_told = slots.clone();
    by_told.sort_by_key(|(_, slot)| told_at(slot));
    let mut by_asked = slots;
    by_asked.sort_by_key(|(_, slot)| slot.asked_at);
    let mut earlier = by_told.into_iter().peekable();
    let mut highest: Option<(u64, &str)> = None;
    for (name, slot) in by_asked {
        while let Some((other, before)) = earlier.next_if(|(_, before)| told_at(before) < slot.asked_at) {
            highest = highest.max(before.fence.map(|fence| (fence, other)));
        }
        if let Some((_, other)) = highest.filter(|(fence, _)| Some(*fence) > slot.fence) {
            overtaken(other, name);
        }
    }
}

/// Whoever asks after a release was answered is not told that the slot waits or is held.
fn back_again(calls: &[Call], slots: &BTreeMap<&str, Seen>, wrong: &mut Vec<String>) {
    for call in calls {
        let is_alive = matches!(call.told, Told::Granted { .. } | Told::Queued { .. });
        let released = slots.get(call.slot()).and_then(|slot| slot.released_at);
        if is_alive && released.is_some_and(|at| at < call.began_at) {
            wrong.push(format!("by the clock {} had been released before {call:?} began", call.slot()));
        }
    }
}

impl Call {
    /// Of an acquire.
    fn limit(&self) -> Option<&str> {
        match &self.asked {
            Asked::Acquire { limit, .. } => Some(limit),
            Asked::Release { .. } | Asked::Look { .. } => None,
        }
    }
}
