//! Growing and shrinking, alone and under races.

use std::pin::pin;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::sync::{Arc, Barrier};
use std::task::{Context, Waker};
use std::time::Duration;

use maitred_permits::permits::{AcquireError, Permits};
use tokio::time::timeout;

#[tokio::test(start_paused = true)]
async fn growing_serves_waiters_at_once_and_shrinking_takes_nothing_back() {
    let permits = Permits::new("partner", 1);
    let first = permits.acquire().await.unwrap();
    let waiting = tokio::spawn({
        let permits = permits.clone();
        async move { permits.acquire().await.unwrap() }
    });
    tokio::task::yield_now().await;
    permits.resize(2);
    let second = waiting.await.unwrap();
    permits.resize(1);
    let signals = permits.signals();
    assert_eq!((signals.size, signals.in_flight, signals.available), (1, 2, 0));
    drop(first);
    assert_eq!(permits.available(), 0, "what came free was removed");
    assert!(permits.acquire().timeout(Duration::from_millis(1)).await.is_err());
    drop(second);
    assert_eq!(permits.available(), 1);
}

#[tokio::test(start_paused = true)]
async fn removed_before_anybody_in_line_gets_it() {
    let permits = Permits::new("partner", 3);
    let held = permits.acquire_many(3).await.unwrap();
    let waiting = tokio::spawn({
        let permits = permits.clone();
        async move { permits.acquire().no_timeout().await.unwrap() }
    });
    tokio::task::yield_now().await;
    permits.resize(0);
    drop(held);
    assert!(
        timeout(Duration::from_secs(60), async {
            while !waiting.is_finished() {
                tokio::time::sleep(Duration::from_secs(1)).await
            }
        })
        .await
        .is_err()
    );
    permits.resize(1);
    drop(waiting.await.unwrap());
    assert_eq!(permits.available(), 1);
}

#[tokio::test(start_paused = true)]
async fn those_who_wait_for_more_than_the_new_size_are_refused_at_once_and_free_the_line() {
    let permits = Permits::new("licences", 5);
    let held = permits.acquire_many(4).await.unwrap();
    let ask = |count: u32| {
        let permits = permits.clone();
        tokio::spawn(
            async move { permits.acquire_many(count).no_timeout().await.map(|permit| permit.count()) },
        )
    };
    let (head, behind) = (ask(5), ask(2));
    tokio::task::yield_now().await;
    permits.resize(3);
    assert_eq!(
        head.await.unwrap(),
        Err(AcquireError::TooMany { name: "licences".into(), asked: 5, size: 3 })
    );
    assert!(!behind.is_finished());
    drop(held);
    assert_eq!(behind.await.unwrap(), Ok(2));
    assert_eq!(permits.available(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_size_of_zero_is_a_pause() {
    let permits = Permits::new("partner", 0);
    assert!(matches!(permits.acquire().await, Err(AcquireError::TimedOut { size: 0, in_flight: 0, .. })));
    assert!(matches!(permits.acquire_many(2).await, Err(AcquireError::TooMany { .. })));
    let waiting = tokio::spawn({
        let permits = permits.clone();
        async move { permits.acquire().no_timeout().await.unwrap() }
    });
    tokio::task::yield_now().await;
    permits.resize(1);
    drop(waiting.await.unwrap());
}

#[tokio::test]
async fn every_size_can_be_set_and_read_while_in_use() {
    let permits = Permits::new("partner", 10);
    let _held = permits.acquire_many(7).await.unwrap();
    for size in [0, 1, 6, 7, 8, 100_000, u32::MAX, 0, u32::MAX, 3] {
        permits.resize(size);
        let (signals, _, _) =
            (permits.signals(), permits.history(), permits.leak_alarm(tokio::time::Instant::now()));
        assert_eq!((signals.size, signals.in_flight), (size, 7));
        assert_eq!((signals.available, signals.set_aside), (size.saturating_sub(7), 0));
        assert_eq!(signals.across_instances(12), u64::from(size) * 12);
    }
}

/// Sizes change at random while tasks take and give back. Never more inside than the largest size, and in the end
/// exactly the last size is there.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn resizing_while_others_take_and_give_back_keeps_the_books() {
    const LARGEST: u32 = 16;
    for round in 0..40u32 {
        let permits = Permits::new("partner", LARGEST).without_timeout();
        let inside = Arc::new(AtomicU32::new(0));
        let takers: Vec<_> = (0..32)
            .map(|number| {
                let (permits, inside) = (permits.clone(), inside.clone());
                tokio::spawn(async move {
                    for turn in 0..100 {
                        let permit = permits.acquire().await.unwrap();
                        assert!(inside.fetch_add(1, SeqCst) < LARGEST);
                        if (turn + number) % 3 == 0 {
                            tokio::task::yield_now().await;
                        }
                        inside.fetch_sub(1, SeqCst);
                        drop(permit);
                    }
                })
            })
            .collect();
        let resizers: Vec<_> = (0..2u32)
            .map(|number| {
                let permits = permits.clone();
                tokio::spawn(async move {
                    for step in 0..300 {
                        permits.resize(1 + (step * 7 + number * 5 + round) % LARGEST);
                        tokio::task::yield_now().await;
                    }
                })
            })
            .collect();
        for task in takers.into_iter().chain(resizers) {
            task.await.unwrap();
        }
        let signals = permits.signals();
        assert_eq!((signals.available, signals.in_flight), (signals.size, 0), "round {round}: {signals:?}");
        assert!(signals.in_flight_peak <= LARGEST);
        permits.resize(5);
        assert_eq!(permits.available(), 5, "round {round}: no debt is left over");
    }
}

/// The gap the fences close: a release between the look at the debt and the return, against a shrink. On two threads
/// that start together, many times; afterwards nothing may be free that is owed.
#[test]
fn a_release_and_a_shrink_at_the_same_instant() {
    for round in 0..20_000 {
        let permits = Permits::new("partner", 2);
        let (stays, leaves) = (permits.try_acquire().unwrap(), permits.try_acquire().unwrap());
        let start = Barrier::new(2);
        std::thread::scope(|threads| {
            threads.spawn(|| {
                start.wait();
                drop(leaves);
            });
            start.wait();
            permits.resize(1);
        });
        assert_eq!(permits.available(), 0, "round {round}: one is held, and one is all there is");
        drop(stays);
        assert_eq!(permits.available(), 1, "round {round}");
    }
}

/// The same gap with a waiter that leaves with a permit set aside for it.
#[test]
fn a_waiter_that_leaves_and_a_shrink_at_the_same_instant() {
    for round in 0..20_000 {
        let permits = Permits::new("partner", 2);
        let (stays, leaves) = (permits.try_acquire().unwrap(), permits.try_acquire().unwrap());
        let start = Barrier::new(2);
        std::thread::scope(|threads| {
            let mut wait = Box::pin(permits.acquire_many(2).no_timeout());
            assert!(wait.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
            drop(leaves); // set aside for the waiter
            let start = &start;
            threads.spawn(move || {
                start.wait();
                drop(wait);
            });
            start.wait();
            permits.resize(1);
        });
        assert_eq!(permits.available(), 0, "round {round}: one is held, and one is all there is");
        drop(stays);
        let mut one = pin!(permits.acquire());
        assert!(one.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready(), "round {round}");
    }
}
