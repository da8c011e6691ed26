//! Notices: until the slot is confirmed, and no longer.

use maitred_api::{Call, SlotState};
use serde_json::json;

use super::app::{App, Reply, Rig, eventually, target};

const LAPSE_MS: u64 = 120_000;

async fn waiting() -> (Rig, App) {
    let (mut rig, app) = (Rig::start().await, App::start().await);
    assert_eq!(rig.acquire("a", "wrun_a").await, SlotState::Reserved);
    rig.confirm("a").await;
    assert_eq!(rig.acquire("b", "wrun_b").await, SlotState::Queued);
    app.script().runs = [("wrun_a".to_owned(), "running"), ("wrun_b".to_owned(), "running")].into();
    rig.call_back(&[target(&app.url())]);
    // Its first look comes when it listens.
    eventually("the server listens", async || app.script().asked > 0).await;
    (rig, app)
}

#[tokio::test]
async fn a_run_is_told_until_it_confirms() {
    let (rig, app) = waiting().await;
    let not_yet = Reply::Status(404, json!({ "run": "running" }));
    app.script().notices = [not_yet.clone(), not_yet].into();
    rig.release("a").await;
    eventually("three notices", async || app.told_of("b").len() == 3).await;
    assert_eq!(rig.numbers.open_notices.get(), 1);
    assert_eq!(rig.confirm("b").await, SlotState::Busy);
    eventually("the notice is closed", async || rig.numbers.open_notices.get() == 0).await;
    assert_eq!(app.told_of("b"), ["reserved"; 3]);
    let script = app.script();
    let told = script.told.iter().find(|body| body["slot"] == "b").unwrap();
    let expected =
        json!({ "type": "slot", "slot": "b", "limit": "calls", "run": "wrun_b", "state": "reserved" });
    assert_eq!(*told, expected);
}

#[tokio::test]
async fn a_run_that_is_over_lets_the_next_in() {
    let (rig, app) = waiting().await;
    rig.acquire("c", "wrun_c").await;
    app.script().notices = [Reply::Status(410, json!({ "run": "cancelled" }))].into();
    rig.release("a").await;
    eventually("c is told", async || app.told_of("c") == ["reserved"]).await;
    assert_eq!(rig.slot("b").await, SlotState::RunEnded);
    assert_eq!(rig.numbers.runs_ended.get(), 1);
    assert_eq!(app.told_of("b").len(), 1);
}

#[tokio::test]
async fn only_the_app_itself_can_say_so() {
    let (rig, app) = waiting().await;
    let replies = [
        Reply::Status(410, json!("gone")),
        Reply::Status(410, json!({ "run": "running" })),
        Reply::Status(410, json!({ "run": "not_found" })),
        Reply::Status(500, json!({ "run": "cancelled" })),
    ];
    app.script().notices = replies.into();
    rig.release("a").await;
    eventually("the fifth notice", async || app.told_of("b").len() == 5).await;
    assert_eq!(rig.slot("b").await, SlotState::Reserved);
    assert_eq!(rig.numbers.runs_ended.get(), 0);
}

#[tokio::test]
async fn a_timeout_is_told_once() {
    let (rig, app) = waiting().await;
    rig.acquire_with("c", "wrun_c", |fields| fields.timeout = "5s".into()).await;
    rig.advance(5_000).await;
    eventually("c is told", async || app.told_of("c") == ["timed_out"]).await;
    eventually("and that is all", async || rig.numbers.open_notices.get() == 0).await;
    assert!(app.told_of("b").is_empty());
}

#[tokio::test]
async fn a_reservation_that_lapses_is_told_anew() {
    let (rig, app) = waiting().await;
    rig.release("a").await;
    eventually("b is told", async || app.told_of("b").len() == 1).await;
    rig.advance(LAPSE_MS).await; // nobody else waits: it is granted again at that instant
    eventually("b is told again", async || app.told_of("b").len() == 2).await;
    assert_eq!(rig.confirm("b").await, SlotState::Busy);
}

#[tokio::test]
async fn what_is_reserved_when_a_server_starts_is_told() {
    let (mut rig, app) = (Rig::start().await, App::start().await);
    app.script().runs = [("wrun_a".to_owned(), "running")].into();
    rig.acquire("a", "wrun_a").await;
    rig.call_back(&[target(&app.url())]);
    eventually("a is told", async || !app.told_of("a").is_empty()).await;
}

#[tokio::test]
async fn what_ended_before_a_server_starts_is_told_to_whom_it_concerns() {
    let (mut rig, app) = (Rig::start().await, App::start().await);
    for (slot, run) in [("a", "wrun_a"), ("b", "wrun_b"), ("c", "wrun_c"), ("d", "wrun_d"), ("e", "batch-7")]
    {
        rig.acquire(slot, run).await;
    }
    rig.acquire_with("late", "wrun_late", |fields| fields.timeout = "5s".into()).await;
    rig.confirm("a").await;
    rig.advance(5_000).await;
    for slot in ["b", "c", "d", "e"] {
        rig.call(Call::Leave { slot: slot.to_owned() }).await;
    }
    rig.release("a").await;
    let stand = [("a", "running"), ("b", "running"), ("c", "cancelled"), ("late", "running")];
    app.script().runs = stand.map(|(run, standing)| (format!("wrun_{run}"), standing)).into();
    rig.call_back(&[target(&app.url())]);
    eventually("both are told", async || {
        app.told_of("b") == ["left"] && app.told_of("late") == ["timed_out"]
    })
    .await;
    eventually("and that is all", async || rig.numbers.open_notices.get() == 0).await;
    let others = ["a", "c", "d", "e"].map(|slot| app.told_of(slot).len());
    assert_eq!(others, [0; 4], "held, cancelled, unknown, not the app's");
    assert_eq!(rig.numbers.runs_ended.get(), 0);
}

#[tokio::test]
async fn a_run_hears_that_its_reservation_was_taken_away() {
    let (rig, app) = waiting().await;
    rig.release("a").await;
    eventually("b is told", async || app.told_of("b") == ["reserved"]).await;
    rig.release("b").await;
    eventually("b is told of its end", async || app.told_of("b") == ["reserved", "released"]).await;
    eventually("and that is all", async || rig.numbers.open_notices.get() == 0).await;
}

#[tokio::test]
async fn nobody_is_told_of_what_is_not_theirs() {
    let (rig, app) = waiting().await;
    rig.acquire("other", "batch-7").await;
    rig.call(Call::Leave { slot: "b".to_owned() }).await;
    rig.release("a").await;
    assert_eq!(rig.slot("other").await, SlotState::Reserved);
    eventually("b is told", async || app.told_of("b") == ["left"]).await;
    assert!(app.told_of("other").is_empty() && app.told_of("a").is_empty());
}
