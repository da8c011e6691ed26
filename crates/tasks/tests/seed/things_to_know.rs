//! What surprises people about fixed windows, keys and redeliveries.

use maitred_tasks::{Flow, Meta, Options, Output, RateSpec};
use serde_json::{Value, json};

use crate::common::*;

#[tokio::test]
async fn the_window_is_fixed() {
    let world = World::with(consume([rate("user=1", 2)])).await;
    world.pass(7).await;
    world.ok().await.unwrap(); // the window starts here
    world.pass(59).await;
    world.ok().await.unwrap();
    assert!(is_refused(world.ok().await));
    world.pass(1).await;
    // A burst spans the reset: the whole allowance is fresh at once.
    world.ok().await.unwrap();
    world.ok().await.unwrap();
    assert!(is_refused(world.ok().await));
}

/// One rate, whose key, limit and window the parameters choose.
fn chosen(flow: &Flow) -> Boxed<'_, Options> {
    Box::pin(async move {
        let params: Value = flow.params()?;
        let window = std::time::Duration::from_secs(params["window"].as_u64().unwrap_or(60));
        let key = params["key"].as_str().unwrap_or("user=1");
        let limit = params["limit"].as_u64().unwrap_or(1);
        flow.rate_limit().consume([RateSpec::new(key, limit, window)]).await?;
        Ok(Options::new())
    })
}

async fn refused(world: &World, params: Value) -> bool {
    is_refused(world.host.execute("t", params, Meta::new()).await)
}

#[tokio::test]
async fn a_new_limit_counts_at_once_a_new_window_later() {
    let world = World::with(chosen).await;
    assert!(!refused(&world, json!({})).await);
    assert!(!refused(&world, json!({ "limit": 2 })).await, "more at once");
    assert!(refused(&world, json!({ "limit": 1 })).await, "fewer at once");
    world.pass(30).await;
    assert!(refused(&world, json!({ "window": 10 })).await, "the window is the one that was begun");
    world.pass(30).await;
    assert!(!refused(&world, json!({ "window": 10 })).await);
    world.pass(10).await;
    assert!(!refused(&world, json!({ "window": 10 })).await, "drained, the new window counts");
}

#[tokio::test]
async fn another_key_is_a_fresh_window() {
    let world = World::with(chosen).await;
    assert!(!refused(&world, json!({ "window": 600 })).await);
    assert!(!refused(&world, json!({ "window": 10, "key": "v2:user=1" })).await);
}

#[tokio::test]
async fn a_key_that_changes_limits_nothing() {
    let world = World::with(chosen).await;
    for prompt in 0..50 {
        assert!(!refused(&world, json!({ "key": format!("prompt={prompt}") })).await);
    }
}

#[tokio::test]
async fn a_redelivery_counts_twice() {
    let world = World::with(consume([rate("user=1", 9)])).await;
    world.ok().await.unwrap();
    world.ok().await.unwrap();
    assert_eq!(world.counted("user=1").await, (2, 0));
}

#[tokio::test]
async fn a_redelivery_with_its_message_id_counts_once() {
    let world = World::with(consume([rate("user=1", 9)])).await;
    let deliver = async |message: &str| {
        let meta = Meta::new().with_message_id(message);
        world.host.execute("t", json!({}), meta).await
    };
    deliver("topic-0-42").await.unwrap();
    deliver("topic-0-42").await.unwrap();
    assert_eq!(world.counted("user=1").await, (1, 0));
    deliver("topic-0-43").await.unwrap();
    assert_eq!(world.counted("user=1").await, (2, 0));
    assert_eq!(deliver("not an id").await.unwrap_err().status(), 400);
}

#[tokio::test]
async fn a_redelivery_to_another_host_keeps_the_place_of_the_first() {
    let world = World::with(acquire([place("user=1", 1)])).await;
    let meta = || Meta::new().with_message_id("m1");
    let Output::Deferred { run } = world.host.execute("t", json!({ "do": "defer" }), meta()).await.unwrap()
    else {
        panic!("not deferred")
    };
    let other = World::over(world.client.clone());
    other.add("t", acquire([place("user=1", 1)]));
    other.host.execute("t", json!({ "do": "defer" }), meta()).await.unwrap();
    assert_eq!(world.counted("user=1").await, (0, 1));
    other.complete(&run).await;
    assert_eq!(world.counted("user=1").await, (0, 0));
}

#[tokio::test]
async fn sub_tasks_of_a_redelivered_message_count_once() {
    let world = World::with(consume([rate("user=1", 9)])).await;
    let run = bodied(|flow, _| {
        Box::pin(async move {
            flow.execute_task("t", json!({})).await?;
            flow.execute_task("t", json!({})).await
        })
    });
    world.task("parent", made(free, run));
    for _ in 0..2 {
        let meta = Meta::new().with_message_id("m1");
        world.host.execute("parent", json!({}), meta).await.unwrap();
        assert_eq!(world.counted("user=1").await, (2, 0));
    }
}

#[tokio::test]
async fn two_tasks_do_not_share_a_key() {
    let world = World::with(consume([rate("user=1", 1)])).await;
    world.add("u", consume([rate("user=1", 1)]));
    world.ok().await.unwrap();
    world.host.execute("u", json!({}), Meta::new()).await.unwrap();
    assert_eq!(world.counted_of("t", "user=1").await, (1, 0));
    assert_eq!(world.counted_of("u", "user=1").await, (1, 0));
}

#[tokio::test]
async fn a_task_name_and_a_key_are_not_joined() {
    // Joined with a colon these two would be one.
    let world = World::new().await;
    world.add("a", consume([rate("b:c", 1)]));
    world.add("a:b", consume([rate("c", 1)]));
    world.host.execute("a", json!({}), Meta::new()).await.unwrap();
    world.host.execute("a:b", json!({}), Meta::new()).await.unwrap();
}

#[tokio::test]
async fn a_rate_and_a_place_of_one_key_are_two_things() {
    let world = World::with(|flow| {
        Box::pin(async move {
            flow.rate_limit().consume([rate("user=1", 5)]).await?;
            flow.rate_limit().acquire([place("user=1", 1)]).await?;
            Ok(Options::new())
        })
    })
    .await;
    let _run = world.deferred().await;
    assert_eq!(world.counted("user=1").await, (1, 1));
}

#[tokio::test]
async fn a_key_of_other_characters_is_refused() {
    let world = World::with(chosen).await;
    assert!(!refused(&world, json!({ "key": "aZ09._=@|/:-" })).await);
    for key in ["user 1", "user=ü", "", "user#1"] {
        let error = world.host.execute("t", json!({ "key": key }), Meta::new()).await.unwrap_err();
        let body = json!(error.body());
        assert_eq!((error.status(), &body["reason"]), (400, &json!("invalid_key")), "{key}");
        assert!(key.is_empty() || !body.to_string().contains(key), "the key is never sent: {body}");
    }
}

#[tokio::test]
async fn a_window_that_is_none_is_a_fault_of_the_task() {
    let world = World::with(|flow| {
        Box::pin(async move {
            let window = std::time::Duration::from_millis(1_500);
            flow.rate_limit().consume([RateSpec::new("user=1", 1, window)]).await?;
            Ok(Options::new())
        })
    })
    .await;
    let error = world.ok().await.unwrap_err();
    assert_eq!((error.status(), error.body().reason.as_str()), (500, "internal"));
    assert!(error.to_string().contains("1.5"), "the log learns what: {error}");
}
