//! Slots in workflow bodies, near and far.

use maitred_workflows::{RunState, StepState};
use serde_json::json;

use crate::common::*;

near_and_far! {
    a_free_slot_is_there_at_once
    runs_wait_in_order_and_the_step_tells
    a_cancelled_run_leaves_the_queue
    a_run_cancelled_when_just_picked_gives_its_place_to_the_next
    a_reservation_that_lapsed_costs_the_place_and_nothing_else
    a_wait_that_times_out_fails_its_step
    a_slot_is_released_in_a_step_and_only_once
    with_limit_gives_back_whatever_the_body_returns
    a_held_slot_outlives_its_run
    several_limits_and_weights
    what_cannot_be_asked_fails_the_run_and_names_it
    a_wait_ended_by_an_operator_ends_the_wait
    runs_go_on_where_they_were
}

async fn a_free_slot_is_there_at_once(world: World) {
    let workflows = world.start(2).await;
    workflows.start("take", "a", &json!({ "label": "Ana", "work": "dial" })).await.unwrap();
    let slot = slot(&workflows, "a").await;
    assert_eq!(slot, "wf/a/1/1");
    let slots = world.observer().limit_slots(VOICE).await.unwrap();
    let held = &slots.holders[0];
    let told = [&held.run, &held.workflow, &held.label].map(|text| text.clone().unwrap_or_default());
    assert_eq!(told, ["a", "take", "Ana"]);
    let run = workflows.run("a").await.unwrap();
    assert_eq!((run.status, hooks(&run)), (RunState::Succeeded, vec![]));
    assert_eq!(run.steps.iter().map(|step| step.name.as_str()).collect::<Vec<_>>(), ["work"]);
}

async fn runs_wait_in_order_and_the_step_tells(world: World) {
    let workflows = world.start(1).await;
    workflows.start("take", "first", &json!({})).await.unwrap();
    let first = slot(&workflows, "first").await;
    for run in ["second", "third"] {
        workflows.start("take", run, &json!({})).await.unwrap();
        until_waiting(&workflows, run).await;
    }
    let second = workflows.run("second").await.unwrap();
    assert_eq!(second.status, RunState::Running);
    assert_eq!(hooks(&second), [(HOOK, StepState::Open)]);
    assert!(second.steps.iter().all(|step| step.kind == maitred_workflows::StepKind::Hook), "{second:?}");

    workflows.start("free", "free-first", &first).await.unwrap();
    let second = slot(&workflows, "second").await;
    assert_eq!(hooks(&workflows.run("second").await.unwrap()), [(HOOK, StepState::Closed)]);
    assert_eq!(world.counts(VOICE).await, (1, 0, 1));
    workflows.start("free", "free-second", &second).await.unwrap();
    slot(&workflows, "third").await;
}

async fn a_cancelled_run_leaves_the_queue(world: World) {
    let workflows = world.start(1).await;
    workflows.start("take", "holds", &json!({})).await.unwrap();
    slot(&workflows, "holds").await;
    workflows.start("take", "waits", &json!({})).await.unwrap();
    until_waiting(&workflows, "waits").await;
    assert!(workflows.cancel("waits", "changed my mind").await.unwrap());
    world.until(VOICE, (1, 0, 0)).await;
    let run = until_ended(&workflows, "waits").await;
    assert_eq!((run.status, hooks(&run)), (RunState::Cancelled, vec![(HOOK, StepState::Cancelled)]));
    assert!(!workflows.cancel("waits", "again").await.unwrap());
    assert!(workflows.cancel("nobody", "").await.is_err());
}

async fn a_run_cancelled_when_just_picked_gives_its_place_to_the_next(world: World) {
    let workflows = world.start(1).await;
    workflows.start("take", "holds", &json!({})).await.unwrap();
    let held = slot(&workflows, "holds").await;
    for run in ["picked", "next"] {
        workflows.start("take", run, &json!({})).await.unwrap();
        until_waiting(&workflows, run).await;
    }
    workflows.stop(MINUTE).await;

    // Nobody hosts the runs while the slot is granted and the run is cancelled.
    assert!(world.observer().release(&held.parse().unwrap()).await.unwrap().released);
    assert_eq!(world.counts(VOICE).await, (0, 1, 1));
    let store = maitred_workflows::duroxide::Client::new(world.store().await);
    store.cancel_instance("picked", "just so").await.unwrap();

    let workflows = world.start(1).await;
    assert_eq!(slot(&workflows, "next").await, "wf/next/1/1");
    assert_eq!(until_ended(&workflows, "picked").await.status, RunState::Cancelled);
    assert_eq!(world.counts(VOICE).await, (1, 0, 0));
}

async fn a_reservation_that_lapsed_costs_the_place_and_nothing_else(world: World) {
    let workflows = world.start(1).await;
    workflows.start("take", "holds", &json!({})).await.unwrap();
    let held = slot(&workflows, "holds").await;
    workflows.start("take", "late", &json!({})).await.unwrap();
    until_waiting(&workflows, "late").await;
    workflows.stop(MINUTE).await;

    let other = world.observer();
    let quick = tokio::spawn(async move { other.acquire(VOICE).await.unwrap() });
    world.until(VOICE, (1, 0, 2)).await;
    world.observer().release(&held.parse().unwrap()).await.unwrap();
    // The notice is in the inbox, and nobody takes it for three minutes.
    let store = maitred_workflows::duroxide::Client::new(world.store().await);
    store.enqueue_event("late", "Esperando hueco · voice-calls · 1.1", "wf/late/1/1").await.unwrap();
    world.pass(3 * MINUTE).await;
    let quick = quick.await.unwrap();
    assert_eq!(world.counts(VOICE).await, (1, 0, 1));

    let workflows = world.start(1).await;
    tokio::time::sleep(std::time::Duration::from_millis(300)).await;
    assert_eq!(hooks(&workflows.run("late").await.unwrap()), [(HOOK, StepState::Open)]);
    quick.release().await.unwrap();
    assert_eq!(slot(&workflows, "late").await, "wf/late/1/1");
    assert_eq!(hooks(&workflows.run("late").await.unwrap()), [(HOOK, StepState::Closed)]);
}

async fn a_wait_that_times_out_fails_its_step(world: World) {
    let workflows = world.start(1).await;
    workflows.start("take", "holds", &json!({})).await.unwrap();
    slot(&workflows, "holds").await;
    workflows.start("take", "waits", &json!({ "timeout_ms": 300_000 })).await.unwrap();
    until_waiting(&workflows, "waits").await;
    world.pass(5 * MINUTE).await;
    assert_eq!(answer(&workflows, "waits").await, json!({ "limiter": VOICE, "timeout_ms": 300_000 }));
    assert_eq!(hooks(&workflows.run("waits").await.unwrap()), [(HOOK, StepState::Failed)]);
    assert_eq!(world.counts(VOICE).await, (1, 0, 0));

    // A wait of nothing does not wait.
    workflows.start("take", "no-wait", &json!({ "timeout_ms": 0 })).await.unwrap();
    assert_eq!(answer(&workflows, "no-wait").await, json!({ "limiter": VOICE, "timeout_ms": 0 }));
    // Here the limiter's clock stands still, so that the run has to look itself, and gives its place up.
    workflows.start("take", "own-time", &json!({ "timeout_ms": 100 })).await.unwrap();
    assert_eq!(answer(&workflows, "own-time").await, json!({ "limiter": VOICE, "timeout_ms": 100 }));
    assert_eq!(world.counts(VOICE).await, (1, 0, 0));
}

async fn a_slot_is_released_in_a_step_and_only_once(world: World) {
    let workflows = world.start(1).await;
    workflows.start("take", "holds", &json!({})).await.unwrap();
    let held = slot(&workflows, "holds").await;
    for (run, workflow, released) in
        [("one", "free_in_step", true), ("two", "free", false), ("three", "free_in_step", false)]
    {
        workflows.start(workflow, run, &held).await.unwrap();
        assert_eq!(answer(&workflows, run).await, json!(released), "{run}");
    }
    assert_eq!(world.released_by(VOICE, 1).await, ["one"], "the record says who did");
    workflows.start("take", "holds-again", &json!({})).await.unwrap();
    workflows.start("free", "four", &slot(&workflows, "holds-again").await).await.unwrap();
    assert_eq!(answer(&workflows, "four").await, json!(true));
    assert_eq!(world.released_by(VOICE, 2).await, ["four", "one"]);
    workflows.start("free", "no-id", &"spaces are no id").await.unwrap();
    assert!(error(&workflows, "no-id").await.contains("invalid_id"));
}

async fn with_limit_gives_back_whatever_the_body_returns(world: World) {
    let workflows = world.start(1).await;
    for (run, what) in [("a", "one"), ("b", "fail"), ("c", "two")] {
        workflows.start("inside", run, &what).await.unwrap();
    }
    assert_eq!(answer(&workflows, "a").await, json!("one"));
    assert!(error(&workflows, "b").await.contains("as told"));
    assert_eq!(answer(&workflows, "c").await, json!("two"));
    world.until(VOICE, (0, 0, 0)).await;
    assert_eq!(world.worked().len(), 3);
}

async fn a_held_slot_outlives_its_run(world: World) {
    let workflows = world.start(3).await;
    for (run, until_run_ends) in [("keeps", false), ("gives", true)] {
        let told = json!({ "stay": true, "until_run_ends": until_run_ends });
        workflows.start("take", run, &told).await.unwrap();
    }
    world.until(VOICE, (2, 0, 0)).await;
    eventually("both runs know that they have a slot", async || {
        let waits =
            async |run| workflows.run(run).await.is_ok_and(|run| run.steps.iter().any(|s| s.name == "never"));
        waits("keeps").await && waits("gives").await
    })
    .await;
    for run in ["keeps", "gives"] {
        workflows.cancel(run, "enough").await.unwrap();
        until_ended(&workflows, run).await;
    }
    world.until(VOICE, (1, 0, 0)).await;
    let slots = world.observer().limit_slots(VOICE).await.unwrap();
    assert_eq!(slots.holders[0].run.as_deref(), Some("keeps"));
}

async fn several_limits_and_weights(world: World) {
    let programs = world.programs().limit(VOICE, 3, MINUTE).limit("lines", 1, MINUTE);
    let workflows = programs.start(world.store().await).await.unwrap();
    workflows.start("take", "a", &json!({ "and": "lines" })).await.unwrap();
    let first = slot(&workflows, "a").await;
    workflows.start("take", "b", &json!({ "and": "lines" })).await.unwrap();
    until_waiting(&workflows, "b").await;
    assert_eq!((world.counts(VOICE).await, world.counts("lines").await), ((1, 0, 1), (1, 0, 1)));
    workflows.start("free", "f", &first).await.unwrap();
    slot(&workflows, "b").await;
    workflows.start("take", "heavy", &json!({ "weight": 3 })).await.unwrap();
    until_waiting(&workflows, "heavy").await;
    workflows.start("free", "g", &"wf/b/1/1").await.unwrap();
    slot(&workflows, "heavy").await;
    assert_eq!(world.counts(VOICE).await, (3, 0, 0));
}

async fn what_cannot_be_asked_fails_the_run_and_names_it(world: World) {
    let workflows = world.start(2).await;
    let far_off = 500 * 86_400_000_u64;
    let cases = [
        ("unknown", json!({ "limit": "nowhere" }), ["nowhere", "limit_not_found"]),
        ("name", json!({ "limit": "No Name" }), ["No Name", "invalid_limit_name"]),
        ("weight", json!({ "weight": 3 }), [VOICE, "never_fits"]),
        ("timeout", json!({ "timeout_ms": far_off }), ["timeout", "invalid_timeout"]),
        ("label", json!({ "label": "x".repeat(201) }), ["label", "invalid_label"]),
    ];
    for (run, told, parts) in cases {
        workflows.start("take", run, &told).await.unwrap();
        let error = error(&workflows, run).await;
        for part in parts {
            assert!(error.contains(part), "{run}: {part} is missing in: {error}");
        }
    }
    assert_eq!(world.counts(VOICE).await, (0, 0, 0));
    let error = workflows.start("no such", "r", &json!({})).await.unwrap_err().to_string();
    assert!(error.contains("no such") && error.contains("take"), "{error}");
    for run in ["", "two words", &"x".repeat(151)] {
        assert!(workflows.start("take", run, &json!({})).await.is_err());
    }
}

async fn a_wait_ended_by_an_operator_ends_the_wait(world: World) {
    let workflows = world.start(1).await;
    workflows.start("take", "holds", &json!({})).await.unwrap();
    slot(&workflows, "holds").await;
    workflows.start("take", "waits", &json!({})).await.unwrap();
    until_waiting(&workflows, "waits").await;
    world.observer().end_run("waits", maitred::api::RunStatus::Cancelled).await.unwrap();
    let error = error(&workflows, "waits").await;
    assert!(error.contains("run_ended") && error.contains(VOICE), "{error}");
}

async fn runs_go_on_where_they_were(world: World) {
    let workflows = world.start(1).await;
    workflows.start("take", "holds", &json!({})).await.unwrap();
    let held = slot(&workflows, "holds").await;
    for run in ["a", "b"] {
        workflows.start("take", run, &json!({ "work": run })).await.unwrap();
        until_waiting(&workflows, run).await;
    }
    drop(workflows);
    world.observer().release(&held.parse().unwrap()).await.unwrap();
    let workflows = world.start(1).await;
    let a = slot(&workflows, "a").await;
    workflows.start("free", "free-a", &a).await.unwrap();
    slot(&workflows, "b").await;
    assert_eq!(world.worked(), ["a", "b"]);
}
