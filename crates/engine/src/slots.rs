//! Slots: their stages and the only moves between them.
//!
//! ```text
//!            acquire ─────────────┬──────────────┐
//!               │                 ▼              ▼
//!               └──▶ queued ─▶ reserved ─▶ busy        (granted: reserved, or busy for a caller on the line)
//!                      ▲          │
//!                      └──────────┘ lapsed             (from every stage: an end)
//! ```
//!
//! A slot stands in its queues or among its holders, and in the calendar, according to its stage. [`Engine::attach`]
//! and [`Engine::detach`] are the only places that put it there and take it away, so the stage and the sets cannot
//! drift apart.

use maitred_planted::{Defect, has};
use smallvec::SmallVec;

use crate::{
    command::{Confirm, Hold, Line},
    due::{Class, Due},
    engine::{Cause, Engine},
    event::{EndedSlot, Event, EventKind, SlotEvent, Was},
    index::{Hashed, NameHash},
    limits::{Limit, Space},
    memory::{Entry, Share},
    names::{Label, LimitName, RunId, SlotId},
    outcome::{End, SlotStatus},
    requests::Answer,
    runs::Run,
    slab::Ref,
    time::Millis,
};

#[cfg_attr(feature = "check", derive(Clone))]
pub(crate) struct Slot {
    /// Of the namespace and the id; also its name in the memory of ended slots.
    pub(crate) hash: NameHash,
    pub(crate) space: Ref<Space>,
    pub(crate) id: SlotId,
    /// Of what S2 compares.
    pub(crate) content: u64,
    /// Where its end will be remembered, and with what time in its id.
    pub(crate) share: Share,
    pub(crate) after_id: Millis,
    /// In the order named.
    pub(crate) asks: SmallVec<[Ask; 2]>,
    pub(crate) run: Option<Ref<Run>>,
    pub(crate) workflow: Option<Label>,
    pub(crate) label: Option<Label>,
    pub(crate) confirm: Confirm,
    pub(crate) hold: Hold,
    /// The line of the newest caller, if it is on one and wants the slot busy at once.
    pub(crate) line: Option<Line>,
    /// Its rank in all its queues.
    pub(crate) arrival: u64,
    pub(crate) asked_at: Millis,
    pub(crate) queued_at: Millis,
    pub(crate) gives_up_at: Millis,
    pub(crate) laps: u32,
    pub(crate) stage: Stage,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ask {
    pub(crate) limit: Ref<Limit>,
    pub(crate) weight: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// `firsts`: in how many of its queues it is first. `lapsed`: the grant it did not confirm, if any.
    Queued {
        firsts: u8,
        lapsed: Option<Grant>,
    },
    Reserved(Grant),
    Busy(Grant),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Grant {
    pub(crate) fence: u64,
    pub(crate) granted_at: Millis,
    pub(crate) lapses_at: Millis,
    pub(crate) expires_at: Millis,
}

impl Hashed for Slot {
    fn hash(&self) -> NameHash {
        self.hash
    }
}

impl Slot {
    pub(crate) fn is_queued(&self) -> bool {
        matches!(self.stage, Stage::Queued { .. })
    }

    pub(crate) fn is_first_everywhere(&self) -> bool {
        matches!(self.stage, Stage::Queued { firsts, .. } if usize::from(firsts) == self.asks.len())
    }

    /// Whether a grant makes it busy at once (S4): its caller is on the line to receive it.
    pub(crate) fn has_auto_caller(&self) -> bool {
        self.confirm == Confirm::Auto && self.line.is_some()
    }

    /// The one entry it has in the calendar.
    pub(crate) fn due(&self) -> Due {
        let (at, class) = match self.stage {
            Stage::Queued { .. } => (self.gives_up_at, Class::Timeout),
            Stage::Reserved(grant) => (grant.lapses_at, Class::Lapse),
            Stage::Busy(grant) => (grant.expires_at, Class::Expiry),
        };
        Due::new(at, class, self.arrival)
    }

    /// The last grant, in force or lapsed.
    pub(crate) fn last_grant(&self) -> Option<Grant> {
        match self.stage {
            Stage::Queued { lapsed, .. } => lapsed,
            Stage::Reserved(grant) | Stage::Busy(grant) => Some(grant),
        }
    }

    /// Of the grant in force.
    pub(crate) fn fence(&self) -> Option<u64> {
        match self.stage {
            Stage::Queued { .. } => None,
            Stage::Reserved(grant) | Stage::Busy(grant) => Some(grant.fence),
        }
    }

    fn was(&self) -> Was {
        match self.stage {
            Stage::Queued { .. } => Was::Queued,
            Stage::Reserved(_) => Was::Reserved,
            Stage::Busy(_) => Was::Busy,
        }
    }
}

impl Engine {
    /// Puts the slot where its stage says it stands.
    pub(crate) fn attach(&mut self, at: Ref<Slot>) {
        let slot = &self.slots[at];
        self.calendar.insert(slot.due(), at);
        match slot.stage {
            Stage::Queued { .. } => self.join_queues(at),
            Stage::Reserved(grant) => {
                for ask in &slot.asks {
                    self.limits[ask.limit].holders.reserved.insert(grant.fence, at, ask.weight);
                }
            }
            Stage::Busy(grant) => {
                for ask in &slot.asks {
                    self.limits[ask.limit].holders.busy.insert(grant.fence, at, ask.weight);
                }
            }
        }
    }

    /// Takes the slot away from where its stage says it stands, and has looked at whatever that makes possible.
    pub(crate) fn detach(&mut self, at: Ref<Slot>) {
        let slot = &self.slots[at];
        self.calendar.remove(slot.due());
        match slot.stage {
            Stage::Queued { .. } => return self.leave_queues(at),
            Stage::Reserved(grant) => {
                for ask in &slot.asks {
                    self.limits[ask.limit].holders.reserved.remove(grant.fence, ask.weight);
                }
            }
            Stage::Busy(grant) => {
                for ask in &slot.asks {
                    self.limits[ask.limit].holders.busy.remove(grant.fence, ask.weight);
                }
            }
        }
        for index in 0..self.slots[at].asks.len() {
            self.look_at(self.slots[at].asks[index].limit);
        }
    }

    fn join_queues(&mut self, at: Ref<Slot>) {
        self.waiting += 1;
        let slot = &mut self.slots[at];
        let mut firsts_now = 0;
        for ask in &slot.asks {
            let queue = &mut self.limits[ask.limit].queue;
            queue.push(slot.arrival, at);
            firsts_now += u8::from(queue.len() == 1);
        }
        if let Stage::Queued { firsts, .. } = &mut slot.stage {
            *firsts = firsts_now;
        }
        self.offer(at);
    }

    fn leave_queues(&mut self, at: Ref<Slot>) {
        self.waiting -= 1;
        let slot = &self.slots[at];
        let arrival = slot.arrival;
        for index in 0..slot.asks.len() {
            let limit = self.slots[at].asks[index].limit;
            let queue = &mut self.limits[limit].queue;
            let was_first = queue.first() == Some(at);
            queue.remove(arrival);
            if was_first {
                self.greet_new_head(limit);
            }
        }
    }

    fn greet_new_head(&mut self, limit: Ref<Limit>) {
        if let Some(head) = self.limits[limit].queue.first()
            && let Stage::Queued { firsts, .. } = &mut self.slots[head].stage
        {
            *firsts += 1;
        }
        self.look_at(limit);
    }

    pub(crate) fn move_to(&mut self, at: Ref<Slot>, stage: Stage) {
        let before = self.slots[at].stage;
        debug_assert!(matches!(
            (before, stage),
            (Stage::Queued { .. }, Stage::Reserved(_) | Stage::Busy(_))
                | (Stage::Reserved(_), Stage::Busy(_))
        ));
        self.detach(at);
        self.slots[at].stage = stage;
        self.attach(at);
    }

    /// Reserved becomes busy (S4). Its expiry was set at the grant and does not move (L6).
    pub(crate) fn make_busy(&mut self, at: Ref<Slot>, events: &mut Vec<Event>) {
        if let Stage::Reserved(mut grant) = self.slots[at].stage {
            if has(Defect::ExpiryMoves) {
                grant.expires_at += self.now - grant.granted_at;
            }
            self.move_to(at, Stage::Busy(grant));
            let slot = self.slot_event(&self.slots[at]);
            let (fence, expires_at) = (grant.fence, grant.expires_at);
            self.emit(events, EventKind::SlotConfirmed { slot, fence, expires_at });
        }
    }

    /// The end of a slot, whatever it was: it stands nowhere any more, and how it ended is remembered.
    pub(crate) fn end(&mut self, at: Ref<Slot>, end: End, cause: Cause<'_>, events: &mut Vec<Event>) {
        self.detach(at);
        self.set_line(at, None);
        let slot = self.slots.remove(at);
        let run = slot.run.map(|run| self.runs.id(run).clone());
        if let Some(run) = slot.run {
            self.runs.remove_slot(run, at);
        }
        self.memory.keep_promise(slot.share);
        if !has(Defect::EndForgotten) {
            self.remember_end(&slot, end);
        }
        let was = slot.was();
        let story = self.story_of(slot, run, was, end, cause);
        self.emit(events, EventKind::SlotEnded(Box::new(story)));
    }

    pub(crate) fn remember_end(&mut self, slot: &Slot, end: End) {
        let entry = Entry {
            id: slot.hash,
            content: slot.content,
            answer: Answer::Ended(end).pack(),
            at: self.now,
            after_id: slot.after_id,
        };
        self.memory.remember(slot.share, entry);
    }

    pub(crate) fn story_of(
        &self,
        slot: Slot,
        run: Option<RunId>,
        was: Was,
        end: End,
        cause: Cause<'_>,
    ) -> EndedSlot {
        let grant = slot.last_grant();
        EndedSlot {
            namespace: self.spaces[slot.space].name.clone(),
            limits: self.named_asks(&slot.asks),
            id: slot.id,
            run,
            workflow: slot.workflow,
            label: slot.label,
            hold: slot.hold,
            end,
            was,
            by: cause.by.cloned(),
            reason: cause.reason.cloned(),
            asked_at: slot.asked_at,
            granted_at: grant.map(|grant| grant.granted_at),
            fence: grant.map(|grant| grant.fence),
            laps: slot.laps,
        }
    }

    pub(crate) fn named_asks(&self, asks: &[Ask]) -> Vec<(LimitName, u32)> {
        asks.iter().map(|ask| (self.limits[ask.limit].name.clone(), ask.weight)).collect()
    }

    pub(crate) fn slot_event(&self, slot: &Slot) -> SlotEvent {
        SlotEvent {
            namespace: self.spaces[slot.space].name.clone(),
            id: slot.id.clone(),
            limit: self.limits[slot.asks[0].limit].name.clone(),
            further: slot.asks[1..].iter().map(|ask| self.limits[ask.limit].name.clone()).collect(),
        }
    }

    /// What a slot is now.
    pub(crate) fn status_now(&self, at: Ref<Slot>) -> SlotStatus {
        let slot = &self.slots[at];
        match slot.stage {
            Stage::Queued { .. } => SlotStatus::Queued {
                place: self.limits[slot.asks[0].limit].queue.place(slot.arrival),
                gives_up_at: slot.gives_up_at,
            },
            Stage::Reserved(Grant { fence, granted_at, lapses_at, expires_at }) => {
                SlotStatus::Reserved { fence, granted_at, lapses_at, expires_at }
            }
            Stage::Busy(Grant { fence, granted_at, expires_at, .. }) => {
                SlotStatus::Busy { fence, granted_at, expires_at }
            }
        }
    }
}
