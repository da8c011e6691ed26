//! The engine: its state, and how a command is applied.

use std::collections::BTreeSet;

use crate::{
    bounds::Bounds,
    bytes::Writer,
    command::{Command, Request, Verb},
    digest::{Digest, HashKey},
    due::Calendar,
    event::{Event, EventKind},
    granting::Ready,
    index::Table,
    limits::{Limit, Space},
    memory::Memory,
    names::Label,
    outcome::{Outcome, Refusal},
    places::Places,
    rates::Rates,
    runs::Runs,
    slab::Ref,
    slots::Slot,
    tasks::Task,
    time::Millis,
};

/// The newest rules this binary knows. Older ones are kept for as long as journals may hold them.
pub const RULES_MAX: u32 = if cfg!(feature = "next-rules") { 2 } else { 1 };

/// Far beyond any clock, and far from where times added to it would overflow.
pub(crate) const TIME_MAX: Millis = 1 << 53;

/// The whole state of the rules: limits, slots, queues, rates, places, and what is remembered.
///
/// It changes by [`Engine::apply`] only. Reads stand in `read.rs`, snapshots in `snapshot.rs`.
#[cfg_attr(feature = "check", derive(Clone))]
pub struct Engine {
    pub(crate) now: Millis,
    pub(crate) rules: u32,
    pub(crate) bounds: Bounds,
    pub(crate) hash_key: HashKey,
    /// The last arrival number given. Every slot gets one when it joins its queues, and a new one when it is put back.
    pub(crate) arrivals: u64,
    /// The last fence given (S14).
    pub(crate) fences: u64,
    pub(crate) spaces: Table<Space>,
    pub(crate) limits: Table<Limit>,
    pub(crate) slots: Table<Slot>,
    /// How many slots are queued.
    pub(crate) waiting: u32,
    /// Slots whose newest callers are or were on a line, by the process that holds it.
    pub(crate) lines: BTreeSet<(u64, Ref<Slot>)>,
    pub(crate) calendar: Calendar,
    /// What has to be looked at before this command is done. Empty between commands.
    pub(crate) ready: Ready,
    pub(crate) runs: Runs,
    pub(crate) tasks: Table<Task>,
    pub(crate) rates: Rates,
    pub(crate) places: Places,
    pub(crate) memory: Memory,
    pub(crate) digest: Digest,
    /// Where contents are written to be hashed. Means nothing between uses.
    pub(crate) scratch: Writer,
}

/// Who asked for something and why, for the record (S8).
#[derive(Clone, Copy, Default)]
pub(crate) struct Cause<'a> {
    pub(crate) by: Option<&'a Label>,
    pub(crate) reason: Option<&'a Label>,
}

impl Engine {
    /// An empty engine. `hash_key` comes from the journal's birth and must never change within a journal.
    pub fn new(hash_key: [u64; 2], bounds: Bounds) -> Engine {
        Engine {
            now: 0,
            rules: 1,
            bounds,
            hash_key: HashKey(hash_key),
            arrivals: 0,
            fences: 0,
            spaces: Table::new(),
            limits: Table::new(),
            slots: Table::new(),
            waiting: 0,
            lines: BTreeSet::new(),
            calendar: Calendar::default(),
            ready: Ready::default(),
            runs: Runs::new(),
            tasks: Table::new(),
            rates: Rates::new(),
            places: Places::new(),
            memory: Memory::new(&bounds),
            digest: Digest(0),
            scratch: Writer::new(),
        }
    }

    /// Carries out a command at a time, and everything that was due before it (T2). Only the end of a process's lines
    /// comes first: it was gone before whatever fell due since, and nobody was on its lines to be granted it (S7a).
    ///
    /// Time never goes back: an `at` before [`Engine::now`] is taken as now (T1). A refusal is an outcome, and
    /// then nothing but time has changed. What happened is appended to `events`, in order.
    pub fn apply(&mut self, at: Millis, command: &Command, events: &mut Vec<Event>) -> Outcome {
        if let Command::DropLines { writer } = command {
            self.drop_lines(*writer);
        }
        self.advance(at.min(TIME_MAX), events);
        let outcome = self.carry_out(command, events);
        self.settle(events);
        self.collect_some();
        self.digest_step(&outcome);
        #[cfg(feature = "check")]
        self.inspect().unwrap_or_else(|fault| panic!("after {command:?} at {at}: {fault}"));
        outcome
    }

    fn carry_out(&mut self, command: &Command, events: &mut Vec<Event>) -> Outcome {
        match command {
            Command::Advance | Command::DropLines { .. } => Outcome::Done,
            Command::SetRules { version } => self.set_rules(*version),
            Command::In(request) => self.carry_out_request(request, events),
        }
    }

    pub(crate) fn carry_out_verb(&mut self, request: &Request, events: &mut Vec<Event>) -> Outcome {
        let Request { namespace, request: _, by, reason, verb } = request;
        let cause = Cause { by: by.as_ref(), reason: reason.as_ref() };
        match verb {
            Verb::Declare(declaration) => self.declare(namespace, declaration, events),
            Verb::Deploy(declarations) => self.deploy(namespace, declarations, events),
            Verb::SetCapacity { limit, capacity } => self.set_capacity(namespace, limit, *capacity, events),
            Verb::SetMaxHold { limit, max_hold_ms } => {
                self.set_max_hold(namespace, limit, *max_hold_ms, events)
            }
            Verb::Pause { limit } => self.pause(namespace, limit, events),
            Verb::Resume { limit } => self.resume(namespace, limit, events),
            Verb::Acquire(acquire) => self.acquire(namespace, acquire, cause, events),
            Verb::Confirm { slot } => self.confirm(namespace, slot, events),
            Verb::Release { slot } => self.release(namespace, slot, cause, events),
            Verb::Leave { slot } => self.leave(namespace, slot, cause, events),
            Verb::HangUp { slot, line } => self.hang_up(namespace, slot, *line, cause, events),
            Verb::EndLine { slot, line } => self.end_line(namespace, slot, *line),
            Verb::EndRun { run, status } => self.end_run(namespace, run, *status, cause, events),
            Verb::Admit(admit) => self.admit(namespace, admit),
            Verb::ResetRate { task, key } => self.reset_rate(namespace, task, key, events),
        }
    }

    fn set_rules(&mut self, version: u32) -> Outcome {
        if version > RULES_MAX {
            return Outcome::Refused(Refusal::UnsupportedRules { version });
        }
        self.rules = self.rules.max(version);
        Outcome::Done
    }

    /// Folds the outcome in, and what two engines would most likely differ in if they ever did.
    fn digest_step(&mut self, outcome: &Outcome) {
        self.digest.add(self.now);
        self.digest.add(self.arrivals ^ self.fences.rotate_left(32));
        self.digest.add_outcome(outcome);
    }

    pub(crate) fn emit(&self, events: &mut Vec<Event>, kind: EventKind) {
        events.push(Event { at: self.now, kind });
    }

    /// The time of the last command, or of what was due last.
    pub fn now(&self) -> Millis {
        self.now
    }

    /// When a slot next expires, lapses or gives up. Somebody should then apply [`Command::Advance`].
    pub fn next_due(&self) -> Option<Millis> {
        self.calendar.next()
    }

    /// What it was begun with: the journal's own key.
    pub fn key(&self) -> [u64; 2] {
        self.hash_key.0
    }

    /// The version of the rules in force.
    pub fn rules(&self) -> u32 {
        self.rules
    }

    /// Of all outcomes so far: two engines that were given the same commands at the same times have the same.
    pub fn outcome_digest(&self) -> u64 {
        self.digest.0
    }
}
