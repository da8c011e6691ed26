//! Gathers what callers ask into records, gives them to the journal one at a time, applies what came to be, and
//! answers when it can no longer be lost. A state machine without I/O: inputs go in, effects come out, and the
//! shell (or the simulator) carries them out.
//!
//! One acquire on a full limit, step by step:
//!
//! 1. `Ask` with an acquire and a line number: it joins `pending`.
//! 2. `pump`, nothing being under way: all of `pending` becomes one record; effect `Append`.
//! 3. `Appended`: the order is fixed. The engine applies the record; the acquire's outcome is *queued*, so its
//!    caller is parked under the slot. Other answers are kept back; effect `Sync`.
//! 4. `Synced`: what was kept back is answered and the events are published. Nobody saw anything before.
//! 5. Later another record holds the release that makes room. Applying it grants the slot; the grant's event wakes
//!    the parked caller, whose answer again waits for `Synced`.
//!
//! Why nothing is seen too early: one record is under way at a time, reads are answered only while none is, and
//! every answer to a change passes through `Answers`, which only `Synced` empties. The one exception is asked
//! for by name: rates of a namespace at level *written* are answered when the order is fixed. A record of nothing else
//! is not flushed by itself: the next one that must be takes it along, as does whoever wants to read, and
//! [`WRITTEN_SYNC_MS`] at the latest.
//!
//! On a shared journal others append too. Their records come in as `Records`, a `Conflict` puts the batch back to
//! the front, and an append whose fate is unknown is looked up (`Read`) before anything else is sent. `sharing` has
//! the rest: meetings, dead nodes, being cut off.

mod asking;
mod condition;
mod recording;
mod settling;
mod sharing;
mod timing;

use std::collections::{HashSet, VecDeque};

use bytes::Bytes;
use maitred_api::{AdmitFields, Answer, Call, Problem};
use maitred_engine::{
    Engine,
    command::{Command, Request},
    event::Event,
    names::{Namespace, SlotId},
    outcome::{Outcome, Verdict},
    time::Millis,
};
use maitred_journal::{
    AppendError, JournalError, Meeting, Peer, Position, RECORD_BYTES_MAX, Record, Room, Stamp,
};

pub use self::sharing::CUT_OFF_MS;
use self::{settling::Answers, sharing::Sharing};
use super::{
    follower::{Follower, Halt},
    record::{Body, Entry},
    timekeeper::{Clocks, Timekeeper},
};

/// More than this many changes waiting for a record are refused as overload.
const PENDING_MAX: usize = 65_536;
/// The most commands in one record.
const RECORD_COMMANDS_MAX: usize = 8_192;
/// The largest single command taken: it fits into a record of its own.
pub const COMMAND_BYTES_MAX: usize = RECORD_BYTES_MAX - 1024;
/// How much longer than the one before it a node waits before it writes what is due.
const RANK_MS: Millis = 20;
/// What falls due within so long shares one record that says so.
const SHARED_DUE_MS: Millis = 10;
/// How long after the journal had no room for anything it is tried again.
const FULL_PAUSE_MS: Millis = 1_000;
/// How long a record that was answered when written may go without a flush. The book gives it as the bound of what a
/// power loss may forget (`docs/src/explanation/durability.md`).
const WRITTEN_SYNC_MS: Millis = 50;
/// Reads that wait for a later revision.
const LATER_MAX: usize = 10_000;

/// What goes in.
#[derive(Debug)]
pub enum Input<R> {
    /// A change. `line` numbers the caller's wait, if it waits for a grant.
    Ask {
        request: Box<Request>,
        admit: Option<AdmitFields>,
        /// The tag that the limit must have then.
        if_match: Option<String>,
        line: Option<u64>,
        reply: R,
    },
    /// A call that changes nothing.
    Read {
        namespace: Namespace,
        call: Call,
        min_revision: Option<u64>,
        reply: R,
    },
    /// A wait for a slot to be granted or to end, without asking for it.
    Look {
        namespace: Namespace,
        slot: SlotId,
        line: u64,
        reply: R,
    },
    /// The caller on this line is gone.
    HangUp {
        namespace: Namespace,
        slot: SlotId,
        line: u64,
        auto: bool,
    },
    /// The wait on this line ran out; its caller wants to know how things stand.
    WaitOver {
        namespace: Namespace,
        slot: SlotId,
        line: u64,
        auto: bool,
    },
    Appended(Result<Stamp, AppendError>),
    Synced(Result<Position, JournalError>),
    /// Records behind the head, in order; none if there are none.
    Records(Result<Vec<Record>, JournalError>),
    /// There may be records of others.
    Changed,
    Met(Result<Meeting, JournalError>),
    /// Moves a manual clock, through everything due on the way.
    AdvanceTo {
        at: Millis,
        reply: R,
    },
    /// No more waiting: everyone on the line is told how their slot stands.
    EndWaits,
}

/// What comes out, to be carried out in order. Nearly all of it is answers, so their size is no waste.
#[derive(Debug)]
#[allow(clippy::large_enum_variant)]
pub enum Effect<R> {
    Append {
        after: Position,
        bytes: Bytes,
    },
    Sync,
    /// Read the records behind this one.
    Read {
        after: Position,
    },
    /// Show this process to the others.
    Meet(Peer),
    Answer {
        reply: R,
        answer: Result<Answer, Problem>,
    },
    Publish(Published),
    /// Stop the node. Nothing more may be answered.
    Halt(Halt),
}

/// What became durable with one record.
#[derive(Clone, Debug, Default)]
pub struct Published {
    pub position: Position,
    pub at: Millis,
    pub events: Vec<Event>,
    /// For each admission, whether it was allowed; `check`s are not among them.
    pub admitted: u64,
    pub refused_rate: u64,
    pub refused_concurrency: u64,
}

impl Published {
    fn count(&mut self, outcome: &Outcome) {
        let Outcome::Admission(admission) = outcome else { return };
        match admission.verdict {
            Verdict::Allowed => self.admitted += 1,
            Verdict::OverRate { .. } => self.refused_rate += 1,
            Verdict::OverConcurrency { .. } => self.refused_concurrency += 1,
        }
    }
}

/// One command on its way into the journal.
#[derive(Debug)]
struct Pending<R> {
    command: Command,
    caller: Caller<R>,
}

/// Who wants to know what comes of a command.
#[derive(Debug)]
struct Caller<R> {
    admit: Option<AdmitFields>,
    if_match: Option<String>,
    line: Option<u64>,
    /// The wait ran out before it was known whether the caller has to wait.
    wait_over: bool,
    reply: Option<R>,
}

impl<R> Pending<R> {
    fn new(command: Command, reply: Option<R>) -> Self {
        Self { command, caller: Caller { admit: None, if_match: None, line: None, wait_over: false, reply } }
    }
}

#[derive(Debug)]
struct ReadAsked<R> {
    namespace: Namespace,
    call: Call,
    /// For a look: the line to park on while the slot waits.
    line: Option<u64>,
    reply: R,
}

/// The record under way, and who asked for each of its commands.
#[derive(Debug)]
struct InFlight<R> {
    entry: Entry,
    bytes: Bytes,
    callers: Vec<Caller<R>>,
}

impl<R> InFlight<R> {
    fn pairs(&mut self) -> impl Iterator<Item = (&Command, &mut Caller<R>)> {
        let commands = match &self.entry.body {
            Body::Batch(batch) => batch.commands.as_slice(),
            Body::Birth { .. } => &[],
        };
        commands.iter().zip(&mut self.callers)
    }
}

/// The commands of a record with those who asked for them.
fn paired<R>(entry: Entry, callers: Vec<Caller<R>>) -> Vec<Pending<R>> {
    let Body::Batch(batch) = entry.body else { return Vec::new() };
    let pairs = batch.commands.into_iter().zip(callers);
    pairs.map(|(command, caller)| Pending { command, caller }).collect()
}

#[derive(Debug)]
enum Phase<R> {
    Idle,
    Appending(InFlight<R>),
    /// The fate of the append is not known; its place is being read.
    Resolving(InFlight<R>),
    Syncing {
        position: Position,
    },
    /// Others' records are being read.
    Catching,
    Meeting,
    Halted,
}

/// The commands of the record under way, if there is one, and whose they are.
fn in_flight<R>(phase: &mut Phase<R>) -> impl Iterator<Item = (&Command, &mut Caller<R>)> {
    let flight = match phase {
        Phase::Appending(flight) | Phase::Resolving(flight) => Some(flight),
        _ => None,
    };
    flight.into_iter().flat_map(InFlight::pairs)
}

pub struct Sequencer<R> {
    follower: Follower,
    time: Timekeeper,
    /// This process, for as long as it runs.
    writer: u64,
    phase: Phase<R>,
    pending: VecDeque<Pending<R>>,
    reads: Vec<ReadAsked<R>>,
    /// Reads that want a revision not yet reached.
    later: Vec<(Position, ReadAsked<R>)>,
    answers: Answers<R>,
    published: Published,
    advancing: Option<(Millis, R)>,
    /// Others may have appended.
    behind: bool,
    /// What only a shared journal needs.
    sharing: Option<Sharing<R>>,
    room: Room,
    /// There are records that were not flushed; they are when the boot clock shows this.
    sync_at: Option<Millis>,
    /// When it was last said that time has come, by the boot clock.
    advanced_at: Millis,
    /// The journal had no room even for what gives back: nothing is appended before the boot clock shows this.
    full_until: Option<Millis>,
}

impl<R> Sequencer<R> {
    /// `follower` stands at the head of the journal, behind its birth.
    pub fn new(follower: Follower, writer: u64, manual_clock: bool) -> Self {
        let time = Timekeeper::new(follower.now(), manual_clock);
        Self {
            follower,
            time,
            writer,
            phase: Phase::Idle,
            pending: VecDeque::new(),
            reads: Vec::new(),
            later: Vec::new(),
            answers: Answers::default(),
            published: Published::default(),
            advancing: None,
            behind: false,
            sharing: None,
            room: Room::Ample,
            sync_at: None,
            advanced_at: 0,
            full_until: None,
        }
    }

    /// Rates and places of these namespaces are answered when they are written, not when they are synced.
    pub fn answer_when_written(&mut self, namespaces: HashSet<Namespace>) {
        self.answers.when_written = namespaces;
    }

    /// The lines of the process that wrote before this one are dead; say so with the first record.
    pub fn take_over(&mut self) {
        let writer = self.follower.last_writer();
        if writer != self.writer && writer != 0 {
            self.push(Command::DropLines { writer });
        }
    }

    pub fn follower(&self) -> &Follower {
        &self.follower
    }

    pub fn engine(&self) -> Option<&Engine> {
        self.follower.engine()
    }

    pub fn now(&self, clocks: Clocks) -> Millis {
        self.time.now(clocks)
    }

    pub fn waiting_callers(&self) -> usize {
        self.answers.waiters.len()
    }

    /// Whether everything asked has been carried out and published. What is left undone only because the journal is
    /// full, and nobody waits for, does not count.
    pub fn is_idle(&self) -> bool {
        let nobody_waits =
            self.full_until.is_some() && self.pending.iter().all(|pending| pending.caller.reply.is_none());
        let is_done = self.pending.is_empty() || nobody_waits;
        matches!(self.phase, Phase::Idle) && is_done && self.no_read_waits() && self.sync_at.is_none()
    }

    pub fn set_room(&mut self, room: Room) {
        self.room = room;
    }

    /// When this node must be pumped again even if nothing comes in.
    pub fn wake_at(&self, clocks: Clocks) -> Option<Millis> {
        let at = |boot: Millis| self.now(clocks) + boot.saturating_sub(clocks.boot);
        self.sharing_wakes_at().map(at).into_iter().chain(self.due_at(clocks)).min()
    }

    fn due_at(&self, clocks: Clocks) -> Option<Millis> {
        if !matches!(self.phase, Phase::Idle) || self.time.manual().is_some() || self.is_paused(clocks) {
            return None;
        }
        let at = |boot: Millis| self.now(clocks) + boot.saturating_sub(clocks.boot);
        let shared = at(self.advanced_at + SHARED_DUE_MS);
        let due = self.engine().and_then(Engine::next_due).map(|due| (due + self.rank_ms()).max(shared));
        let due = due.into_iter().chain(self.sync_at.map(at)).min();
        let Some(until) = self.full_until else { return due };
        let again = at(until);
        if self.pending.is_empty() { due.map(|due| due.max(again)) } else { Some(again) }
    }

    fn rank_ms(&self) -> Millis {
        RANK_MS * self.rank()
    }

    pub fn input(&mut self, clocks: Clocks, input: Input<R>, effects: &mut Vec<Effect<R>>) {
        if matches!(self.phase, Phase::Halted) {
            return;
        }
        match input {
            Input::Ask { request, admit, if_match, line, reply } => {
                let caller = Caller { admit, if_match, line, wait_over: false, reply: Some(reply) };
                self.ask(Pending { command: Command::In(request), caller }, effects);
            }
            Input::Read { namespace, call, min_revision, reply } => {
                self.read(ReadAsked { namespace, call, line: None, reply }, min_revision, effects);
            }
            Input::Look { namespace, slot, line, reply } => {
                let call = Call::Slot { slot: slot.to_string(), wait: Default::default() };
                self.read_at_end(ReadAsked { namespace, call, line: Some(line), reply });
            }
            Input::HangUp { namespace, slot, line, auto } => self.hang_up(namespace, slot, line, auto),
            Input::WaitOver { namespace, slot, line, auto } => self.wait_over(namespace, slot, line, auto),
            Input::Appended(result) => self.appended(clocks, result, effects),
            Input::Synced(result) => self.synced(result, effects),
            Input::Records(result) => self.records(clocks, result, effects),
            Input::Changed => self.behind = true,
            Input::Met(result) => self.met(clocks, result, effects),
            Input::AdvanceTo { at, reply } => self.advance_to(at, reply, effects),
            Input::EndWaits => self.end_waits(effects),
        }
    }

    /// Starts the next thing, if nothing is under way. Call it after the inputs of one moment. While something is
    /// under way it only answers.
    pub fn pump(&mut self, clocks: Clocks, effects: &mut Vec<Effect<R>>) {
        if matches!(self.phase, Phase::Halted) {
            return;
        }
        self.refuse_if_cut_off(clocks, effects);
        // What others share is durable as soon as it is there, so that it may be shown while something is under way.
        if self.sharing.is_some() && !matches!(self.phase, Phase::Syncing { .. }) {
            self.answer_reads(clocks, effects);
        }
        if self.is_paused(clocks) || self.rereads(effects) || !matches!(self.phase, Phase::Idle) {
            return;
        }
        if self.must_sync(clocks) {
            return self.sync(effects);
        }
        self.answer_reads(clocks, effects);
        if self.meets(clocks, effects) {
            return;
        }
        if self.behind {
            self.behind = false;
            self.phase = Phase::Catching;
            effects.push(Effect::Read { after: self.follower.head() });
            return;
        }
        if self.full_until.is_some_and(|until| clocks.boot < until) || self.yields(clocks) {
            return;
        }
        self.step_manual_clock(clocks, effects);
        self.push_due(clocks);
        if !self.pending.is_empty() {
            self.append_next(clocks, effects);
        }
    }
}
