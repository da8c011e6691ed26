//! What the simulator has found in the sequencer, each as the shortest history that shows it.

use std::collections::VecDeque;

use bytes::Bytes;
use maitred::local::{
    follower::Follower,
    record::{Body, Entry},
    sequencer::{Effect, Input, Sequencer},
    timekeeper::Clocks,
};
use maitred_api::{Answer, Call, Reason, SlotState};
use maitred_engine::{
    Engine,
    command::{
        Acquire, Admit, Ask, Command, Confirm, Declaration, Hold, Request, RunStatus, Spec, SpecKind, Verb,
    },
    names::Namespace,
    time::Millis,
};
use maitred_journal::{AppendError, Position, Record, Room, Stamp};

const START: Millis = 1_700_000_000_000;
const OTHER: u64 = 77;

/// A sequencer, and a journal that does what the test says.
struct Node {
    sequencer: Sequencer<u32>,
    boot: Millis,
    store: Option<Millis>,
    effects: VecDeque<Effect<u32>>,
    answers: Vec<(u32, Result<Answer, Reason>)>,
    next_call: u32,
    journal: Vec<Record>,
}

impl Node {
    fn new() -> Node {
        let body = Body::Birth { key: [1, 2], rules: 1 };
        let bytes = Entry { writer: 1, before: 0, body }.encode();
        Node::start(1, vec![Record { position: 1, at: START, bytes }])
    }

    fn start(writer: u64, journal: Vec<Record>) -> Node {
        let mut follower = Follower::default();
        for record in &journal {
            follower.take(record, |_, _, _, _, _| {}).expect("a good journal");
        }
        let mut sequencer = Sequencer::new(follower, writer, false);
        sequencer.take_over();
        Node {
            sequencer,
            journal,
            boot: 5_000,
            store: None,
            effects: VecDeque::new(),
            answers: Vec::new(),
            next_call: 0,
        }
    }

    fn clocks(&self) -> Clocks {
        Clocks { boot: self.boot, store: self.store }
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

    fn ask(&mut self, verb: Verb, line: Option<u64>) -> u32 {
        self.next_call += 1;
        let reply = self.next_call;
        let request = Box::new(request(verb));
        self.input(Input::Ask { request, admit: None, if_match: None, line, reply });
        reply
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

    /// The journal takes the record that is under way, stamps it so, and flushes it.
    fn lands(&mut self, at: Millis) -> Bytes {
        let (after, bytes) = self.next_append();
        self.input(Input::Appended(Ok(Stamp { position: after + 1, at })));
        assert!(matches!(self.effects.pop_front(), Some(Effect::Sync)), "a sync was to come");
        self.journal.push(Record { position: after + 1, at, bytes: bytes.clone() });
        self.input(Input::Synced(Ok(after + 1)));
        bytes
    }

    fn done(&mut self, verb: Verb) {
        self.ask(verb, None);
        self.lands(START);
    }

    fn state_told(&self, call: u32) -> Option<SlotState> {
        let answer = self.answers.iter().find(|(reply, _)| *reply == call)?;
        match &answer.1 {
            Ok(Answer::Slot(told)) => Some(told.slot.state),
            other => panic!("not a slot: {other:?}"),
        }
    }

    fn now(&self) -> Millis {
        self.sequencer.engine().map_or(0, Engine::now)
    }
}

fn request(verb: Verb) -> Request {
    Request { namespace: Namespace::default(), request: None, by: None, reason: None, verb }
}

fn limit_of_one() -> Verb {
    let limit = "a".parse().expect("a name");
    Verb::Declare(Declaration { limit, capacity: 1, max_hold_ms: 300_000 })
}

fn acquire(slot: &str) -> Verb {
    Verb::Acquire(Acquire {
        slot: slot.parse().expect("an id"),
        asks: vec![Ask { limit: "a".parse().expect("a name"), weight: 1 }],
        run: None,
        workflow: None,
        label: None,
        timeout_ms: 600_000,
        confirm: Confirm::Auto,
        hold: Hold::Released,
        line: None,
    })
}

fn hit() -> Verb {
    let kind = SpecKind::Rate { window_ms: 60_000, cost: 1, successes_only: false };
    let specs = vec![Spec { key: "k".parse().expect("a key"), limit: 10, kind }];
    Verb::Admit(Admit { task: "t".parse().expect("an id"), run: None, specs })
}

fn unknown() -> Input<u32> {
    Input::Appended(Err(AppendError::Unknown("by plan".to_owned())))
}

fn conflict(expected: Position) -> Input<u32> {
    Input::Appended(Err(AppendError::Conflict { expected }))
}

fn record(position: Position, bytes: Bytes) -> Record {
    Record { position, at: START, bytes }
}

/// The first try lands after its place was read, and the second conflicts with it: one call, one effect.
#[test]
fn a_record_that_lands_late_takes_effect_once() {
    let mut node = Node::new();
    let call = node.ask(hit(), None);
    let (_, first) = node.next_append();
    node.input(unknown());
    assert_eq!(node.next_read(), 1);
    node.input(Input::Records(Ok(Vec::new())));
    let (after, second) = node.next_append();
    assert_eq!((after, &second), (1, &first), "the same bytes at the same place");
    node.input(conflict(1));
    assert_eq!(node.next_read(), 1);
    node.input(Input::Records(Ok(vec![record(2, first)])));
    assert_eq!(node.next_read(), 2);
    node.input(Input::Records(Ok(Vec::new())));
    assert!(node.effects.is_empty(), "nothing is proposed again: {:?}", node.effects);
    assert_eq!(node.answers.iter().filter(|(reply, _)| *reply == call).count(), 1);
    let counter = node.sequencer.engine().and_then(|engine| engine.counter(START, "default", "t", "k"));
    assert_eq!(counter.map(|counter| counter.used), Some(1));
}

/// A store whose comparison is broken puts an append behind a record that its writer does not know: void, and again.
#[test]
fn an_append_behind_others_is_void_and_proposed_again() {
    let mut node = Node::new();
    let before = node.sequencer.follower().hash();
    node.ask(hit(), None);
    let (_, own) = node.next_append();
    let batch = maitred::local::record::Batch { commands: vec![Command::Advance], ..Default::default() };
    let others = Entry { writer: OTHER, before, body: Body::Batch(batch) }.encode();
    node.input(Input::Appended(Ok(Stamp { position: 3, at: START })));
    assert_eq!(node.next_read(), 1);
    node.input(Input::Records(Ok(vec![record(2, others), record(3, own)])));
    assert_eq!(node.next_read(), 3);
    node.input(Input::Records(Ok(Vec::new())));
    assert_eq!(node.sequencer.follower().voids, 1);
    node.lands(START);
    assert_eq!(node.answers.len(), 1);
}

/// Told that it waits while its line still stands, a caller could be granted a busy slot and never hear of it.
#[test]
fn a_wait_that_ends_on_the_way_ends_its_line_first() {
    let mut node = Node::new();
    node.done(limit_of_one());
    node.done(acquire("holder"));
    let call = node.ask(acquire("waiter"), Some(9));
    let slot = || "waiter".parse().expect("an id");
    node.input(Input::WaitOver { namespace: Namespace::default(), slot: slot(), line: 9, auto: true });
    node.lands(START);
    assert_eq!(node.state_told(call), None, "told too early");
    // The place becomes free before the line has ended: the caller hears of it.
    let release = Verb::Release { slot: "holder".parse().expect("an id") };
    node.lands(START);
    assert_eq!(node.state_told(call), Some(SlotState::Queued));
    node.done(release);
    let status = node.sequencer.engine().map(|engine| engine.status("default", "waiter"));
    assert!(
        matches!(status, Some(maitred_engine::outcome::SlotStatus::Reserved { .. })),
        "ordinary once its wait was over: {status:?}"
    );
}

/// The node is to stop while an acquire is on its way: its caller is told where it stands, and nobody stays parked.
#[test]
fn at_the_stop_a_wait_on_the_way_ends_too() {
    let mut node = Node::new();
    node.done(limit_of_one());
    node.done(acquire("holder"));
    let call = node.ask(acquire("waiter"), Some(9));
    node.input(Input::EndWaits);
    node.lands(START);
    node.lands(START);
    assert_eq!(node.state_told(call), Some(SlotState::Queued));
    assert_eq!(node.sequencer.waiting_callers(), 0);
    assert!(node.sequencer.is_idle());
}

/// A look whose wait ends before anything could be read is answered as soon as it can be.
#[test]
fn a_look_that_ends_on_the_way_is_answered() {
    let mut node = Node::new();
    node.done(limit_of_one());
    node.done(acquire("holder"));
    node.done(acquire("waiter"));
    node.ask(hit(), None);
    let (namespace, slot) = (Namespace::default(), "waiter".parse().expect("an id"));
    node.input(Input::Look { namespace: namespace.clone(), slot, line: 4, reply: 99 });
    let slot = "waiter".parse().expect("an id");
    node.input(Input::WaitOver { namespace, slot, line: 4, auto: false });
    node.lands(START);
    assert_eq!(node.state_told(99), Some(SlotState::Queued));
}

/// The store's clock is an hour behind. Ten records, each two seconds on its way: twenty seconds have passed.
#[test]
fn time_keeps_its_pace_when_stamps_are_not_believed() {
    let mut node = Node::new();
    node.done(limit_of_one());
    let began = node.now();
    for _ in 0..10 {
        node.ask(hit(), None);
        node.boot += 2_000;
        node.lands(START - 3_600_000);
    }
    node.ask(hit(), None);
    node.lands(START - 3_600_000);
    assert_eq!(node.now() - began, 20_000);
}

/// Another's record that is read a minute late does not put the clock back by a minute.
#[test]
fn a_record_read_late_does_not_put_the_time_back() {
    let mut node = Node::new();
    node.done(limit_of_one());
    let before = node.sequencer.follower().hash();
    let batch = maitred::local::record::Batch {
        estimate: Some(START + 1_000),
        commands: vec![Command::Advance],
        ..Default::default()
    };
    let bytes = Entry { writer: OTHER, before, body: Body::Batch(batch) }.encode();
    node.boot += 120_000;
    node.input(Input::Changed);
    node.next_read();
    node.input(Input::Records(Ok(vec![Record { position: 3, at: START + 1_000, bytes }])));
    node.next_read();
    node.input(Input::Records(Ok(Vec::new())));
    node.ask(hit(), None);
    node.lands(START + 120_000);
    assert_eq!(node.now(), START + 120_000);
}

/// The holder's time ends while nobody is there. The waiter's line died before that: its slot is ordinary.
#[test]
fn lines_are_dead_before_what_falls_due_in_an_outage() {
    let mut node = Node::new();
    node.done(limit_of_one());
    node.done(acquire("holder"));
    node.ask(acquire("waiter"), Some(9));
    node.lands(START);
    let mut next = Node::start(2, node.journal);
    next.pump();
    next.lands(START + 400_000);
    let status = next.sequencer.engine().map(|engine| engine.status("default", "waiter"));
    assert!(matches!(status, Some(maitred_engine::outcome::SlotStatus::Reserved { .. })), "{status:?}");
}

/// Nothing fits, and something is due: the node pauses instead of trying again at once, for ever.
#[test]
fn a_full_journal_makes_the_node_pause() {
    let mut node = Node::new();
    node.done(limit_of_one());
    node.done(acquire("holder"));
    let call = node.ask(acquire("waiter"), Some(9));
    node.lands(START);
    node.sequencer.set_room(Room::Reserve);
    node.boot += 3_600_000;
    node.pump();
    let full = || Input::Appended(Err(AppendError::Full { bytes: 90 }));
    node.next_append();
    node.input(full());
    assert!(node.effects.is_empty(), "again at once: {:?}", node.effects);
    // A caller whose wait ends meanwhile is not told that nothing was done.
    let slot = "waiter".parse().expect("an id");
    node.input(Input::WaitOver { namespace: Namespace::default(), slot, line: 9, auto: true });
    node.boot += 1_000;
    node.pump();
    node.next_append();
    node.input(full());
    let told = node.answers.iter().find(|(reply, _)| *reply == call).map(|(_, answer)| answer.clone());
    assert_eq!(told, Some(Err(Reason::Unknown)));
    assert!(node.sequencer.is_idle(), "nobody waits for what is left");
    // When there is room again, it is said that the wait is over.
    node.boot += 1_000;
    node.pump();
    let bytes = node.lands(START + 3_600_000);
    let Body::Batch(batch) = Entry::decode(&bytes).expect("a record").body else { panic!("not a batch") };
    assert!(
        matches!(&batch.commands[..], [Command::In(request)] if matches!(request.verb, Verb::EndLine { .. }))
    );
}

/// Whoever asks for a later revision has seen one: the node looks, although it has had no notice.
#[test]
fn a_later_revision_that_is_wanted_is_looked_for() {
    let mut node = Node::new();
    let call = Call::Limits { after: None, most: None, prefixes: Vec::new() };
    let namespace = Namespace::default();
    node.input(Input::Read { namespace, call, min_revision: Some(2), reply: 5 });
    assert_eq!(node.next_read(), 1);
}

/// An end of a run that nobody waits for any more is still written: only calls that take are refused.
#[test]
fn on_the_reserve_what_gives_back_is_taken() {
    let mut node = Node::new();
    node.done(limit_of_one());
    node.sequencer.set_room(Room::Reserve);
    let refused = node.ask(acquire("late"), None);
    assert!(matches!(node.answers.last(), Some((reply, Err(Reason::StorageFull))) if *reply == refused));
    node.ask(Verb::EndRun { run: "r".parse().expect("an id"), status: RunStatus::Failed }, None);
    node.lands(START);
    assert_eq!(node.answers.len(), 3);
}

/// D1, rates at level `written`: answered before any flush; flushed 50 ms after the first of them, or with whatever else
/// is written, or for whoever reads. A hit is never shown to a reader before that.
#[test]
fn what_is_answered_when_written_is_flushed_soon() {
    let mut node = Node::new();
    node.sequencer.answer_when_written([Namespace::default()].into());
    let written = |node: &mut Node| {
        let call = node.ask(hit(), None);
        let (after, _) = node.next_append();
        node.input(Input::Appended(Ok(Stamp { position: after + 1, at: START })));
        assert!(node.answers.iter().any(|(reply, _)| *reply == call), "it is answered when written");
        after + 1
    };
    let flushed = |node: &mut Node| matches!(node.effects.pop_front(), Some(Effect::Sync));

    written(&mut node);
    node.boot += 30;
    let last = written(&mut node);
    assert!(node.effects.is_empty() && !node.sequencer.is_idle(), "not yet flushed");
    let wake_in = node.sequencer.wake_at(node.clocks()).map(|at| at - node.sequencer.now(node.clocks()));
    assert_eq!(wake_in, Some(20));
    node.boot += 20;
    node.pump();
    assert!(flushed(&mut node), "50 ms after the first");
    node.input(Input::Synced(Ok(last)));
    assert!(node.sequencer.is_idle());

    let last = written(&mut node);
    let limits = Call::Limits { after: None, most: None, prefixes: Vec::new() };
    node.input(Input::Read { namespace: Namespace::default(), call: limits, min_revision: None, reply: 99 });
    assert!(
        flushed(&mut node) && node.answers.iter().all(|(reply, _)| *reply != 99),
        "first flushed, then shown"
    );
    node.input(Input::Synced(Ok(last)));
    assert!(node.answers.iter().any(|(reply, _)| *reply == 99));

    written(&mut node);
    node.done(limit_of_one()); // flushes by itself
    assert!(node.effects.is_empty() && node.sequencer.is_idle());
}
