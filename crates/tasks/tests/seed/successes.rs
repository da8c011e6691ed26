//! Counting only successful tasks.

use maitred_tasks::{Meta, Options, RateSpec, TaskError};
use serde_json::json;

use crate::common::*;

fn free_tries() -> RateSpec {
    RateSpec::new("free:user=1", 3, THIRTY_DAYS).count_successes_only()
}

#[tokio::test]
async fn attempts_are_counted() {
    let world = World::with(consume([rate("user=1", 2)])).await;
    assert_eq!(world.run("fail").await.unwrap_err().status(), 500);
    assert_eq!(world.run("fail").await.unwrap_err().status(), 500);
    assert!(is_refused(world.ok().await));
}

#[tokio::test]
async fn only_successes_are_counted() {
    let world = World::with(consume([free_tries()])).await;
    for _ in 0..5 {
        assert_eq!(world.run("fail").await.unwrap_err().status(), 500);
    }
    for _ in 0..3 {
        world.ok().await.unwrap();
    }
    assert!(is_refused(world.ok().await));
}

#[tokio::test]
async fn every_failure_gives_the_hit_back() {
    let world = World::with(consume([free_tries()])).await;
    for (what, status) in
        [("fail", 500), ("misread", 400), ("moderate", 422), ("cancel", 499), ("panic", 500)]
    {
        assert_eq!(world.run(what).await.unwrap_err().status(), status, "{what}");
        assert_eq!(world.counted("free:user=1").await, (0, 0), "{what}");
    }
}

#[tokio::test]
async fn params_that_the_task_does_not_take_give_the_hit_back() {
    struct Typed;
    impl maitred_tasks::Task for Typed {
        type Params = Vec<String>;
        async fn options(&self, flow: &maitred_tasks::Flow) -> Result<Options, TaskError> {
            flow.rate_limit().consume([free_tries(), rate("abuse", 9)]).await?;
            Ok(Options::new())
        }
        async fn run(
            &self,
            _: &maitred_tasks::Flow,
            _: Vec<String>,
        ) -> Result<maitred_tasks::Output, TaskError> {
            Ok(json!({}).into())
        }
    }
    let world = World::new().await;
    world.task("t", Typed);
    let error = world.host.execute("t", json!({ "no": "list" }), Meta::new()).await.unwrap_err();
    assert_eq!((error.status(), error.body().reason.as_str()), (400, "invalid_params"));
    assert_eq!(world.counted("free:user=1").await, (0, 0));
    assert_eq!(world.counted("abuse").await, (1, 0));
}

#[tokio::test]
async fn a_failing_preflight_gives_the_hit_back() {
    let world = World::with(|flow| {
        Box::pin(async move {
            flow.rate_limit().consume([free_tries()]).await?;
            Err(TaskError::new("payment_required", "no credits", 402))
        })
    })
    .await;
    assert_eq!(world.ok().await.unwrap_err().status(), 402);
    assert_eq!(world.counted("free:user=1").await, (0, 0));
    assert!(world.charges.lock().unwrap().is_empty());
}

#[tokio::test]
async fn a_client_that_hangs_up_gives_the_hit_back() {
    let world = World::with(consume([free_tries()])).await;
    let waits = tokio::time::timeout(std::time::Duration::from_millis(50), world.run("hang")).await;
    assert!(waits.is_err());
    world.until_counted("free:user=1", (0, 0)).await;
}

#[tokio::test]
async fn parallel_requests_cannot_slip_past() {
    let world = World::with(consume([free_tries()])).await;
    let mut runs = tokio::task::JoinSet::new();
    for _ in 0..10 {
        let host = world.host.clone();
        runs.spawn(async move {
            let run = host.execute("t", json!({ "do": "defer" }), Meta::new());
            is_refused(run.await)
        });
    }
    let refused = runs.join_all().await.into_iter().filter(|refused| *refused).count();
    assert_eq!(refused, 7);
    assert_eq!(world.counted("free:user=1").await, (3, 0));
}

#[tokio::test]
async fn both_ways_of_counting_share_one_call() {
    let specs = [free_tries().label("free_tries"), rate("abuse:ip=9", 2)];
    let world = World::with(consume(specs)).await;
    assert_eq!(world.run("fail").await.unwrap_err().status(), 500);
    assert_eq!(world.run("fail").await.unwrap_err().status(), 500);
    assert_eq!(world.counted("free:user=1").await, (0, 0));
    assert_eq!(world.counted("abuse:ip=9").await, (2, 0));
    assert!(is_refused(world.ok().await));
    assert_eq!(world.counted("free:user=1").await, (0, 0), "all or nothing");
}

#[tokio::test]
async fn rates_and_places_share_one_call() {
    let world = World::with(|flow| {
        Box::pin(async move {
            let specs: [maitred_tasks::Spec; 2] = [rate("user=1", 9).into(), place("user=1", 1).into()];
            flow.rate_limit().admit(specs).await?;
            Ok(Options::new())
        })
    })
    .await;
    let run = world.deferred().await;
    assert_eq!(refusal(world.ok().await).0, "concurrency_limit_exceeded");
    assert_eq!(world.counted("user=1").await, (1, 1), "all or nothing, over both");
    world.complete(&run).await;
    world.ok().await.unwrap();
}

#[tokio::test]
async fn turning_it_on_keeps_what_is_spent() {
    let world = World::with(|flow| {
        Box::pin(async move {
            let spec = RateSpec::new("user=1", 3, MINUTE);
            let is_on = flow.params::<serde_json::Value>()?["on"].as_bool().unwrap_or_default();
            let spec = if is_on { spec.count_successes_only() } else { spec };
            flow.rate_limit().consume([spec]).await?;
            Ok(Options::new())
        })
    })
    .await;
    assert!(world.run("fail").await.is_err());
    assert!(world.run("fail").await.is_err());
    world.host.execute("t", json!({ "on": true }), Meta::new()).await.unwrap();
    assert!(is_refused(world.host.execute("t", json!({ "on": true }), Meta::new()).await));
}

#[tokio::test]
async fn a_window_given_back_whole_is_over() {
    let world = World::with(consume([rate("user=1", 2).count_successes_only()])).await;
    assert!(world.run("fail").await.is_err());
    world.pass(50).await;
    world.ok().await.unwrap();
    world.pass(50).await;
    assert_eq!(world.counted("user=1").await, (1, 0), "the window began at the second hit");
    world.pass(10).await;
    assert_eq!(world.counted("user=1").await, (0, 0));
}

#[tokio::test]
async fn a_period_in_the_key_is_a_quota_of_its_own() {
    let world = World::with(|flow| {
        Box::pin(async move {
            let month = flow.params::<String>()?;
            let key = format!("quota:user=7:{month}");
            flow.rate_limit().consume([RateSpec::new(key, 1, THIRTY_DAYS)]).await?;
            Ok(Options::new())
        })
    })
    .await;
    let run = async |month: &str| is_refused(world.host.execute("t", json!(month), Meta::new()).await);
    assert_eq!((run("2026-09").await, run("2026-09").await, run("2026-10").await), (false, true, false));
}
