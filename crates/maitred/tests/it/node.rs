//! The node near its callers: lines and hang-ups (S7a), waits, restarts, batches, revisions, a full disk.

use std::{sync::Arc, time::Duration};

use maitred::{
    api::{
        AcquireFields, AdmitFields, Answer, BatchItem, Call, ConfirmMode, Context, Given, NamedLimit,
        Problem, Reason, SlotState, SpecFields,
    },
    local::{Node, NodeOptions},
};
use maitred_journal::{Memory, SystemClock};

fn memory() -> Memory {
    Memory::local(Arc::new(SystemClock))
}

async fn node_on(memory: &Memory) -> Node {
    let options = NodeOptions { memory: Some(memory.clone()), ..NodeOptions::default() };
    let node = Node::start(options).await.expect("a node in memory starts");
    let fields = NamedLimit { name: "l".to_owned(), capacity: 1_u32.into(), max_hold: "10m".into() };
    ask(&node, Call::Declare(fields)).await.expect("declared");
    node
}

async fn ask(node: &Node, call: Call) -> Result<Answer, Problem> {
    node.call(&Context::default(), call).await
}

fn acquire(slot: &str, confirm: ConfirmMode, wait: &str) -> Call {
    let wait = if wait.is_empty() { Given::default() } else { wait.into() };
    let (slot, limit) = (Some(slot.to_owned()), Some("l".to_owned()));
    Call::Acquire(AcquireFields { slot, limit, confirm, wait, ..AcquireFields::default() })
}

fn auto(slot: &str, wait: &str) -> Call {
    acquire(slot, ConfirmMode::Auto, wait)
}

fn release(slot: &str) -> Call {
    Call::Release { slot: slot.to_owned() }
}

fn short(answer: &Result<Answer, Problem>) -> String {
    match answer {
        Ok(Answer::Slot(slot)) => slot.slot.state.as_str().to_owned(),
        Ok(Answer::Release(release)) => release.state.as_str().to_owned(),
        Ok(other) => format!("{other:?}"),
        Err(problem) => problem.reason.code().to_owned(),
    }
}

async fn state(node: &Node, call: Call) -> String {
    short(&ask(node, call).await)
}

async fn look(node: &Node, slot: &str) -> String {
    state(node, Call::Slot { slot: slot.to_owned(), wait: Given::default() }).await
}

async fn until(node: &Node, slot: &str, wanted: SlotState) {
    for _ in 0..500 {
        if look(node, slot).await == wanted.as_str() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("slot {slot} is {}, not {wanted:?}", look(node, slot).await);
}

/// A call that waits, in a task of its own, once its slot is in the queue.
async fn waits(node: &Node, slot: &'static str) -> tokio::task::JoinHandle<Result<Answer, Problem>> {
    let waiting = node.clone();
    let task = tokio::spawn(async move { ask(&waiting, auto(slot, "1m")).await });
    until(node, slot, SlotState::Queued).await;
    task
}

#[tokio::test]
async fn a_release_answers_the_caller_on_the_line() {
    let node = node_on(&memory()).await;
    assert_eq!(state(&node, auto("a", "")).await, "busy");
    let waiting = waits(&node, "b").await;
    assert_eq!(state(&node, release("a")).await, "released");
    assert_eq!(short(&waiting.await.expect("the waiter ends")), "busy");
}

#[tokio::test]
async fn an_auto_caller_that_hangs_up_has_left() {
    let node = node_on(&memory()).await;
    ask(&node, auto("a", "")).await.expect("taken");
    waits(&node, "b").await.abort();
    until(&node, "b", SlotState::Left).await;
}

#[tokio::test]
async fn a_late_hang_up_never_ends_a_newer_wait() {
    let node = node_on(&memory()).await;
    ask(&node, auto("a", "")).await.expect("taken");
    let older = waits(&node, "b").await;
    let newer = waits(&node, "b").await;
    tokio::time::sleep(Duration::from_millis(50)).await;
    older.abort();
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert_eq!(look(&node, "b").await, "queued");
    ask(&node, release("a")).await.expect("released");
    assert_eq!(short(&newer.await.expect("the newer wait ends")), "busy");
}

#[tokio::test]
async fn what_was_granted_to_a_line_that_is_gone_is_released() {
    let node = node_on(&memory()).await;
    for round in 0..200 {
        let slot = format!("s{round}");
        let call = tokio::spawn({
            let (node, slot) = (node.clone(), slot.clone());
            async move { ask(&node, auto(&slot, "1m")).await }
        });
        if round % 3 > 0 {
            tokio::time::sleep(Duration::from_micros(round * 20)).await;
        }
        call.abort();
        if let Ok(answer) = call.await {
            // It was answered before it could be cut off: the caller holds it.
            answer.expect("granted");
            ask(&node, release(&slot)).await.expect("released");
        }
    }
    let waited = tokio::time::timeout(Duration::from_secs(5), state(&node, auto("last", "1m"))).await;
    assert_eq!(waited.expect("the place is free again"), "busy");
}

#[tokio::test]
async fn a_wait_that_runs_out_leaves_an_ordinary_slot() {
    let node = node_on(&memory()).await;
    ask(&node, auto("a", "")).await.expect("taken");
    assert_eq!(state(&node, auto("b", "50ms")).await, "queued");
    ask(&node, release("a")).await.expect("released");
    assert_eq!(look(&node, "b").await, "reserved");
    assert_eq!(state(&node, auto("b", "1m")).await, "busy");
}

#[tokio::test]
async fn after_a_restart_auto_slots_are_ordinary_until_their_callers_ask_again() {
    let memory = memory();
    let node = node_on(&memory).await;
    ask(&node, auto("a", "")).await.expect("taken");
    let _ended_by_the_stop = (waits(&node, "b").await, waits(&node, "c").await);
    node.stop(Duration::from_secs(5)).await;

    let node = node_on(&memory).await;
    ask(&node, release("a")).await.expect("released");
    assert_eq!(look(&node, "b").await, "reserved");
    let back_on_the_line = waits(&node, "c").await;
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert_eq!(state(&node, auto("b", "")).await, "busy");
    ask(&node, release("b")).await.expect("released");
    assert_eq!(short(&back_on_the_line.await.expect("answered")), "busy");
}

#[tokio::test]
async fn stopping_tells_those_who_wait_and_takes_nothing_from_them() {
    let memory = memory();
    let node = node_on(&memory).await;
    ask(&node, auto("a", "")).await.expect("taken");
    let waiting = waits(&node, "b").await;
    node.stop(Duration::from_secs(5)).await;
    assert_eq!(short(&waiting.await.expect("ends")), "queued");
    assert_eq!(state(&node, release("a")).await, "unavailable");
    assert_eq!(look(&node_on(&memory).await, "b").await, "queued");
}

#[tokio::test]
async fn a_batch_is_carried_out_in_order_each_with_its_own_outcome() {
    let node = node_on(&memory()).await;
    let item = |call| BatchItem { id: None, call };
    let items = vec![
        item(auto("a", "")),
        item(auto("b", "")),
        item(release("a")),
        item(Call::Pause { limit: "nobody".to_owned() }),
        item(auto("c", "5s")),
        item(Call::SetCapacity { limit: "l".to_owned(), capacity: 0_u32.into() }),
    ];
    let answers = node.batch(&Context::default(), items).await;
    let states: Vec<String> = answers.iter().map(short).collect();
    let wanted = ["busy", "queued", "released", "limit_not_found", "invalid_wait", "invalid_capacity"];
    assert_eq!(states, wanted);
    assert_eq!(look(&node, "b").await, "reserved");
}

#[tokio::test]
async fn a_read_waits_for_the_revision_it_asks_for() {
    let node = node_on(&memory()).await;
    let Ok(Answer::Limit(before)) = ask(&node, Call::Limit { limit: "l".to_owned() }).await else { panic!() };
    let context = Context { min_revision: Some(before.revision + 1), ..Context::default() };
    let reading = tokio::spawn({
        let node = node.clone();
        async move { node.call(&context, Call::Limit { limit: "l".to_owned() }).await }
    });
    tokio::time::sleep(Duration::from_millis(30)).await;
    assert!(!reading.is_finished());
    ask(&node, Call::Pause { limit: "l".to_owned() }).await.expect("paused");
    let Ok(Answer::Limit(after)) = reading.await.expect("ends") else { panic!() };
    assert!(after.limit.paused && after.revision > before.revision);
}

#[tokio::test]
async fn a_full_journal_refuses_what_takes_and_takes_what_gives_back() {
    let memory = memory();
    let node = node_on(&memory).await;
    ask(&node, auto("a", "")).await.expect("taken");
    memory.set_room(4_000);
    let mut refused = None;
    for number in 0..200 {
        let answer = ask(&node, acquire(&format!("w{number}"), ConfirmMode::Holder, "")).await;
        if let Err(problem) = answer {
            refused = Some(problem.reason);
            break;
        }
    }
    assert_eq!(refused, Some(Reason::StorageFull));
    assert_eq!(state(&node, release("a")).await, "released");
}

#[tokio::test]
async fn a_request_id_has_one_effect_over_a_restart() {
    let memory = memory();
    let node = node_on(&memory).await;
    let context = Context { request_id: Some("message-1".to_owned()), ..Context::default() };
    let admit = |limit: u64| {
        let (key, window_seconds) = ("k".to_owned(), 60_u64.into());
        let spec = SpecFields { key, limit: limit.into(), window_seconds, ..SpecFields::default() };
        Call::Admit(AdmitFields { task: "t".to_owned(), specs: vec![spec], ..AdmitFields::default() })
    };
    let Ok(Answer::Decision(first)) = node.call(&context, admit(5)).await else { panic!() };
    node.stop(Duration::from_secs(5)).await;
    let node = node_on(&memory).await;
    let Ok(Answer::Decision(again)) = node.call(&context, admit(5)).await else { panic!() };
    assert!(!first.replayed && again.replayed && again.results[0].used == 1);
    let conflict = node.call(&context, admit(6)).await.expect_err("other content");
    assert_eq!(conflict.reason, Reason::Conflict);
}
