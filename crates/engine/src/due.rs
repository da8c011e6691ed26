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

use std::collections::BTreeSet;

use crate::{
    bounds::ABSENCE_MS,
    engine::{Cause, Engine},
    event::{Event, EventKind},
    outcome::End,
    slab::Ref,
    slots::{Slot, Stage},
    time::Millis,
};

/// What comes first among things due at one instant (T3). The ends of rate windows stand between lapses and
/// timeouts, but nobody is told of them: they are compared when a key is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Class {
    Expiry,
    Lapse,
    Timeout,
}

/// In the order in which things happen: by time, then class, then arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Due {
    pub(crate) at: Millis,
    pub(crate) class: Class,
    pub(crate) arrival: u64,
    pub(crate) slot: Ref<Slot>,
}

#[derive(Default)]
pub(crate) struct Calendar {
    dues: BTreeSet<Due>,
}

impl Calendar {
    pub(crate) fn insert(&mut self, due: Due) {
        let is_new = self.dues.insert(due);
        debug_assert!(is_new);
    }

    pub(crate) fn remove(&mut self, due: Due) {
        let was_there = self.dues.remove(&due);
        debug_assert!(was_there);
    }

    pub(crate) fn contains(&self, due: &Due) -> bool {
        self.dues.contains(due)
    }

    pub(crate) fn len(&self) -> usize {
        self.dues.len()
    }

    pub(crate) fn next(&self) -> Option<Millis> {
        self.dues.first().map(|due| due.at)
    }

    fn first_until(&self, now: Millis) -> Option<Due> {
        self.dues.first().filter(|due| due.at <= now).copied()
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
        while let Some(due) = self.calendar.first_until(until) {
            self.now = due.at;
            self.fall_due(due, events);
            if !nobody_was_there {
                self.settle(events);
            }
        }
        self.now = until;
        self.settle(events);
    }

    fn fall_due(&mut self, due: Due, events: &mut Vec<Event>) {
        match due.class {
            Class::Expiry => self.end(due.slot, End::Expired, Cause::default(), events),
            Class::Timeout => self.end(due.slot, End::TimedOut, Cause::default(), events),
            Class::Lapse => self.lapse(due.slot, events),
        }
    }

    /// A reservation that was not confirmed: the slot goes to the end of its queues (S5), if it has time left.
    fn lapse(&mut self, at: Ref<Slot>, events: &mut Vec<Event>) {
        let slot = &self.slots[at];
        let Stage::Reserved(grant) = slot.stage else { return };
        if slot.gives_up_at <= self.now {
            return self.end(at, End::TimedOut, Cause::default(), events);
        }
        self.detach(at);
        self.arrivals += 1;
        let slot = &mut self.slots[at];
        slot.arrival = self.arrivals;
        slot.queued_at = self.now;
        slot.laps = slot.laps.saturating_add(1);
        slot.stage = Stage::Queued { firsts: 0, lapsed: Some(grant) };
        self.attach(at);
        self.emit(events, EventKind::SlotPutBack(self.slot_event(&self.slots[at])));
    }
}
