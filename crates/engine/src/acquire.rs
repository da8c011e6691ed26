//! Asking for a slot, and what its holder may do with it (S1, S2, S7).

use maitred_planted::{Defect, has};
use smallvec::SmallVec;

use crate::{
    command::{Acquire, Confirm, Hold},
    digest::Named,
    engine::{Cause, Engine},
    event::{Event, EventKind, Was},
    index::NameHash,
    limits::Presence,
    memory::{Share, Standing},
    names::{Namespace, SlotId},
    outcome::{End, Outcome, Refusal, SlotStatus},
    requests::Answer,
    slab::Ref,
    slots::{Ask, Slot, Stage},
    time::Millis,
};

type Asks = SmallVec<[Ask; 2]>;

impl Engine {
    pub(crate) fn slot_hash(&self, namespace: &str, slot: &str) -> NameHash {
        self.hash_key.name(Named::Slot, [namespace, slot])
    }

    pub(crate) fn find_slot(&self, namespace: &str, slot: &str) -> Option<Ref<Slot>> {
        self.slots.find(self.slot_hash(namespace, slot))
    }

    /// What a slot is, now or since its end.
    pub(crate) fn status_of(&self, namespace: &Namespace, slot: &SlotId) -> SlotStatus {
        self.status(namespace.as_str(), slot.as_str())
    }

    pub(crate) fn ended_status(&self, hash: NameHash) -> SlotStatus {
        let answer = self.memory.get(hash).and_then(|entry| Answer::unpack(entry.answer));
        if let Some(Answer::Ended(end)) = answer { SlotStatus::Ended(end) } else { SlotStatus::Unknown }
    }

    pub(crate) fn acquire(
        &mut self,
        namespace: &Namespace,
        acquire: &Acquire,
        cause: Cause<'_>,
        events: &mut Vec<Event>,
    ) -> Outcome {
        let hash = self.slot_hash(namespace.as_str(), acquire.slot.as_str());
        let content = self.content_of_acquire(acquire);
        if let Some(at) = self.slots.find(hash) {
            return self.acquire_again(at, acquire, content, events);
        }
        if let Some(entry) = self.memory.get(hash) {
            let is_same = entry.content == content;
            return if is_same {
                Outcome::Slot(self.ended_status(hash))
            } else {
                Outcome::Refused(Refusal::Conflict)
            };
        }
        match self.admit_slot(namespace, acquire) {
            Ok(room) => self.take(namespace, acquire, NewSlot { hash, content, room }, cause, events),
            Err(refusal) => Outcome::Refused(refusal),
        }
    }

    /// What S2 compares: limits with weights in the order named, run, timeout, confirm, hold.
    fn content_of_acquire(&mut self, acquire: &Acquire) -> u64 {
        let Acquire { slot: _, asks, run, workflow: _, label: _, timeout_ms, confirm, hold, line: _ } =
            acquire;
        let bytes = &mut self.scratch;
        bytes.clear();
        for ask in asks {
            bytes.text(ask.limit.as_str());
            bytes.number(u64::from(ask.weight));
        }
        bytes.text("");
        bytes.option(run.as_ref(), |bytes, run| bytes.text(run.as_str()));
        bytes.number(*timeout_ms);
        bytes.flag(*confirm == Confirm::Auto);
        bytes.flag(*hold == Hold::Run);
        self.hash_key.content(bytes.as_bytes())
    }

    /// The same slot as it is now (S2). Only who is on its line changes; and an auto caller that finds its slot
    /// reserved has thereby confirmed it (S7a).
    fn acquire_again(
        &mut self,
        at: Ref<Slot>,
        acquire: &Acquire,
        content: u64,
        events: &mut Vec<Event>,
    ) -> Outcome {
        if self.slots[at].content != content && !has(Defect::ContentIgnored) {
            return Outcome::Refused(Refusal::Conflict);
        }
        if acquire.confirm == Confirm::Auto {
            self.set_line(at, acquire.line);
            self.make_busy(at, events);
        }
        Outcome::Slot(self.status_now(at))
    }

    /// Everything that may refuse a new slot, in the order that was settled.
    fn admit_slot(&mut self, namespace: &Namespace, acquire: &Acquire) -> Result<Room, Refusal> {
        let Standing::New { share, after_id } = self.memory.standing(self.now, acquire.slot.as_str()) else {
            return Err(Refusal::TooOld { horizon: self.memory.horizon });
        };
        let asks = self.find_limits(namespace, acquire)?;
        self.check_fits(&asks)?;
        let goes_at_once = self.goes_at_once(&asks);
        if !goes_at_once && acquire.timeout_ms > 0 {
            self.check_queues(&asks)?;
        }
        if self.slots.len() >= self.bounds.slots {
            return Err(Refusal::TooManySlots);
        }
        let is_remembered = self.memory.has_room(self.now, share);
        let room = Room { asks, goes_at_once, share, after_id };
        if is_remembered { Ok(room) } else { Err(Refusal::IdempotencyFull) }
    }

    fn find_limits(&self, namespace: &Namespace, acquire: &Acquire) -> Result<Asks, Refusal> {
        let find = |ask: &crate::command::Ask| {
            let found = self.find_limit(namespace.as_str(), ask.limit.as_str());
            let limit = found.ok_or_else(|| Refusal::LimitNotFound { limit: ask.limit.clone() })?;
            match self.limits[limit].presence {
                Presence::Declared => Ok(Ask { limit, weight: ask.weight }),
                Presence::Retired | Presence::Gone => Err(Refusal::LimitRetired { limit: ask.limit.clone() }),
            }
        };
        acquire.asks.iter().map(find).collect()
    }

    /// S13.
    fn check_fits(&self, asks: &[Ask]) -> Result<(), Refusal> {
        let too_heavy = |ask: &&Ask| ask.weight > self.limits[ask.limit].capacity();
        asks.iter().find(too_heavy).map_or(Ok(()), |ask| {
            let limit = &self.limits[ask.limit];
            Err(Refusal::NeverFits {
                limit: limit.name.clone(),
                weight: ask.weight,
                capacity: limit.capacity(),
            })
        })
    }

    fn check_queues(&self, asks: &[Ask]) -> Result<(), Refusal> {
        let most = self.bounds.waiting_per_limit as usize;
        if let Some(full) = asks.iter().find(|ask| self.limits[ask.limit].queue.len() >= most) {
            return Err(Refusal::QueueFull { limit: Some(self.limits[full.limit].name.clone()) });
        }
        if self.waiting >= self.bounds.waiting { Err(Refusal::QueueFull { limit: None }) } else { Ok(()) }
    }

    fn take(
        &mut self,
        namespace: &Namespace,
        acquire: &Acquire,
        new: NewSlot,
        cause: Cause<'_>,
        events: &mut Vec<Event>,
    ) -> Outcome {
        let goes_at_once = new.room.goes_at_once;
        let slot = self.new_slot(acquire, new);
        if !goes_at_once && acquire.timeout_ms == 0 {
            return self.turn_away(slot, acquire, cause, events);
        }
        self.memory.promise(slot.share);
        let at = self.slots.insert(slot);
        self.set_line(at, acquire.line.filter(|_| acquire.confirm == Confirm::Auto));
        if let Some(run) = &acquire.run {
            let run = self.runs.hold(self.hash_key, namespace, self.slots[at].space, run);
            self.runs.add_slot(run, at);
            self.slots[at].run = Some(run);
        }
        if goes_at_once {
            // Whoever asks is on the line to hear the answer.
            self.slots[at].stage = self.new_grant(at, acquire.confirm == Confirm::Auto);
            self.attach(at);
            self.emit_grant(at, events);
        } else {
            self.attach(at);
            self.emit(events, EventKind::SlotQueued(self.slot_event(&self.slots[at])));
        }
        Outcome::Slot(self.status_now(at))
    }

    fn new_slot(&mut self, acquire: &Acquire, new: NewSlot) -> Slot {
        self.arrivals += 1;
        let Room { asks, goes_at_once: _, share, after_id } = new.room;
        Slot {
            hash: new.hash,
            space: self.limits[asks[0].limit].space,
            id: acquire.slot.clone(),
            content: new.content,
            share,
            after_id,
            asks,
            run: None,
            workflow: acquire.workflow.clone(),
            label: acquire.label.clone(),
            confirm: acquire.confirm,
            hold: acquire.hold,
            line: None,
            arrival: self.arrivals,
            asked_at: self.now,
            queued_at: self.now,
            gives_up_at: self.now + acquire.timeout_ms,
            laps: 0,
            stage: Stage::Queued { firsts: 0, lapsed: None },
        }
    }

    /// A wait of zero that cannot be granted: asked for and ended at once. It is remembered like any other.
    fn turn_away(
        &mut self,
        slot: Slot,
        acquire: &Acquire,
        cause: Cause<'_>,
        events: &mut Vec<Event>,
    ) -> Outcome {
        self.remember_end(&slot, End::TimedOut);
        let story = self.story_of(slot, acquire.run.clone(), Was::New, End::TimedOut, cause);
        self.emit(events, EventKind::SlotEnded(Box::new(story)));
        Outcome::Slot(SlotStatus::Ended(End::TimedOut))
    }

    pub(crate) fn confirm(
        &mut self,
        namespace: &Namespace,
        slot: &SlotId,
        events: &mut Vec<Event>,
    ) -> Outcome {
        let Some(at) = self.find_slot(namespace.as_str(), slot.as_str()) else {
            return Outcome::Slot(self.status_of(namespace, slot));
        };
        self.make_busy(at, events);
        Outcome::Slot(self.status_now(at))
    }

    /// S7, S8: whoever knows the id.
    pub(crate) fn release(
        &mut self,
        namespace: &Namespace,
        slot: &SlotId,
        cause: Cause<'_>,
        events: &mut Vec<Event>,
    ) -> Outcome {
        match self.find_slot(namespace.as_str(), slot.as_str()) {
            Some(at) if !self.slots[at].is_queued() => {
                let at = if has(Defect::ReleasesByLimit) { self.longest_beside(at) } else { at };
                self.end(at, End::Released, cause, events);
                Outcome::Release { released: true, status: SlotStatus::Ended(End::Released) }
            }
            _ => Outcome::Release { released: false, status: self.status_of(namespace, slot) },
        }
    }

    /// For a planted defect.
    fn longest_beside(&self, at: Ref<Slot>) -> Ref<Slot> {
        self.limits[self.slots[at].asks[0].limit].holders.iter().next().unwrap_or(at)
    }

    /// S7a: a queued or reserved slot is given up, a busy one stays.
    pub(crate) fn leave(
        &mut self,
        namespace: &Namespace,
        slot: &SlotId,
        cause: Cause<'_>,
        events: &mut Vec<Event>,
    ) -> Outcome {
        match self.find_slot(namespace.as_str(), slot.as_str()) {
            Some(at) if !matches!(self.slots[at].stage, Stage::Busy(_)) => {
                self.end(at, End::Left, cause, events);
                Outcome::Slot(SlotStatus::Ended(End::Left))
            }
            _ => Outcome::Slot(self.status_of(namespace, slot)),
        }
    }
}

/// What was found out about a slot before it is made.
struct NewSlot {
    hash: NameHash,
    content: u64,
    room: Room,
}

/// Where a slot that nothing refuses will stand.
struct Room {
    asks: Asks,
    goes_at_once: bool,
    share: Share,
    after_id: Millis,
}
