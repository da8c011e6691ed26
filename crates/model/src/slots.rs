//! S: slots, from the moment they are asked for to whatever end they meet.

use crate::{Acquire, Answer, Model, Namespace, SlotView, State};

const RESERVED_MS: u64 = 2 * 60 * 1000;

#[derive(Clone, Debug)]
pub(crate) struct Slot {
    /// Its content (S2), with no line in it.
    pub ask: Acquire,
    pub line: Option<u64>,
    /// True during the acquire call itself: its caller is there to receive the grant.
    pub asking: bool,
    pub state: State,
    /// Order in every queue. Anew when it is put back (S5).
    pub arrival: u64,
    /// When its wait is over (S6). Never moves.
    pub deadline_ms: u64,
    /// What the last grant set; of meaning while reserved or busy.
    pub fence: u64,
    pub reserved_until_ms: u64,
    pub expires_at_ms: u64,
    pub ended_at_ms: Option<u64>,
}

impl Slot {
    pub(crate) fn is_live(&self) -> bool {
        matches!(self.state, State::Queued | State::Reserved | State::Busy)
    }

    /// The weight it asked of this limit, if it named it.
    pub(crate) fn weight_in(&self, limit: &str) -> Option<u64> {
        self.ask.limits.iter().find(|(name, _)| name == limit).map(|(_, weight)| *weight)
    }
}

impl Namespace {
    pub(crate) fn slot(&self, id: &str) -> Option<usize> {
        self.slots.iter().position(|slot| slot.ask.slot == id)
    }

    /// The queue of one limit: indexes of slots in order of arrival.
    pub(crate) fn queue(&self, limit: &str) -> Vec<usize> {
        let waits =
            |s: &usize| self.slots[*s].state == State::Queued && self.slots[*s].weight_in(limit).is_some();
        let mut queue: Vec<usize> = (0..self.slots.len()).filter(waits).collect();
        queue.sort_by_key(|s| self.slots[*s].arrival);
        queue
    }

    /// S3, S12: first in the queue of every limit it names, and all have room.
    fn is_grantable(&self, s: usize) -> bool {
        let slot = &self.slots[s];
        let first_with_room =
            |(limit, weight): &(String, u64)| self.queue(limit)[0] == s && self.has_room(limit, *weight);
        slot.state == State::Queued && slot.ask.limits.iter().all(first_with_room)
    }

    /// S3 of S2's answer: the slot as it is now.
    pub(crate) fn slot_view(&self, id: &str) -> SlotView {
        let Some(s) = self.slot(id) else {
            return SlotView {
                state: State::Unknown,
                place: None,
                fence: None,
                expires_at_ms: None,
                reserved_until_ms: None,
                ended_at_ms: None,
            };
        };
        let slot = &self.slots[s];
        let granted = matches!(slot.state, State::Reserved | State::Busy);
        let place = self.queue(&slot.ask.limits[0].0).iter().position(|queued| *queued == s);
        SlotView {
            state: slot.state,
            place: place.map(|ahead| ahead as u64 + 1),
            fence: granted.then_some(slot.fence),
            expires_at_ms: granted.then_some(slot.expires_at_ms),
            reserved_until_ms: (slot.state == State::Reserved).then_some(slot.reserved_until_ms),
            ended_at_ms: slot.ended_at_ms,
        }
    }

    /// The first limit that is not there or retired, then the first whose capacity the weight exceeds (S13).
    fn refuses(&self, ask: &Acquire) -> Option<&'static str> {
        for (limit, _) in &ask.limits {
            match self.limit(limit) {
                None => return Some("limit_not_found"),
                Some(limit) if limit.retired => return Some("limit_retired"),
                Some(_) => {}
            }
        }
        let never_fits = ask.limits.iter().any(|(limit, weight)| *weight > self.capacity(limit));
        never_fits.then_some("never_fits")
    }
}

impl Model {
    pub(crate) fn acquire(&mut self, n: usize, ask: Acquire) -> Answer {
        if let Some(s) = self.namespaces[n].slot(&ask.slot) {
            return self.ask_again(n, s, ask);
        }
        if let Some(code) = self.namespaces[n].refuses(&ask) {
            return Answer::Error(code);
        }
        let id = ask.slot.clone();
        let slot = self.new_slot(ask);
        self.namespaces[n].slots.push(slot);
        self.grant_what_fits();

        let s = self.namespaces[n].slots.len() - 1;
        let slot = &mut self.namespaces[n].slots[s];
        slot.asking = false;
        if slot.state == State::Queued && slot.ask.timeout_ms == 0 {
            self.end_slot(n, s, State::TimedOut); // S1: 0 = do not wait
        }
        self.slot_answer(n, &id)
    }

    fn new_slot(&mut self, ask: Acquire) -> Slot {
        self.last_arrival += 1;
        Slot {
            line: ask.line.filter(|_| ask.auto),
            asking: true,
            state: State::Queued,
            arrival: self.last_arrival,
            deadline_ms: self.now_ms + ask.timeout_ms,
            fence: 0,
            reserved_until_ms: 0,
            expires_at_ms: 0,
            ended_at_ms: None,
            ask: Acquire { line: None, ..ask },
        }
    }

    /// S2: the same id is the same slot as it is now, or a conflict. S7a: an auto caller that asks again is on its new
    /// line, or on none, and has confirmed a slot that it finds reserved.
    fn ask_again(&mut self, n: usize, s: usize, ask: Acquire) -> Answer {
        let slot = &mut self.namespaces[n].slots[s];
        let line = ask.line;
        if slot.ask != (Acquire { line: None, ..ask }) {
            return Answer::Error("conflict");
        }
        if slot.ask.auto && slot.is_live() {
            slot.line = line;
            if slot.state == State::Reserved {
                slot.state = State::Busy;
            }
        }
        let id = slot.ask.slot.clone();
        self.slot_answer(n, &id)
    }

    /// Repeatedly the slot of lowest arrival that is first in every queue it names and fits. Then what is retired and
    /// empty is gone (L3).
    pub(crate) fn grant_what_fits(&mut self) {
        while let Some((n, s)) = self.next_grantable() {
            self.grant(n, s);
        }
        for namespace in &mut self.namespaces {
            namespace.drop_empty_retired();
        }
    }

    fn next_grantable(&self) -> Option<(usize, usize)> {
        let mut first: Option<(usize, usize)> = None;
        for (n, namespace) in self.namespaces.iter().enumerate() {
            for (s, slot) in namespace.slots.iter().enumerate() {
                let earlier = first.is_none_or(|(m, t)| slot.arrival < self.namespaces[m].slots[t].arrival);
                if earlier && namespace.is_grantable(s) {
                    first = Some((n, s));
                }
            }
        }
        first
    }

    /// S4: reserved for 2 minutes, or to its max hold if that is shorter; busy at once with an auto caller on the
    /// line. S12: the expiry is the earliest of its limits'. L6: set now, and never moves. S14: a new fence.
    fn grant(&mut self, n: usize, s: usize) {
        let namespace = &self.namespaces[n];
        let holds = namespace.slots[s].ask.limits.iter().map(|(limit, _)| namespace.max_hold_ms(limit));
        let max_hold_ms = holds.min().expect("a slot names a limit");

        self.last_fence += 1;
        let slot = &mut self.namespaces[n].slots[s];
        slot.fence = self.last_fence;
        slot.expires_at_ms = self.now_ms + max_hold_ms;
        slot.reserved_until_ms = self.now_ms + max_hold_ms.min(RESERVED_MS);
        let on_the_line = slot.line.is_some() || slot.asking;
        slot.state = if slot.ask.auto && on_the_line { State::Busy } else { State::Reserved };
    }

    /// S5: to the end of the queue with what is left of its timeout, or timed out.
    pub(crate) fn lapse(&mut self, n: usize, s: usize) {
        if self.namespaces[n].slots[s].deadline_ms <= self.now_ms {
            return self.end_slot(n, s, State::TimedOut);
        }
        self.last_arrival += 1;
        let slot = &mut self.namespaces[n].slots[s];
        slot.state = State::Queued;
        slot.arrival = self.last_arrival;
    }

    pub(crate) fn end_slot(&mut self, n: usize, s: usize, state: State) {
        let slot = &mut self.namespaces[n].slots[s];
        slot.state = state;
        slot.line = None;
        slot.ended_at_ms = Some(self.now_ms);
    }

    /// S4; S5: answers the slot's state, whatever it is.
    pub(crate) fn confirm(&mut self, n: usize, id: &str) -> Answer {
        if let Some(s) = self.namespaces[n].slot(id) {
            let slot = &mut self.namespaces[n].slots[s];
            if slot.state == State::Reserved {
                slot.state = State::Busy;
            }
        }
        self.slot_answer(n, id)
    }

    /// S7a: gives up a queued or reserved slot; a busy one stays busy.
    pub(crate) fn leave(&mut self, n: usize, id: &str) -> Answer {
        if let Some(s) = self.namespaces[n].slot(id)
            && matches!(self.namespaces[n].slots[s].state, State::Queued | State::Reserved)
        {
            self.end_slot(n, s, State::Left);
        }
        self.slot_answer(n, id)
    }

    /// S7, S8: whoever knows the id of a reserved or busy slot may release it, once.
    pub(crate) fn release(&mut self, n: usize, id: &str) -> Answer {
        if let Some(s) = self.namespaces[n].slot(id)
            && matches!(self.namespaces[n].slots[s].state, State::Reserved | State::Busy)
        {
            self.end_slot(n, s, State::Released);
            return Answer::Released(true);
        }
        Answer::Released(false)
    }

    /// S7a: an auto caller that hangs up its own line has left; what it was given meanwhile is released.
    pub(crate) fn hang_up(&mut self, n: usize, id: &str, line: u64) -> Answer {
        if let Some(s) = self.on_line(n, id, line) {
            let waited = self.namespaces[n].slots[s].state == State::Queued;
            self.end_slot(n, s, if waited { State::Left } else { State::Released });
        }
        self.slot_answer(n, id)
    }

    /// S7a: a wait that runs out is no hang-up; the slot is ordinary until its caller is on the line again.
    pub(crate) fn line_end(&mut self, n: usize, id: &str, line: u64) -> Answer {
        if let Some(s) = self.on_line(n, id, line) {
            self.namespaces[n].slots[s].line = None;
        }
        self.slot_answer(n, id)
    }

    /// S7a: when a server dies, the auto slots on its lines are ordinary from then on.
    pub(crate) fn drop_lines(&mut self) {
        for slot in self.namespaces.iter_mut().flat_map(|namespace| &mut namespace.slots) {
            slot.line = None;
        }
    }

    fn on_line(&self, n: usize, id: &str, line: u64) -> Option<usize> {
        let s = self.namespaces[n].slot(id)?;
        (self.namespaces[n].slots[s].line == Some(line)).then_some(s)
    }

    fn slot_answer(&self, n: usize, id: &str) -> Answer {
        Answer::Slot(self.namespaces[n].slot_view(id))
    }
}
