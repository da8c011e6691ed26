//! One suite, near and far: whatever a program can see is the same.

use std::time::{Duration, Instant};

use maitred::{
    AcquireError, AdmitError, NextStep, Spec,
    api::{Certainty, LimitKind, Reason, RunStatus, SlotState},
};

use crate::common::{MINUTE, World, near_and_far};

near_and_far! {
    a_slot_is_held_and_released
    a_dropped_slot_is_given_back
    first_come_first_served
    no_time_to_wait
    a_timeout_is_the_limiters
    several_limits_with_weights
    what_is_wrong_is_refused_with_a_reason
    a_detached_slot_is_released_elsewhere
    an_expired_slot_was_taken_back
    with_limit_gives_back_whatever_happens
    with_limit_runs_in_a_task_of_its_own
    ended_from_elsewhere
    a_run_that_ends_takes_its_slots_out
    rates_count_and_refuse
    places_are_freed_with_their_run
    successes_only_gives_back
    a_check_changes_nothing
    namespaces_never_meet
    operators_change_limits
    closing_gives_everything_back
    fences_grow
}

async fn a_slot_is_held_and_released(world: World) {
    world.declare("calls", 2).await;
    let slot = world.maitred.acquire("calls").label("Ana").run("r").workflow("w").await.unwrap();
    assert_eq!(slot.limit(), "calls");
    assert_eq!(world.counts("calls").await, (1, 0, 0));
    let seen = world.maitred.slot(slot.id()).await.unwrap().slot;
    assert_eq!(
        (seen.state, seen.label.as_deref(), seen.run.as_deref()),
        (SlotState::Busy, Some("Ana"), Some("r"))
    );
    assert_eq!(seen.fence, Some(slot.fence()));
    let expires_ms = slot.expires_at().duration_since(std::time::UNIX_EPOCH).unwrap().as_millis() as u64;
    assert_eq!(seen.expires_at, Some(expires_ms));
    let left = slot.expires_in();
    assert!(left <= 10 * MINUTE && left > 9 * MINUTE, "{left:?}");
    let id = slot.id().clone();
    let released = slot.release().await.unwrap();
    assert!(released.released && released.state == SlotState::Released);
    assert_eq!(world.counts("calls").await, (0, 0, 0));
    let again = world.maitred.release(&id).await.unwrap();
    assert!(!again.released && again.state == SlotState::Released);
}

async fn a_dropped_slot_is_given_back(world: World) {
    world.declare("calls", 1).await;
    drop(world.maitred.acquire("calls").await.unwrap());
    world.until("calls", (0, 0, 0)).await;
}

async fn first_come_first_served(world: World) {
    world.declare("calls", 1).await;
    let mut held = world.maitred.acquire("calls").await.unwrap();
    let mut tasks = Vec::new();
    for place in 1..=5 {
        tasks.push(world.waiting("calls", place).await);
    }
    for task in tasks {
        assert!(!task.is_finished(), "nobody overtakes");
        drop(held);
        held = task.await.unwrap();
    }
    held.release().await.unwrap();
    assert_eq!(world.counts("calls").await, (0, 0, 0));
}

async fn no_time_to_wait(world: World) {
    world.declare("calls", 1).await;
    let held = world.maitred.acquire("calls").timeout(Duration::ZERO).await.unwrap();
    let error = world.maitred.acquire("calls").timeout(Duration::ZERO).await.unwrap_err();
    let AcquireError::Timeout { limiter, timeout } = &error else { panic!("{error:?}") };
    assert_eq!((limiter.as_str(), *timeout), ("calls", Duration::ZERO));
    assert_eq!((error.next_step(), error.certainty()), (NextStep::Wait, Certainty::Refused));
    drop(held);
}

async fn a_timeout_is_the_limiters(world: World) {
    world.declare("calls", 1).await;
    let held = world.maitred.acquire("calls").await.unwrap();
    let started = Instant::now();
    let error = world.maitred.acquire("calls").timeout(Duration::from_millis(300)).await.unwrap_err();
    assert!(matches!(error, AcquireError::Timeout { .. }), "{error:?}");
    assert!(error.to_string().contains("`calls`") && error.to_string().contains("300ms"), "{error}");
    let waited = started.elapsed();
    assert!(waited >= Duration::from_millis(300) && waited < Duration::from_secs(5), "{waited:?}");
    assert_eq!(world.counts("calls").await, (1, 0, 0));
    held.release().await.unwrap();
}

async fn several_limits_with_weights(world: World) {
    world.declare("gpu", 4).await;
    world.declare("calls", 2).await;
    let both = world.maitred.acquire("gpu").weight(3).and("calls").await.unwrap();
    assert_eq!((world.counts("gpu").await.0, world.counts("calls").await.0), (3, 1));
    let shares: Vec<_> = both.limits().iter().map(|share| (share.limit.as_str(), share.weight)).collect();
    assert_eq!(shares, [("gpu", 3), ("calls", 1)]);
    let other = world.maitred.acquire("calls").and("gpu").weight(2).timeout(Duration::ZERO).await;
    assert!(matches!(other, Err(AcquireError::Timeout { .. })));
    both.release().await.unwrap();
    assert_eq!((world.counts("gpu").await.0, world.counts("calls").await.0), (0, 0));
}

async fn what_is_wrong_is_refused_with_a_reason(world: World) {
    world.declare("calls", 2).await;
    let cases = [
        (world.maitred.acquire("nope"), Reason::LimitNotFound),
        (world.maitred.acquire("Not A Name"), Reason::InvalidLimitName),
        (world.maitred.acquire("calls").weight(3), Reason::NeverFits),
        (world.maitred.acquire("calls").weight(0), Reason::InvalidWeight),
        (world.maitred.acquire("calls").and("calls"), Reason::DuplicateLimit),
        (world.maitred.acquire("calls").run("no spaces"), Reason::InvalidRun),
        (world.maitred.acquire("calls").label("x".repeat(201)), Reason::InvalidLabel),
        (world.maitred.acquire("calls").timeout(500 * 24 * 60 * MINUTE), Reason::InvalidTimeout),
        (world.maitred.acquire("calls").timeout(Duration::MAX), Reason::InvalidTimeout),
    ];
    for (acquire, reason) in cases {
        let error = acquire.clone().await.unwrap_err();
        let AcquireError::Refused(problem) = &error else { panic!("{acquire:?}: {error:?}") };
        assert_eq!(problem.reason, reason, "{problem}");
        assert_eq!((error.next_step(), error.certainty()), (NextStep::Fix, Certainty::Refused));
    }
    assert_eq!(world.counts("calls").await, (0, 0, 0));
    let problem = world.maitred.clone().namespace("No").limits().await.unwrap_err();
    assert_eq!(problem.reason, Reason::InvalidNamespace);
}

async fn a_detached_slot_is_released_elsewhere(world: World) {
    world.declare("calls", 1).await;
    let id = world.maitred.acquire("calls").await.unwrap().detach();
    let elsewhere = world.another();
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert_eq!(world.counts("calls").await, (1, 0, 0), "a detached slot stays");
    let text = id.to_string();
    drop(id);
    assert!(elsewhere.release(&text.parse().unwrap()).await.unwrap().released);
    assert_eq!(world.counts("calls").await, (0, 0, 0));
}

async fn an_expired_slot_was_taken_back(world: World) {
    world.maitred.declare("short", 1, Duration::from_millis(150)).await.unwrap();
    let first = world.maitred.acquire("short").await.unwrap();
    let second = world.maitred.acquire("short").timeout(MINUTE).await.unwrap();
    assert!(second.fence() > first.fence());
    assert!(first.expires_in() < Duration::from_millis(100), "{:?}", first.expires_in());
    let released = first.release().await.unwrap();
    assert!(!released.released && released.state == SlotState::Expired, "{released:?}");
    second.release().await.unwrap();
}

async fn with_limit_gives_back_whatever_happens(world: World) {
    world.declare("partner", 1).await;
    let fence = world.maitred.with_limit("partner", async |slot| slot.fence()).await.unwrap();
    assert!(fence > 0);
    assert_eq!(world.counts("partner").await, (0, 0, 0));

    let failed: Result<(), &str> = world.maitred.with_limit("partner", async |_| Err("no")).await.unwrap();
    assert_eq!(failed, Err("no"));
    assert_eq!(world.counts("partner").await, (0, 0, 0));

    let maitred = world.maitred.clone();
    let panicked =
        tokio::spawn(async move { maitred.with_limit("partner", async |_| panic!("on purpose")).await });
    assert!(panicked.await.unwrap_err().is_panic());
    world.until("partner", (0, 0, 0)).await;

    let maitred = world.maitred.clone();
    let aborted = tokio::spawn(async move {
        maitred.with_limit("partner", async |_| std::future::pending::<()>().await).await
    });
    world.until("partner", (1, 0, 0)).await;
    aborted.abort();
    world.until("partner", (0, 0, 0)).await;

    let error = world.maitred.with_limit("nope", async |_| panic!("must not run")).await;
    assert!(matches!(error, Err::<(), _>(AcquireError::Refused(_))));
}

async fn with_limit_runs_in_a_task_of_its_own(world: World) {
    world.declare("partner", 1).await;
    let maitred = world.maitred.clone();
    let name = "partner".to_owned();
    let task = tokio::spawn(async move {
        let borrowed = &maitred;
        let body = async |slot: &maitred::Slot| borrowed.limit(slot.limit()).await.unwrap().limit.busy;
        maitred.acquire(name).timeout(MINUTE).with(body).await
    });
    assert_eq!(task.await.unwrap().unwrap(), 1);
}

async fn ended_from_elsewhere(world: World) {
    world.declare("calls", 1).await;
    let held = world.maitred.acquire("calls").await.unwrap();
    let asked = world.maitred.acquire("calls").timeout(MINUTE);
    let waiting = tokio::spawn(async move { asked.await });
    world.until("calls", (1, 0, 1)).await;
    let queue = world.maitred.limit_slots("calls").await.unwrap().queue;
    let leave = maitred::api::Call::Leave { slot: queue[0].slot.clone() };
    world.another().call(leave).await.unwrap();
    let error = waiting.await.unwrap().unwrap_err();
    assert!(matches!(error, AcquireError::Ended { state: SlotState::Left, .. }), "{error:?}");
    assert_eq!((error.next_step(), error.certainty()), (NextStep::GiveUp, Certainty::Refused));
    drop(held);
}

async fn a_run_that_ends_takes_its_slots_out(world: World) {
    world.declare("calls", 1).await;
    let held = world.maitred.acquire("calls").run("r1").until_run_ends().await.unwrap();
    let asked = world.maitred.acquire("calls").run("r2").timeout(MINUTE);
    let waiting = tokio::spawn(async move { asked.await });
    world.until("calls", (1, 0, 1)).await;
    world.maitred.end_run("r2", RunStatus::Cancelled).await.unwrap();
    let error = waiting.await.unwrap().unwrap_err();
    assert!(matches!(error, AcquireError::Ended { state: SlotState::RunEnded, .. }), "{error:?}");
    world.maitred.end_run("r1", RunStatus::Succeeded).await.unwrap();
    assert_eq!(world.counts("calls").await, (0, 0, 0));
    let released = held.release().await.unwrap();
    assert!(!released.released && released.state == SlotState::RunEnded);
}

async fn rates_count_and_refuse(world: World) {
    let rate = || Spec::rate("user=7", 2, MINUTE).label("per user");
    let first = world.maitred.consume("t", [rate()]).await.unwrap();
    assert_eq!((first.results[0].used, first.results[0].remaining, first.degraded), (1, 1, false));
    world.maitred.consume("t", [rate()]).await.unwrap();

    let over = world.maitred.consume("t", [rate()]).enforce(false).await.unwrap();
    assert!(over.over_limit && over.kind == LimitKind::Rate && over.retry_after_seconds > 0);

    let error = world.maitred.consume("t", [rate()]).await.unwrap_err();
    assert_eq!(error.next_step(), NextStep::Wait);
    let AdmitError::Exceeded(exceeded) = error else { panic!("{error:?}") };
    assert_eq!(exceeded.kind, LimitKind::Rate);
    let problem = exceeded.problem();
    assert_eq!(problem.reason, Reason::RateLimitExceeded);
    let details = problem.details.unwrap();
    assert_eq!((&details["limit"], &details["label"]), (&2.into(), &"per user".into()));
    assert!(!problem.message.contains("user=7"));

    let other = world.maitred.consume("t", [Spec::rate("user=8", 2, MINUTE).cost(2)]).await.unwrap();
    assert_eq!(other.results[0].used, 2);

    for (spec, reason) in [
        (Spec::rate("no spaces", 1, MINUTE), Reason::InvalidKey),
        (Spec::rate("k", 1, Duration::from_millis(1500)), Reason::InvalidWindow),
        (Spec::rate("k", 1, MINUTE).cost(0), Reason::InvalidCost),
        (Spec::place("k", 1), Reason::InvalidRun),
    ] {
        let Err(AdmitError::Refused(problem)) = world.maitred.admit("t").spec(spec).await else { panic!() };
        assert_eq!(problem.reason, reason, "{problem}");
    }
}

async fn places_are_freed_with_their_run(world: World) {
    let place = || [Spec::place("user=7", 1).label("one at a time")];
    let taken = world.maitred.acquire_keys("t", "r1", place()).await.unwrap();
    assert_eq!((taken.kind, taken.over_limit), (LimitKind::Concurrency, false));
    let Err(AdmitError::Exceeded(exceeded)) = world.maitred.acquire_keys("t", "r2", place()).await else {
        panic!("the place is taken")
    };
    let problem = exceeded.problem();
    assert_eq!(problem.reason, Reason::ConcurrencyLimitExceeded);
    assert!(problem.details.unwrap()["retryAfterSeconds"].is_null());
    assert_eq!(world.maitred.run("r1").await.unwrap().run.places.len(), 1);
    world.maitred.end_run_in_background("r1", RunStatus::Failed);
    let started = Instant::now();
    while world.maitred.acquire_keys("t", "r2", place()).await.is_err() {
        assert!(started.elapsed() < Duration::from_secs(10), "the place was not freed");
    }
}

async fn successes_only_gives_back(world: World) {
    let specs = || [Spec::rate("free:user=7", 1, MINUTE).successes_only()];
    let ask = |run: &str| world.maitred.consume("t", specs()).run(run).enforce(false);
    assert!(!ask("r1").await.unwrap().over_limit);
    assert!(ask("r2").await.unwrap().over_limit);
    world.maitred.end_run("r1", RunStatus::Failed).await.unwrap();
    assert!(!ask("r3").await.unwrap().over_limit);
    world.maitred.end_run("r3", RunStatus::Succeeded).await.unwrap();
    assert!(ask("r4").await.unwrap().over_limit);
}

async fn a_check_changes_nothing(world: World) {
    let ask = || world.maitred.admit("t").run("r").rate("k", 1, MINUTE).place("k", 1);
    for _ in 0..3 {
        let verdict = ask().check().await.unwrap();
        assert!(!verdict.over_limit && verdict.results.len() == 2);
    }
    ask().await.unwrap();
    assert!(ask().check().await.unwrap().over_limit);
}

async fn namespaces_never_meet(world: World) {
    let other = world.maitred.clone().namespace("other");
    world.declare("calls", 1).await;
    other.declare("calls", 1, MINUTE).await.unwrap();
    let here = world.maitred.acquire("calls").await.unwrap();
    let there = other.acquire("calls").timeout(Duration::ZERO).await.unwrap();
    assert!(
        !world.maitred.release(there.id()).await.unwrap().released,
        "an id of another namespace is unknown here"
    );
    drop((here, there));
    world.until("calls", (0, 0, 0)).await;
    let started = Instant::now();
    while other.limit("calls").await.unwrap().limit.busy > 0 {
        assert!(started.elapsed() < Duration::from_secs(10), "a drop gives back in its own namespace");
    }
}

async fn operators_change_limits(world: World) {
    let maitred = world.maitred.clone().by("ops");
    maitred.deploy([("a", 1, MINUTE), ("b", 2, MINUTE)]).await.unwrap();
    let names: Vec<String> = maitred.limits().await.unwrap().into_iter().map(|limit| limit.limit).collect();
    assert_eq!(names, ["a", "b"]);
    let held = maitred.acquire("a").await.unwrap();
    let waiting = world.waiting("a", 1).await;
    maitred.set_capacity("a", 2).await.unwrap();
    drop((held, waiting.await.unwrap()));
    world.until("a", (0, 0, 0)).await;
    maitred.reset_capacity("a").await.unwrap();
    maitred.set_max_hold("a", 2 * MINUTE).await.unwrap();
    let info = maitred.limit("a").await.unwrap().limit;
    assert_eq!((info.capacity, info.capacity_override, info.max_hold_override_ms), (1, None, Some(120_000)));
    maitred.reset_max_hold("a").await.unwrap();
    maitred.pause("a").await.unwrap();
    let paused = maitred.acquire("a").timeout(Duration::from_millis(50)).await;
    assert!(matches!(paused, Err(AcquireError::Timeout { .. })));
    maitred.resume("a").await.unwrap();
    drop(maitred.acquire("a").await.unwrap());
    let problem = maitred.declare("a", 0, MINUTE).await.unwrap_err();
    assert!(problem.reason == Reason::InvalidCapacity && problem.message.contains("`a`"), "{problem}");
    assert_eq!(maitred.pause("c").await.unwrap_err().reason, Reason::LimitNotFound);
}

async fn closing_gives_everything_back(world: World) {
    world.declare("calls", 100).await;
    let mut slots = Vec::new();
    for _ in 0..100 {
        slots.push(world.maitred.acquire("calls").await.unwrap());
    }
    drop(slots);
    let observer = crate::common::observer(&world.node);
    let World { maitred, node, is_far, .. } = world;
    let left = maitred.clone().close(Duration::from_secs(10)).await;
    assert!(left.is_empty(), "{left:?}");
    if is_far {
        let info = observer.limit("calls").await.unwrap().limit;
        assert_eq!((info.busy, info.reserved, info.waiting), (0, 0, 0));
    } else {
        assert!(!node.health().await.ready, "closed near, the node has stopped");
    }
    // What comes after the end says so, and does not hang.
    let after = maitred.acquire("calls").timeout(Duration::ZERO).await.unwrap_err();
    assert!(matches!(after, AcquireError::Unknown { .. } | AcquireError::Unavailable(_)), "{after:?}");
    assert!(maitred.close(Duration::from_secs(1)).await.is_empty());
}

async fn fences_grow(world: World) {
    world.declare("calls", 3).await;
    let mut last = 0;
    for _ in 0..10 {
        let slot = world.maitred.acquire("calls").await.unwrap();
        assert!(slot.fence() > last);
        last = slot.fence();
    }
}
