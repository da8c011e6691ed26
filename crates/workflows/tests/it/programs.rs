//! What a program declares: limits, serial workflows, versions.

use std::time::Duration;

use maitred_workflows::{RunState, StepState, Workflow, Workflows};
use serde_json::json;

use crate::common::*;

near_and_far! {
    a_serial_workflow_runs_one_run_at_a_time_in_order
    a_serial_run_that_fails_or_is_cancelled_lets_the_next_one_in
    the_limits_are_deployed_as_one_set
    what_cannot_be_declared_names_itself_and_its_field
    a_changed_workflow_leaves_waiting_runs_on_their_version
    the_order_of_calls_never_changes
}

/// Notes that it is inside, stays until it is told to go on, and notes that it is out.
async fn alone(workflow: Workflow, how: String) -> Result<String, String> {
    let run = workflow.instance_id();
    workflow.step::<String>("work", &format!("{run} in")).await?;
    workflow.dequeue_event("go on").await;
    workflow.step::<String>("work", &format!("{run} out")).await?;
    if how == "fail" { Err("as told".to_owned()) } else { Ok(how) }
}

async fn serial(world: &World) -> Workflows {
    let programs = world.programs().workflow("report", alone).serial().limit(VOICE, 1, MINUTE);
    programs.start(world.store().await).await.unwrap()
}

async fn until_worked(world: &World, what: &str) {
    eventually(&format!("it worked: {what}"), async || world.worked().iter().any(|done| done == what)).await;
}

async fn go_on(workflows: &Workflows, run: &str) {
    workflows.engine().enqueue_event(run, "go on", "").await.unwrap();
}

async fn a_serial_workflow_runs_one_run_at_a_time_in_order(world: World) {
    let mut workflows = serial(&world).await;
    let runs = ["one", "two", "three", "four"];
    for run in runs {
        workflows.start("report", run, &"").await.unwrap();
    }
    assert_eq!(world.counts("serial.report").await.2, 3);
    for (index, run) in runs.into_iter().enumerate() {
        until_worked(&world, &format!("{run} in")).await;
        assert_eq!(world.worked().len(), 2 * index + 1, "{:?}", world.worked());
        if run == "two" {
            // Everything in between survives.
            workflows.stop(MINUTE).await;
            workflows = serial(&world).await;
        }
        go_on(&workflows, run).await;
    }
    until_ended(&workflows, "four").await;
    let expected: Vec<String> =
        runs.iter().flat_map(|run| [format!("{run} in"), format!("{run} out")]).collect();
    assert_eq!(world.worked(), expected);
    world.until("serial.report", (0, 0, 0)).await;
    let hook = ("Esperando hueco · serial.report", StepState::Closed);
    assert_eq!(hooks(&workflows.run("four").await.unwrap())[0], hook);
}

async fn a_serial_run_that_fails_or_is_cancelled_lets_the_next_one_in(world: World) {
    let workflows = serial(&world).await;
    for (run, how) in [("fails", "fail"), ("waits", ""), ("cancelled", ""), ("last", "")] {
        workflows.start("report", run, &how).await.unwrap();
    }
    until_worked(&world, "fails in").await;
    workflows.cancel("waits", "").await.unwrap();
    go_on(&workflows, "fails").await;
    until_worked(&world, "cancelled in").await;
    workflows.cancel("cancelled", "").await.unwrap();
    until_worked(&world, "last in").await;
    assert!(!world.worked().iter().any(|done| done.starts_with("waits")));
    assert_eq!(until_ended(&workflows, "fails").await.status, RunState::Failed);
}

async fn the_limits_are_deployed_as_one_set(world: World) {
    world.observer().declare("of-before", 3, MINUTE).await.unwrap();
    let workflows = serial(&world).await;
    let names = async || {
        let limits = world.observer().limits().await.unwrap();
        limits.into_iter().map(|limit| (limit.limit, limit.capacity, limit.max_hold_ms)).collect::<Vec<_>>()
    };
    let serial = ("serial.report".to_owned(), 1, 30 * 86_400_000);
    assert_eq!(names().await, [serial.clone(), (VOICE.to_owned(), 1, 60_000)]);
    workflows.stop(MINUTE).await;

    // A program without limits of its own leaves those of others alone.
    world.observer().deploy([("of-others", 2, MINUTE)]).await.unwrap();
    let programs = world.programs().workflow("report", alone).serial();
    programs.start(world.store().await).await.unwrap();
    assert_eq!(names().await, [("of-others".to_owned(), 2, 60_000), serial]);
}

async fn what_cannot_be_declared_names_itself_and_its_field(world: World) {
    let (store, long) = (world.store().await, "x".repeat(58));
    let cases = [
        (world.programs().limit(VOICE, 0, MINUTE), vec![VOICE, "capacity", "100000"]),
        (world.programs().limit("lines", 1, Duration::ZERO), vec!["lines", "max_hold"]),
        (world.programs().limit("No Name", 1, MINUTE), vec!["No Name"]),
        (world.programs().workflow(long.clone(), alone).serial(), vec![&long, "serial", "57"]),
        (world.programs().workflow("Report", alone).serial(), vec!["Report", "serial", "a-z"]),
        (world.programs().version("report", "one", alone), vec!["report", "version", "one"]),
        (world.programs().workflow("a", alone).workflow("a", alone), vec!["`a`", "version", "twice"]),
        (world.programs().workflow("", alone), vec!["name"]),
        (
            world.programs().step("work", async |_: maitred_workflows::Step, _: ()| Ok(())),
            vec!["work", "steps"],
        ),
        (
            world.programs().step("maitred.acquire", async |_: maitred_workflows::Step, _: ()| Ok(())),
            vec!["maitred."],
        ),
    ];
    for (programs, parts) in cases {
        let error = programs.start(store.clone()).await.err().expect("refused").to_string();
        for part in parts {
            assert!(error.contains(part), "{part} is missing in: {error}");
        }
    }
    assert!(world.observer().limits().await.unwrap().is_empty());
}

/// `take`, as somebody changed it: another step before the slot.
async fn takes_care(workflow: Workflow, _: serde_json::Value) -> Result<serde_json::Value, String> {
    workflow.step::<String>("work", &"care").await?;
    let slot = workflow.acquire_slot(VOICE).await?;
    Ok(json!({ "slot": slot.id, "version": 2 }))
}

async fn a_changed_workflow_leaves_waiting_runs_on_their_version(world: World) {
    let workflows = world.start(1).await;
    workflows.start("take", "holds", &json!({})).await.unwrap();
    let held = slot(&workflows, "holds").await;
    workflows.start("take", "old", &json!({ "work": "of old" })).await.unwrap();
    until_waiting(&workflows, "old").await;
    workflows.stop(MINUTE).await;

    let programs = world.programs().version("take", "2.0.0", takes_care).limit(VOICE, 1, MINUTE);
    let workflows = programs.start(world.store().await).await.unwrap();
    workflows.start("take", "new", &json!({})).await.unwrap();
    until_waiting(&workflows, "new").await;
    workflows.start("free", "free-1", &held).await.unwrap();
    assert_eq!(answer(&workflows, "old").await, json!({ "slot": "wf/old/1/1" }));
    workflows.start("free", "free-2", &"wf/old/1/1").await.unwrap();
    assert_eq!(answer(&workflows, "new").await, json!({ "slot": "wf/new/1/1", "version": 2 }));
    assert_eq!(workflows.run("old").await.unwrap().version, "1.0.0");
    assert_eq!(workflows.run("new").await.unwrap().version, "2.0.0");
    workflows.stop(MINUTE).await;

    // Changed under its old version, it fails the run that waits, and says so.
    let workflows = world.start(1).await;
    workflows.start("inside", "waits", &"x").await.unwrap();
    eventually("it waits", async || world.counts(VOICE).await.2 == 1).await;
    until_waiting(&workflows, "waits").await;
    workflows.stop(MINUTE).await;
    let careless = Workflows::builder(world.maitred.clone())
        .workflow("inside", async |workflow: Workflow, _: String| {
            workflow.step::<String>("work", &"new").await
        })
        .start(world.store().await)
        .await
        .unwrap();
    world.observer().release(&"wf/new/1/1".parse().unwrap()).await.unwrap();
    let run = until_ended(&careless, "waits").await;
    assert_eq!(run.status, RunState::Failed);
    assert!(run.output.unwrap().to_lowercase().contains("nondeterminis"));
    world.until(VOICE, (0, 0, 0)).await;
}

/// Runs that wait while a program is updated have these histories: what they hold must never be read in another way.
async fn the_order_of_calls_never_changes(world: World) {
    let workflows = world.start(1).await;
    workflows.start("inside", "holds", &"x").await.unwrap();
    answer(&workflows, "holds").await;
    workflows.start("take", "holds-on", &json!({ "label": "Ana" })).await.unwrap();
    slot(&workflows, "holds-on").await;
    workflows.start("inside", "waits", &"y").await.unwrap();
    until_waiting(&workflows, "waits").await;
    workflows.start("free", "frees", &"wf/holds-on/1/1").await.unwrap();
    answer(&workflows, "waits").await;

    let history = async |run| told(&workflows.engine().read_execution_history(run, 1).await.unwrap());
    assert_eq!(history("holds-on").await, SLOT_AT_ONCE);
    assert_eq!(history("waits").await, SLOT_AFTER_A_WAIT);
}

const SLOT_AT_ONCE: [&str; 5] = [
    "OrchestrationStarted",
    "KeyValueSet maitred.slots=1",
    "ActivityScheduled maitred.acquire {\"label\":\"Ana\",\"limits\":[{\"limit\":\"voice-calls\"}],\
     \"run\":\"holds-on\",\"slot\":\"wf/holds-on/1/1\",\"timeout\":86400000,\"workflow\":\"take\"} on maitred",
    "ActivityCompleted busy",
    "OrchestrationCompleted",
];

const SLOT_AFTER_A_WAIT: [&str; 15] = [
    "OrchestrationStarted",
    "KeyValueSet maitred.slots=1",
    "ActivityScheduled maitred.acquire {\"limits\":[{\"limit\":\"voice-calls\"}],\
     \"run\":\"waits\",\"slot\":\"wf/waits/1/1\",\"timeout\":86400000,\"workflow\":\"inside\"} on maitred",
    "ActivityCompleted queued",
    "TimerCreated",
    "CustomStatusUpdated Esperando hueco · voice-calls",
    "ExternalSubscribedPersistent Esperando hueco · voice-calls · 1.1",
    "ExternalEventPersistent Esperando hueco · voice-calls · 1.1",
    "ActivityScheduled maitred.confirm \"wf/waits/1/1\" on maitred",
    "ActivityCompleted busy",
    "CustomStatusUpdated",
    "ActivityScheduled work y",
    "ActivityCompleted",
    "ActivityScheduled maitred.release \"wf/waits/1/1\" on maitred",
    "ActivityCompleted released",
];

/// The events with everything that a replay compares, and what was said.
fn told(history: &[maitred_workflows::duroxide::Event]) -> Vec<String> {
    let told = history.iter().map(|event| {
        let event = serde_json::to_value(event).unwrap();
        let text = |name: &str| event[name].as_str().unwrap_or_default().to_owned();
        let kind = text("type");
        let rest = match kind.as_str() {
            "KeyValueSet" => format!("{}={}", text("key"), text("value")),
            "ActivityScheduled" => {
                let tag = event["tag"].as_str().map(|tag| format!(" on {tag}")).unwrap_or_default();
                format!("{} {}{tag}", text("name"), sorted(&text("input")))
            }
            "ActivityCompleted" => said(&text("result")),
            "CustomStatusUpdated" => text("status"),
            _ => text("name"),
        };
        let rest = if kind == "OrchestrationStarted" { String::new() } else { rest };
        format!("{kind} {rest}").trim_end().to_owned()
    });
    told.filter(|event| !(event.starts_with("OrchestrationCompleted") && history.len() > 6)).collect()
}

fn sorted(json: &str) -> String {
    serde_json::from_str::<serde_json::Value>(json)
        .map_or_else(|_| json.to_owned(), |value| value.to_string())
}

fn said(result: &str) -> String {
    let said: serde_json::Value = serde_json::from_str(result).unwrap_or_default();
    let state = said["slot"]["state"].as_str().map(str::to_owned);
    state.or(said["released"].is_object().then(|| "released".to_owned())).unwrap_or_default()
}
