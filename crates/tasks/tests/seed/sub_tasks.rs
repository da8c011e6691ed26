//! Sub-tasks: their own limits when they run, their verdicts in a parent's quote.

use maitred_tasks::{Flow, Meta, Options, Output};
use serde_json::{Value, json};

use crate::common::*;

/// A parent without limits whose body executes `t` as told.
async fn parent(options: impl for<'a> Fn(&'a Flow) -> Boxed<'a, Options> + Send + Sync + 'static) -> World {
    let world = World::with(options).await;
    world.task("parent", made(free, runs_t));
    world
}

fn runs_t(flow: &Flow, params: Value) -> Boxed<'_, Output> {
    Box::pin(async move {
        match params["how"].as_str() {
            Some("stream") => flow.stream_task("t", params).await?.finish().await,
            _ => flow.execute_task("t", params).await,
        }
    })
}

async fn run_parent(world: &World, params: Value) -> Result<Output, maitred_tasks::TaskError> {
    world.host.execute("parent", params, Meta::new()).await
}

#[tokio::test]
async fn root_and_executed_sub_tasks_count_against_the_same_limits() {
    let world = parent(consume([rate("user=1", 2)])).await;
    world.ok().await.unwrap();
    run_parent(&world, json!({})).await.unwrap();
    assert!(is_refused(world.ok().await));
    assert!(is_refused(run_parent(&world, json!({})).await), "the parent hands the sub-task's 429 on");
}

#[tokio::test]
async fn streamed_sub_tasks_count_against_the_same_limits() {
    let world = parent(consume([rate("user=1", 1)])).await;
    run_parent(&world, json!({ "how": "stream" })).await.unwrap();
    assert!(is_refused(run_parent(&world, json!({ "how": "stream" })).await));
    assert!(is_refused(world.ok().await));
}

#[tokio::test]
async fn deferred_sub_tasks_count_against_the_same_limits() {
    let world = parent(acquire([place("user=1", 1)])).await;
    let output = run_parent(&world, json!({ "do": "defer" })).await.unwrap();
    let Output::Deferred { run } = output else { panic!("the sub-task's deferral is handed on") };
    assert_eq!(world.counted("user=1").await, (0, 1), "the parent has ended, its sub-task has not");
    assert!(is_refused(world.ok().await));
    world.complete(&run).await;
    world.ok().await.unwrap();
}

#[tokio::test]
async fn a_sub_task_enforces_its_own_limits() {
    let world = World::with(acquire([place("user=1", 1)])).await;
    let run = bodied(|flow, _| {
        Box::pin(async move {
            let held = flow.execute_task("t", json!({ "do": "defer" })).await?;
            let refused = flow.execute_task("t", json!({})).await.is_err();
            assert!(matches!(held, Output::Deferred { .. }));
            Ok(json!({ "refused": refused }).into())
        })
    });
    world.task("parent", made(free, run));
    let output = run_parent(&world, json!({})).await.unwrap();
    assert_eq!(output.response(), Some(&json!({ "refused": true })));
}

#[tokio::test]
async fn a_failing_sub_task_gives_back_its_own_hit_only() {
    let world = World::with(consume([rate("user=1", 9).count_successes_only()])).await;
    let run = bodied(|flow, _| {
        Box::pin(async move {
            flow.execute_task("t", json!({})).await?;
            assert!(flow.execute_task("t", json!({ "do": "fail" })).await.is_err());
            Ok(json!({}).into())
        })
    });
    world.task("parent", made(free, run));
    run_parent(&world, json!({})).await.unwrap();
    assert_eq!(world.counted("user=1").await, (1, 0));
}

#[tokio::test]
async fn cancelling_a_parent_cancels_its_sub_tasks() {
    let world = parent(acquire([place("user=1", 1)])).await;
    for how in ["execute", "stream"] {
        let running = run_parent(&world, json!({ "do": "hang", "how": how }));
        assert!(tokio::time::timeout(std::time::Duration::from_millis(50), running).await.is_err());
        world.until_counted("user=1", (0, 0)).await;
    }
}

#[tokio::test]
async fn sub_tasks_see_the_headers_of_their_root() {
    let world = World::with(|flow| {
        Box::pin(async move {
            let key = format!("user={}", flow.meta().require_user_id()?);
            flow.rate_limit().consume([rate(&key, 1)]).await?;
            Ok(Options::new())
        })
    })
    .await;
    world.task("parent", made(free, runs_t));
    let meta = Meta::new().with_user_id("7").unwrap();
    world.host.execute("parent", json!({}), meta).await.unwrap();
    assert_eq!(world.counted("user=7").await, (1, 0));
}

/// A parent whose quote asks for that of `t`.
async fn asking(include: bool) -> World {
    let world = World::with(consume([rate("user=1", 1).label("sub")])).await;
    let options = preflight(move |flow| {
        Box::pin(async move {
            let sub = flow.options("t", json!({})).include_rate_limit(include).await?;
            assert!(sub.rate_limit_verdict.is_some(), "the parent gets the same quote");
            Ok(Options::new().credits(sub.options.credits.unwrap_or_default() + 1))
        })
    });
    world.add("parent", options);
    world
}

#[tokio::test]
async fn an_included_sub_task_counts_toward_the_quote() {
    let world = asking(true).await;
    let quote = async || world.host.options("parent", json!({}), Meta::new()).await.unwrap();
    assert!(!quote().await.rate_limit_verdict.unwrap().over_limit);
    world.ok().await.unwrap();
    let expected = json!({
        "credits": 13,
        "rateLimitVerdict": { "type": "rate", "overLimit": true, "retryAfterSeconds": 60, "label": "sub" },
    });
    assert_eq!(json!(quote().await), expected);
}

#[tokio::test]
async fn an_inspected_sub_task_does_not() {
    let world = asking(false).await;
    world.ok().await.unwrap();
    let quote = world.host.options("parent", json!({}), Meta::new()).await.unwrap();
    assert_eq!(quote.rate_limit_verdict, None);
}

#[tokio::test]
async fn include_rate_limit_does_nothing_outside_a_quote() {
    let world = asking(true).await;
    world.ok().await.unwrap();
    world.host.execute("parent", json!({}), Meta::new()).await.unwrap();
    assert_eq!(world.counted("user=1").await, (1, 0), "and it spends nothing there");
}

#[tokio::test]
async fn verdicts_of_sub_tasks_go_up_through_every_level() {
    let world = asking(true).await;
    let options = preflight(|flow| {
        Box::pin(async move {
            flow.options("parent", json!({})).include_rate_limit(true).await?;
            flow.rate_limit().consume([rate("mine", 9)]).await?;
            Ok(Options::new())
        })
    });
    world.add("grandparent", options);
    world.ok().await.unwrap();
    let quote = world.host.options("grandparent", json!({}), Meta::new()).await.unwrap();
    assert_eq!(quote.rate_limit_verdict.unwrap().label.as_deref(), Some("sub"));
}

#[tokio::test]
async fn a_body_may_ask_for_a_quote_too() {
    let world = World::with(consume([rate("user=1", 0)])).await;
    let run = bodied(|flow, _| {
        Box::pin(async move {
            let quote = flow.options("t", json!({})).include_rate_limit(true).await?;
            Ok(json!({ "over": quote.rate_limit_verdict.is_some_and(|verdict| verdict.over_limit) }).into())
        })
    });
    world.task("parent", made(free, run));
    let output = run_parent(&world, json!({})).await.unwrap();
    assert_eq!(output.response(), Some(&json!({ "over": true })));
}
