//! What falls due, and the clock that is moved by hand.

use maitred_api::{Answer, DoneAnswer, Problem, Reason};
use maitred_engine::{
    Engine,
    command::{Command, Verb},
    names::Namespace,
    time::Millis,
};

use super::{Effect, Pending, SHARED_DUE_MS, Sequencer, settling::bare_request};
use crate::local::timekeeper::Clocks;

impl<R> Sequencer<R> {
    pub(super) fn advance_to(&mut self, at: Millis, reply: R, effects: &mut Vec<Effect<R>>) {
        let refused = if self.time.manual().is_none() {
            Some("the clock of this server is not moved by hand; start it with --clock manual")
        } else if self.advancing.is_some() {
            Some("the clock is being moved by another call; try again")
        } else {
            None
        };
        match refused {
            Some(message) => {
                let problem = Problem::new(Reason::InvalidArgument, message);
                effects.push(Effect::Answer { reply, answer: Err(problem) });
            }
            None => self.advancing = Some((at, reply)),
        }
    }

    /// One due instant at a time, so that whoever is served at one can act before the next.
    pub(super) fn step_manual_clock(&mut self, clocks: Clocks, effects: &mut Vec<Effect<R>>) {
        let Some((target, reply)) = self.advancing.take() else { return };
        match self.engine().and_then(Engine::next_due) {
            Some(due) if due <= target => {
                self.time.advance_to(due);
                self.advancing = Some((target, reply));
            }
            _ => {
                self.time.advance_to(target);
                let done = DoneAnswer { revision: self.follower.head(), as_of: self.time.now(clocks) };
                effects.push(Effect::Answer { reply, answer: Ok(Answer::Done(done)) });
            }
        }
    }

    /// Writes that time has come, where something is due and no other command is about to say so.
    pub(super) fn push_due(&mut self, clocks: Clocks) {
        let due = self.engine().and_then(Engine::next_due);
        // Whatever falls due within a moment is said at once.
        if self.time.manual().is_none() && clocks.boot < self.advanced_at + SHARED_DUE_MS {
            return;
        }
        let rank_ms = if self.time.manual().is_some() { 0 } else { self.rank_ms() };
        if due.is_some_and(|due| due + rank_ms <= self.time.now(clocks)) && self.pending.is_empty() {
            self.advanced_at = clocks.boot;
            self.push(Command::Advance);
        }
    }

    pub(super) fn push(&mut self, command: Command) {
        self.pending.push_back(Pending::new(command, None));
    }

    pub(super) fn push_verb(&mut self, namespace: Namespace, verb: Verb) {
        self.push(Command::In(Box::new(bare_request(namespace, verb))));
    }
}
