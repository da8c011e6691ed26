//! The leak alarm: what it must see, and what must not fool it. Time is virtual.

use std::cell::Cell;
use std::mem::forget;
use std::time::Duration;

use maitred_permits::permits::{LeakEvidence, LeakSign, LeakVerdict, Permits};
use tokio::time::{Instant, sleep, timeout};

const fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// What the load is like; each may change while it runs.
struct Load {
    permits: Permits,
    workers: Cell<usize>,
    call: Cell<Duration>,
    fail_every: Cell<u64>,
}

impl Load {
    fn new(size: u32, workers: usize) -> Self {
        let permits = Permits::new("partner", size).without_timeout();
        Self { permits, workers: Cell::new(workers), call: Cell::new(seconds(1)), fail_every: Cell::new(0) }
    }

    /// Runs for so long, calling `each_step` every ten seconds.
    async fn run(&self, time: Duration, mut each_step: impl AsyncFnMut(u64)) {
        let workers = async {
            let all: Vec<_> = (0..100).map(|number| self.worker(number)).collect();
            join(all).await;
        };
        let steps = async {
            for step in 0.. {
                each_step(step).await;
                sleep(seconds(10)).await;
            }
        };
        let _ = timeout(time, async { tokio::join!(workers, steps) }).await;
    }

    async fn worker(&self, number: usize) {
        sleep(Duration::from_millis(number as u64 * 7)).await;
        for call in number as u64.. {
            if number >= self.workers.get() {
                sleep(seconds(10)).await;
                continue;
            }
            let permit = self.permits.acquire().await.unwrap();
            sleep(self.call.get()).await;
            if self.fail_every.get() > 0 && call % self.fail_every.get() == 0 {
                permit.failed();
            }
        }
    }

    async fn leak(&self, count: u32) {
        for _ in 0..count {
            if let Ok(permit) = self.permits.acquire().timeout(seconds(60)).await {
                forget(permit);
            }
        }
    }

    fn verdict(&self) -> LeakVerdict {
        self.permits.leak_alarm(Instant::now())
    }

    fn evidence(&self) -> LeakEvidence {
        match self.verdict() {
            LeakVerdict::Suspected(evidence) => evidence,
            other => panic!("{other}; {}", self.permits.signals()),
        }
    }
}

/// All of them, in this task.
async fn join<F: Future<Output = ()>>(futures: Vec<F>) {
    let mut futures: Vec<_> = futures.into_iter().map(Box::pin).collect();
    std::future::poll_fn(|cx| {
        futures.retain_mut(|future| future.as_mut().poll(cx).is_pending());
        if futures.is_empty() { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_floor_that_only_falls() {
    let load = Load::new(10, 8);
    load.run(seconds(65), async |_| load.leak(1).await).await;
    let evidence = load.evidence();
    assert_eq!(
        (evidence.sign, evidence.steps.len(), evidence.step),
        (LeakSign::FloorOnlyFalls, 6, seconds(10))
    );
    assert!(evidence.long_held >= 3 && evidence.oldest_hold >= seconds(60), "{evidence}");
    assert!(load.verdict().to_string().contains("available permits only fall"), "{}", load.verdict());
}

#[tokio::test(start_paused = true)]
async fn throughput_that_falls_at_a_flat_error_rate() {
    let load = Load::new(20, 40);
    load.fail_every.set(10);
    load.run(seconds(65), async |_| load.leak(2).await).await;
    let evidence = load.evidence();
    assert_eq!(evidence.sign, LeakSign::ThroughputFalls);
    assert!(
        evidence.steps[5].waited && evidence.steps[0].completed > evidence.steps[5].completed,
        "{evidence}"
    );
}

#[tokio::test(start_paused = true)]
async fn the_stall_at_the_end() {
    let load = Load::new(5, 10);
    load.leak(5).await;
    load.run(seconds(100), async |_| {}).await;
    let evidence = load.evidence();
    assert_eq!((evidence.sign, evidence.long_held), (LeakSign::Stalled, 5));
    assert!(load.verdict().to_string().contains("every permit is held and nothing ends"));
}

#[tokio::test(start_paused = true)]
async fn a_leak_over_an_hour_is_seen_in_longer_steps() {
    let load = Load::new(20, 40);
    load.call.set(seconds(5));
    load.run(seconds(3_700), async |step| {
        if step % 40 == 39 {
            load.leak(1).await
        }
    })
    .await;
    let evidence = load.evidence();
    assert_eq!((evidence.sign, evidence.step), (LeakSign::ThroughputFalls, seconds(600)), "{evidence}");
}

#[tokio::test(start_paused = true)]
async fn too_young_is_unknown() {
    let load = Load::new(5, 5);
    assert!(matches!(load.verdict(), LeakVerdict::Unknown { .. }));
    load.run(seconds(59), async |_| {}).await;
    assert!(matches!(load.verdict(), LeakVerdict::Unknown { .. }));
    sleep(seconds(2)).await;
    assert_eq!(load.verdict(), LeakVerdict::NoSign);
}

#[tokio::test(start_paused = true)]
async fn too_few_ends_are_unknown() {
    let load = Load::new(1, 2);
    load.call.set(seconds(12));
    load.run(seconds(100), async |_| {}).await;
    let verdict = load.verdict();
    assert!(matches!(verdict, LeakVerdict::Unknown { reason } if reason.contains("too few")), "{verdict}");
}

#[tokio::test(start_paused = true)]
async fn a_full_house_that_works_is_no_leak() {
    let load = Load::new(20, 60);
    load.run(seconds(400), async |_| assert!(!load.verdict().is_suspected(), "{}", load.verdict())).await;
    assert_eq!(load.verdict(), LeakVerdict::NoSign);
}

/// A holder that has held for long, and should: what follows must not be blamed on it.
async fn with_a_long_holder(load: &Load, each_step: impl AsyncFnMut(u64)) {
    let mut each_step = each_step;
    let _long = load.permits.acquire().await.unwrap();
    load.run(seconds(200), async |step| {
        each_step(step).await;
        assert!(!load.verdict().is_suspected(), "step {step}: {}", load.verdict());
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn more_load_is_no_leak() {
    let load = Load::new(20, 2);
    with_a_long_holder(&load, async |step| load.workers.set(2 + 2 * step as usize)).await;
    assert!(load.permits.history().iter().any(|interval| interval.waited), "in the end somebody waits");
}

#[tokio::test(start_paused = true)]
async fn less_load_is_no_leak() {
    let load = Load::new(20, 19);
    with_a_long_holder(&load, async |step| load.workers.set(19usize.saturating_sub(step as usize))).await;
}

#[tokio::test(start_paused = true)]
async fn a_downstream_that_fails_more_is_no_leak() {
    let load = Load::new(20, 40);
    with_a_long_holder(&load, async |step| {
        load.fail_every.set([0, 0, 0, 8, 5, 4, 3, 2, 2, 1].get(step as usize).copied().unwrap_or(1));
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_slower_downstream_is_no_leak() {
    let load = Load::new(20, 40);
    load.run(seconds(200), async |step| {
        load.call.set(Duration::from_millis(1_000 + 500 * step));
        assert!(!load.verdict().is_suspected(), "step {step}: {}", load.verdict());
    })
    .await;
}
