//! The record under way: from the waiting commands to what its outcomes answer.

use bytes::Bytes;
use maitred_engine::{Engine, command::Command, event::Event, outcome::Outcome};
use maitred_journal::{AppendError, JournalError, Position, RECORD_BYTES_MAX, Record, Room, Stamp};
use maitred_planted::{Defect, has};

use super::{
    Caller, Effect, FULL_PAUSE_MS, InFlight, Pending, Phase, RECORD_COMMANDS_MAX, Sequencer, WRITTEN_SYNC_MS,
    paired,
    settling::{is_end_of_line, slot_unknown, storage_full},
};
use crate::local::{
    answer::AsOf,
    follower::Halt,
    record::{Batch, Body, Entry},
    timekeeper::Clocks,
};

/// What most commands take, and less than a second growing of the buffer costs.
const COMMAND_BYTES_USUAL: usize = 192;
/// Whoever reads so many at once may not have read all.
const MUCH_RECORDS: usize = 50;

impl<R> Sequencer<R> {
    pub(super) fn append_next(&mut self, clocks: Clocks, effects: &mut Vec<Effect<R>>) {
        let mut batch = Batch {
            estimate: self.time.estimate(clocks).filter(|_| self.time.manual().is_none()),
            manual_at: self.time.manual(),
            digest: self.follower.due_digest(),
            commands: Vec::new(),
        };
        let before = self.follower.hash();
        let mut out = batch.start(self.writer, before);
        let most = self.pending.len().min(RECORD_COMMANDS_MAX);
        batch.commands.reserve_exact(most);
        out.reserve(most * COMMAND_BYTES_USUAL);
        let mut callers = Vec::with_capacity(most);
        while let Some(next) = self.next_behind(&batch.commands, effects) {
            let full_at = out.len();
            next.command.encode(&mut out);
            if out.len() > RECORD_BYTES_MAX || callers.len() == RECORD_COMMANDS_MAX {
                out.truncate(full_at);
                self.pending.push_front(next);
                break;
            }
            batch.commands.push(next.command);
            callers.push(next.caller);
        }
        if callers.is_empty() {
            return; // all that there was is answered
        }
        let bytes = Bytes::from(out.into_bytes());
        let entry = Entry { writer: self.writer, before, body: Body::Batch(batch) };
        effects.push(Effect::Append { after: self.follower.head(), bytes: bytes.clone() });
        self.phase = Phase::Appending(InFlight { entry, bytes, callers });
    }

    pub(super) fn appended(
        &mut self,
        clocks: Clocks,
        result: Result<Stamp, AppendError>,
        effects: &mut Vec<Effect<R>>,
    ) {
        let Phase::Appending(flight) = std::mem::replace(&mut self.phase, Phase::Idle) else { return };
        match result {
            Err(AppendError::Conflict { expected }) if has(Defect::ConflictIgnored) => {
                let stamp = Stamp { position: expected + 1, at: self.now(clocks) };
                self.take_own(clocks, stamp, flight, effects);
            }
            Ok(stamp) => {
                self.heard(clocks);
                self.wrote(clocks);
                self.take_own(clocks, stamp, flight, effects);
            }
            // Even a conflict does not say that nothing was written: an earlier try of the same record may have
            // landed meanwhile, and be what this one conflicts with.
            Err(AppendError::Conflict { .. }) => {
                self.heard(clocks);
                self.resolve(flight, effects);
            }
            Err(AppendError::Unknown(_)) => {
                self.pause(clocks);
                self.resolve(flight, effects);
            }
            Err(AppendError::Full { .. }) => {
                self.room = Room::Reserve;
                self.refuse_what_takes(clocks, flight, effects);
            }
            Err(AppendError::Broken(what)) => self.halt(Halt::Journal(what), effects),
        }
    }

    /// Only the records behind the head tell what has become of the one under way.
    fn resolve(&mut self, flight: InFlight<R>, effects: &mut Vec<Effect<R>>) {
        self.phase = Phase::Resolving(flight);
        match &mut self.sharing {
            // With the next pump, which may have to wait.
            Some(sharing) => sharing.reread = true,
            None => effects.push(Effect::Read { after: self.follower.head() }),
        }
    }

    /// To be proposed again; but that time has come, somebody else has said meanwhile, or it is found out anew.
    pub(super) fn put_back(&mut self, waiting: Vec<Pending<R>>) {
        for pending in waiting.into_iter().rev().filter(|pending| pending.command != Command::Advance) {
            self.pending.push_front(pending);
        }
    }

    /// Nothing was written. What gives back is tried once more by itself, the rest is refused. If nothing at all has
    /// room, the node pauses; that a caller has gone or waits no more is then said when there is room again.
    fn refuse_what_takes(&mut self, clocks: Clocks, flight: InFlight<R>, effects: &mut Vec<Effect<R>>) {
        let waiting = paired(flight.entry, flight.callers);
        let alone = waiting.iter().all(|pending| self.gives_back(&pending.command));
        self.full_until = alone.then_some(clocks.boot + FULL_PAUSE_MS);
        let mut kept = Vec::new();
        for mut pending in waiting {
            if !alone && self.gives_back(&pending.command) {
                kept.push(pending);
                continue;
            }
            let ends_line = is_end_of_line(&pending.command);
            if let Some(reply) = pending.caller.reply.take() {
                let problem = if ends_line { slot_unknown() } else { storage_full() };
                effects.push(Effect::Answer { reply, answer: Err(problem) });
            }
            if ends_line {
                kept.push(pending);
            }
        }
        self.put_back(kept);
    }

    pub(super) fn gives_back(&self, command: &Command) -> bool {
        match command {
            Command::In(request) => self.may_ask(&request.verb).is_ok(),
            _ => true,
        }
    }

    pub(super) fn take_own(
        &mut self,
        clocks: Clocks,
        stamp: Stamp,
        flight: InFlight<R>,
        effects: &mut Vec<Effect<R>>,
    ) {
        let expected = self.follower.head() + 1;
        if stamp.position > expected {
            // The journal let it through although there were others before it. They tell whether it is void.
            return self.resolve(flight, effects);
        }
        if stamp.position < expected {
            let halt = Halt::Gap { expected, found: stamp.position };
            return self.halt(halt, effects);
        }
        self.full_until = None;
        let InFlight { entry, bytes, callers } = flight;
        let may_wait = self.time.manual().is_none() && self.answers.are_answered_when_written(&entry);
        let record = Record { position: stamp.position, at: stamp.at, bytes };
        self.take(clocks, (&record, &entry), Some(stamp), callers, effects);
        if matches!(self.phase, Phase::Halted) {
            return;
        }
        // What fell due on the way is to be told at once.
        match may_wait && self.published.events.is_empty() {
            true => drop(self.sync_at.get_or_insert(clocks.boot + WRITTEN_SYNC_MS)),
            false => self.sync(effects),
        }
    }

    /// Whether what was answered when written is to be flushed now: its time has come, or somebody wants to see.
    pub(super) fn must_sync(&self, clocks: Clocks) -> bool {
        let is_asked = !self.reads.is_empty() || !self.later.is_empty() || self.behind;
        self.sync_at.is_some_and(|at| is_asked || at <= clocks.boot)
    }

    pub(super) fn sync(&mut self, effects: &mut Vec<Effect<R>>) {
        self.sync_at = None;
        effects.push(Effect::Sync);
        self.phase = Phase::Syncing { position: self.follower.head() };
        if has(Defect::AnswersBeforeSync) {
            self.publish(effects);
        }
    }

    /// Applies one record, own or another's, and keeps the answers back. `stamped` is what the journal said to its
    /// own writer just now: only then does the record also tell what time it is.
    pub(super) fn take(
        &mut self,
        clocks: Clocks,
        (record, entry): (&Record, &Entry),
        stamped: Option<Stamp>,
        callers: Vec<Caller<R>>,
        effects: &mut Vec<Effect<R>>,
    ) {
        let position = record.position;
        let mut callers = callers.into_iter();
        let (answers, published) = (&mut self.answers, &mut self.published);
        let each = |engine: &Engine, _: usize, command: &Command, outcome: &Outcome, events: &[Event]| {
            let as_of = AsOf { revision: position, at: engine.now() };
            if let Some(caller) = callers.next() {
                answers.settle(engine, (command, outcome), caller, as_of, effects);
            }
            published.count(outcome);
            answers.wake(engine, events, as_of);
        };
        let taken = self.follower.take_decoded(record, entry, each);
        match taken {
            // The journal took it, but it did not follow the head: propose its commands again.
            Ok(applied) if applied.void => self.put_back(paired(entry.clone(), callers.collect())),
            Ok(applied) => {
                let just_now = stamped.is_some_and(|stamp| stamp.at == applied.at);
                self.time.saw(applied.at, clocks, just_now);
                self.published.at = applied.at;
                self.published.events.extend(applied.events);
            }
            Err(halt) => self.halt(halt, effects),
        }
        for end in std::mem::take(&mut self.answers.waits_over) {
            self.end_line(end);
        }
    }

    pub(super) fn synced(&mut self, result: Result<Position, JournalError>, effects: &mut Vec<Effect<R>>) {
        let Phase::Syncing { position } = self.phase else { return };
        match result {
            Ok(covered) if covered >= position => {
                self.phase = Phase::Idle;
                self.publish(effects);
            }
            Ok(covered) => {
                let what = format!("a sync covered {covered}, not the record at {position}");
                self.halt(Halt::Journal(what), effects);
            }
            Err(error) => self.halt(error.into(), effects),
        }
    }

    pub(super) fn publish(&mut self, effects: &mut Vec<Effect<R>>) {
        self.answers.publish(effects);
        let mut published = std::mem::take(&mut self.published);
        published.position = self.follower.head();
        effects.push(Effect::Publish(published));
    }

    /// Records behind the head. While an append's fate is unknown, the first of them tells it.
    pub(super) fn records(
        &mut self,
        clocks: Clocks,
        result: Result<Vec<Record>, JournalError>,
        effects: &mut Vec<Effect<R>>,
    ) {
        let mut flight = match std::mem::replace(&mut self.phase, Phase::Idle) {
            Phase::Resolving(flight) => Some(flight),
            Phase::Catching => None,
            other => {
                self.phase = other;
                return;
            }
        };
        let records = match result {
            Ok(records) => records,
            Err(JournalError::Unreachable { .. }) => return self.read_later(clocks, flight, effects),
            Err(error) => return self.halt(error.into(), effects),
        };
        let found = !records.is_empty();
        let is_much = records.len() >= MUCH_RECORDS
            || records.iter().map(|record| record.bytes.len()).sum::<usize>() >= RECORD_BYTES_MAX;
        for record in records {
            let own = flight.take_if(|flight| flight.bytes == record.bytes);
            match own {
                Some(InFlight { entry, callers, .. }) => {
                    self.take(clocks, (&record, &entry), None, callers, effects);
                }
                None => match Entry::decode(&record.bytes) {
                    Ok(entry) => self.take_others(clocks, &record, &entry, effects),
                    Err(error) => {
                        let halt = Halt::Record { position: record.position, what: error.to_string() };
                        self.halt(halt, effects);
                    }
                },
            }
            if matches!(self.phase, Phase::Halted) {
                return;
            }
        }
        if found {
            self.publish(effects);
            self.behind |= self.may_be_behind(is_much);
        }
        match flight {
            // Its place is taken by another's record: it can never land there.
            Some(flight) if found => self.put_back(paired(flight.entry, flight.callers)),
            // Its place is still free: the same bytes at the same place either land or conflict.
            Some(flight) => {
                effects.push(Effect::Append { after: self.follower.head(), bytes: flight.bytes.clone() });
                self.phase = Phase::Appending(flight);
            }
            None => {}
        }
    }

    /// Records were read: is there more? Where others write, a notice comes of what was not there yet, so that it is not
    /// looked for before the next append.
    fn may_be_behind(&self, is_much: bool) -> bool {
        let head = self.follower.head();
        self.sharing.is_none() || is_much || self.later.iter().any(|(revision, _)| *revision > head)
    }

    /// The journal was not reached: what was to be read is read when the pause is over.
    fn read_later(&mut self, clocks: Clocks, flight: Option<InFlight<R>>, effects: &mut Vec<Effect<R>>) {
        self.pause(clocks);
        match flight {
            Some(flight) => self.resolve(flight, effects),
            None => self.behind = true,
        }
    }

    fn take_others(&mut self, clocks: Clocks, record: &Record, entry: &Entry, effects: &mut Vec<Effect<R>>) {
        self.others_wrote(clocks);
        self.take(clocks, (record, entry), None, Vec::new(), effects);
        let drops_own = Command::DropLines { writer: self.writer };
        if let (Body::Batch(batch), Some(engine)) = (&entry.body, self.follower.engine())
            && batch.commands.contains(&drops_own)
        {
            // Somebody has taken this node for dead.
            self.answers.let_go(engine, AsOf { revision: record.position, at: engine.now() });
        }
    }

    pub(super) fn halt(&mut self, halt: Halt, effects: &mut Vec<Effect<R>>) {
        self.phase = Phase::Halted;
        effects.push(Effect::Halt(halt));
    }
}
