//! `enforce` decides only whether an over-limit result is an error.

use maitred::api::{Dialect, RateFields};
use maitred_tasks::{Flow, Kind, Meta, Options, Output, RateLimitExceededError, TaskError};
use serde_json::json;

use crate::common::*;

/// A preflight that reads one rate of 1 and one place, each enforced or not as the parameters say.
fn reads(flow: &Flow) -> Boxed<'_, Options> {
    Box::pin(async move {
        let params: serde_json::Value = flow.params()?;
        let enforce = params["enforce"].as_bool().unwrap_or(true);
        let limits = flow.rate_limit();
        let decision = match params["kind"].as_str() {
            Some("acquire") => limits.acquire([place("user=1", 1)]).enforce(enforce).await?,
            _ => limits.consume([rate("user=1", 1)]).enforce(enforce).await?,
        };
        Ok(Options::new().credits(u64::from(decision.over_limit)))
    })
}

#[tokio::test]
async fn enforce_decides_only_whether_it_throws() {
    for kind in ["consume", "acquire"] {
        let world = World::with(reads).await;
        let run = async |enforce: bool| {
            let params = json!({ "do": "defer", "kind": kind, "enforce": enforce });
            is_refused(world.host.execute("t", params, Meta::new()).await)
        };
        assert!(!run(true).await, "{kind}: under the limit it returns the decision");
        let counted = world.counted("user=1").await;
        assert_eq!(counted, if kind == "consume" { (1, 0) } else { (0, 1) }, "{kind}");
        assert!(run(true).await, "{kind}: over the limit it throws");
        assert!(!run(false).await, "{kind}: over the limit it returns the decision");
        assert_eq!(world.counted("user=1").await, counted, "{kind}: a rejected one is never counted");
        let credits: Vec<_> = world.charges.lock().unwrap().iter().map(|(_, credits)| *credits).collect();
        assert_eq!(credits, [Some(0), Some(1)], "{kind}");
    }
}

#[tokio::test]
async fn enforce_false_counts_what_is_allowed() {
    for (kind, counted) in [("consume", (1, 0)), ("acquire", (0, 1))] {
        let world = World::with(reads).await;
        let params = json!({ "do": "defer", "kind": kind, "enforce": false });
        world.host.execute("t", params, Meta::new()).await.unwrap();
        assert_eq!(world.counted("user=1").await, counted, "{kind}");
    }
}

#[tokio::test]
async fn a_rejected_acquire_takes_no_slot() {
    let world = World::with(reads).await;
    let params = |what: &str| json!({ "do": what, "kind": "acquire", "enforce": false });
    let holder = world.host.execute("t", params("defer"), Meta::new()).await.unwrap();
    let _rejected = world.host.execute("t", params("defer"), Meta::new()).await.unwrap();
    assert_eq!(world.counted("user=1").await, (0, 1));
    let maitred_tasks::Output::Deferred { run } = holder else { panic!("not deferred") };
    world.complete(&run).await;
    assert_eq!(world.counted("user=1").await, (0, 0));
}

#[tokio::test]
async fn over_the_limit_may_become_a_paid_run() {
    let world = World::with(|flow| {
        Box::pin(async move {
            let decision = flow.rate_limit().consume([rate("user=1", 1)]).enforce(false).await?;
            if decision.over_limit {
                return Ok(Options::new().tool_id("example_paid"));
            }
            Ok(Options::new())
        })
    })
    .await;
    world.ok().await.unwrap();
    world.ok().await.unwrap();
    let quote = json!(world.quote().await);
    assert_eq!(quote, json!({ "monetization": { "toolId": "example_paid" } }));
}

/// Rejects by hand, or leaves it to the framework.
fn rejects(flow: &Flow) -> Boxed<'_, Options> {
    Box::pin(async move {
        let params: serde_json::Value = flow.params()?;
        let enforce = params["by"] != "hand";
        let limits = flow.rate_limit();
        let (decision, kind) = match params["kind"] == "acquire" {
            true => {
                (limits.acquire([place("user=1", 1).label("mine")]).enforce(enforce).await?, Kind::Acquire)
            }
            false => {
                (limits.consume([rate("user=1", 1).label("mine")]).enforce(enforce).await?, Kind::Consume)
            }
        };
        match decision.over_limit {
            true => Err(RateLimitExceededError::new(decision, kind).into()),
            false => Ok(Options::new()),
        }
    })
}

#[tokio::test]
async fn rejecting_by_hand_gives_the_same_429() {
    for (kind, reason) in [("consume", "rate_limit_exceeded"), ("acquire", "concurrency_limit_exceeded")] {
        let world = World::with(rejects).await;
        let run = async |by: &str| {
            let params = json!({ "do": "defer", "kind": kind, "by": by });
            world.host.execute("t", params, Meta::new()).await
        };
        run("hand").await.unwrap();
        let (by_hand, framework) = (run("hand").await, run("framework").await);
        assert_eq!(fields(&by_hand), fields(&framework));
        let (by_hand, framework) = (refusal(by_hand), refusal(framework));
        assert_eq!(by_hand, framework);
        assert_eq!((by_hand.0.as_str(), &by_hand.1["label"]), (reason, &json!("mine")));
    }
}

fn fields(refused: &Result<Output, TaskError>) -> RateFields {
    let Err(TaskError::RateLimitExceeded(exceeded)) = refused else { panic!("not refused: {refused:?}") };
    let fields = exceeded.rate_fields(Dialect::Draft11);
    assert!(fields.iter().any(|(name, _)| *name == "ratelimit-policy"), "{fields:?}");
    fields
}

#[tokio::test]
async fn a_task_with_errors_of_its_own_keeps_their_status() {
    let world = World::with(|_| {
        Box::pin(async { Err(TaskError::new("service_unavailable", "Cannot verify quota", 503)) })
    })
    .await;
    let error = world.ok().await.unwrap_err();
    let body = json!(error.body());
    assert_eq!(error.status(), 503);
    let told =
        json!({ "status": "error", "reason": "service_unavailable", "message": "Cannot verify quota" });
    assert_eq!(body, told);
}

#[tokio::test]
async fn a_refused_run_is_charged_nothing() {
    let world = World::with(consume([rate("user=1", 1)])).await;
    world.quote().await;
    world.ok().await.unwrap();
    assert!(is_refused(world.ok().await));
    world.quote().await;
    assert_eq!(*world.charges.lock().unwrap(), [("t".to_owned(), Some(12))]);
}
