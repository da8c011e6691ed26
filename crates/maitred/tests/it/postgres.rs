//! Nodes that share a journal in a real PostgreSQL.

use std::{
    fs,
    path::Path,
    time::{Duration, Instant},
};

use maitred::{
    api::{AcquireFields, Answer, Call, ConfirmMode, Context, Given, NamedLimit, Problem, Reason, SlotState},
    local::{Node, NodeOptions, StartError},
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
    let listed = ask(&node, Call::Limits { after: None, most: None, prefixes: Vec::new() })
        .await
        .expect("lists are answered");
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

async fn start_in(folder: &Path, url: &str, accept_lost_end: bool) -> Result<Node, StartError> {
    let (folder, journal) = (Some(folder.to_owned()), Some(url.to_owned()));
    Node::start(NodeOptions { folder, journal, accept_lost_end, ..NodeOptions::default() }).await
}

/// Until the folder says that the node has seen everything that it answered.
async fn written_down(node: &Node, folder: &Path) {
    let head = node.health().await.revision.to_string();
    let file = folder.join("journal-seen");
    let says = || fs::read_to_string(&file).unwrap_or_default();
    until("what was seen is written down", async || says().split(' ').nth(1) == Some(&head)).await;
}

/// A standby that was not sent everything becomes the primary: whoever knew more stops, and one that was not there in
/// between does not start, until somebody who knows what that means says so.
#[tokio::test(flavor = "multi_thread")]
async fn a_promoted_standby_without_the_end_is_noticed_by_those_who_saw_more() {
    let mut primary = Postgres::start().expect("a server");
    let (folders, ready) = (tempfile::tempdir().expect("a folder"), Duration::from_secs(5));
    let folder = |name: &str| folders.path().join(name);
    let first = start_in(&folder("away"), &primary.url("limits"), false).await.expect("a node");
    ask(&first, declare()).await.expect("declared");
    let standby = primary.standby().expect("a standby");
    let both = format!(
        "postgres://postgres@127.0.0.1:{},127.0.0.1:{}/postgres?schema=limits",
        primary.port(),
        standby.port()
    );
    let there = start_in(&folder("there"), &both, false).await.expect("a node");
    standby.stop_following().expect("it lags");
    assert_eq!(state(&there, auto("a", "")).await, SlotState::Busy, "acknowledged by the primary alone");
    assert_eq!(look(&first, "a").await, SlotState::Busy);
    written_down(&first, &folder("away")).await;
    first.stop(ready).await;
    primary.kill().expect("killed");
    standby.promote().expect("promoted");

    let reason = tokio::time::timeout(Duration::from_secs(30), there.failed()).await.expect("it stops");
    assert!(reason.contains("lost records that were acknowledged"), "{reason}");
    let refused = start_in(&folder("away"), &both, false).await.err().expect("a refusal").to_string();
    assert!(refused.contains("it ends at") && refused.contains("--accept-lost-end"), "{refused}");
    // One that knows nothing cannot tell, and writes something else in its place.
    let fresh = start_in(&folder("fresh"), &both, false).await.expect("a node");
    for slot in ["b", "c", "d"] {
        ask(&fresh, auto(slot, "")).await.expect("queued or granted");
    }
    fresh.stop(ready).await;
    let refused = start_in(&folder("away"), &both, false).await.err().expect("a refusal").to_string();
    assert!(refused.contains("is another one"), "{refused}");

    let accepted = start_in(&folder("away"), &both, true).await.expect("a node");
    assert_eq!(look(&accepted, "a").await, SlotState::Unknown, "that is what was lost");
    written_down(&accepted, &folder("away")).await;
    accepted.stop(ready).await;
    start_in(&folder("away"), &both, false)
        .await
        .expect("from then on that is the journal")
        .stop(ready)
        .await;
}

/// A database that was begun anew is no place to go on.
#[tokio::test(flavor = "multi_thread")]
async fn another_journal_in_its_place_is_noticed() {
    let server = Postgres::start().expect("a server");
    let folder = tempfile::tempdir().expect("a folder");
    let node = start_in(folder.path(), &server.url("limits"), false).await.expect("a node");
    ask(&node, declare()).await.expect("declared");
    written_down(&node, folder.path()).await;
    node.stop(Duration::from_secs(5)).await;
    server.sql("DROP SCHEMA limits CASCADE").expect("dropped");
    let refused = start_in(folder.path(), &server.url("limits"), false).await.err().expect("a refusal");
    assert!(refused.to_string().contains("it is another journal"), "{refused}");
}

/// A caller who was told of a revision is the last who knows of it.
#[tokio::test(flavor = "multi_thread")]
async fn a_revision_that_is_not_there_is_named() {
    let server = Postgres::start().expect("a server");
    let node = node(&server).await;
    let wants = Context { min_revision: Some(1_000), ..Context::default() };
    let told = node
        .call(&wants, Call::Limits { after: None, most: None, prefixes: Vec::new() })
        .await
        .expect_err("a refusal");
    assert_eq!(told.reason, Reason::Unavailable);
    let told = told.to_string();
    assert!(told.contains("revision 1000 is not in the journal, which ends at"), "{told}");
}
