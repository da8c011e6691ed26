//! Random cancellations, panics, aborts, two runtimes and a dropped one: permits in circulation stay the same.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::SeqCst};
use std::time::{Duration, SystemTime};

use maitred_permits::permits::Permits;
use tokio::runtime::{Builder, Runtime};

/// A small random generator, so that a seed on the screen is all that is needed to run a failure again.
struct Chance(u64);

impl Chance {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % bound
    }
}

/// From `PERMITS_SEED`, else from the clock; printed, and shown when the test fails.
fn seed() -> u64 {
    let given = std::env::var("PERMITS_SEED").ok().and_then(|seed| seed.parse().ok());
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
    let seed = given.unwrap_or(now.as_nanos() as u64);
    println!("PERMITS_SEED={seed}");
    seed
}

fn assert_whole(permits: &Permits, size: u32) {
    let signals = permits.signals();
    assert_eq!((signals.size, signals.available), (size, size), "{signals:?}");
    assert_eq!((signals.in_flight, signals.waiting, signals.set_aside), (0, 0, 0), "{signals:?}");
    assert_eq!(signals.acquired, signals.released);
    let all = permits.try_acquire_many(size).expect("all of them at once");
    drop(all);
}

/// One try: ask for some, hold a moment, end one way or another. Dropping it anywhere is the caller's part.
async fn one_try(permits: Permits, inside: Arc<AtomicU32>, size: u32, count: u32, yields: u64, panics: bool) {
    let Ok(_permit) = permits.acquire_many(count).await else { return };
    let before = inside.fetch_add(count, SeqCst);
    let _leaves = Leaves(&inside, count);
    assert!(before + count <= size, "{before} + {count} inside, {size} allowed");
    for _ in 0..yields {
        tokio::task::yield_now().await;
    }
    assert!(!panics, "on purpose");
}

struct Leaves<'a>(&'a AtomicU32, u32);

impl Drop for Leaves<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(self.1, SeqCst);
    }
}

/// Ten thousand tasks, each aborted, timed out, panicking or let run, at random.
#[test]
fn ten_thousand_random_cancellations_lose_and_make_no_permit() {
    const SIZE: u32 = 8;
    let seed = seed();
    let runtime = Builder::new_multi_thread().worker_threads(4).enable_all().build().unwrap();
    let permits = Permits::new("partner", SIZE);
    let overfull = Arc::new(AtomicU64::new(0));
    runtime.block_on(async {
        let mut chance = Chance(seed);
        let inside = Arc::new(AtomicU32::new(0));
        for _ in 0..100 {
            let tasks: Vec<_> = (0..100)
                .map(|_| {
                    let count = 1 + chance.below(u64::from(SIZE) / 2) as u32;
                    let (yields, panics) = (chance.below(4), chance.below(20) == 0);
                    let body = one_try(permits.clone(), inside.clone(), SIZE, count, yields, panics);
                    let limit = Duration::from_micros(chance.below(400));
                    tokio::spawn(async move { tokio::time::timeout(limit, body).await.is_ok() })
                })
                .collect();
            for task in &tasks {
                if chance.below(3) == 0 {
                    task.abort();
                    tokio::task::yield_now().await;
                }
            }
            for task in tasks {
                if let Err(ended) = task.await
                    && ended.is_panic()
                    && !ended.to_string().contains("on purpose")
                {
                    overfull.fetch_add(1, SeqCst);
                }
            }
        }
    });
    assert_eq!(overfull.load(SeqCst), 0, "too many were inside, PERMITS_SEED={seed}");
    assert_whole(&permits, SIZE);
}

/// The schedule of a leaked permit, many times over: a task that fails on every exit there is.
#[tokio::test]
async fn panics_and_early_returns_give_back() {
    let permits = Permits::new("partner", 3);
    for number in 0..300 {
        let task = tokio::spawn({
            let permits = permits.clone();
            async move {
                let permit = permits.acquire().await.unwrap();
                match number % 3 {
                    0 => panic!("on purpose"),
                    1 => permit.rejected(),
                    _ => {}
                }
            }
        });
        let _ = task.await;
    }
    assert_whole(&permits, 3);
    let signals = permits.signals();
    assert_eq!((signals.completed, signals.failed, signals.rejected), (100 + 1, 200, 100));
}

/// Cancel and release at the same instant, over and over, on two threads.
#[test]
fn cancelling_a_waiter_while_its_permit_arrives() {
    let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let permits = Permits::new("partner", 1).without_timeout();
    runtime.block_on(async {
        for _ in 0..20_000 {
            let held = permits.acquire().await.unwrap();
            let waiter = tokio::spawn({
                let permits = permits.clone();
                async move { drop(permits.acquire().await) }
            });
            tokio::task::yield_now().await;
            let release = tokio::spawn(async move { drop(held) });
            waiter.abort();
            release.await.unwrap();
            let _ = waiter.await;
        }
    });
    assert_whole(&permits, 1);
}

fn single() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

#[test]
fn two_runtimes_share_permits_and_one_may_go_away() {
    let permits = Permits::new("partner", 2);
    let (doomed, survivor) = (single(), single());
    doomed.block_on(async {
        for _ in 0..10 {
            let permits = permits.clone();
            tokio::spawn(async move {
                let _permit = permits.acquire().await;
                std::future::pending::<()>().await;
            });
        }
        tokio::task::yield_now().await;
    });
    assert_eq!((permits.available(), permits.signals().waiting), (0, 8));
    let waiting = survivor.spawn({
        let permits = permits.clone();
        async move { permits.acquire().await.map(|permit| permit.count()) }
    });
    survivor.block_on(tokio::task::yield_now());
    drop(doomed); // with two holders and eight waiters in it
    assert_eq!(survivor.block_on(waiting).unwrap(), Ok(1));
    assert_whole(&permits, 2);
}

#[test]
fn guards_and_waiters_work_outside_any_runtime() {
    let permits = Permits::new("partner", 1);
    let held = single().block_on(permits.acquire()).unwrap();
    let waiter = std::thread::spawn({
        let permits = permits.clone();
        move || {
            let runtime = Builder::new_current_thread().build().unwrap(); // no timers at all
            runtime.block_on(permits.acquire().no_timeout()).map(drop)
        }
    });
    std::thread::sleep(Duration::from_millis(20));
    drop(held);
    assert_eq!(waiter.join().unwrap(), Ok(()));
    assert_whole(&permits, 1);
}
