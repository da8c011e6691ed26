//! What a node does because others share its journal, each as the shortest history that shows it.

use std::collections::VecDeque;

use bytes::Bytes;
use maitred::local::{
    follower::Follower,
    record::{Batch, Body, Entry},
    sequencer::{CUT_OFF_MS, Effect, Input, Sequencer},
    timekeeper::Clocks,
};
use maitred_api::{Answer, Call, Reason, SlotState};
use maitred_engine::{
    command::{Acquire, Ask, Command, Confirm, Declaration, Hold, Line, Request, Verb},
    names::Namespace,
    time::Millis,
};
use maitred_journal::{AppendError, JournalError, Meeting, Peer, Position, Record, Stamp};

const START: Millis = 1_700_000_000_000;
const ME: u64 = 50;
const OTHER: u64 = 77;

/// A sequencer that shares a journal, and a store that does what the test says.
struct Node {
    sequencer: Sequencer<u32>,
    boot: Millis,
    effects: VecDeque<Effect<u32>>,
    answers: Vec<(u32, Result<Answer, Reason>)>,
    next_call: u32,
    journal: Vec<Record>,
    beat: u64,
}

impl Node {
    /// Behind these records of another node; it has met nobody and written that it is there.
    fn start(commands: Vec<Command>) -> Node {
        let mut follower = Follower::default();
        let birth = Entry { writer: OTHER, before: 0, body: Body::Birth { key: [1, 2], rules: 1 } }.encode();
        let mut journal = vec![Record { position: 1, at: START, bytes: birth }];
        follower.take(&journal[0], |_, _, _, _, _| {}).expect("a birth");
        let body = Body::Batch(Batch { commands, ..Batch::default() });
        let bytes = Entry { writer: OTHER, before: follower.hash(), body }.encode();
        journal.push(Record { position: 2, at: START, bytes });
        follower.take(&journal[1], |_, _, _, _, _| {}).expect("a record");
        let (boot, effects, answers) = (5_000, VecDeque::new(), Vec::new());
        let mut sequencer = Sequencer::new(follower, ME, false);
        sequencer.share(Clocks { boot, store: None });
        let mut node = Node { sequencer, boot, effects, answers, next_call: 0, journal, beat: 0 };
        node.pump();
        node.meets(&[]);
        node.lands();
        node
    }

    fn clocks(&self) -> Clocks {
        Clocks { boot: self.boot, store: None }
    }

    fn input(&mut self, input: Input<u32>) {
        let mut effects = Vec::new();
        self.sequencer.input(self.clocks(), input, &mut effects);
        self.note(effects);
        self.pump();
    }

    fn pump(&mut self) {
        let mut effects = Vec::new();
        self.sequencer.pump(self.clocks(), &mut effects);
        self.note(effects);
    }

    fn note(&mut self, effects: Vec<Effect<u32>>) {
        for effect in effects {
            match effect {
                Effect::Answer { reply, answer } => {
                    self.answers.push((reply, answer.map_err(|problem| problem.reason)));
                }
                Effect::Publish(_) => {}
                Effect::Halt(halt) => panic!("the node stops: {halt}"),
                effect => self.effects.push_back(effect),
            }
        }
    }

    fn passes(&mut self, ms: Millis) {
        self.boot += ms;
        self.pump();
    }

    /// The meeting that is under way: these others are there.
    fn meets(&mut self, peers: &[Peer]) {
        let head = self.journal.len() as Position;
        match self.effects.pop_front() {
            Some(Effect::Meet(me)) => {
                assert!(me.process == ME && me.beat > self.beat, "{me:?} after {}", self.beat);
                self.beat = me.beat;
            }
            other => panic!("a meeting was to come, not {other:?}"),
        }
        self.input(Input::Met(Ok(Meeting { head, peers: peers.to_vec() })));
    }

    fn next_append(&mut self) -> (Position, Bytes) {
        match self.effects.pop_front() {
            Some(Effect::Append { after, bytes }) => (after, bytes),
            other => panic!("an append was to come, not {other:?}"),
        }
    }

    fn next_read(&mut self) -> Position {
        match self.effects.pop_front() {
            Some(Effect::Read { after }) => after,
            other => panic!("a read was to come, not {other:?}"),
        }
    }

    /// The store takes the record that is under way; its commands.
    fn lands(&mut self) -> Vec<Command> {
        let (after, bytes) = self.next_append();
        self.journal.push(Record { position: after + 1, at: START, bytes: bytes.clone() });
        self.input(Input::Appended(Ok(Stamp { position: after + 1, at: START })));
        assert!(matches!(self.effects.pop_front(), Some(Effect::Sync)), "a sync was to come");
        self.input(Input::Synced(Ok(after + 1)));
        commands(&bytes)
    }

    /// Another node appends.
    fn other_appends(&mut self, commands: Vec<Command>) {
        let before = self.sequencer.follower().hash();
        let bytes =
            Entry { writer: OTHER, before, body: Body::Batch(Batch { commands, ..Batch::default() }) };
        self.journal.push(Record {
            position: self.journal.len() as Position + 1,
            at: START,
            bytes: bytes.encode(),
        });
    }

    /// Reads until nothing more is there.
    fn catches_up(&mut self) {
        while matches!(self.effects.front(), Some(Effect::Read { .. })) {
            let after = self.next_read() as usize;
            self.input(Input::Records(Ok(self.journal[after..].to_vec())));
        }
    }

    fn ask(&mut self, verb: Verb, line: Option<u64>) -> u32 {
        self.next_call += 1;
        let reply = self.next_call;
        let request = Box::new(request(verb));
        self.input(Input::Ask { request, admit: None, if_match: None, line, reply });
        reply
    }

    fn look(&mut self, slot: &str) -> u32 {
        self.next_call += 1;
        let reply = self.next_call;
        let call = Call::Slot { slot: slot.to_owned(), wait: Default::default() };
        self.input(Input::Read { namespace: Namespace::default(), call, min_revision: None, reply });
        reply
    }

    fn told(&self, call: u32) -> Option<Result<(SlotState, u64), Reason>> {
        let (_, answer) = self.answers.iter().find(|(reply, _)| *reply == call)?;
        Some(match answer {
            Ok(Answer::Slot(told)) => Ok((told.slot.state, told.revision)),
            Ok(other) => panic!("not a slot: {other:?}"),
            Err(reason) => Err(*reason),
        })
    }
}

fn commands(bytes: &[u8]) -> Vec<Command> {
    match Entry::decode(bytes).expect("a record").body {
        Body::Batch(batch) => batch.commands,
        Body::Birth { .. } => Vec::new(),
    }
}

fn request(verb: Verb) -> Request {
    Request { namespace: Namespace::default(), request: None, by: None, reason: None, verb }
}

fn command(verb: Verb) -> Command {
    Command::In(Box::new(request(verb)))
}

fn limit_of_one() -> Command {
    let limit = "a".parse().expect("a name");
    command(Verb::Declare(Declaration { limit, capacity: 1, max_hold_ms: 300_000 }))
}

fn acquire(slot: &str, line: Option<Line>) -> Verb {
    Verb::Acquire(Acquire {
        slot: slot.parse().expect("an id"),
        asks: vec![Ask { limit: "a".parse().expect("a name"), weight: 1 }],
        run: None,
        workflow: None,
        label: None,
        timeout_ms: 600_000,
        confirm: Confirm::Auto,
        hold: Hold::Released,
        line,
    })
}

/// The other node's caller holds the only slot, and another hangs on its line for the next.
fn held_and_waited_for() -> Vec<Command> {
    let line = |number| Some(Line { writer: OTHER, number });
    vec![limit_of_one(), command(acquire("x", line(1))), command(acquire("y", line(2)))]
}

fn other(beat: u64) -> Peer {
    Peer { process: OTHER, beat, supports: 1 }
}

fn unreachable() -> JournalError {
    JournalError::Unreachable { place: "store".to_owned(), what: "by plan".to_owned() }
}

/// S7a: a node that shows nothing new in five meetings is taken for dead, and its waits are ordinary.
#[test]
fn a_silent_node_loses_its_lines() {
    let mut node = Node::start(held_and_waited_for());
    for round in 1..=20 {
        node.passes(1_000);
        node.meets(&[other(round)]);
        assert!(node.effects.is_empty(), "it lives: {:?}", node.effects);
    }
    for _ in 1..5 {
        node.passes(1_000);
        node.meets(&[other(20)]);
        assert!(node.effects.is_empty(), "not yet: {:?}", node.effects);
    }
    node.passes(1_000);
    node.meets(&[other(20)]);
    assert_eq!(node.lands(), [Command::DropLines { writer: OTHER }]);
    node.passes(1_000);
    node.meets(&[other(20)]);
    assert!(node.effects.is_empty(), "said once: {:?}", node.effects);
    let release = node.ask(Verb::Release { slot: "x".parse().expect("an id") }, None);
    node.lands();
    assert!(node.answers.iter().any(|(reply, _)| *reply == release));
    let status = node.sequencer.engine().expect("an engine").status("default", "y");
    assert!(matches!(status, maitred_engine::outcome::SlotStatus::Reserved { .. }), "{status:?}");
}

/// Meetings that reads ask for come in quick succession, and do not make anybody older.
#[test]
fn silence_is_not_counted_faster_by_reading() {
    let mut node = Node::start(held_and_waited_for());
    node.passes(1_000);
    node.meets(&[other(1)]);
    for _ in 0..50 {
        let look = node.look("x");
        node.meets(&[other(1)]);
        assert_eq!(node.told(look), Some(Ok((SlotState::Busy, 3))));
    }
    assert!(node.effects.is_empty(), "{:?}", node.effects);
}

#[test]
fn who_is_taken_for_dead_tells_its_callers() {
    let mut node = Node::start(vec![limit_of_one(), command(acquire("x", None))]);
    let waits = node.ask(acquire("z", None), Some(9));
    node.lands();
    assert_eq!(node.told(waits), None, "it waits on the line");
    node.other_appends(vec![Command::DropLines { writer: ME }]);
    node.input(Input::Changed);
    node.catches_up();
    assert_eq!(node.told(waits), Some(Ok((SlotState::Queued, 5))));
}

/// D6: what another node answered before the question is seen.
#[test]
fn one_slot_is_read_at_the_end() {
    let mut node = Node::start(vec![limit_of_one(), command(acquire("x", None))]);
    let slot = "x".parse().expect("an id");
    node.other_appends(vec![command(Verb::Release { slot })]);
    let look = node.look("x");
    assert_eq!(node.told(look), None, "no notice has come, but the answer must not be an old one");
    node.meets(&[other(1)]);
    node.catches_up();
    assert_eq!(node.told(look), Some(Ok((SlotState::Released, 4))));
}

/// Cut off: what was sent is not known, what was not sent was not done, and nobody is kept waiting.
#[test]
fn who_is_cut_off_says_so() {
    let mut node = Node::start(vec![limit_of_one(), command(acquire("x", None))]);
    let waits = node.ask(acquire("y", None), Some(1));
    node.lands();
    let sent = node.ask(acquire("z", None), Some(2));
    let _ = node.next_append();
    let not_sent = node.ask(acquire("w", None), Some(3));
    let looks = node.look("x");
    node.passes(CUT_OFF_MS - 1);
    assert!(node.sequencer.cut_off_ms(node.clocks()).is_none());
    node.passes(1);
    assert!(node.sequencer.cut_off_ms(node.clocks()).is_some());
    assert_eq!(node.told(waits), Some(Err(Reason::Unknown)));
    assert_eq!(node.told(sent), Some(Err(Reason::Unknown)));
    assert_eq!(node.told(not_sent), Some(Err(Reason::Unavailable)));
    assert_eq!(node.told(looks), Some(Err(Reason::Unavailable)));
    // It did land; the lines of those who were told to go elsewhere end.
    node.input(Input::Appended(Err(AppendError::Unknown("by plan".to_owned()))));
    node.passes(1_000);
    assert_eq!(node.next_read(), 4);
    node.input(Input::Records(Err(unreachable())));
    assert!(node.effects.is_empty(), "a pause comes first: {:?}", node.effects);
    node.passes(1_000);
    assert_eq!(node.next_read(), 4);
    node.input(Input::Records(Ok(Vec::new())));
    let (after, bytes) = node.next_append();
    assert_eq!(after, 4, "the same again");
    node.journal.push(Record { position: 5, at: START, bytes });
    node.input(Input::Appended(Ok(Stamp { position: 5, at: START })));
    assert!(matches!(node.effects.pop_front(), Some(Effect::Sync)));
    node.input(Input::Synced(Ok(5)));
    node.meets(&[]);
    let ended = node.lands();
    let ends =
        |command: &Command| matches!(command, Command::In(it) if matches!(it.verb, Verb::EndLine { .. }));
    assert!(ended.len() == 2 && ended.iter().all(ends), "{ended:?}");
    assert!(node.sequencer.cut_off_ms(node.clocks()).is_none(), "it is back");
}

/// The last writer says that time has come; the others wait, each a little longer than the one before it.
#[test]
fn who_says_that_time_has_come() {
    let mut node = Node::start(held_and_waited_for());
    node.passes(1_000);
    node.meets(&[other(1), Peer { process: 60, beat: 1, supports: 1 }]);
    node.other_appends(vec![Command::Advance]);
    node.input(Input::Changed);
    node.catches_up();
    // In the circle behind 77 comes 50, this node, and then 60.
    let due = node.sequencer.engine().and_then(|engine| engine.next_due()).expect("something falls due");
    let meet_at = node.sequencer.now(node.clocks()) + 1_000;
    assert_eq!(node.sequencer.wake_at(node.clocks()), Some(meet_at.min(due + 20)));
    while node.sequencer.now(node.clocks()) < due + 19 {
        let beat = node.boot;
        node.passes(1_000.min(due + 19 - node.sequencer.now(node.clocks())));
        if !node.effects.is_empty() {
            node.meets(&[other(beat), Peer { process: 60, beat, supports: 1 }]);
        }
    }
    assert!(node.effects.is_empty(), "not yet: {:?}", node.effects);
    node.passes(1);
    assert_eq!(node.lands(), [Command::Advance]);
}

/// Who shows something new is live; who does not is silent, and it is told since when.
#[test]
fn who_is_there_is_told() {
    let mut node = Node::start(held_and_waited_for());
    node.passes(1_000);
    node.meets(&[other(1)]);
    let told = node.sequencer.nodes(node.clocks());
    assert!(told.shared && told.nodes.len() == 2 && told.nodes[0].this, "{told:?}");
    let seen = |told: &maitred_api::NodesAnswer| {
        let other = &told.nodes[1];
        (other.live, other.seen_at, other.supports_rules)
    };
    assert_eq!(seen(&told), (true, Some(told.as_of), Some(1)));
    for _ in 0..5 {
        node.passes(1_000);
        node.meets(&[other(1)]);
    }
    let told = node.sequencer.nodes(node.clocks());
    assert_eq!(seen(&told), (false, Some(told.as_of - 5_000), Some(1)));
}

/// What was right when it was proposed may not be when another node's record stands before it.
#[test]
fn a_condition_is_looked_at_again_behind_another_nodes_record() {
    let mut node = Node::start(vec![limit_of_one()]);
    let set = |capacity| Verb::SetCapacity { limit: "a".parse().expect("a name"), capacity: Some(capacity) };
    let view = node.sequencer.engine().expect("an engine").limit("default", "a").expect("it is there");
    assert_eq!(view.capacity, 1);
    let if_match = Some("1.300000.-.-.".to_owned());
    let request = Box::new(request(set(3)));
    node.input(Input::Ask { request, admit: None, if_match, line: None, reply: 900 });
    let (after, _) = node.next_append();
    node.other_appends(vec![command(set(2))]);
    node.input(Input::Appended(Err(AppendError::Conflict { expected: after + 1 })));
    node.catches_up();
    assert!(node.effects.is_empty(), "it is not proposed again: {:?}", node.effects);
    assert!(matches!(node.answers.last(), Some((900, Err(Reason::SettingsChanged)))), "{:?}", node.answers);
    let view = node.sequencer.engine().expect("an engine").limit("default", "a").expect("it is there");
    assert_eq!(view.capacity, 2);
}
