//! Concurrency: at most N running at the same time.

use std::time::Duration;

use maitred_tasks::{Completion, Meta, Options, RunStatus};
use serde_json::json;

use crate::common::*;

#[tokio::test]
async fn one_at_a_time() {
    let world = World::with(acquire([place("user=1", 1)])).await;
    let run = world.deferred().await;
    assert!(is_refused(world.ok().await));
    world.complete(&run).await;
    world.ok().await.unwrap();
}

#[tokio::test]
async fn a_task_declares_both_kinds() {
    let world = World::with(|flow| {
        Box::pin(async move {
            flow.rate_limit().consume([rate("user=1", 3)]).await?;
            flow.rate_limit().acquire([place("user=1", 1)]).await?;
            Ok(Options::new())
        })
    })
    .await;
    let run = world.deferred().await;
    assert_eq!(refusal(world.ok().await).0, "concurrency_limit_exceeded");
    world.complete(&run).await;
    world.ok().await.unwrap();
    assert_eq!(refusal(world.ok().await).0, "rate_limit_exceeded");
}

#[tokio::test]
async fn every_terminal_status_frees_the_slot() {
    let world = World::with(acquire([place("user=1", 1)])).await;
    for what in ["fail", "misread", "moderate", "cancel", "panic"] {
        assert_ne!(world.run(what).await.unwrap_err().status(), 429, "{what}");
        assert_eq!(world.counted("user=1").await, (0, 0), "{what}");
    }
    world.ok().await.unwrap();
    assert_eq!(world.counted("user=1").await, (0, 0));
}

#[tokio::test]
async fn a_client_that_hangs_up_frees_the_slot() {
    let world = World::with(acquire([place("user=1", 1)])).await;
    let waits = tokio::time::timeout(Duration::from_millis(50), world.run("hang")).await;
    assert!(waits.is_err());
    world.until_counted("user=1", (0, 0)).await;
}

#[tokio::test]
async fn the_slot_survives_defer() {
    let world = World::with(acquire([place("user=1", 1)])).await;
    let run = world.deferred().await;
    world.pass(HOUR - 1).await;
    assert_eq!(world.counted("user=1").await, (0, 1));
    assert_eq!(world.host.complete(&run, RunStatus::Failed).await.unwrap(), Completion::Settled);
    assert_eq!(world.counted("user=1").await, (0, 0));
}

#[tokio::test]
async fn any_host_completes_a_deferred_run_and_once_is_enough() {
    let world = World::with(acquire([place("user=1", 1)])).await;
    let run = world.deferred().await;
    let other = World::over(world.client.clone());
    other.complete(&run).await;
    assert_eq!(world.counted("user=1").await, (0, 0));
    let next = world.deferred().await;
    world.complete(&run).await;
    assert_eq!(world.counted("user=1").await, (0, 1), "it was not the next run's to end");
    world.complete(&next).await;
}

#[tokio::test]
async fn a_run_may_be_completed_before_its_body_has_returned() {
    let world = World::new().await;
    let host = world.host.clone();
    let run = bodied(move |flow, _| {
        let host = host.clone();
        Box::pin(async move {
            let early = host.complete(flow.run_id(), RunStatus::Succeeded).await;
            assert_eq!(early.unwrap_err().status(), 409, "it has not been deferred");
            let deferred = flow.defer()?;
            host.complete(flow.run_id(), RunStatus::Succeeded).await?;
            Ok(deferred)
        })
    });
    world.task("t", made(acquire([place("user=1", 1)]), run));
    for _ in 0..3 {
        world.ok().await.unwrap();
        assert_eq!(world.counted("user=1").await, (0, 0));
    }
}

#[tokio::test]
async fn a_completed_run_is_not_ended_again() {
    let world = World::new().await;
    let host = world.host.clone();
    let run = bodied(move |flow, _| {
        let host = host.clone();
        Box::pin(async move {
            let _deferred = flow.defer()?;
            host.complete(flow.run_id(), RunStatus::Succeeded).await?;
            // The id comes back elsewhere; what it holds there is not this execution's to end.
            let spec = maitred::Spec::place("user=1", 1);
            host.limiter().acquire_keys("t", flow.run_id(), [spec]).await.unwrap();
            Err(maitred_tasks::TaskError::internal("after all"))
        })
    });
    world.task("t", made(acquire([place("user=1", 1)]), run));
    assert_eq!(world.ok().await.unwrap_err().status(), 500);
    tokio::time::sleep(Duration::from_millis(300)).await; // time for an end in the background
    assert_eq!(world.counted("user=1").await, (0, 1));
}

#[tokio::test]
async fn no_free_slot_is_a_429() {
    let world = World::with(acquire([place("user=1", 1)])).await;
    let _run = world.deferred().await;
    let details = json!({ "retryAfterSeconds": null, "limit": 1 });
    assert_eq!(refusal(world.ok().await), ("concurrency_limit_exceeded".to_owned(), details));
}

#[tokio::test]
async fn a_call_takes_a_slot_of_every_key_or_none() {
    let world = World::with(acquire([place("user=1", 9), place("global", 1)])).await;
    let _run = world.deferred().await;
    assert!(is_refused(world.ok().await));
    assert_eq!(world.counted("user=1").await, (0, 1));
}

#[tokio::test]
async fn a_slot_is_held_for_at_most_one_hour() {
    let world = World::with(acquire([place("user=1", 1)])).await;
    let run = world.deferred().await;
    world.pass(HOUR - 1).await;
    assert!(is_refused(world.ok().await));
    world.pass(1).await;
    let second = world.deferred().await;
    world.complete(&run).await;
    assert_eq!(world.counted("user=1").await, (0, 1), "the first run's end frees nothing of the second");
    world.complete(&second).await;
}

#[tokio::test]
async fn the_slot_of_a_host_that_died_comes_back_after_an_hour() {
    let world = World::with(acquire([place("user=1", 1)])).await;
    // What a killed process leaves: a run that took its place, and nobody who would end it.
    let spec = maitred::Spec::place("user=1", 1);
    world.host.limiter().acquire_keys("t", "dead", [spec]).await.unwrap();
    assert!(is_refused(world.ok().await));
    world.pass(HOUR).await;
    world.ok().await.unwrap();
}

#[tokio::test]
async fn a_run_that_ends_frees_its_own_slots_only() {
    let world = World::with(acquire([place("user=1", 2)])).await;
    let run = world.deferred().await;
    world.ok().await.unwrap();
    assert_eq!(world.counted("user=1").await, (0, 1));
    world.complete(&run).await;
    let unknown = world.host.complete("nobody", RunStatus::Succeeded).await.unwrap();
    assert_eq!(unknown, Completion::Settled);
    assert_eq!(world.host.complete("not an id", RunStatus::Failed).await.unwrap_err().status(), 400);
}

#[tokio::test]
async fn a_run_that_is_being_executed_is_not_begun_again() {
    let world = World::with(acquire([place("user=1", 5)])).await;
    let message = || Meta::new().with_message_id("m1");
    let host = world.host.clone();
    let first = tokio::spawn(async move { host.execute("t", json!({ "do": "hang" }), message()).await });
    world.until_counted("user=1", (0, 1)).await;
    let again = world.host.execute("t", json!({}), message()).await;
    assert_eq!(again.unwrap_err().status(), 409);
    assert_eq!(world.counted("user=1").await, (0, 1));
    first.abort();
    world.until_counted("user=1", (0, 0)).await;
}
