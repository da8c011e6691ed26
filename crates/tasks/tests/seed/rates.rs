//! Request rate: at most N per window.

use maitred_tasks::{Meta, Options, RateLimitDecision, TaskError};
use serde_json::json;

use crate::common::*;

#[tokio::test]
async fn twenty_a_minute_and_no_more() {
    let world = World::with(consume([rate("user=1", 20)])).await;
    for _ in 0..20 {
        world.ok().await.unwrap();
    }
    assert!(is_refused(world.ok().await));
    world.pass(60).await;
    world.ok().await.unwrap();
}

#[tokio::test]
async fn past_the_cap_the_body_does_not_run() {
    let (world, ran) = (World::new().await, Tally::default());
    let running = ran.clone();
    let run = bodied(move |_, _| {
        running.add();
        Box::pin(async { Ok(json!({}).into()) })
    });
    world.task("t", made(consume([rate("user=1", 1)]), run));
    world.ok().await.unwrap();
    assert!(is_refused(world.ok().await));
    assert_eq!(ran.get(), 1);
}

#[tokio::test]
async fn over_the_rate_is_a_429() {
    let world = World::with(consume([rate("user=1", 1)])).await;
    world.ok().await.unwrap();
    world.pass(18).await;
    let error = world.ok().await.unwrap_err();
    assert!(matches!(error, TaskError::RateLimitExceeded(_)));
    let details = json!({ "retryAfterSeconds": 42, "limit": 1 });
    assert_eq!(refusal(Err(error)), ("rate_limit_exceeded".to_owned(), details));
}

#[tokio::test]
async fn one_call_counts_one_hit() {
    let world = World::with(consume([rate("user=1", 20)])).await;
    world.ok().await.unwrap();
    assert_eq!(world.counted("user=1").await, (1, 0));
}

#[tokio::test]
async fn a_cost_counts_as_many_hits() {
    let world = World::with(consume([rate("user=1", 20).cost(15)])).await;
    world.ok().await.unwrap();
    assert_eq!(world.counted("user=1").await, (15, 0));
    assert!(is_refused(world.ok().await));
}

#[tokio::test]
async fn several_limits_are_all_or_nothing() {
    let world = World::with(consume([rate("user=1", 20), rate("global", 1)])).await;
    world.ok().await.unwrap();
    assert!(is_refused(world.ok().await));
    assert_eq!(world.counted("user=1").await, (1, 0));
    assert_eq!(world.counted("global").await, (1, 0));
}

#[tokio::test]
async fn any_spec_over_makes_the_call_over() {
    let decision = second_decision([rate("user=1", 20), rate("global", 1)]).await;
    assert!(decision.over_limit);
    let over: Vec<bool> = decision.results.iter().map(|result| result.over).collect();
    assert_eq!(over, [false, true]);
}

#[tokio::test]
async fn retry_after_is_the_longest_wait_and_0_when_allowed() {
    let long = maitred_tasks::RateSpec::new("long", 1, 10 * MINUTE);
    let specs = [rate("short", 1), long, maitred_tasks::RateSpec::new("free", 9, 100 * MINUTE)];
    let decision = second_decision(specs).await;
    assert_eq!(decision.retry_after_seconds, 600);
    let decision = second_decision([rate("user=1", 2)]).await;
    assert_eq!((decision.over_limit, decision.retry_after_seconds), (false, 0));
}

#[tokio::test]
async fn the_decision_has_the_documented_fields() {
    let decision = second_decision([rate("user=1", 1).label("mine")]).await;
    let told = json!(decision);
    assert_eq!(told["type"], "rate");
    assert_eq!(told["overLimit"], true);
    assert_eq!(told["retryAfterSeconds"], 60);
    assert_eq!(told["degraded"], false);
    let result =
        json!({ "label": "mine", "limit": 1, "used": 1, "remaining": 0, "resetSeconds": 60, "over": true });
    assert_eq!(told["results"], json!([result]));
}

/// What an unenforced call says the second time.
async fn second_decision(specs: impl IntoIterator<Item = maitred_tasks::RateSpec>) -> RateLimitDecision {
    let specs: Vec<_> = specs.into_iter().collect();
    let decisions = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let seen = decisions.clone();
    let world = World::with(move |flow| {
        let (specs, seen) = (specs.clone(), seen.clone());
        Box::pin(async move {
            let decision = flow.rate_limit().consume(specs).enforce(false).await?;
            seen.lock().unwrap().push(decision);
            Ok(Options::new())
        })
    })
    .await;
    world.ok().await.unwrap();
    world.ok().await.unwrap();
    decisions.lock().unwrap().pop().unwrap()
}

#[tokio::test]
async fn keys_are_built_from_the_headers() {
    let world = World::with(|flow| {
        Box::pin(async move {
            let meta = flow.meta();
            let (user, country) = (meta.require_user_id()?, meta.country_code().unwrap_or("none"));
            flow.rate_limit().consume([rate(&format!("user={user}|{country}"), 1)]).await?;
            Ok(Options::new())
        })
    })
    .await;
    let run = async |user: &str| {
        let meta = Meta::new().with_user_id(user).unwrap();
        is_refused(world.host.execute("t", json!({}), meta).await)
    };
    assert_eq!((run("1").await, run("1").await, run("2").await), (false, true, false));
    assert_eq!(world.counted("user=2|none").await, (1, 0));
}

#[tokio::test]
async fn an_unawaited_call_checks_nothing() {
    let world = World::with(|flow| {
        Box::pin(async move {
            drop(flow.rate_limit().consume([rate("user=1", 0)]));
            Ok(Options::new())
        })
    })
    .await;
    world.ok().await.unwrap();
    assert_eq!(world.counted("user=1").await, (0, 0));
}

#[tokio::test]
async fn nothing_is_registered() {
    let world = World::with(|flow| {
        Box::pin(async move {
            let limit: u64 = flow.params::<u64>()?;
            flow.rate_limit().consume([rate("user=1", limit)]).await?;
            Ok(Options::new())
        })
    })
    .await;
    let run = async |limit: u64| is_refused(world.host.execute("t", json!(limit), Meta::new()).await);
    assert!(!run(1).await);
    assert!(run(1).await);
    assert!(!run(2).await, "the limit of this call counts, not that of an earlier one");
    assert!(world.host.limiter().limits().await.unwrap().is_empty());
    world.pass(60).await;
    assert_eq!(world.counted("user=1").await, (0, 0));
}
