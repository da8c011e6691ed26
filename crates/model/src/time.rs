//! T: how time moves, and what happens on the way.

use crate::{Model, State};

const NOBODY_THERE_MS: u64 = 5000;

/// One thing that is due. The order of the fields is the order of T2 and T3: when, what kind, first in queue order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Due {
    at_ms: u64,
    what: What,
    arrival: u64,
    namespace: usize,
    index: usize,
}

/// In the order of T3. Expiries of slots and of places share a rank there; they cannot affect each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum What {
    SlotExpires,
    PlaceExpires,
    ReservationLapses,
    WindowEnds,
    WaitTimesOut,
}

impl What {
    fn is_of_a_slot(self) -> bool {
        !matches!(self, What::PlaceExpires | What::WindowEnds)
    }
}

impl Model {
    /// When the next thing is due, if any is.
    pub fn next_due(&self) -> Option<u64> {
        self.first_due().map(|due| due.at_ms)
    }

    /// The limiter's own time: that of the last command, or of an earlier one whose time was later (T1).
    pub fn now_ms(&self) -> u64 {
        self.now_ms
    }

    /// T1: never back. T2: everything due at or before `at_ms` happens first, each at its own due time, in order, and what
    /// each makes possible is granted before the next is looked at (T3). T2a: if nobody was there, what was
    /// due ends at its own time, but grants are made only now. Nobody comes for a window or a place in flight, so only
    /// slots tell whether anybody was there.
    pub(crate) fn move_to(&mut self, at_ms: u64) {
        let record_ms = at_ms.max(self.now_ms);
        let slot_due = self.dues().into_iter().filter(|due| due.what.is_of_a_slot()).min();
        let nobody_was_there =
            slot_due.is_some_and(|due| record_ms.saturating_sub(due.at_ms) > NOBODY_THERE_MS);
        while let Some(due) = self.first_due().filter(|due| due.at_ms <= record_ms) {
            self.now_ms = due.at_ms;
            self.happen(due);
            if !nobody_was_there {
                self.grant_what_fits();
            }
        }
        self.now_ms = record_ms;
        self.grant_what_fits();
    }

    fn first_due(&self) -> Option<Due> {
        self.dues().into_iter().min()
    }

    fn dues(&self) -> Vec<Due> {
        let mut dues = Vec::new();
        for (n, namespace) in self.namespaces.iter().enumerate() {
            let due = |at_ms, what, arrival, index| Due { at_ms, what, arrival, namespace: n, index };
            for (i, slot) in namespace.slots.iter().enumerate() {
                match slot.state {
                    State::Busy => dues.push(due(slot.expires_at_ms, What::SlotExpires, slot.arrival, i)),
                    State::Reserved => {
                        dues.push(due(slot.reserved_until_ms, What::ReservationLapses, slot.arrival, i));
                    }
                    State::Queued => dues.push(due(slot.deadline_ms, What::WaitTimesOut, slot.arrival, i)),
                    _ => {}
                }
            }
            for (i, place) in namespace.places.iter().enumerate() {
                dues.push(due(place.until_ms, What::PlaceExpires, 0, i));
            }
            for (i, counter) in namespace.counters.iter().enumerate() {
                dues.push(due(counter.ends_at_ms, What::WindowEnds, 0, i));
            }
        }
        dues
    }

    fn happen(&mut self, due: Due) {
        let (n, i) = (due.namespace, due.index);
        match due.what {
            What::SlotExpires => self.end_slot(n, i, State::Expired), // S10
            What::PlaceExpires => drop(self.namespaces[n].places.remove(i)), // K1
            What::ReservationLapses => self.lapse(n, i),              // S5
            What::WindowEnds => drop(self.namespaces[n].counters.remove(i)), // R2
            What::WaitTimesOut => self.end_slot(n, i, State::TimedOut), // S6
        }
    }
}
