//! What a node says about its limits as a whole, in virtual time: health, what outlives its run, a change beforehand.

use std::time::Duration;

use maitred::{
    api::{
        AcquireFields, Answer, Call, ConfirmMode, Context, Given, LimitHealth, LimitOrder, LimitOverview,
        NamedLimit, OverviewAnswer, OverviewFields, PreviewAnswer, RunStatus, SeriesAnswer, WeightedLimit,
    },
    local::{Node, NodeOptions},
};

const MINUTE_MS: u64 = 60_000;

struct Stage {
    node: Node,
}

impl Stage {
    async fn new() -> Stage {
        let stage = Stage::in_folder(None).await;
        stage.node.advance_to(1_000 * MINUTE_MS).await.expect("a manual clock");
        stage
    }

    async fn in_folder(folder: Option<&std::path::Path>) -> Stage {
        let folder = folder.map(Into::into);
        let options = NodeOptions { folder, manual_clock: true, ..NodeOptions::default() };
        Stage { node: Node::start(options).await.expect("the node starts") }
    }

    async fn ask(&self, call: Call) -> Answer {
        self.node.call(&Context::default(), call).await.expect("answered")
    }

    async fn declare(&self, limit: &str, capacity: u32) {
        let limit = NamedLimit { name: limit.to_owned(), capacity: capacity.into(), max_hold: "10m".into() };
        self.ask(Call::Declare(limit)).await;
    }

    async fn acquire(&self, limits: &[(&str, u32)], slot: &str, run: &str) {
        let share = |(limit, weight): &(&str, u32)| WeightedLimit {
            limit: (*limit).to_owned(),
            weight: (*weight).into(),
        };
        let fields = AcquireFields {
            slot: Some(slot.to_owned()),
            limits: limits.iter().map(share).collect(),
            run: Some(run.to_owned()),
            confirm: ConfirmMode::Auto,
            ..AcquireFields::default()
        };
        self.ask(Call::Acquire(fields)).await;
    }

    async fn release(&self, slot: &str) {
        self.ask(Call::Release { slot: slot.to_owned() }).await;
    }

    async fn end(&self, run: &str) {
        self.ask(Call::EndRun { run: run.to_owned(), status: RunStatus::Succeeded }).await;
    }

    async fn pass(&self, ms: u64) {
        let now = self.node.now().await;
        self.node.advance_to(now + ms).await.expect("a manual clock");
    }

    /// Until the second engine has taken everything there was.
    async fn settle(&self) {
        for _ in 0..500 {
            let call = Call::History {
                limit: None,
                slot: None,
                run: None,
                label: None,
                before: None,
                most: Some(1),
            };
            match self.ask(call).await {
                Answer::History(answer) if answer.reach.lag == 0 => return,
                _ => tokio::time::sleep(Duration::from_millis(10)).await,
            }
        }
        panic!("the history does not catch up");
    }

    async fn overview(&self, fields: OverviewFields) -> OverviewAnswer {
        self.settle().await;
        match self.ask(Call::Overview(fields)).await {
            Answer::Overview(answer) => answer,
            other => panic!("{other:?}"),
        }
    }

    async fn limit(&self, limit: &str) -> LimitOverview {
        let fields = OverviewFields { limit: Some(limit.to_owned()), ..OverviewFields::default() };
        self.overview(fields).await.limits.remove(0)
    }

    async fn series(&self, limit: &str) -> SeriesAnswer {
        self.settle().await;
        match self.ask(Call::Series { limit: limit.to_owned(), range: "30m".into() }).await {
            Answer::Series(series) => *series,
            other => panic!("{other:?}"),
        }
    }

    async fn preview(&self, limit: &str, capacity: Given) -> PreviewAnswer {
        let call = Call::Preview { limit: limit.to_owned(), capacity, max_hold: Given::default() };
        match self.ask(call).await {
            Answer::Preview(preview) => preview,
            other => panic!("{other:?}"),
        }
    }

    async fn run_ended_at(&self, limit: &str) -> Vec<Option<u64>> {
        self.settle().await;
        let call = Call::LimitSlots { limit: limit.to_owned(), skip: 0, most: None };
        match self.ask(call).await {
            Answer::LimitSlots(slots) => slots.holders.into_iter().map(|slot| slot.run_ended_at).collect(),
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn a_slot_that_outlives_its_run_is_marked_and_told_as_a_leak_while_others_wait() {
    let stage = Stage::new().await;
    stage.declare("voice", 1).await;
    stage.acquire(&[("voice", 1)], "s1", "r1").await;
    stage.acquire(&[("voice", 1)], "s2", "r2").await;
    assert_eq!(stage.run_ended_at("voice").await, [None]);
    stage.end("r1").await;
    let ended_at = stage.node.now().await;
    assert_eq!(stage.run_ended_at("voice").await, [Some(ended_at)]);
    let Answer::Explain(explained) = stage.ask(Call::Explain { what: "s2".to_owned() }).await else {
        panic!("no explanation")
    };
    assert_eq!(explained.slots[0].waits_for[0].holders[0].run_ended_at, Some(ended_at));
    stage.pass(3 * MINUTE_MS).await;
    let leak = stage.limit("voice").await;
    assert_eq!((leak.health, leak.held_by_ended_runs), (LimitHealth::Leaking, 1), "{leak:?}");
    assert!(
        leak.evidence.contains("1 place is held by a run that ended, up to 3m ago, while 1 wait"),
        "{leak:?}"
    );
    stage.release("s1").await;
    let well = stage.limit("voice").await;
    assert_eq!((well.health, well.held_by_ended_runs, well.limit.waiting), (LimitHealth::Ok, 0, 0));
    assert_eq!(stage.run_ended_at("voice").await, [None], "s2 is of a run that goes on");
}

#[tokio::test]
async fn an_id_that_comes_back_is_a_new_run() {
    let stage = Stage::new().await;
    stage.declare("voice", 2).await;
    stage.acquire(&[("voice", 1)], "s1", "r1").await;
    stage.end("r1").await;
    let first = stage.node.now().await;
    stage.pass(1_000).await;
    stage.acquire(&[("voice", 1)], "s2", "r1").await;
    assert_eq!(stage.run_ended_at("voice").await, [Some(first), None]);
    stage.end("r1").await;
    let second = stage.node.now().await;
    assert_eq!(stage.run_ended_at("voice").await, [Some(first), Some(second)]);
}

#[tokio::test]
async fn every_limit_that_a_slot_names_is_counted() {
    let stage = Stage::new().await;
    stage.declare("a", 3).await;
    stage.declare("b", 2).await;
    stage.acquire(&[("a", 2), ("b", 1)], "s1", "r1").await;
    stage.pass(20_000).await;
    stage.release("s1").await;
    stage.acquire(&[("a", 1)], "s2", "r1").await;
    let (a, b) = (stage.series("a").await, stage.series("b").await);
    let sum = |numbers: &[u64]| numbers.iter().sum::<u64>();
    assert_eq!((sum(&a.grants), sum(&a.released)), (2, 1));
    assert_eq!((sum(&b.grants), sum(&b.released)), (1, 1));
    let known = |numbers: &[Option<u64>]| numbers.iter().flatten().copied().collect::<Vec<_>>();
    assert_eq!(known(&a.available_min), [1, 1, 1], "carried over, and lowest before the release");
    assert_eq!(known(&b.available_min), [1, 1, 1]);
}

#[tokio::test]
async fn expiries_are_a_leak_and_come_first() {
    let stage = Stage::new().await;
    for limit in ["a", "b", "c"] {
        stage.declare(limit, 5).await;
    }
    for slot in ["s1", "s2", "s3"] {
        stage.acquire(&[("b", 1)], slot, "r").await;
    }
    stage.pass(11 * MINUTE_MS).await;
    let page = stage.overview(OverviewFields::default()).await;
    assert_eq!(page.limits.iter().map(|row| row.limit.limit.as_str()).collect::<Vec<_>>(), ["b", "a", "c"]);
    assert_eq!((page.limits[0].health, page.limits[0].expired_24h), (LimitHealth::Leaking, 3));
    let by_name =
        OverviewFields { sort: LimitOrder::Name, reverse: true, skip: 1, ..OverviewFields::default() };
    let page = stage.overview(by_name).await;
    assert_eq!(page.limits.iter().map(|row| row.limit.limit.as_str()).collect::<Vec<_>>(), ["b", "a"]);
}

#[tokio::test]
async fn a_preview_says_who_would_start_and_the_change_does_just_that() {
    let stage = Stage::new().await;
    stage.declare("a", 2).await;
    stage.declare("b", 1).await;
    stage.acquire(&[("a", 2)], "holds-a", "r").await;
    stage.acquire(&[("a", 1)], "w1", "r").await;
    stage.acquire(&[("a", 2)], "w2", "r").await;
    stage.acquire(&[("a", 1), ("b", 1)], "w3", "r").await;
    stage.acquire(&[("a", 1), ("b", 1)], "w4", "r").await;
    for (capacity, starts) in [(1, 0), (2, 0), (3, 1), (4, 1), (5, 2), (6, 3), (10, 3)] {
        let preview = stage.preview("a", u32::into(capacity)).await;
        assert_eq!(preview.starts, starts, "capacity {capacity}: {preview:?}");
    }
    assert_eq!(stage.preview("a", 1u32.into()).await.never_fit, 1, "w2 needs 2");
    let before = stage.limit("a").await.limit;
    stage.ask(Call::SetCapacity { limit: "a".to_owned(), capacity: 6u32.into() }).await;
    let after = stage.limit("a").await.limit;
    assert_eq!((before.waiting - after.waiting, after.waiting), (3, 1));
    let lowered = stage.preview("a", 2u32.into()).await;
    assert_eq!((lowered.over, lowered.starts), (4, 0), "6 places are taken");
    stage.ask(Call::Pause { limit: "a".to_owned() }).await;
    assert_eq!(stage.preview("a", 100u32.into()).await.starts, 0);
}

/// What the charts show is the same after a restart, and goes on; runs that hold on after their end stay known.
#[tokio::test]
async fn the_series_go_on_over_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let stage = Stage::in_folder(Some(folder.path())).await;
    stage.node.advance_to(1_000 * MINUTE_MS).await.expect("a manual clock");
    stage.declare("voice", 2).await;
    for number in 0..4 {
        stage.acquire(&[("voice", 1)], &format!("s{number}"), &format!("r{number}")).await;
        stage.pass(MINUTE_MS).await;
    }
    stage.end("r0").await;
    stage.release("s1").await;
    let before = stage.series("voice").await;
    let limit = stage.limit("voice").await;
    stage.node.stop(Duration::from_secs(9)).await;

    let again = Stage::in_folder(Some(folder.path())).await;
    let after = again.series("voice").await;
    assert_eq!((&after.at, after.known_since), (&before.at, before.known_since));
    assert_eq!((&after.grants, &after.available_min), (&before.grants, &before.available_min));
    assert_eq!(after.wait_p50_ms, before.wait_p50_ms);
    assert_eq!(again.limit("voice").await.floor, limit.floor);
    assert_eq!(again.run_ended_at("voice").await.iter().flatten().count(), 1);
    again.pass(MINUTE_MS).await;
    again.release("s0").await;
    let sum = |numbers: &[u64]| numbers.iter().sum::<u64>();
    let later = again.series("voice").await;
    assert_eq!((sum(&later.released), sum(&before.released)), (2, 1));
    assert_eq!(later.known_since, before.known_since);
}

/// Of the places that were not free at the lowest moment, those that nobody had confirmed yet.
#[tokio::test]
async fn reserved_places_are_told_beside_the_free_ones() {
    let stage = Stage::new().await;
    stage.declare("voice", 3).await;
    stage.acquire(&[("voice", 1)], "busy", "r1").await;
    let fields = AcquireFields {
        slot: Some("reserved".to_owned()),
        limit: Some("voice".to_owned()),
        ..AcquireFields::default()
    };
    stage.ask(Call::Acquire(fields)).await;
    let series = stage.series("voice").await;
    let last = |numbers: &[Option<u64>]| numbers.last().copied().flatten();
    assert_eq!((last(&series.available_min), last(&series.reserved)), (Some(1), Some(1)));
    assert_eq!(last(&series.capacity), Some(3));
}

#[tokio::test]
async fn the_time_to_drain_is_told_from_the_pace() {
    let stage = Stage::new().await;
    stage.declare("voice", 1).await;
    for number in 0..9 {
        stage.acquire(&[("voice", 1)], &format!("s{number}"), "r").await;
    }
    assert_eq!(stage.limit("voice").await.drains_in_ms, None, "nothing has come back yet");
    for number in 0..5 {
        stage.pass(MINUTE_MS).await;
        stage.release(&format!("s{number}")).await;
        stage.ask(Call::Confirm { slot: format!("s{}", number + 1) }).await;
    }
    // 5 in the last 10 minutes, 3 wait.
    assert_eq!(stage.limit("voice").await.drains_in_ms, Some(6 * MINUTE_MS));
}
