//! What one applied command means for those who asked and those who wait.

use std::collections::HashSet;

use maitred_api::{Answer, Problem, Reason};
use maitred_engine::{
    Engine,
    command::{Command, Confirm, Request, Verb},
    event::{Event, EventKind, SlotEvent},
    names::{Namespace, SlotId},
    outcome::{Outcome, SlotStatus},
};

use super::{Caller, Effect};
use crate::local::{
    answer::{self, AsOf},
    record::{Body, Entry},
    waiters::{Waiter, Waiters},
};

/// Answers on their way: parked until the slot changes, or kept back until the record is durable.
pub(super) struct Answers<R> {
    pub waiters: Waiters<R>,
    unpublished: Vec<(R, Result<Answer, Problem>)>,
    /// Callers whose slot waits, but who do not any more.
    pub waits_over: Vec<WaitEnd<R>>,
    /// Namespaces whose rates and places are answered when written.
    pub when_written: HashSet<Namespace>,
}

/// The end of one wait on a line.
pub(super) struct WaitEnd<R> {
    pub namespace: Namespace,
    pub slot: SlotId,
    pub line: u64,
    pub auto: bool,
    pub reply: R,
}

impl<R> Default for Answers<R> {
    fn default() -> Self {
        Self {
            waiters: Waiters::default(),
            unpublished: Vec::new(),
            waits_over: Vec::new(),
            when_written: HashSet::new(),
        }
    }
}

impl<R> Answers<R> {
    /// The answer to one command, kept back until it is durable, or its caller parked while the slot waits.
    pub fn settle(
        &mut self,
        engine: &Engine,
        (command, outcome): (&Command, &Outcome),
        caller: Caller<R>,
        as_of: AsOf,
        effects: &mut Vec<Effect<R>>,
    ) {
        let (Command::In(request), Some(reply)) = (command, caller.reply) else { return };
        if let (Some(line), Verb::Acquire(acquire), Outcome::Slot(SlotStatus::Queued { .. })) =
            (caller.line, &request.verb, outcome)
        {
            let (namespace, slot) = (request.namespace.clone(), acquire.slot.clone());
            if caller.wait_over {
                let auto = acquire.confirm == Confirm::Auto;
                return self.waits_over.push(WaitEnd { namespace, slot, line, auto, reply });
            }
            return self.waiters.park(namespace, slot, Waiter { line, reply });
        }
        let answer = answer::change(engine, request, caller.admit.as_ref(), outcome, as_of);
        if self.is_answered_when_written(command) {
            effects.push(Effect::Answer { reply, answer });
        } else {
            self.unpublished.push((reply, answer));
        }
    }

    fn is_answered_when_written(&self, command: &Command) -> bool {
        matches!(command, Command::In(request)
            if matches!(request.verb, Verb::Admit(_)) && self.when_written.contains(&request.namespace))
    }

    /// Whether a record of these has no answer that waits for its flush.
    pub fn are_answered_when_written(&self, entry: &Entry) -> bool {
        let Body::Batch(batch) = &entry.body else { return false };
        !self.when_written.is_empty()
            && batch.commands.iter().all(|command| self.is_answered_when_written(command))
    }

    /// Callers whose slot was granted or ended get it as it now is.
    pub fn wake(&mut self, engine: &Engine, events: &[Event], as_of: AsOf) {
        for event in events {
            let (namespace, slot) = match &event.kind {
                EventKind::SlotGranted { slot: SlotEvent { namespace, id, .. }, .. } => (namespace, id),
                EventKind::SlotEnded(ended) => (&ended.namespace, &ended.id),
                _ => continue,
            };
            if self.waiters.is_empty() || is_queued(engine, namespace, slot) {
                continue;
            }
            for waiter in self.waiters.wake(namespace, slot) {
                let now = answer::slot_now(engine, namespace.as_str(), slot.as_str(), as_of);
                self.unpublished.push((waiter.reply, Ok(Answer::Slot(now))));
            }
        }
    }

    /// The lines of this process are gone: whoever hangs on one is told how its slot stands, and asks again.
    pub fn let_go(&mut self, engine: &Engine, as_of: AsOf) {
        for ((namespace, slot), waiter) in self.waiters.drain() {
            let now = answer::slot_now(engine, namespace.as_str(), slot.as_str(), as_of);
            self.unpublished.push((waiter.reply, Ok(Answer::Slot(now))));
        }
    }

    pub fn publish(&mut self, effects: &mut Vec<Effect<R>>) {
        effects.extend(self.unpublished.drain(..).map(|(reply, answer)| Effect::Answer { reply, answer }));
    }
}

pub(super) fn is_queued(engine: &Engine, namespace: &Namespace, slot: &SlotId) -> bool {
    matches!(engine.status(namespace.as_str(), slot.as_str()), SlotStatus::Queued { .. })
}

pub(super) fn bare_request(namespace: Namespace, verb: Verb) -> Request {
    Request { namespace, request: None, by: None, reason: None, verb }
}

pub(super) fn storage_full() -> Problem {
    let message =
        "the disk of the journal is full: only what gives something back is taken; free space on it";
    Problem::new(Reason::StorageFull, message)
}

/// What came of an acquire is in the journal; that its wait is over could not be written.
pub(super) fn slot_unknown() -> Problem {
    let message = "the disk of the journal is full: what has become of the slot cannot be told; ask again with the same slot id";
    Problem::new(Reason::Unknown, message)
}

/// What the node itself has to say of the lines it holds or held. Nobody says it again.
pub(super) fn is_end_of_line(command: &Command) -> bool {
    match command {
        Command::DropLines { .. } => true,
        Command::In(request) => matches!(request.verb, Verb::HangUp { .. } | Verb::EndLine { .. }),
        _ => false,
    }
}

/// What those are told who wait for a later revision when the node stops.
pub(super) fn stopping() -> Problem {
    Problem::new(Reason::Unavailable, "the server is stopping; ask again when it is back")
}
