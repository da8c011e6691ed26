//! The world: one queue of things to come, ordered by time and then by the order in which they were planned. Nothing
//! else moves it, so the same seed makes the same history.

use std::{
    cmp::Reverse,
    collections::{BinaryHeap, HashMap, VecDeque},
    fmt::Debug,
};

use bytes::Bytes;
use maitred::local::sequencer::Input;
use maitred_api::{Answer, Problem};
use maitred_engine::time::{HOUR_MS, MINUTE_MS, Millis, SECOND_MS};
use maitred_journal::{Peer, Position, Room};

use crate::{
    books::{Books, CallId},
    chance::Chance,
    client::Client,
    faults::{Fault, Plan},
    judge,
    node::Node,
    report::Counts,
    store::{Kind, Store, Wanted},
    witness::Witness,
};

pub(crate) type Checked = Result<(), String>;

/// An afternoon in November: any time would do.
const BEGINNING: Millis = 1_795_000_000_000;
const SNAPSHOT_EVERY_MS: Millis = 4 * MINUTE_MS;
/// How long after the last fault everything must be finished: longer than any hold and timeout of the workload.
const HEALING_MS: Millis = 3 * HOUR_MS;
const NOTES_KEPT: usize = 60;

/// What is to happen.
#[derive(Debug)]
pub(crate) enum Event {
    /// A call reaches its node.
    Arrives {
        id: CallId,
    },
    WaitOver {
        process: u32,
        id: CallId,
    },
    HangUp {
        process: u32,
        id: CallId,
    },
    /// A node's request reaches the store.
    ToStore {
        process: u32,
        ask: StoreAsk,
    },
    /// The store's answer reaches the node.
    FromStore {
        process: u32,
        input: Box<Input<CallId>>,
    },
    Timer {
        process: u32,
        number: u32,
    },
    /// A record that was given up for lost lands after all, if it can.
    Lands {
        after: Position,
        bytes: Bytes,
    },
    /// An answer reaches its caller.
    Told {
        id: CallId,
        answer: Box<Result<Answer, Problem>>,
    },
    /// The caller has waited long enough.
    GivesUp {
        id: CallId,
    },
    /// A caller goes on, unless it has been woken otherwise since.
    Wakes {
        client: usize,
        number: u32,
    },
    Starts {
        node: usize,
    },
    Trouble,
    Over {
        fault: Fault,
    },
    Snapshot,
    Heals,
}

#[derive(Debug)]
pub(crate) enum StoreAsk {
    Append { after: Position, bytes: Bytes },
    Sync,
    Read { after: Position },
    Meet(Peer),
}

struct Due {
    at: Millis,
    serial: u64,
    event: Event,
}

impl PartialEq for Due {
    fn eq(&self, other: &Self) -> bool {
        self.serial == other.serial
    }
}

impl Eq for Due {}

impl PartialOrd for Due {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Due {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.at, self.serial).cmp(&(other.at, other.serial))
    }
}

pub(crate) struct World {
    pub now: Millis,
    serial: u64,
    queue: BinaryHeap<Reverse<Due>>,
    pub kind: Kind,
    pub chance: Chance,
    pub plan: Plan,
    pub counts: Counts,
    pub store: Store,
    /// The store's clock, less true time.
    pub store_ahead_ms: i64,
    pub store_down_until: Millis,
    pub slow_until: Millis,
    /// Even the reserve is used up until then.
    pub full_until: Millis,
    pub outage_until: Millis,
    /// Since when there are no more faults.
    pub well_since: Option<Millis>,
    /// How long nobody was there, which does not count as simulated.
    pub outages_ms: Millis,
    pub nodes: Vec<Node>,
    pub processes: u32,
    /// When each record was first made, by its hash. Only looked up, never gone through.
    pub made: HashMap<u128, Millis>,
    pub clients: Vec<Client>,
    pub books: Books,
    pub witness: Witness,
    /// Where the snapshot before the last one stands.
    pub snapshot_before: Position,
    pub snapshot_last: Position,
    pub trace: u64,
    /// What happened last, while that is wanted.
    notes: Option<VecDeque<String>>,
}

impl World {
    pub(crate) fn new(seed: u64, wanted: Wanted, with_notes: bool) -> Self {
        let mut chance = Chance::new(seed);
        let kind = Kind::by_chance(&mut chance, wanted);
        let plan = Plan::new(&mut chance, kind);
        let mut counts = Counts::default();
        counts.begin(kind, plan.enabled());
        let mut world = Self {
            now: BEGINNING,
            serial: 0,
            queue: BinaryHeap::new(),
            kind,
            counts,
            store: Store::new(kind, chance.next()),
            store_ahead_ms: 0,
            store_down_until: 0,
            slow_until: 0,
            full_until: 0,
            outage_until: 0,
            well_since: None,
            outages_ms: 0,
            nodes: (0..kind.nodes).map(|_| Node::new(BEGINNING)).collect(),
            processes: 0,
            made: HashMap::new(),
            clients: Client::several(&mut chance, kind.nodes),
            books: Books::new(kind.is_local()),
            witness: Witness::default(),
            snapshot_before: 0,
            snapshot_last: 0,
            trace: seed,
            notes: with_notes.then(VecDeque::new),
            plan,
            chance,
        };
        for node in 0..kind.nodes {
            world.after(node as u64, Event::Starts { node });
        }
        for client in 0..world.clients.len() {
            let at = if client == 0 { SECOND_MS } else { 5 * SECOND_MS + world.chance.below(20_000) };
            world.wake_after(client, at);
        }
        world.plan_trouble();
        world.after(SNAPSHOT_EVERY_MS, Event::Snapshot);
        world
    }

    /// Lets the world go on for so long with its faults, then without them until everything is finished.
    pub(crate) fn run(&mut self, faulty_ms: Millis) -> Checked {
        self.after(faulty_ms, Event::Heals);
        while !self.plan.healed {
            self.step()?;
        }
        self.run_until(self.now + HEALING_MS)?;
        self.check_finished()?;
        let quiet_since = self.witness.head();
        self.run_until(self.now + HOUR_MS)?;
        if self.witness.head() != quiet_since {
            return Err(format!("an idle hour wrote {} records", self.witness.head() - quiet_since));
        }
        self.check_copies()?;
        judge::judge(self.witness.judged()).map(drop)
    }

    fn run_until(&mut self, end: Millis) -> Checked {
        while self.queue.peek().is_some_and(|Reverse(due)| due.at <= end) {
            self.step()?;
        }
        self.now = end;
        Ok(())
    }

    fn step(&mut self) -> Checked {
        let Some(Reverse(due)) = self.queue.pop() else { return Err("nothing is to come".to_owned()) };
        self.now = due.at;
        self.note(&due.event);
        self.happen(due.event)
    }

    /// What comes to a node that stands still waits until it goes on.
    fn stands_still_until(&self, event: &Event) -> Millis {
        let node = match event {
            Event::Arrives { id } => Some(self.books.calls[*id].node),
            Event::WaitOver { process, .. }
            | Event::HangUp { process, .. }
            | Event::FromStore { process, .. }
            | Event::Timer { process, .. } => self.node_of(*process),
            _ => None,
        };
        node.map_or(0, |node| self.nodes[node].still_until)
    }

    fn happen(&mut self, event: Event) -> Checked {
        let still_until = self.stands_still_until(&event);
        if still_until > self.now {
            self.after(still_until - self.now, event);
            return Ok(());
        }
        match event {
            Event::Arrives { id } => self.arrives(id),
            Event::WaitOver { process, id } => self.wait_over(process, id),
            Event::HangUp { process, id } => self.hang_up(process, id),
            Event::ToStore { process, ask } => self.reaches_store(process, ask),
            Event::FromStore { process, input } => self.reaches_node(process, *input),
            Event::Timer { process, number } => self.timer(process, number),
            Event::Lands { after, bytes } => self.lands(after, bytes),
            Event::Told { id, answer } => {
                self.told(id, &answer);
                Ok(())
            }
            Event::GivesUp { id } => self.gives_up(id),
            Event::Wakes { client, number } => {
                self.wakes(client, number);
                Ok(())
            }
            Event::Starts { node } => self.starts(node),
            Event::Trouble => self.trouble(),
            Event::Over { fault } => self.over(fault),
            Event::Snapshot => self.make_snapshot(),
            Event::Heals => self.heals(),
        }
    }

    pub(crate) fn after(&mut self, ms: Millis, event: Event) {
        self.serial += 1;
        self.queue.push(Reverse(Due { at: self.now + ms, serial: self.serial, event }));
    }

    /// How long a message takes between client and node.
    pub(crate) fn on_the_way(&mut self) -> Millis {
        if self.chance.percent(3) { self.chance.below(2_000) } else { self.chance.below(8) }
    }

    /// The faults have been over for longer than any of them has an effect.
    pub(crate) fn is_well(&self) -> bool {
        self.well_since.is_some_and(|since| self.now > since + 12 * MINUTE_MS)
    }

    pub(crate) fn room(&self) -> Room {
        if self.now < self.full_until { Room::Reserve } else { self.store.room() }
    }

    pub(crate) fn store_now(&self) -> Millis {
        self.now.saturating_add_signed(self.store_ahead_ms)
    }

    /// Folds something that happened into the trace.
    pub(crate) fn trace(&mut self, what: u64) {
        let mixed = (self.trace ^ what.wrapping_add(self.now)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.trace = mixed ^ (mixed >> 29);
    }

    pub(crate) fn note(&mut self, what: &impl Debug) {
        let now = self.now - BEGINNING;
        if let Some(notes) = &mut self.notes {
            let mut line = format!("{now:>10} {what:?}");
            line.truncate(line.char_indices().nth(400).map_or(line.len(), |(at, _)| at));
            notes.push_back(line);
            if notes.len() > NOTES_KEPT {
                notes.pop_front();
            }
        }
    }

    pub(crate) fn notes(&self) -> Vec<String> {
        self.notes.iter().flatten().cloned().collect()
    }

    /// Another snapshot, made by a second engine from the one before and the records since.
    fn make_snapshot(&mut self) -> Checked {
        self.after(SNAPSHOT_EVERY_MS, Event::Snapshot);
        self.check_snapshot()?;
        let is_open = self.nodes.iter().any(|node| node.process.is_some());
        if let Some(snapshot) =
            self.witness.snapshot().filter(|it| is_open && it.position > self.snapshot_last)
        {
            let position = snapshot.position;
            match self.store.save_snapshot(snapshot, self.snapshot_before) {
                Ok(true) => (self.snapshot_before, self.snapshot_last) = (self.snapshot_last, position),
                Ok(false) => {}
                // The keeper of snapshots ends the process when it fails.
                Err(_) => self.stop_all_processes(None)?,
            }
        }
        Ok(())
    }
}
