//! Who is granted next, and the grant itself (S3, S4, S12; why it is right stands in `queue.rs`).

use std::{cmp::Reverse, collections::BinaryHeap};

use maitred_planted::{Defect, has};

use crate::{
    bounds::RESERVATION_MS,
    engine::Engine,
    event::{Event, EventKind},
    limits::{Limit, Presence},
    slab::Ref,
    slots::{Ask, Grant, Slot, Stage},
};

/// What one command, or one thing that fell due, leaves to be looked at.
#[derive(Default)]
#[cfg_attr(feature = "check", derive(Clone))]
pub(crate) struct Ready {
    /// Slots that are first in all their queues, by arrival, and may have room now.
    heads: BinaryHeap<Reverse<(u64, Ref<Slot>)>>,
    /// Retired limits that may have become empty.
    drained: Vec<Ref<Limit>>,
}

impl Ready {
    pub(crate) fn is_empty(&self) -> bool {
        self.heads.is_empty() && self.drained.is_empty()
    }
}

impl Engine {
    /// To be called whenever the room of a limit grows, its queue gets another head, or it may be empty.
    pub(crate) fn look_at(&mut self, limit: Ref<Limit>) {
        let limit_now = &self.limits[limit];
        if limit_now.presence == Presence::Retired {
            self.ready.drained.push(limit);
        }
        if let Some(head) = limit_now.queue.first() {
            self.offer(head);
        }
    }

    pub(crate) fn offer(&mut self, at: Ref<Slot>) {
        let slot = &self.slots[at];
        if slot.is_first_everywhere() {
            self.ready.heads.push(Reverse((slot.arrival, at)));
        }
    }

    /// Grants all that can be granted, lowest arrival first.
    ///
    /// Two slots that are both first everywhere share no limit, so neither takes the other's room; a grant makes
    /// room for nobody, but gives its queues new heads, which are looked at in turn.
    pub(crate) fn settle(&mut self, events: &mut Vec<Event>) {
        while let Some(Reverse((arrival, at))) = self.ready.heads.pop() {
            // A head may have been granted or ended since it was offered.
            let still_waits =
                self.slots.get(at).is_some_and(|slot| slot.arrival == arrival && slot.is_queued());
            if still_waits && self.has_room_for(&self.slots[at].asks) {
                let is_busy = self.slots[at].has_auto_caller();
                let stage = self.new_grant(at, is_busy);
                self.move_to(at, stage);
                self.emit_grant(at, events);
            }
        }
        while let Some(limit) = self.ready.drained.pop() {
            self.drop_if_drained(limit, events);
        }
    }

    pub(crate) fn has_room_for(&self, asks: &[Ask]) -> bool {
        asks.iter().all(|ask| self.limits[ask.limit].has_room(ask.weight))
    }

    /// Whether a slot that asks now would be first everywhere, and granted (S3: it overtakes nobody).
    pub(crate) fn goes_at_once(&self, asks: &[Ask]) -> bool {
        let nobody_waits = asks.iter().all(|ask| self.limits[ask.limit].queue.is_empty());
        (nobody_waits || has(Defect::Barging)) && self.has_room_for(asks)
    }

    /// The stage of a slot that is granted now. Capacity and max hold are read here and nowhere else (L5, L6).
    pub(crate) fn new_grant(&mut self, at: Ref<Slot>, is_busy: bool) -> Stage {
        self.fences += 1;
        if has(Defect::DiffersByCopy) {
            self.fences += std::ptr::from_ref(&self.slots[at]).addr() as u64 / 64 % 5;
        }
        let holds = self.slots[at].asks.iter().map(|ask| self.limits[ask.limit].max_hold_ms());
        let max_hold_ms = holds.min().expect("a slot names at least one limit");
        let ignores_hold = has(Defect::ReservationIgnoresHold);
        let reserved_ms = if ignores_hold { RESERVATION_MS } else { max_hold_ms.min(RESERVATION_MS) };
        let grant = Grant {
            fence: self.fences,
            granted_at: self.now,
            lapses_at: self.now + reserved_ms,
            expires_at: self.now + max_hold_ms,
        };
        if is_busy { Stage::Busy(grant) } else { Stage::Reserved(grant) }
    }

    pub(crate) fn emit_grant(&self, at: Ref<Slot>, events: &mut Vec<Event>) {
        let slot = &self.slots[at];
        let (Stage::Reserved(grant) | Stage::Busy(grant)) = slot.stage else { return };
        let kind = EventKind::SlotGranted {
            slot: self.slot_event(slot),
            busy: matches!(slot.stage, Stage::Busy(_)),
            fence: grant.fence,
            waited_ms: self.now - slot.queued_at,
            lapses_at: grant.lapses_at,
            expires_at: grant.expires_at,
        };
        self.emit(events, kind);
    }
}
