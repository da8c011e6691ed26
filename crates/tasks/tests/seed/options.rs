//! Preflights: when they run, and what belongs there.

use maitred_tasks::{Meta, Options, TaskConfig};
use serde_json::json;

use crate::common::*;

#[tokio::test]
async fn without_preflight_options_never_run() {
    let world = World::new().await;
    let task = made(consume([rate("user=1", 0)]), body);
    world.host.register(TaskConfig::new("t").publish(), task).unwrap();
    world.ok().await.unwrap();
    assert!(world.charges.lock().unwrap().is_empty());
    let error = world.host.options("t", json!({}), Meta::new()).await.unwrap_err();
    assert_eq!((error.status(), error.body().reason.as_str()), (404, "preflight_disabled"));
}

#[tokio::test]
async fn limits_are_checked_before_the_body() {
    let (world, seen) = (World::new().await, Tally::default());
    let (in_options, in_body) = (seen.clone(), seen.clone());
    let options = preflight(move |_| {
        assert_eq!(in_options.get(), 0);
        in_options.add();
        Box::pin(async { Ok(Options::new()) })
    });
    let run = bodied(move |_, _| {
        assert_eq!(in_body.get(), 1);
        in_body.add();
        Box::pin(async { Ok(json!({}).into()) })
    });
    world.task("t", made(options, run));
    world.ok().await.unwrap();
    assert_eq!(seen.get(), 2);
}

#[test]
fn the_config_reads_like_its_yaml() {
    let config = json!({ "name": "example-task", "publish": true, "enablePreflight": true });
    let config: TaskConfig = serde_json::from_value(config).unwrap();
    assert_eq!(config, TaskConfig::new("example-task").publish().enable_preflight());
    let bare: TaskConfig = serde_json::from_value(json!({ "name": "t" })).unwrap();
    assert_eq!(bare, TaskConfig::new("t"));
}

#[tokio::test]
async fn limits_belong_into_options_only() {
    let world = World::new().await;
    let run = bodied(|flow, _| {
        Box::pin(async move {
            flow.rate_limit().consume([rate("user=1", 9)]).await?;
            Ok(json!({}).into())
        })
    });
    world.task("t", made(free, run));
    assert_eq!(world.ok().await.unwrap_err().status(), 500);
    assert_eq!(world.counted("user=1").await, (0, 0));
}

#[tokio::test]
async fn executions_belong_into_the_body_only() {
    let world = World::with(|flow| {
        Box::pin(async move {
            assert_eq!(flow.execute_task("t", json!({})).await.unwrap_err().status(), 500);
            assert_eq!(flow.stream_task("t", json!({})).await.unwrap_err().status(), 500);
            assert_eq!(flow.defer().unwrap_err().status(), 500);
            Ok(Options::new())
        })
    })
    .await;
    world.ok().await.unwrap();
    world.quote().await;
}

#[tokio::test]
async fn a_panicking_preflight_fails_its_run_and_leaves_the_host_alone() {
    let world = World::with(|flow| {
        Box::pin(async move {
            flow.rate_limit().acquire([place("user=1", 1)]).await?;
            panic!("as told")
        })
    })
    .await;
    for _ in 0..2 {
        assert_eq!(world.ok().await.unwrap_err().status(), 500);
        assert_eq!(world.counted("user=1").await, (0, 0));
    }
    assert_eq!(world.host.options("t", json!({}), Meta::new()).await.unwrap_err().status(), 500);
}

#[tokio::test]
async fn names_are_taken_once_and_have_a_form() {
    let world = World::with(free).await;
    assert!(world.host.register(TaskConfig::new("t"), made(free, body)).is_err());
    for name in ["", "with space", "a/b", &"n".repeat(81)] {
        assert!(world.host.register(TaskConfig::new(name), made(free, body)).is_err(), "{name}");
    }
    let missing = world.host.execute("missing", json!({}), Meta::new()).await.unwrap_err();
    assert_eq!(missing.status(), 404);
}
