//! What an app says about its runs, and what becomes of it.

use maitred_api::{HoldMode, SlotState};

use super::app::{App, Rig, eventually, target};

/// `wrun_a` has a slot, `wrun_b` and `wrun_c` wait.
async fn full() -> (Rig, App) {
    let (rig, app) = (Rig::start().await, App::start().await);
    rig.acquire("a", "wrun_a").await;
    rig.confirm("a").await;
    rig.acquire("b", "wrun_b").await;
    rig.acquire("c", "wrun_c").await;
    (rig, app)
}

async fn asked(app: &App) {
    eventually("the app is asked", async || app.script().told.iter().any(|body| body["type"] == "runs"))
        .await;
}

#[tokio::test]
async fn a_cancelled_run_leaves_although_nobody_said_so() {
    let (mut rig, app) = full().await;
    app.script().runs = [
        ("wrun_a".to_owned(), "cancelled"),
        ("wrun_b".to_owned(), "cancelled"),
        ("wrun_c".to_owned(), "running"),
    ]
    .into();
    rig.call_back(&[target(&app.url())]);
    eventually("b is out", async || rig.slot("b").await == SlotState::RunEnded).await;
    assert_eq!(rig.slot("c").await, SlotState::Queued);
    assert_eq!(rig.slot("a").await, SlotState::Busy, "what is busy stays so, whatever became of its run");
    assert_eq!(rig.numbers.runs_ended.get(), 1);
    let script = app.script();
    let asked = script.told.iter().find(|body| body["type"] == "runs").unwrap();
    assert_eq!(asked["runs"], serde_json::json!(["wrun_b", "wrun_c"]), "a is not watched");
}

#[tokio::test]
async fn what_is_held_for_the_run_is_freed_with_it() {
    let (mut rig, app) = (Rig::start().await, App::start().await);
    rig.acquire_with("a", "wrun_a", |fields| fields.hold = HoldMode::Run).await;
    rig.confirm("a").await;
    rig.acquire("b", "wrun_b").await;
    app.script().runs = [("wrun_a".to_owned(), "completed"), ("wrun_b".to_owned(), "running")].into();
    rig.call_back(&[target(&app.url())]);
    eventually("b is next", async || rig.slot("b").await == SlotState::Reserved).await;
    assert_eq!(rig.slot("a").await, SlotState::RunEnded);
}

#[tokio::test]
async fn silence_ends_nothing() {
    let (mut rig, app) = full().await;
    app.script().is_silent_about_runs = true;
    rig.call_back(&[target(&app.url())]);
    asked(&app).await;
    rig.call_back(&[target("http://127.0.0.1:1/nobody")]);
    tokio::time::sleep(std::time::Duration::from_millis(300)).await;
    assert_eq!((rig.slot("b").await, rig.slot("c").await), (SlotState::Queued, SlotState::Queued));
}

#[tokio::test]
async fn a_run_that_nobody_knows_is_over_after_a_minute() {
    let (mut rig, app) = full().await;
    rig.call_back(&[target(&app.url())]);
    asked(&app).await;
    assert_eq!(rig.slot("b").await, SlotState::Queued);
    rig.advance(61_000).await;
    rig.call_back(&[target(&app.url())]);
    eventually("b is out", async || rig.slot("b").await == SlotState::RunEnded).await;
}

#[tokio::test]
async fn a_run_may_belong_to_either_of_two_apps() {
    let (mut rig, first) = full().await;
    let second = App::start().await;
    first.script().runs = [("wrun_b".to_owned(), "failed")].into();
    second.script().runs = [("wrun_c".to_owned(), "running")].into();
    rig.advance(61_000).await;
    rig.call_back(&[target(&first.url()), target(&second.url())]);
    eventually("b is out", async || rig.slot("b").await == SlotState::RunEnded).await;
    assert_eq!(rig.slot("c").await, SlotState::Queued);
    rig.release("a").await;
    eventually("c is told by one of them", async || !first.told_of("c").is_empty()).await;
}
