//! What a node makes of a journal that fails: done, refused and unknown are never mixed up (D2, D3).

use std::{sync::Arc, time::Duration};

use maitred::{
    api::{AcquireFields, Answer, Call, ConfirmMode, Context, NamedLimit, Problem, Reason, SlotState},
    local::{Node, NodeOptions},
};
use maitred_journal::{Faulty, Memory, SystemClock, Trouble};

/// The birth and the declaration each append and sync once, so the acquire's append is the fifth call.
const ACQUIRE_APPENDS: u64 = 5;
const ACQUIRE_SYNCS: u64 = 6;

async fn node(memory: &Memory, script: Vec<(u64, Trouble)>) -> Node {
    let journal = Faulty::scripted(memory.journal(), script);
    Node::start_on(Box::new(journal), NodeOptions::default()).await.expect("the node starts")
}

async fn ask(node: &Node, call: Call) -> Result<Answer, Problem> {
    let answered = tokio::time::timeout(Duration::from_secs(10), node.call(&Context::default(), call)).await;
    answered.expect("an answer comes")
}

fn declare() -> Call {
    Call::Declare(NamedLimit { name: "l".to_owned(), capacity: 1_u32.into(), max_hold: "10m".into() })
}

fn acquire(slot: &str) -> Call {
    let (slot, limit) = (Some(slot.to_owned()), Some("l".to_owned()));
    Call::Acquire(AcquireFields { slot, limit, confirm: ConfirmMode::Auto, ..AcquireFields::default() })
}

fn state(answer: &Result<Answer, Problem>) -> SlotState {
    match answer {
        Ok(Answer::Slot(answer)) => answer.slot.state,
        other => panic!("no slot in {other:?}"),
    }
}

/// How many records are in the journal: nothing was written twice, nothing was lost.
async fn records(node: &Node) -> u64 {
    node.health().await.revision
}

#[tokio::test]
async fn a_failed_flush_ends_the_node_and_the_caller_is_told_that_nobody_knows() {
    let memory = Memory::local(Arc::new(SystemClock));
    let first = node(&memory, vec![(ACQUIRE_SYNCS, Trouble::Broken)]).await;
    ask(&first, declare()).await.expect("declared");
    let problem = ask(&first, acquire("a")).await.expect_err("not known");
    assert_eq!(problem.reason, Reason::Unknown);
    let why = tokio::time::timeout(Duration::from_secs(5), first.failed()).await.expect("it says why");
    assert!(why.contains("journal"), "{why}");
    let problem = ask(&first, acquire("b")).await.expect_err("it is gone, or about to be");
    assert!(matches!(problem.reason, Reason::Unavailable | Reason::Unknown), "{problem:?}");

    memory.lose_unsynced();
    let second = node(&memory, Vec::new()).await;
    assert_eq!(state(&ask(&second, acquire("a")).await), SlotState::Busy);
    assert_eq!(state(&ask(&second, acquire("b")).await), SlotState::Queued);
}

#[tokio::test]
async fn a_broken_append_ends_the_node() {
    let memory = Memory::local(Arc::new(SystemClock));
    let node = node(&memory, vec![(ACQUIRE_APPENDS, Trouble::Broken)]).await;
    ask(&node, declare()).await.expect("declared");
    assert_eq!(ask(&node, acquire("a")).await.expect_err("not known").reason, Reason::Unknown);
    tokio::time::timeout(Duration::from_secs(5), node.failed()).await.expect("it says why");
}

#[tokio::test]
async fn a_journal_without_room_refuses_and_nothing_happened() {
    let memory = Memory::local(Arc::new(SystemClock));
    let node = node(&memory, vec![(ACQUIRE_APPENDS, Trouble::Full)]).await;
    ask(&node, declare()).await.expect("declared");
    assert_eq!(ask(&node, acquire("a")).await.expect_err("no room").reason, Reason::StorageFull);
    assert_eq!(state(&ask(&node, acquire("a")).await), SlotState::Busy);
}

#[tokio::test]
async fn an_append_whose_fate_is_unknown_is_looked_up_and_has_one_effect() {
    for trouble in
        [Trouble::UnknownWritten, Trouble::UnknownLost, Trouble::UnknownLate { calls: 1 }, Trouble::Conflict]
    {
        let memory = Memory::shared(Arc::new(SystemClock));
        let node = node(&memory, vec![(ACQUIRE_APPENDS, trouble)]).await;
        ask(&node, declare()).await.expect("declared");
        let before = records(&node).await;
        assert_eq!(state(&ask(&node, acquire("a")).await), SlotState::Busy, "{trouble:?}");
        assert_eq!(records(&node).await, before + 1, "{trouble:?}");
        assert_eq!(state(&ask(&node, acquire("b")).await), SlotState::Queued, "{trouble:?}");
    }
}

#[tokio::test]
async fn two_nodes_on_one_journal_take_turns_and_agree() {
    let memory = Memory::shared(Arc::new(SystemClock));
    let (one, two) = (node(&memory, Vec::new()).await, node(&memory, Vec::new()).await);
    ask(&one, declare()).await.expect("declared");
    let mut waiting = Vec::new();
    for number in 0..40 {
        let node = if number % 2 == 0 { one.clone() } else { two.clone() };
        waiting.push(tokio::spawn(async move {
            let slot = format!("s{number}");
            let fields = AcquireFields {
                slot: Some(slot.clone()),
                limit: Some("l".to_owned()),
                confirm: ConfirmMode::Auto,
                wait: "1m".into(),
                ..AcquireFields::default()
            };
            let taken = ask(&node, Call::Acquire(fields)).await;
            assert_eq!(state(&taken), SlotState::Busy);
            ask(&node, Call::Release { slot }).await.expect("released");
        }));
    }
    for task in waiting {
        task.await.expect("every caller on either node is served");
    }
}

#[tokio::test]
async fn beside_a_shared_journal_the_folder_is_made() {
    let parent = tempfile::tempdir().expect("a folder");
    let folder = parent.path().join("of").join("its-own");
    let journal = Memory::shared(Arc::new(SystemClock)).journal();
    let options = NodeOptions { folder: Some(folder.clone()), ..NodeOptions::default() };
    let node = Node::start_on(Box::new(journal), options).await.expect("the node starts");
    assert!(folder.join("history.sqlite").is_file(), "the history has a place");
    node.stop(Duration::ZERO).await;
}
