//! What falls due, and when: expiry, lapse and timeout of slots, each at its own instant (T2, T3).
//!
//! ```text
//! capacity 2, h busy; a (weight 2) and b (weight 1) queued, both until 1m00s
//! 1m00s   a times out: b becomes the head, there is room for it: b is granted
//! 1m00s   b would time out now, but it is no longer queued: nothing is left to do
//! ```
//!
//! One at a time, and what each makes possible is granted before the next is looked at: the first to go makes room
//! that the second still gets. The calendar holds exactly one entry a slot, and a slot that changes its stage changes
//! its entry, so what is no longer due is never found.

use std::collections::BTreeMap;

use maitred_planted::{Defect, has};

use crate::{
    bounds::ABSENCE_MS,
    engine::{Cause, Engine},
    event::{Event, EventKind},
    outcome::End,
    slab::Ref,
    slots::{Grant, Slot, Stage},
    time::Millis,
};

/// What comes first among things due at one instant (T3). The ends of rate windows stand between lapses and
/// timeouts, but nobody is told of them: they are compared when a key is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    Expiry = 0,
    Lapse = 1,
    Timeout = 2,
}

/// When and in which order a slot falls due: by time, then class, then arrival, as one number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Due(u128);

impl Due {
    /// Arrivals are below 2^62: at a million a second they last for a hundred thousand years.
    pub(crate) fn new(at: Millis, class: Class, arrival: u64) -> Self {
        let class = if has(Defect::TimeoutsFirst) { 2 - class as u128 } else { class as u128 };
        Self(u128::from(at) << 64 | class << 62 | u128::from(arrival))
    }

    pub(crate) fn at(self) -> Millis {
        (self.0 >> 64) as Millis
    }
}

#[derive(Default)]
#[cfg_attr(feature = "check", derive(Clone))]
pub(crate) struct Calendar {
    dues: BTreeMap<Due, Ref<Slot>>,
}

impl Calendar {
    pub(crate) fn insert(&mut self, due: Due, slot: Ref<Slot>) {
        let before = self.dues.insert(due, slot);
        debug_assert!(before.is_none());
    }

    pub(crate) fn remove(&mut self, due: Due) {
        let before = self.dues.remove(&due);
        debug_assert!(before.is_some());
    }

    pub(crate) fn get(&self, due: Due) -> Option<Ref<Slot>> {
        self.dues.get(&due).copied()
    }

    pub(crate) fn len(&self) -> usize {
        self.dues.len()
    }

    pub(crate) fn next(&self) -> Option<Millis> {
        self.dues.first_key_value().map(|(due, _)| due.at())
    }

    fn first_until(&self, now: Millis) -> Option<(Millis, Ref<Slot>)> {
        let (due, slot) = self.dues.first_key_value()?;
        let is_due = if has(Defect::DueLate) { due.at() < now } else { due.at() <= now };
        is_due.then_some((due.at(), *slot))
    }
}

impl Engine {
    /// Lets time go on to `at`, through everything that is due on the way.
    ///
    /// If something was due long ago, nobody was there to act on it (T2a): what was due ends at its own time, but
    /// who is granted is decided only now, so that nobody's reservation passes while no one can be told of it.
    pub(crate) fn advance(&mut self, at: Millis, events: &mut Vec<Event>) {
        let until = self.now.max(at);
        let nobody_was_there = self.calendar.next().is_some_and(|due| due + ABSENCE_MS < until);
        while let Some((due_at, slot)) = self.calendar.first_until(until) {
            self.now = due_at;
            self.fall_due(slot, events);
            if !nobody_was_there || has(Defect::GrantsInThePast) {
                self.settle(events);
            }
        }
        self.now = until;
        self.settle(events);
    }

    fn fall_due(&mut self, at: Ref<Slot>, events: &mut Vec<Event>) {
        match self.slots[at].stage {
            Stage::Busy(_) => self.end(at, End::Expired, Cause::default(), events),
            Stage::Reserved(grant) => self.lapse(at, grant, events),
            Stage::Queued { .. } => self.end(at, End::TimedOut, Cause::default(), events),
        }
    }

    /// A reservation that was not confirmed: the slot goes to the end of its queues (S5), if it has time left.
    fn lapse(&mut self, at: Ref<Slot>, grant: Grant, events: &mut Vec<Event>) {
        if self.slots[at].gives_up_at <= self.now && !has(Defect::LapseForgetsTimeout) {
            return self.end(at, End::TimedOut, Cause::default(), events);
        }
        self.detach(at);
        let slot = &mut self.slots[at];
        if !has(Defect::LapseToHead) {
            self.arrivals += 1;
            slot.arrival = self.arrivals;
        }
        slot.queued_at = self.now;
        slot.laps = slot.laps.saturating_add(1);
        slot.stage = Stage::Queued { firsts: 0, lapsed: Some(grant) };
        self.attach(at);
        self.emit(events, EventKind::SlotPutBack(self.slot_event(&self.slots[at])));
    }
}
