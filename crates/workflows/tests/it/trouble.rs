//! A limiter that is away, words that get lost, and an engine that is not the one we have.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use maitred::{
    Maitred,
    api::{AcquireFields, Call, RunStatus},
};
use maitred_workflows::{Deliverer, Delivery, Notice, RunHost, RunState, StepState};
use serde_json::json;

use crate::common::*;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_limiter_that_is_away_makes_runs_wait() {
    let mut world = World::far().await;
    let workflows = world.start(1).await;
    workflows.start("take", "holds", &json!({})).await.unwrap();
    let held = slot(&workflows, "holds").await;
    workflows.start("take", "waits", &json!({})).await.unwrap();
    until_waiting(&workflows, "waits").await;
    workflows.start("take", "cancelled", &json!({})).await.unwrap();
    until_waiting(&workflows, "cancelled").await;

    let runs = ["waits", "asks", "asks-too", "frees"];
    let meanwhile = async {
        tokio::time::sleep(Duration::from_millis(200)).await;
        for run in ["asks", "asks-too"] {
            workflows.start("take", run, &json!({})).await.unwrap();
        }
        workflows.start("free", "frees", &held).await.unwrap();
        workflows.cancel("cancelled", "").await.unwrap();
        tokio::time::sleep(Duration::from_secs(2)).await;
        for run in runs {
            let run = workflows.run(run).await.unwrap();
            assert_eq!(run.status, RunState::Running, "{run:?}");
            assert!(hooks(&run).iter().all(|hook| hook.1 == StepState::Open));
        }
    };
    tokio::join!(world.away(Duration::from_secs(3)), meanwhile);
    assert_eq!(answer(&workflows, "frees").await, json!(true));
    assert_eq!(slot(&workflows, "waits").await, "wf/waits/1/1");
    world.until(VOICE, (1, 0, 2)).await;
    workflows.start("free", "frees-2", &"wf/waits/1/1").await.unwrap();
    // One of the two has it and has confirmed it: a slot that is released before that ends its wait.
    world.until(VOICE, (1, 0, 1)).await;
    let holder = world.observer().limit_slots(VOICE).await.unwrap().holders[0].slot.clone();
    workflows.start("free", "frees-3", &holder).await.unwrap();
    slot(&workflows, "asks").await;
    slot(&workflows, "asks-too").await;
    assert_eq!(until_ended(&workflows, "cancelled").await.status, RunState::Cancelled);
}

near_and_far! {
    a_question_whose_answer_was_lost_is_asked_again_with_the_same_slot
    an_id_of_an_earlier_life_is_not_taken_for_this_one
    what_was_lost_is_found_by_comparing
    a_wait_that_ended_unheard_is_told_when_somebody_listens
}

async fn a_question_whose_answer_was_lost_is_asked_again_with_the_same_slot(world: World) {
    let workflows = world.start(2).await;
    // The question that the run is going to ask has reached the limiter, and been answered to nobody.
    let question = |run: &str| AcquireFields {
        slot: Some(format!("wf/{run}/1/1")),
        limits: vec![maitred::api::WeightedLimit { limit: VOICE.to_owned(), ..Default::default() }],
        run: Some(run.to_owned()),
        workflow: Some("take".to_owned()),
        ..AcquireFields::default()
    };
    world.observer().call(Call::Acquire(question("asks"))).await.unwrap();
    world.observer().call(Call::Acquire(question("confirmed"))).await.unwrap();
    world.observer().call(Call::Confirm { slot: "wf/confirmed/1/1".to_owned() }).await.unwrap();
    for run in ["asks", "confirmed"] {
        workflows.start("take", run, &json!({})).await.unwrap();
        assert_eq!(slot(&workflows, run).await, format!("wf/{run}/1/1"));
    }
    assert_eq!(world.counts(VOICE).await, (2, 0, 0));
}

async fn an_id_of_an_earlier_life_is_not_taken_for_this_one(world: World) {
    let workflows = world.start(1).await;
    for life in 0..2 {
        workflows.start("take", "again", &json!({})).await.unwrap();
        let slot = slot(&workflows, "again").await;
        assert_eq!(slot.starts_with("wf/again/1/1-"), life > 0, "{slot}");
        workflows.start("free", format!("free-{life}"), &slot).await.unwrap();
        assert_eq!(answer(&workflows, &format!("free-{life}")).await, json!(true));
        workflows.engine().delete_instance("again", false).await.unwrap();
    }
}

/// Another engine: what it knows of runs, and what came into their inboxes.
#[derive(Clone, Default)]
struct Other {
    runs: Arc<Mutex<HashMap<String, Option<RunStatus>>>>,
    inboxes: Arc<Mutex<Vec<Notice>>>,
}

impl RunHost for Other {
    async fn deliver(&self, notice: &Notice) -> Delivery {
        match self.runs.lock().unwrap().get(&notice.run) {
            None => Delivery::NotHere,
            Some(Some(status)) => Delivery::RunEnded(*status),
            Some(None) => {
                self.inboxes.lock().unwrap().push(notice.clone());
                Delivery::Accepted
            }
        }
    }

    async fn ended(&self, runs: Vec<String>) -> Vec<(String, RunStatus)> {
        let known = self.runs.lock().unwrap();
        runs.into_iter().filter_map(|run| Some((run.clone(), (*known.get(&run)?)?))).collect()
    }
}

async fn ask(maitred: &Maitred, run: &str) {
    let asked = AcquireFields {
        slot: Some(format!("wf/{run}/1/1")),
        limit: Some(VOICE.to_owned()),
        run: Some(run.to_owned()),
        ..AcquireFields::default()
    };
    maitred.call(Call::Acquire(asked)).await.unwrap();
}

async fn what_was_lost_is_found_by_comparing(world: World) {
    let limiter = world.observer();
    limiter.declare(VOICE, 2, MINUTE).await.unwrap();
    // Granted, and nobody was there to deliver; the first run has ended without a word.
    for run in ["ended", "runs", "elsewhere", "next"] {
        ask(&limiter, run).await;
    }
    let other = Other::default();
    for (run, status) in [("ended", Some(RunStatus::Failed)), ("runs", None), ("next", None)] {
        other.runs.lock().unwrap().insert(run.to_owned(), status);
    }
    let working = tokio::spawn(Deliverer::new(world.maitred.clone(), Arc::new(other.clone())).work());
    let told = || other.inboxes.lock().unwrap().iter().map(|notice| notice.run.clone()).collect::<Vec<_>>();
    eventually("the run that goes on is told", async || told() == ["runs"]).await;
    // What belonged to the ended one went to a run that is elsewhere: that is left alone.
    world.until(VOICE, (0, 2, 1)).await;
    limiter.release(&"wf/elsewhere/1/1".parse().unwrap()).await.unwrap();
    eventually("the next is told by its event", async || told() == ["runs", "next"]).await;
    let notice = other.inboxes.lock().unwrap()[1].clone();
    let expected = ("wf/next/1/1", "Esperando hueco · voice-calls · 1.1");
    assert_eq!((notice.slot.as_str(), notice.inbox.as_str()), expected);
    // A run that ends without a word loses its place as soon as it is granted one.
    ask(&limiter, "silent").await;
    other.runs.lock().unwrap().insert("silent".to_owned(), Some(RunStatus::Succeeded));
    limiter.release(&"wf/next/1/1".parse().unwrap()).await.unwrap();
    world.until(VOICE, (0, 1, 0)).await;
    working.abort();
}

async fn a_wait_that_ended_unheard_is_told_when_somebody_listens(world: World) {
    let workflows = world.start(1).await;
    workflows.start("take", "holds", &json!({})).await.unwrap();
    let held = slot(&workflows, "holds").await;
    for run in ["waits", "stays"] {
        workflows.start("take", run, &json!({})).await.unwrap();
        until_waiting(&workflows, run).await;
    }
    workflows.stop(MINUTE).await;
    world.observer().call(Call::Leave { slot: "wf/waits/1/1".to_owned() }).await.unwrap();

    let workflows = world.start(1).await;
    let error = error(&workflows, "waits").await;
    assert!(error.contains("left") && error.contains(VOICE), "{error}");
    assert_eq!(hooks(&workflows.run("waits").await.unwrap()), [(HOOK, StepState::Failed)]);
    assert_eq!(hooks(&workflows.run("stays").await.unwrap()), [(HOOK, StepState::Open)]);
    world.observer().release(&held.parse().unwrap()).await.unwrap();
    slot(&workflows, "stays").await;
}
