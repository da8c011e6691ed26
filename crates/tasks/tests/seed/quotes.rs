//! `/options`: a quote spends nothing and carries one verdict.

use maitred_tasks::{
    Flow, Kind, LimitKind, Meta, Options, RateLimitExceededError, RateLimitVerdict, RateSpec,
};
use serde_json::{Value, json};

use crate::common::*;

#[tokio::test]
async fn a_quote_spends_nothing() {
    let world = World::with(both).await;
    for _ in 0..5 {
        assert!(!world.verdict().await.over_limit);
    }
    assert_eq!(world.counted("user=1").await, (0, 0));
    world.ok().await.unwrap();
}

/// One rate of 1 a minute, one at a time.
fn both(flow: &Flow) -> Boxed<'_, Options> {
    Box::pin(async move {
        flow.rate_limit().consume([rate("user=1", 1).label("per_minute")]).await?;
        flow.rate_limit().acquire([place("user=1", 1).label("at_once")]).await?;
        Ok(Options::new())
    })
}

#[tokio::test]
async fn a_quote_gives_the_verdict_of_the_execution() {
    let world = World::with(consume([rate("user=1", 1).label("per_minute")])).await;
    world.ok().await.unwrap();
    world.pass(18).await;
    let verdict = json!(world.verdict().await);
    let expected =
        json!({ "type": "rate", "overLimit": true, "retryAfterSeconds": 42, "label": "per_minute" });
    assert_eq!(verdict, expected);
    let details = refusal(world.ok().await).1;
    assert_eq!((&details["label"], &details["retryAfterSeconds"]), (&json!("per_minute"), &json!(42)));
}

#[tokio::test]
async fn a_quote_of_concurrency_is_a_snapshot() {
    let world = World::with(acquire([place("user=1", 1).label("at_once")])).await;
    assert!(!world.verdict().await.over_limit);
    let run = world.deferred().await;
    assert!(is_refused(world.ok().await), "filled after the quote");
    let verdict = json!(world.verdict().await);
    let expected =
        json!({ "type": "concurrency", "overLimit": true, "retryAfterSeconds": null, "label": "at_once" });
    assert_eq!(verdict, expected);
    world.complete(&run).await;
    assert!(!world.verdict().await.over_limit);
}

#[tokio::test]
async fn nothing_throws_in_a_quote() {
    let world = World::with(|flow| {
        Box::pin(async move {
            let first = flow.rate_limit().consume([rate("a", 0)]).enforce(true).await?;
            let second = flow.rate_limit().acquire([place("b", 0)]).enforce(true).await?;
            let third = flow.rate_limit().consume([rate("c", 0)]).enforce(false).await?;
            let over = [&first, &second, &third].iter().filter(|decision| decision.over_limit).count();
            assert_eq!((first.kind, second.kind), (LimitKind::Rate, LimitKind::Concurrency));
            Ok(Options::new().credits(over as u64))
        })
    })
    .await;
    assert_eq!(world.quote().await.options.credits, Some(3));
    assert!(is_refused(world.ok().await));
}

#[tokio::test]
async fn unenforced_calls_do_not_make_a_quote_look_blocked() {
    let world = World::with(|flow| {
        Box::pin(async move {
            let enforce = flow.params::<Value>()?["enforce"].as_bool().unwrap_or_default();
            flow.rate_limit().consume([rate("a", 0)]).enforce(false).await?;
            if enforce {
                flow.rate_limit().consume([rate("b", 9)]).await?;
            }
            Ok(Options::new())
        })
    })
    .await;
    assert_eq!(world.quote().await.rate_limit_verdict, None);
    let quote = world.host.options("t", json!({ "enforce": true }), Meta::new()).await.unwrap();
    assert!(!quote.rate_limit_verdict.unwrap().over_limit);
}

#[tokio::test]
async fn a_refusal_by_hand_is_no_verdict() {
    let world = World::with(|flow| {
        Box::pin(async move {
            let decision = flow.rate_limit().consume([rate("user=1", 1)]).enforce(false).await?;
            match decision.over_limit {
                true => Err(RateLimitExceededError::new(decision, Kind::Consume).into()),
                false => Ok(Options::new()),
            }
        })
    })
    .await;
    assert_eq!(world.quote().await.rate_limit_verdict, None);
    world.ok().await.unwrap();
    let error = world.host.options("t", json!({}), Meta::new()).await.unwrap_err();
    assert_eq!(error.status(), 429, "the task's own error keeps its status");
    assert_eq!(world.counted("user=1").await, (1, 0));
}

/// The verdict over these calls in one preflight, each over.
async fn over(calls: impl IntoIterator<Item = Reads> + Clone + Send + Sync + 'static) -> RateLimitVerdict {
    let calls: Vec<Reads> = calls.into_iter().collect();
    let world = World::with(move |flow| {
        let calls = calls.clone();
        Box::pin(async move {
            for read in calls {
                read.read(flow).await?;
            }
            Ok(Options::new())
        })
    })
    .await;
    world.verdict().await
}

#[derive(Clone)]
enum Reads {
    /// Over for this many seconds, with this label.
    Rate(u64, &'static str),
    Place(&'static str),
    Free,
}

impl Reads {
    async fn read(self, flow: &Flow) -> Result<(), maitred_tasks::TaskError> {
        let limits = flow.rate_limit();
        match self {
            Reads::Rate(seconds, label) => {
                let window = std::time::Duration::from_secs(seconds);
                limits.consume([RateSpec::new(label, 0, window).label(label)]).await?
            }
            Reads::Place(label) => limits.acquire([place(label, 0).label(label)]).await?,
            Reads::Free => limits.consume([rate("free", 9)]).await?,
        };
        Ok(())
    }
}

fn blocked(kind: LimitKind, wait: Option<u64>, label: &str) -> RateLimitVerdict {
    let label = Some(label.to_owned());
    RateLimitVerdict { kind: Some(kind), over_limit: true, retry_after_seconds: wait, label }
}

#[tokio::test]
async fn one_verdict_stands_for_every_call() {
    let verdict = over([Reads::Free, Reads::Rate(9, "a"), Reads::Free]).await;
    assert_eq!(verdict, blocked(LimitKind::Rate, Some(9), "a"));
}

#[tokio::test]
async fn type_is_absent_when_nothing_is_over() {
    let verdict = over([Reads::Free, Reads::Free]).await;
    assert_eq!(json!(verdict), json!({ "overLimit": false, "retryAfterSeconds": 0 }));
}

#[tokio::test]
async fn when_both_are_over_it_is_concurrency() {
    let expected = blocked(LimitKind::Concurrency, None, "p");
    assert_eq!(over([Reads::Rate(9, "a"), Reads::Place("p")]).await, expected);
    assert_eq!(over([Reads::Place("p"), Reads::Rate(9, "a")]).await, expected);
}

#[tokio::test]
async fn the_longest_wait_and_its_label() {
    let calls = [Reads::Rate(9, "a"), Reads::Rate(50, "b"), Reads::Rate(20, "c")];
    assert_eq!(over(calls).await, blocked(LimitKind::Rate, Some(50), "b"));
}

#[tokio::test]
async fn the_label_is_the_one_a_429_would_name() {
    let long = RateSpec::new("long", 0, 10 * MINUTE).label("long");
    let world = World::with(consume([rate("short", 0).label("short"), long, rate("mute", 0)])).await;
    let label = world.verdict().await.label.unwrap();
    assert_eq!(refusal(world.ok().await).1["label"], json!(label));
    assert_eq!(label, "long");
}

#[tokio::test]
async fn the_verdict_is_absent_when_no_limit_was_read() {
    let world = World::with(free).await;
    assert_eq!(json!(world.quote().await), json!({}));
}

#[tokio::test]
async fn a_limit_without_a_label_gives_a_verdict_without() {
    let world = World::with(consume([rate("user=1", 0)])).await;
    let verdict = json!(world.verdict().await);
    assert_eq!(verdict, json!({ "type": "rate", "overLimit": true, "retryAfterSeconds": 60 }));
}

#[tokio::test]
async fn an_error_of_the_task_keeps_its_status_in_a_quote() {
    let world = World::with(|_| {
        Box::pin(async { Err(maitred_tasks::TaskError::new("payment_required", "no credits", 402)) })
    })
    .await;
    assert_eq!(world.host.options("t", json!({}), Meta::new()).await.unwrap_err().status(), 402);
}
