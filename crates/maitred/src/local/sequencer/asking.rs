//! What callers ask, how they wait, and how they go.

use maitred_api::{Call, Problem, Reason};
use maitred_engine::{
    command::{Command, Confirm, Line, Verb},
    names::{Namespace, SlotId},
};
use maitred_journal::Room;

use super::{
    Caller, Effect, LATER_MAX, PENDING_MAX, Pending, ReadAsked, Sequencer, in_flight,
    settling::{WaitEnd, bare_request, is_queued, stopping, storage_full},
};
use crate::local::{answer::AsOf, reading, timekeeper::Clocks, waiters::Waiter};

impl<R> Sequencer<R> {
    pub(super) fn ask(&mut self, mut pending: Pending<R>, effects: &mut Vec<Effect<R>>) {
        let Command::In(request) = &mut pending.command else { return };
        if let Err(problem) = self.may_ask(&request.verb) {
            let reply = pending.caller.reply.take();
            effects.extend(reply.map(|reply| Effect::Answer { reply, answer: Err(problem) }));
            return;
        }
        if let (Some(number), Verb::Acquire(acquire)) = (pending.caller.line, &mut request.verb)
            && acquire.confirm == Confirm::Auto
        {
            acquire.line = Some(Line { writer: self.writer, number });
        }
        self.pending.push_back(pending);
    }

    pub(super) fn may_ask(&self, verb: &Verb) -> Result<(), Problem> {
        if self.pending.len() >= PENDING_MAX {
            let message = "more calls than the server can take at once; try again in a moment";
            return Err(Problem::new(Reason::Overloaded, message));
        }
        let takes = matches!(verb, Verb::Acquire(_) | Verb::Admit(_) | Verb::Declare(_) | Verb::Deploy(_));
        if self.room == Room::Reserve && takes {
            return Err(storage_full());
        }
        Ok(())
    }

    pub(super) fn read(
        &mut self,
        asked: ReadAsked<R>,
        min_revision: Option<u64>,
        effects: &mut Vec<Effect<R>>,
    ) {
        match min_revision {
            Some(revision) if revision > self.follower.head() => {
                if self.later.len() < LATER_MAX {
                    self.later.push((revision, asked));
                    // Whoever asks has seen it: there are records of which no notice has come yet.
                    self.behind = true;
                } else {
                    let problem =
                        Problem::new(Reason::Overloaded, "too many reads wait for a later revision");
                    effects.push(Effect::Answer { reply: asked.reply, answer: Err(problem) });
                }
            }
            // One slot is as it is at the journal's end, unless its reader says how far is enough.
            None if matches!(asked.call, Call::Slot { .. }) => self.read_at_end(asked),
            _ => self.reads.push(asked),
        }
    }

    pub(super) fn answer_reads(&mut self, clocks: Clocks, effects: &mut Vec<Effect<R>>) {
        let head = self.follower.head();
        let due = self.later.extract_if(.., |(revision, _)| *revision <= head).map(|(_, asked)| asked);
        self.reads.extend(due);
        let at = self.known_at(clocks);
        let Some(engine) = self.follower.engine() else { return };
        let as_of = AsOf { revision: head, at };
        for asked in self.reads.drain(..) {
            let ReadAsked { namespace, call, line, reply } = asked;
            let waiting = match (line, &call) {
                (Some(line), Call::Slot { slot, .. }) => slot
                    .parse()
                    .ok()
                    .filter(|slot| is_queued(engine, &namespace, slot))
                    .map(|slot| (slot, line)),
                _ => None,
            };
            match waiting {
                Some((slot, line)) => self.answers.waiters.park(namespace, slot, Waiter { line, reply }),
                None => {
                    let answer = reading::read(engine, namespace.as_str(), &call, as_of);
                    effects.push(Effect::Answer { reply, answer });
                }
            }
        }
    }

    /// The caller on this line is gone. Its answer has no reader; if its slot is auto, it has left.
    pub(super) fn hang_up(&mut self, namespace: Namespace, slot: SlotId, line: u64, auto: bool) {
        self.answers.waiters.take(&namespace, &slot, line);
        self.forget_reads(line);
        let before = self.pending.len();
        self.pending.retain(|pending| pending.caller.line != Some(line));
        let never_sent = self.pending.len() < before;
        for (_, caller) in in_flight(&mut self.phase).filter(|(_, caller)| caller.line == Some(line)) {
            (caller.line, caller.reply) = (None, None);
        }
        if auto && !never_sent {
            let line = Line { writer: self.writer, number: line };
            self.push_verb(namespace, Verb::HangUp { slot, line });
        }
    }

    /// The wait ran out: an auto slot is ordinary from now on; the answer is how things stand then.
    ///
    /// If the acquire is still on its way, its line ends only once it is known that the slot waits: told before that,
    /// a caller could be granted a busy slot and never hear of it.
    pub(super) fn wait_over(&mut self, namespace: Namespace, slot: SlotId, line: u64, auto: bool) {
        match self.answers.waiters.take(&namespace, &slot, line) {
            Some(waiter) => self.end_line(WaitEnd { namespace, slot, line, auto, reply: waiter.reply }),
            None => {
                let looks = self.waiting_reads().filter(|asked| asked.line == Some(line));
                looks.for_each(|asked| asked.line = None);
                let waits = self.on_their_way().filter(|caller| caller.line == Some(line));
                waits.for_each(|caller| caller.wait_over = true);
            }
        }
    }

    pub(super) fn end_line(&mut self, end: WaitEnd<R>) {
        let WaitEnd { namespace, slot, line, auto, reply } = end;
        if auto {
            let verb = Verb::EndLine { slot, line: Line { writer: self.writer, number: line } };
            let command = Command::In(Box::new(bare_request(namespace, verb)));
            self.pending.push_back(Pending::new(command, Some(reply)));
        } else {
            let call = Call::Slot { slot: slot.to_string(), wait: Default::default() };
            self.reads.push(ReadAsked { namespace, call, line: None, reply });
        }
    }

    /// Its caller has been told without it; that its line has ended is said when it can be.
    pub(super) fn forget_line(&mut self, namespace: Namespace, slot: SlotId, number: u64) {
        self.push_verb(namespace, Verb::EndLine { slot, line: Line { writer: self.writer, number } });
    }

    /// Whose commands have not come to be.
    fn on_their_way(&mut self) -> impl Iterator<Item = &mut Caller<R>> {
        let pending = self.pending.iter_mut().map(|pending| &mut pending.caller);
        pending.chain(in_flight(&mut self.phase).map(|(_, caller)| caller))
    }

    /// As if every wait ran out: the slots keep their places and are ordinary, their callers are told how they stand.
    /// (Of a caller that only looks, the command names no line that the engine knows: it changes nothing.)
    pub(super) fn end_waits(&mut self, effects: &mut Vec<Effect<R>>) {
        for ((namespace, slot), Waiter { line, reply }) in self.answers.waiters.drain() {
            self.end_line(WaitEnd { namespace, slot, line, auto: true, reply });
        }
        // Those who are on their way wait no more either.
        self.waiting_reads().for_each(|asked| asked.line = None);
        let waits = self.on_their_way().filter(|caller| caller.line.is_some());
        waits.for_each(|caller| caller.wait_over = true);
        for (_, asked) in self.later.drain(..) {
            effects.push(Effect::Answer { reply: asked.reply, answer: Err(stopping()) });
        }
    }
}
