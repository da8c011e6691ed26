//! What is different where several processes write one journal.
//!
//! # Worked example
//! Nodes A, B and C share a journal; a caller hangs on A's line for a slot of a full limit.
//!
//! 1. Every second each node *meets* the others through the store, outside of the order: it shows a number that grows,
//!    sees the numbers of the others, and learns where the journal's end is.
//! 2. A is killed. B sees A's number stand still in five of its own meetings, one after another, and writes
//!    `DropLines { A }`. From that record on, for everybody, what waited on A's lines is ordinary (S7a).
//! 3. A was only paused and comes back: it reads that record, and tells those who hang on its lines how their slots
//!    stand. They ask again; the slots have kept their places.
//! 4. C does not reach the store. After four seconds it is not ready: it refuses what changes something, answers lists
//!    from what it knows with the time at which that was true, and tries again until it is back.
//!
//! # Why it is right
//! Meetings decide nothing; records do. A node that is wrongly taken for dead loses lines, never slots, and it takes
//! five meetings of the judge to be silent: a judge that was itself asleep has had none. What a meeting says of the
//! journal's end is as proven as an append, so a read that waits until this node stands there sees all that was
//! acknowledged before it came (D6).

use std::collections::BTreeMap;

use maitred_api::{NodeInfo, NodesAnswer, Problem, Reason};
use maitred_engine::{
    Engine, RULES_MAX,
    command::{Command, Verb},
    time::Millis,
};
use maitred_journal::{JournalError, Meeting, Peer};
use maitred_planted::{Defect, has};

use super::{Effect, Phase, ReadAsked, Sequencer, in_flight, settling::is_end_of_line};
use crate::local::{timekeeper::Clocks, waiters::Place};

/// How often a node shows itself.
const MEET_MS: Millis = 1_000;
/// Silent in so many meetings of another node, one after another, it is taken for dead.
const DEAD_ROUNDS: u32 = 5;
/// For so long without the journal a node is not ready any more.
pub const CUT_OFF_MS: Millis = 4_000;
/// What is read without the journal's end is as of now while that was heard of so recently.
const FRESH_MS: Millis = 2 * MEET_MS;
/// The first pause after a failure; each further one doubles it, up to 32 times as much.
const PAUSE_MS: Millis = 25;
/// Others have written so recently: whoever has just written lets them go first.
const CONTENDED_MS: Millis = 50;
const YIELD_MS: Millis = 2;

/// Another process, as this one has seen it.
#[derive(Debug, Default)]
struct Other {
    beat: u64,
    supports: u32,
    /// When it last showed something new, by the boot clock.
    seen_at: Option<Millis>,
    /// In how many meetings in a row it has shown nothing new.
    silent: u32,
}

impl Other {
    fn is_live(&self) -> bool {
        self.silent < DEAD_ROUNDS
    }
}

#[derive(Debug)]
pub(super) struct Sharing<R> {
    beat: u64,
    /// By the boot clock, as all times here.
    meet_at: Millis,
    round_at: Millis,
    /// When the journal last took something from this node, or refused it.
    heard_at: Millis,
    others: BTreeMap<u64, Other>,
    /// Reads that want to see the journal's end.
    at_end: Vec<ReadAsked<R>>,
    /// Those for whom the meeting under way was begun.
    asked_for: Vec<ReadAsked<R>>,
    met_last: bool,
    failures: u32,
    paused_until: Option<Millis>,
    /// The fate of the record under way is to be read when the pause is over.
    pub(super) reread: bool,
    others_wrote_at: Option<Millis>,
    yield_until: Millis,
}

impl<R> Sequencer<R> {
    /// Others may write, too. The first record gives this node a time.
    pub fn share(&mut self, clocks: Clocks) {
        self.sharing = Some(Sharing::new(clocks.boot));
        self.push(Command::Advance);
    }

    /// When a shared journal was last heard of, by the boot clock.
    pub fn heard_at(&self) -> Option<Millis> {
        self.sharing.as_ref().map(|sharing| sharing.heard_at)
    }

    /// For how long the journal has not answered this node, if that is too long; none while it is ready.
    pub fn cut_off_ms(&self, clocks: Clocks) -> Option<Millis> {
        let sharing = self.sharing.as_ref()?;
        let ms = clocks.boot.saturating_sub(sharing.heard_at);
        (ms >= CUT_OFF_MS).then_some(ms)
    }

    /// Other processes that show themselves.
    pub fn live_peers(&self) -> usize {
        let live = |sharing: &Sharing<R>| sharing.others.values().filter(|other| other.is_live()).count();
        self.sharing.as_ref().map_or(0, live)
    }

    /// The servers on the journal: this one, then the others that it has seen.
    pub fn nodes(&self, clocks: Clocks) -> NodesAnswer {
        let now = self.now(clocks);
        let name = |process: u64| format!("{process:016x}");
        let own = NodeInfo {
            node: name(self.writer),
            this: true,
            live: true,
            seen_at: Some(now),
            supports_rules: Some(RULES_MAX),
            version: Some(env!("CARGO_PKG_VERSION").to_owned()),
        };
        let other = |(process, other): (&u64, &Other)| NodeInfo {
            node: name(*process),
            this: false,
            live: other.is_live(),
            seen_at: other.seen_at.map(|at| now.saturating_sub(clocks.boot.saturating_sub(at))),
            supports_rules: other.seen_at.map(|_| other.supports),
            version: None,
        };
        let others = self.sharing.iter().flat_map(|sharing| sharing.others.iter().map(other));
        NodesAnswer {
            shared: self.sharing.is_some(),
            rules: self.engine().map_or(0, Engine::rules),
            nodes: std::iter::once(own).chain(others).collect(),
            revision: self.follower.head(),
            as_of: now,
        }
    }

    /// The time at which what this node knows was the truth, as far as it can tell.
    pub(super) fn known_at(&self, clocks: Clocks) -> Millis {
        let now = self.now(clocks);
        let Some(sharing) = &self.sharing else { return now };
        let age = clocks.boot.saturating_sub(sharing.heard_at);
        if age > FRESH_MS && self.time.manual().is_none() { now.saturating_sub(age) } else { now }
    }

    pub(super) fn heard(&mut self, clocks: Clocks) {
        if let Some(sharing) = &mut self.sharing {
            sharing.heard_at = clocks.boot;
            sharing.failures = 0;
            sharing.paused_until = None;
        }
    }

    /// The journal was not reached, or did not say what became of an append.
    pub(super) fn pause(&mut self, clocks: Clocks) {
        if let Some(sharing) = &mut self.sharing {
            let ms = PAUSE_MS << sharing.failures.min(5);
            sharing.failures += 1;
            sharing.paused_until = Some(clocks.boot + ms);
        }
    }

    pub(super) fn is_paused(&self, clocks: Clocks) -> bool {
        self.sharing
            .as_ref()
            .and_then(|sharing| sharing.paused_until)
            .is_some_and(|until| clocks.boot < until)
    }

    /// Reads again what has become of the record under way. True if it does.
    pub(super) fn rereads(&mut self, effects: &mut Vec<Effect<R>>) -> bool {
        let is_resolving = matches!(self.phase, Phase::Resolving(_));
        match &mut self.sharing {
            Some(sharing) if is_resolving && sharing.reread => {
                sharing.reread = false;
                effects.push(Effect::Read { after: self.follower.head() });
                true
            }
            _ => false,
        }
    }

    /// Shows itself, if it is time or somebody wants to see the journal's end. True if it does.
    pub(super) fn meets(&mut self, clocks: Clocks, effects: &mut Vec<Effect<R>>) -> bool {
        let Some(sharing) = &mut self.sharing else { return false };
        // Whoever reads much must not keep others from writing.
        let is_turn = !sharing.met_last || self.pending.is_empty();
        if clocks.boot < sharing.meet_at && (sharing.at_end.is_empty() || !is_turn) {
            return false;
        }
        sharing.beat += 1;
        sharing.met_last = true;
        sharing.meet_at = clocks.boot + MEET_MS;
        sharing.asked_for = std::mem::take(&mut sharing.at_end);
        effects.push(Effect::Meet(Peer { process: self.writer, beat: sharing.beat, supports: RULES_MAX }));
        self.phase = Phase::Meeting;
        true
    }

    /// Whoever has just written lets others go first, if others want to. They have read and applied by then, so that
    /// all get their turns; each turn takes along what has gathered meanwhile.
    pub(super) fn yields(&mut self, clocks: Clocks) -> bool {
        let Some(sharing) = &mut self.sharing else { return false };
        sharing.met_last = false;
        clocks.boot < sharing.yield_until
    }

    pub(super) fn wrote(&mut self, clocks: Clocks) {
        let Some(sharing) = &mut self.sharing else { return };
        if sharing.others_wrote_at.is_some_and(|at| clocks.boot < at + CONTENDED_MS) {
            sharing.yield_until = clocks.boot + YIELD_MS;
        }
    }

    pub(super) fn others_wrote(&mut self, clocks: Clocks) {
        if let Some(sharing) = &mut self.sharing {
            sharing.others_wrote_at = Some(clocks.boot);
        }
    }

    pub(super) fn met(
        &mut self,
        clocks: Clocks,
        result: Result<Meeting, JournalError>,
        effects: &mut Vec<Effect<R>>,
    ) {
        let Phase::Meeting = self.phase else { return };
        self.phase = Phase::Idle;
        let Some(sharing) = &mut self.sharing else { return };
        let mut asked_for = std::mem::take(&mut sharing.asked_for);
        match result {
            Ok(meeting) => {
                self.heard(clocks);
                self.behind |= meeting.head > self.follower.head();
                self.later.extend(asked_for.into_iter().map(|asked| (meeting.head, asked)));
                self.count_round(clocks, &meeting.peers);
            }
            Err(JournalError::Unreachable { .. }) => {
                asked_for.append(&mut sharing.at_end);
                sharing.at_end = asked_for;
                sharing.meet_at = clocks.boot;
                self.pause(clocks);
            }
            Err(error) => self.halt(error.into(), effects),
        }
    }

    /// Meetings that reads have asked for come as fast as they can; only those a second apart count.
    fn count_round(&mut self, clocks: Clocks, peers: &[Peer]) {
        let (Some(sharing), Some(engine)) = (&mut self.sharing, self.follower.engine()) else { return };
        if clocks.boot < sharing.round_at {
            return;
        }
        sharing.round_at = clocks.boot + MEET_MS;
        let holders = engine.line_holders();
        sharing.see(clocks.boot, peers, holders.iter().copied().filter(|holder| *holder != self.writer));
        let rank = sharing.rank_behind(0, self.writer);
        let dead = holders.into_iter().filter(|holder| sharing.is_dead_for(*holder, DEAD_ROUNDS + rank));
        let dead: Vec<Command> = dead.map(|writer| Command::DropLines { writer }).collect();
        let rules = rules_to_set(engine, sharing.supported());
        for command in dead.into_iter().chain(rules) {
            if self.pending.iter().all(|pending| pending.command != command) {
                self.push(command);
            }
        }
    }

    /// How many others come before this node to say that time has come: the last writer, then those behind it.
    pub(super) fn rank(&self) -> u64 {
        let last = self.follower.last_writer();
        match &self.sharing {
            _ if last == self.writer => 0,
            Some(sharing) => u64::from(sharing.rank_behind(last, self.writer)),
            None => 1,
        }
    }

    /// Waits for the journal's end, and reads then.
    pub(super) fn read_at_end(&mut self, asked: ReadAsked<R>) {
        match &mut self.sharing {
            Some(sharing) if !has(Defect::StaleReads) => sharing.at_end.push(asked),
            _ => self.reads.push(asked),
        }
    }

    /// The reads that are not answered yet, wherever they wait.
    pub(super) fn waiting_reads(&mut self) -> impl Iterator<Item = &mut ReadAsked<R>> {
        let sharing = self.sharing.iter_mut().flat_map(|it| it.at_end.iter_mut().chain(&mut it.asked_for));
        self.reads.iter_mut().chain(self.later.iter_mut().map(|(_, asked)| asked)).chain(sharing)
    }

    /// Whoever wanted to know is gone.
    pub(super) fn forget_reads(&mut self, line: u64) {
        let stays = |asked: &ReadAsked<R>| asked.line != Some(line);
        self.reads.retain(stays);
        self.later.retain(|(_, asked)| stays(asked));
        if let Some(sharing) = &mut self.sharing {
            sharing.at_end.retain(stays);
            sharing.asked_for.retain(stays);
        }
    }

    pub(super) fn no_read_waits(&self) -> bool {
        let sharing = self.sharing.as_ref();
        self.reads.is_empty() && sharing.is_none_or(|it| it.at_end.is_empty() && it.asked_for.is_empty())
    }

    /// Cut off, nobody is kept waiting: what was not sent is refused, what was sent is not known, and whoever hangs on
    /// the line may try another node.
    pub(super) fn refuse_if_cut_off(&mut self, clocks: Clocks, effects: &mut Vec<Effect<R>>) {
        if self.cut_off_ms(clocks).is_none() {
            return;
        }
        let mut refuse = |reply: R, problem: Problem| {
            effects.push(Effect::Answer { reply, answer: Err(problem) });
        };
        for mut pending in std::mem::take(&mut self.pending) {
            let ends_line = is_end_of_line(&pending.command);
            let kept = pending.caller.reply.is_none() || ends_line;
            let problem = if ends_line { lost_touch() } else { cut_off() };
            pending.caller.reply.take().into_iter().for_each(|reply| refuse(reply, problem.clone()));
            if kept {
                self.pending.push_back(pending);
            }
        }
        let mut lines = Vec::new();
        for (command, caller) in in_flight(&mut self.phase) {
            lines.extend(caller.line.take().zip(acquired(command)));
            caller.reply.take().into_iter().for_each(|reply| refuse(reply, lost_touch()));
        }
        let mut reads: Vec<ReadAsked<R>> = self.later.drain(..).map(|(_, asked)| asked).collect();
        if let Some(sharing) = &mut self.sharing {
            reads.append(&mut sharing.at_end);
            reads.append(&mut sharing.asked_for);
        }
        reads.into_iter().for_each(|asked| refuse(asked.reply, cut_off()));
        for (place, waiter) in self.answers.waiters.drain() {
            refuse(waiter.reply, lost_touch());
            lines.push((waiter.line, place));
        }
        for (number, (namespace, slot)) in lines {
            self.forget_line(namespace, slot, number);
        }
    }

    /// When this node must be pumped for the sake of others, by the boot clock.
    pub(super) fn sharing_wakes_at(&self) -> Option<Millis> {
        let sharing = self.sharing.as_ref()?;
        let cut_off = sharing.heard_at + CUT_OFF_MS;
        let next = match (&self.phase, sharing.paused_until) {
            (Phase::Idle | Phase::Resolving(_), Some(until)) => until,
            (Phase::Idle, None) if !self.pending.is_empty() => sharing.meet_at.min(sharing.yield_until),
            (Phase::Idle, None) => sharing.meet_at,
            _ => cut_off,
        };
        Some(next)
    }
}

impl<R> Sharing<R> {
    /// Nobody is known yet; the journal was reached just now.
    fn new(now: Millis) -> Self {
        Self {
            beat: 0,
            meet_at: now,
            round_at: now,
            heard_at: now,
            others: BTreeMap::new(),
            at_end: Vec::new(),
            asked_for: Vec::new(),
            met_last: false,
            failures: 0,
            paused_until: None,
            reread: false,
            others_wrote_at: None,
            yield_until: 0,
        }
    }

    fn see(&mut self, now: Millis, peers: &[Peer], holders: impl Iterator<Item = u64>) {
        for process in holders.chain(peers.iter().map(|peer| peer.process)) {
            self.others.entry(process).or_default();
        }
        for (process, other) in &mut self.others {
            match peers.iter().find(|peer| peer.process == *process) {
                Some(peer) if peer.beat != other.beat => {
                    let (beat, supports) = (peer.beat, peer.supports);
                    *other = Other { beat, supports, seen_at: Some(now), silent: 0 };
                }
                _ => other.silent = other.silent.saturating_add(1),
            }
        }
        // Long dead, and the store has forgotten it.
        self.others.retain(|process, other| {
            other.silent < 100 * DEAD_ROUNDS || peers.iter().any(|peer| peer.process == *process)
        });
    }

    fn is_dead_for(&self, process: u64, rounds: u32) -> bool {
        !has(Defect::NobodyIsDead) && self.others.get(&process).is_some_and(|other| other.silent >= rounds)
    }

    /// Where `own` stands among those that live, counted from the one behind `first`, in a circle.
    fn rank_behind(&self, first: u64, own: u64) -> u32 {
        let live = self.others.iter().filter(|(_, other)| other.is_live()).map(|(process, _)| *process);
        let own_distance = own.wrapping_sub(first);
        live.filter(|process| process.wrapping_sub(first) < own_distance).count() as u32
    }

    /// What all that live can do.
    fn supported(&self) -> u32 {
        let live = self.others.values().filter(|other| other.is_live()).map(|other| other.supports);
        live.chain([RULES_MAX]).min().unwrap_or(RULES_MAX)
    }
}

/// D5: the rules change only by a record, when everybody who lives can follow.
fn rules_to_set(engine: &Engine, supported: u32) -> Option<Command> {
    (supported > engine.rules()).then_some(Command::SetRules { version: supported })
}

/// The slot that it asks for.
fn acquired(command: &Command) -> Option<Place> {
    let Command::In(request) = command else { return None };
    match &request.verb {
        Verb::Acquire(acquire) => Some((request.namespace.clone(), acquire.slot.clone())),
        _ => None,
    }
}

fn cut_off() -> Problem {
    let message =
        "this node does not reach the journal; nothing was done: ask another node, or again in a moment";
    Problem::new(Reason::Unavailable, message)
}

fn lost_touch() -> Problem {
    let message = "this node lost touch with the journal while the call was under way; it may have been done, and what \
                   waits keeps its place: ask again with the same id, another node if there is one";
    Problem::new(Reason::Unknown, message)
}

#[cfg(test)]
mod tests {
    use super::{DEAD_ROUNDS, Sharing};
    use maitred_journal::Peer;

    fn sharing() -> Sharing<()> {
        Sharing::new(0)
    }

    fn peer(process: u64, beat: u64) -> Peer {
        Peer { process, beat, supports: 3 }
    }

    #[test]
    fn silence_is_counted_in_meetings() {
        let mut sharing = sharing();
        for round in 1..=DEAD_ROUNDS {
            assert!(!sharing.is_dead_for(5, DEAD_ROUNDS), "round {round}");
            sharing.see(0, &[peer(5, 1), peer(6, u64::from(round))], [7].into_iter());
        }
        // 5 was new in the first round, 6 is new in each, 7 has never shown itself.
        assert!(!sharing.is_dead_for(5, DEAD_ROUNDS));
        assert!(sharing.is_dead_for(7, DEAD_ROUNDS));
        sharing.see(0, &[peer(5, 1), peer(6, 100)], [7].into_iter());
        assert!(sharing.is_dead_for(5, DEAD_ROUNDS) && !sharing.is_dead_for(6, DEAD_ROUNDS));
        sharing.see(0, &[peer(5, 2)], [].into_iter());
        assert!(!sharing.is_dead_for(5, DEAD_ROUNDS), "it is back");
    }

    #[test]
    fn ranks_are_counted_from_the_last_writer() {
        let mut sharing = sharing();
        sharing.see(0, &[peer(10, 1), peer(20, 1), peer(40, 1)], [].into_iter());
        let ranks = |first| [10, 20, 30, 40].map(|own| sharing.rank_behind(first, own));
        // 30 is this node itself, so the others do not count it.
        assert_eq!(ranks(20)[2], 1, "20 wrote, 30 is next");
        assert_eq!(ranks(10)[2], 2);
        assert_eq!(ranks(40)[2], 3);
        assert_eq!(sharing.rank_behind(25, 30), 0, "a writer that is gone comes before nobody");
    }

    #[test]
    fn rules_follow_the_slowest_that_lives() {
        let mut sharing = sharing();
        assert_eq!(sharing.supported(), maitred_engine::RULES_MAX);
        sharing.see(0, &[Peer { process: 1, beat: 1, supports: 0 }], [].into_iter());
        assert_eq!(sharing.supported(), 0);
        (0..DEAD_ROUNDS).for_each(|_| sharing.see(0, &[], [].into_iter()));
        assert_eq!(sharing.supported(), maitred_engine::RULES_MAX, "the dead do not count");
    }
}
