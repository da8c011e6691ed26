//! What the shell of a node does in life, done by the world: takes inputs, carries out effects, keeps the timer.

use maitred::local::{
    follower::{Follower, Halt},
    record::{self, Body, Entry},
    sequencer::{Effect, Input, Sequencer},
};
use maitred_api::{Answer, Problem, Reason};
use maitred_engine::{
    command::Command,
    time::{MINUTE_MS, Millis, SECOND_MS},
};

use crate::{
    books::{Asked, CallId},
    faults::{Branch, Fault},
    node::Process,
    world::{Checked, Event, StoreAsk, World},
};

/// A node that writes so many times in a row that time has come, for nothing, is running hot.
const IN_VAIN_MAX: u32 = 60;
/// One that pauses between its tries is not.
const PAUSE_MS: Millis = 500;

impl World {
    /// The node on which this process runs, if it still does.
    pub(crate) fn node_of(&self, process: u32) -> Option<usize> {
        self.nodes.iter().position(|node| node.process.as_ref().is_some_and(|it| it.id == process))
    }

    pub(crate) fn process(&mut self, node: usize) -> &mut Process {
        self.nodes[node].process.as_mut().expect("looked up just before")
    }

    /// A fresh process: replays what is durable, or gives birth, and takes over.
    pub(crate) fn starts(&mut self, node: usize) -> Checked {
        let later = self.outage_until.max(self.nodes[node].cut_off_until).max(self.store_down_until);
        if self.now < later {
            self.after(later - self.now + 1, Event::Starts { node });
            return Ok(());
        }
        if self.nodes[node].process.is_some() {
            return Ok(());
        }
        let at = self.store_now();
        if let Some(local) = self.store.local() {
            local.open(at).map_err(|error| format!("the journal does not open: {error}"))?;
        }
        let mut follower = self.replay()?;
        self.processes += 1;
        let writer = (self.chance.next() << 16) | u64::from(self.processes);
        if follower.head() == 0 {
            follower = self.give_birth(writer)?;
        }
        let mut sequencer = Sequencer::new(follower, writer, false);
        match self.kind.is_local() {
            true => sequencer.take_over(),
            false => sequencer.share(self.clocks(node)),
        }
        self.nodes[node].process = Some(Process {
            id: self.processes,
            writer,
            sequencer,
            open: Default::default(),
            next_line: 1,
            timer: 0,
            stopping: false,
            in_vain: 0,
            wrote_at: 0,
        });
        self.check_node(node)?;
        self.pump(node)
    }

    fn replay(&mut self) -> Result<Follower, String> {
        let broken = |error: maitred_journal::JournalError| error.to_string();
        let mut follower = match self.store.snapshot().map_err(broken)? {
            Some(snapshot) => {
                self.counts.took(Branch::SnapshotUsed);
                Follower::restore(&snapshot).map_err(|halt| halt.to_string())?
            }
            None => Follower::default(),
        };
        let records = self.store.read(follower.head()).map_err(broken)?;
        for record in &records {
            follower.take(record, |_, _, _, _, _| {}).map_err(|halt| halt.to_string())?;
        }
        if follower.head() < self.witness.head() {
            return Err(format!("lost: {} were durable, {} are there", self.witness.head(), follower.head()));
        }
        // What had been written and not flushed has survived: now it is durable too.
        records.iter().try_for_each(|record| self.witness_takes(record))?;
        Ok(follower)
    }

    fn give_birth(&mut self, writer: u64) -> Result<Follower, String> {
        let key = [self.chance.next(), self.chance.next()];
        let body = Body::Birth { key, rules: maitred_engine::RULES_MAX };
        let bytes = Entry { writer, before: 0, body }.encode();
        let at = self.store_now();
        self.store.append(at, 0, bytes).map_err(|error| error.to_string())?;
        self.store.sync().map_err(|error| error.to_string())?;
        self.witness_catches_up()?;
        let mut follower = Follower::default();
        follower.take(&self.witness.records[0], |_, _, _, _, _| {}).map_err(|halt| halt.to_string())?;
        Ok(follower)
    }

    pub(crate) fn input(&mut self, node: usize, input: Input<CallId>) -> Checked {
        let clocks = self.clocks(node);
        let mut effects = Vec::new();
        self.process(node).sequencer.input(clocks, input, &mut effects);
        self.carry_out(node, effects)?;
        self.pump(node)
    }

    fn clocks(&self, node: usize) -> maitred::local::timekeeper::Clocks {
        let store = self.kind.is_local().then(|| self.store_now());
        self.nodes[node].clocks(self.now, store)
    }

    /// Starts the next thing, if the process is still there, and sets its timer.
    pub(crate) fn pump(&mut self, node: usize) -> Checked {
        let room = self.room();
        while self.nodes[node].process.is_some() {
            let clocks = self.clocks(node);
            let mut effects = Vec::new();
            let process = self.process(node);
            process.sequencer.set_room(room);
            process.sequencer.pump(clocks, &mut effects);
            if effects.is_empty() {
                self.check_node(node)?;
                return self.rest(node);
            }
            self.carry_out(node, effects)?;
        }
        Ok(())
    }

    /// Nothing to do now: ends, if it was told to, or sets the timer.
    fn rest(&mut self, node: usize) -> Checked {
        let clocks = self.clocks(node);
        let process = self.process(node);
        if process.stopping && process.sequencer.is_idle() {
            return self.ends_orderly(node);
        }
        process.timer += 1;
        let (number, id) = (process.timer, process.id);
        let now = process.sequencer.now(clocks);
        if let Some(at) = process.sequencer.wake_at(clocks) {
            self.after(at.saturating_sub(now).max(1), Event::Timer { process: id, number });
        }
        Ok(())
    }

    pub(crate) fn timer(&mut self, process: u32, number: u32) -> Checked {
        match self.node_of(process) {
            Some(node) if self.process(node).timer == number => self.pump(node),
            _ => Ok(()),
        }
    }

    fn carry_out(&mut self, node: usize, effects: Vec<Effect<CallId>>) -> Checked {
        for effect in effects {
            let Some(process) = self.nodes[node].process.as_ref().map(|process| process.id) else { break };
            match effect {
                Effect::Append { after, bytes } => {
                    self.made.entry(record::hash(&bytes)).or_insert(self.now);
                    self.check_not_hot(node, &bytes)?;
                    self.ask_store(process, StoreAsk::Append { after, bytes });
                }
                Effect::Sync => self.ask_store(process, StoreAsk::Sync),
                Effect::Read { after } => self.ask_store(process, StoreAsk::Read { after }),
                Effect::Meet(me) => self.ask_store(process, StoreAsk::Meet(me)),
                Effect::Answer { reply, answer } => self.answer(node, reply, answer)?,
                Effect::Publish(published) => {
                    self.trace(published.position);
                    if published.position > self.witness.head() {
                        return Err(format!(
                            "record {} is published before it is durable",
                            published.position
                        ));
                    }
                }
                Effect::Halt(halt) => self.halts(node, halt)?,
            }
        }
        Ok(())
    }

    fn ask_store(&mut self, process: u32, ask: StoreAsk) {
        let ms = self.journey_ms();
        self.after(ms, Event::ToStore { process, ask });
    }

    /// A record that only says that time has come is made for something that is due.
    fn check_not_hot(&mut self, node: usize, bytes: &[u8]) -> Checked {
        let entry = Entry::decode(bytes).map_err(|error| error.to_string())?;
        let Body::Batch(batch) = entry.body else { return Ok(()) };
        let only_time = batch.commands == [Command::Advance];
        let due_at = self.witness.engine().and_then(|engine| engine.next_due());
        let now = self.now;
        let process = self.process(node);
        let pauses = now > process.wrote_at + PAUSE_MS;
        process.in_vain = if only_time && !pauses { process.in_vain + 1 } else { 0 };
        process.wrote_at = now;
        if process.in_vain > IN_VAIN_MAX {
            return Err(format!(
                "node {node} writes that time has come, again and again; next due {due_at:?}"
            ));
        }
        Ok(())
    }

    /// Something happened: what was written was not written in vain.
    pub(crate) fn not_in_vain(&mut self) {
        self.nodes.iter_mut().filter_map(|node| node.process.as_mut()).for_each(|it| it.in_vain = 0);
    }

    fn answer(&mut self, node: usize, id: CallId, answer: Result<Answer, Problem>) -> Checked {
        self.process(node).open.remove(&id);
        self.books.answered(id, &answer, &self.witness)?;
        self.trace(id as u64);
        if self.books.calls[id].waits_for().is_some() && self.books.calls[id].wait_ms.is_some() {
            self.counts.took(Branch::Woken);
        }
        if matches!(&answer, Err(problem) if problem.reason == Reason::StorageFull) {
            self.counts.took(Branch::StorageFull);
        }
        if self.plan.meets(&mut self.chance, Fault::LostReply, 2) {
            self.counts.met(Fault::LostReply);
            return Ok(());
        }
        let ms = self.on_the_way();
        self.after(ms, Event::Told { id, answer: Box::new(answer) });
        Ok(())
    }

    fn halts(&mut self, node: usize, halt: Halt) -> Checked {
        if !matches!(halt, Halt::Journal(_)) {
            return Err(format!("node {node} stops: {halt}"));
        }
        self.counts.took(Branch::Halted);
        self.dies(node, None)
    }

    pub(crate) fn arrives(&mut self, id: CallId) -> Checked {
        let node = self.books.calls[id].node;
        let Some(process) = &mut self.nodes[node].process else {
            let gone = Problem::new(Reason::Unavailable, "nobody is there; nothing was done");
            let ms = self.on_the_way();
            self.after(ms, Event::Told { id, answer: Box::new(Err(gone)) });
            return Ok(());
        };
        let call = &mut self.books.calls[id];
        let waits = call.wait_ms;
        let line = waits.map(|_| process.next_line);
        process.next_line += 1;
        process.open.insert(id);
        let process = process.id;
        call.taken = Some((process, line));
        call.end_then = self.witness.head();
        self.books.taken(id);
        if let Some(ms) = waits {
            self.after(ms, Event::WaitOver { process, id });
        }
        let input = match self.books.calls[id].asked.clone() {
            Asked::Change(request) => Input::Ask { request, admit: None, if_match: None, line, reply: id },
            Asked::Read { namespace, call, min_revision } => {
                Input::Read { namespace, call: *call, min_revision, reply: id }
            }
            Asked::Look { namespace, slot } => {
                Input::Look { namespace, slot, line: line.unwrap_or_default(), reply: id }
            }
        };
        self.input(node, input)
    }

    pub(crate) fn wait_over(&mut self, process: u32, id: CallId) -> Checked {
        let Some(node) = self.node_of(process) else { return Ok(()) };
        let call = &self.books.calls[id];
        let (Some((_, Some(line))), Some((namespace, slot))) = (call.taken, call.waits_for()) else {
            return Ok(());
        };
        let auto = call.is_auto();
        if call.answered || !self.process(node).open.contains(&id) {
            return Ok(());
        }
        self.counts.took(Branch::WaitOver);
        self.input(node, Input::WaitOver { namespace, slot, line, auto })
    }

    /// The connection is gone. Seen by the node even if it has just answered: nobody took that answer.
    pub(crate) fn hang_up(&mut self, process: u32, id: CallId) -> Checked {
        let Some(node) = self.node_of(process) else { return Ok(()) };
        let call = &mut self.books.calls[id];
        let (Some((_, Some(line))), Some((namespace, slot))) = (call.taken, call.waits_for()) else {
            return Ok(());
        };
        if call.closed && call.answered {
            return Ok(());
        }
        call.closed = true;
        let auto = call.is_auto();
        self.process(node).open.remove(&id);
        self.counts.met(Fault::HangUp);
        self.input(node, Input::HangUp { namespace, slot, line, auto })
    }

    /// A process is gone, and every caller on it learns that it is not known what became of the call.
    pub(crate) fn dies(&mut self, node: usize, power_seed: Option<u64>) -> Checked {
        let Some(process) = self.nodes[node].process.take() else { return Ok(()) };
        self.books.gone(process.writer);
        self.nodes[node].still_until = 0;
        if let Some(local) = self.store.local() {
            local.crash(power_seed);
        }
        for id in process.open {
            let unknown = Problem::new(Reason::Unknown, "the node went while the call was under way");
            let ms = self.on_the_way();
            self.after(ms, Event::Told { id, answer: Box::new(Err(unknown)) });
        }
        let back_ms =
            100 + self.chance.below(if self.chance.clone().percent(20) { MINUTE_MS } else { 3 * SECOND_MS });
        self.after(back_ms, Event::Starts { node });
        Ok(())
    }

    pub(crate) fn ends_orderly(&mut self, node: usize) -> Checked {
        if let Some(local) = self.store.local() {
            // A disk that fails now changes nothing: what was answered is flushed.
            let _ = local.close();
        }
        self.witness_catches_up()?;
        self.dies(node, None)
    }

    /// No more waiting, and the end when all that was taken is done.
    pub(crate) fn stops_orderly(&mut self, node: usize) -> Checked {
        self.process(node).stopping = true;
        let clocks = self.clocks(node);
        let mut effects = Vec::new();
        self.process(node).sequencer.input(clocks, Input::EndWaits, &mut effects);
        // Waiting callers come in no particular order: the same one in every run is wanted here.
        effects.sort_by_key(|effect| if let Effect::Answer { reply, .. } = effect { *reply } else { 0 });
        self.carry_out(node, effects)?;
        self.pump(node)
    }

    pub(crate) fn stop_all_processes(&mut self, power_seed: Option<u64>) -> Checked {
        (0..self.nodes.len()).try_for_each(|node| self.dies(node, power_seed))
    }

    /// How long a request takes to the store, or its answer back.
    pub(crate) fn journey_ms(&mut self) -> Millis {
        if self.now < self.slow_until { self.chance.below(3_000) } else { self.chance.below(4) }
    }
}
