//! Nodes that share a journal in a real PostgreSQL.

use std::time::{Duration, Instant};

use maitred::{
    api::{AcquireFields, Answer, Call, ConfirmMode, Context, Given, NamedLimit, Problem, Reason, SlotState},
    local::{Node, NodeOptions},
};
use maitred_testbed::Postgres;

async fn node(server: &Postgres) -> Node {
    let options = NodeOptions { journal: Some(server.url("limits")), ..NodeOptions::default() };
    Node::start(options).await.expect("a node starts")
}

async fn ask(node: &Node, call: Call) -> Result<Answer, Problem> {
    node.call(&Context::default(), call).await
}

fn declare() -> Call {
    Call::Declare(NamedLimit { name: "l".to_owned(), capacity: 1_u32.into(), max_hold: "10m".into() })
}

fn auto(slot: &str, wait: &str) -> Call {
    let wait = if wait.is_empty() { Given::default() } else { wait.into() };
    let (slot, limit) = (Some(slot.to_owned()), Some("l".to_owned()));
    Call::Acquire(AcquireFields { slot, limit, confirm: ConfirmMode::Auto, wait, ..AcquireFields::default() })
}

fn release(slot: &str) -> Call {
    Call::Release { slot: slot.to_owned() }
}

async fn state(node: &Node, call: Call) -> SlotState {
    match ask(node, call).await {
        Ok(Answer::Slot(answer)) => answer.slot.state,
        Ok(Answer::Release(answer)) => answer.state,
        other => panic!("{other:?}"),
    }
}

async fn look(node: &Node, slot: &str) -> SlotState {
    state(node, Call::Slot { slot: slot.to_owned(), wait: Given::default() }).await
}

async fn until(what: &str, mut holds: impl AsyncFnMut() -> bool) -> Duration {
    let since = Instant::now();
    while !holds().await {
        assert!(since.elapsed() < Duration::from_secs(60), "{what}: not within a minute");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    since.elapsed()
}

/// A grant that one node decides reaches the caller who hangs on another, and what one answered every other knows.
#[tokio::test(flavor = "multi_thread")]
async fn a_grant_crosses_nodes() {
    let server = Postgres::start().expect("a server");
    let (one, two, three) = tokio::join!(node(&server), node(&server), node(&server));
    ask(&one, declare()).await.expect("declared");
    assert_eq!(state(&one, auto("a", "")).await, SlotState::Busy);
    assert_eq!(look(&two, "a").await, SlotState::Busy, "what one answered, two knows at once");
    let waits = tokio::spawn({
        let two = two.clone();
        async move { state(&two, auto("b", "30s")).await }
    });
    until("b waits", async || look(&three, "b").await == SlotState::Queued).await;
    assert_eq!(state(&three, release("a")).await, SlotState::Released);
    assert_eq!(waits.await.expect("the caller"), SlotState::Busy);
    assert_eq!(look(&one, "b").await, SlotState::Busy);
    for node in [one, two, three] {
        node.stop(Duration::from_secs(5)).await;
    }
}

/// Cut off from the journal a node is not ready, refuses changes, shows what it knows and says how old that is, and
/// comes back by itself.
#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_is_cut_off_says_so_and_comes_back() {
    let mut server = Postgres::start().expect("a server");
    let node = node(&server).await;
    ask(&node, declare()).await.expect("declared");
    assert!(node.health().await.ready && node.stale_ms().is_none());
    server.kill().expect("killed");
    let within = until("not ready", async || !node.health().await.ready).await;
    assert!(within < Duration::from_secs(6), "it took {within:?} to notice");
    assert!(node.stale_ms().is_some());
    let refused = ask(&node, auto("a", "")).await.expect_err("a refusal");
    assert_eq!(refused.reason, Reason::Unavailable, "{refused}");
    let listed = ask(&node, Call::Limits { after: None, most: None }).await.expect("lists are answered");
    let Answer::Limits(listed) = listed else { panic!("{listed:?}") };
    assert_eq!(listed.limits.len(), 1);
    server.start_again().expect("back");
    until("ready", async || node.health().await.ready).await;
    assert!(node.stale_ms().is_none());
    assert_eq!(state(&node, auto("a", "")).await, SlotState::Busy);
}

/// A node that knew more than the database does stops, and says why.
#[tokio::test(flavor = "multi_thread")]
async fn a_lost_end_stops_the_node() {
    let server = Postgres::start().expect("a server");
    let node = node(&server).await;
    ask(&node, declare()).await.expect("declared");
    server
        .sql("DELETE FROM limits.records WHERE position = (SELECT max(position) FROM limits.records)")
        .expect("lost");
    let reason = tokio::time::timeout(Duration::from_secs(30), node.failed()).await.expect("it stops");
    assert!(reason.contains("lost records that were acknowledged"), "{reason}");
}
