//! Taking, waiting, and giving back: rules P1 and P2, one sentence at a time. Time is virtual.

use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use maitred_permits::permits::{AcquireError, DEFAULT_TIMEOUT, Permits, TryAcquireError, acquire_all};
use tokio::time::{Instant, sleep, timeout};

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// Polls once; whether it was ready is told by the answer.
async fn poll_once<F: Future>(future: std::pin::Pin<&mut F>) -> Option<F::Output> {
    let mut future = future;
    std::future::poll_fn(|cx| match future.as_mut().poll(cx) {
        Poll::Ready(output) => Poll::Ready(Some(output)),
        Poll::Pending => Poll::Ready(None),
    })
    .await
}

fn assert_whole(permits: &Permits) {
    let signals = permits.signals();
    assert_eq!(
        (signals.available, signals.in_flight, signals.set_aside),
        (signals.size, 0, 0),
        "{signals:?}"
    );
    assert_eq!((signals.waiting, signals.acquired), (0, signals.released), "{signals:?}");
    assert_eq!(signals.oldest_hold, None);
}

#[tokio::test(start_paused = true)]
async fn it_waits_five_seconds_by_default_and_says_what_it_saw() {
    let permits = Permits::new("partner", 1);
    let held = permits.acquire().await.unwrap();
    let started = Instant::now();
    let refused = permits.acquire().await.unwrap_err();
    assert_eq!(started.elapsed(), DEFAULT_TIMEOUT);
    let AcquireError::TimedOut { asked, timeout, in_flight, size, waiting, .. } = &refused else {
        panic!("{refused}")
    };
    assert_eq!((*asked, *timeout, *in_flight, *size, *waiting), (1, DEFAULT_TIMEOUT, 1, 1, 1));
    assert!(
        refused
            .to_string()
            .starts_with("no 1 permit(s) of `partner` within 5000 ms: 1 of 1 in flight, 1 waiting")
    );
    drop(held);
    assert_whole(&permits);
    assert_eq!(permits.signals().timeouts, 1);
}

#[tokio::test(start_paused = true)]
async fn timeouts_are_set_by_call_and_by_handle() {
    let permits = Permits::new("partner", 1);
    let _held = permits.acquire().await.unwrap();
    let patient = permits.clone().without_timeout();
    let hasty = permits.clone().with_timeout(ms(20));
    assert!(timeout(Duration::from_secs(3600), patient.acquire()).await.is_err());
    assert!(timeout(Duration::from_secs(3600), permits.acquire().no_timeout()).await.is_err());
    let started = Instant::now();
    hasty.acquire().await.unwrap_err();
    permits.acquire().timeout(ms(30)).await.unwrap_err();
    permits.acquire().timeout(Duration::ZERO).await.unwrap_err();
    assert_eq!(started.elapsed(), ms(50));
    assert!(timeout(ms(10), permits.acquire().timeout(Duration::MAX)).await.is_err(), "no overflow");
}

#[tokio::test]
async fn a_permit_that_is_free_is_taken_with_a_timeout_of_zero() {
    let permits = Permits::new("partner", 1);
    drop(permits.acquire().timeout(Duration::ZERO).await.unwrap());
    assert_whole(&permits);
}

#[tokio::test(start_paused = true)]
async fn first_come_first_served_also_against_newcomers() {
    let permits = Permits::new("partner", 1);
    let held = permits.acquire().await.unwrap();
    let order = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let mut waiters = Vec::new();
    for number in 0..100 {
        let (permits, order) = (permits.clone(), order.clone());
        waiters.push(tokio::spawn(async move {
            let _permit = permits.acquire().await.unwrap();
            order.lock().unwrap().push(number);
        }));
        tokio::task::yield_now().await;
    }
    drop(held);
    assert!(permits.try_acquire().is_err(), "the permit is the first waiter's, not the newcomer's");
    for waiter in waiters {
        waiter.await.unwrap();
    }
    assert_eq!(*order.lock().unwrap(), (0..100).collect::<Vec<_>>());
    assert_whole(&permits);
}

#[tokio::test]
async fn several_are_taken_in_one_step_and_two_who_need_two_do_not_block_each_other() {
    let permits = Permits::new("licences", 3);
    let first = permits.acquire_many(2).await.unwrap();
    let mut second = pin!(permits.acquire_many(2));
    assert!(poll_once(second.as_mut()).await.is_none());
    assert_eq!((first.count(), permits.available(), permits.signals().set_aside), (2, 0, 1));
    drop(first);
    assert_eq!(second.await.unwrap().count(), 2);
    assert_whole(&permits);
}

#[tokio::test]
async fn when_the_large_head_leaves_those_behind_it_are_looked_at() {
    let permits = Permits::new("licences", 5);
    let held = permits.acquire().await.unwrap();
    let mut head = Box::pin(permits.acquire_many(5));
    assert!(poll_once(head.as_mut()).await.is_none());
    let (mut one, mut other) = (pin!(permits.acquire()), pin!(permits.acquire()));
    assert!(poll_once(one.as_mut()).await.is_none());
    assert!(poll_once(other.as_mut()).await.is_none());
    drop(head);
    assert!(poll_once(one.as_mut()).await.is_some());
    assert!(poll_once(other.as_mut()).await.is_some());
    drop(held);
    assert_whole(&permits);
}

#[tokio::test(start_paused = true)]
async fn more_than_there_are_is_refused_at_once() {
    let permits = Permits::new("licences", 3);
    let started = Instant::now();
    let refused = permits.acquire_many(4).no_timeout().await.unwrap_err();
    assert_eq!(refused, AcquireError::TooMany { name: "licences".into(), asked: 4, size: 3 });
    assert!(refused.to_string().contains("ask for at most 3"));
    let refused = permits.try_acquire_many(4).unwrap_err();
    assert!(matches!(refused, TryAcquireError::Refused(AcquireError::TooMany { .. })));
    assert!(matches!(permits.acquire_many(0).await, Err(AcquireError::NoneAsked { .. })));
    assert_eq!(started.elapsed(), Duration::ZERO);
    assert_whole(&permits);
}

#[tokio::test]
async fn try_acquire_says_what_is_free_and_takes_nothing_when_it_fails() {
    let permits = Permits::new("licences", 3);
    let held = permits.try_acquire_many(2).unwrap();
    for _ in 0..1000 {
        let refused = permits.try_acquire_many(2).unwrap_err();
        assert_eq!(refused, TryAcquireError::NoneFree { name: "licences".into(), asked: 2, available: 1 });
        assert_eq!(permits.try_acquire().unwrap().count(), 1, "the doomed attempt took nothing");
    }
    drop(held);
    assert_whole(&permits);
}

#[tokio::test(start_paused = true)]
async fn closed_settles_every_waiter_and_every_newcomer() {
    let permits = Permits::new("partner", 1);
    let held = permits.acquire().await.unwrap();
    let waiters: Vec<_> = (0..100)
        .map(|_| {
            let permits = permits.clone();
            tokio::spawn(async move { permits.acquire().no_timeout().await.map(drop) })
        })
        .collect();
    tokio::task::yield_now().await;
    permits.close();
    for waiter in waiters {
        assert_eq!(waiter.await.unwrap(), Err(AcquireError::Closed { name: "partner".into() }));
    }
    assert!(permits.is_closed());
    assert!(matches!(permits.acquire().await, Err(AcquireError::Closed { .. })));
    assert!(matches!(permits.try_acquire(), Err(TryAcquireError::Refused(AcquireError::Closed { .. }))));
    drop(held);
    assert_whole(&permits);
}

#[tokio::test(start_paused = true)]
async fn with_permit_gives_back_before_it_returns_and_on_panic_and_cancellation() {
    let permits = Permits::new("partner", 1);
    assert_eq!(permits.with_permit(async || permits.available()).await, Ok(0));
    assert_whole(&permits);
    let body = std::panic::catch_unwind(AssertUnwindSafe(|| {
        futures_block(permits.with_permit(async || panic!("the body breaks")))
    }));
    assert!(body.is_err());
    assert_whole(&permits);
    assert!(timeout(ms(10), permits.with_permit(async || sleep(ms(1000)).await)).await.is_err());
    assert_whole(&permits);
    let signals = permits.signals();
    assert_eq!((signals.completed, signals.failed), (1, 2));
}

/// Polls a future that never waits, outside of any runtime's wakers.
fn futures_block<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    match future.as_mut().poll(&mut std::task::Context::from_waker(std::task::Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => panic!("it waits"),
    }
}

#[tokio::test]
async fn a_refused_with_permit_never_calls_its_body() {
    let permits = Permits::new("partner", 1);
    permits.close();
    let mut called = false;
    let refused = permits.with_permit(|| async { called = true }).await;
    assert!(refused.is_err() && !called);
}

#[tokio::test]
async fn try_with_permit_counts_an_error_as_failed() {
    let permits = Permits::new("partner", 1);
    let result: Result<(), AcquireError> = permits
        .try_with_permit(async || {
            permits.record_rejection();
            Err(AcquireError::Closed { name: "downstream".into() })
        })
        .await;
    assert!(result.is_err());
    let result: Result<u8, AcquireError> = permits.try_with_permit(async || Ok(7)).await;
    assert_eq!(result, Ok(7));
    let signals = permits.signals();
    assert_eq!((signals.completed, signals.failed, signals.rejected), (1, 1, 1));
}

#[tokio::test]
async fn guards_own_what_they_need() {
    fn owned<T: Send + Sync + 'static>(value: T) -> T {
        value
    }
    let permit = {
        let permits = Permits::new("partner", 1);
        owned(permits.acquire().await.unwrap())
    };
    assert_eq!((permit.name(), permit.count()), ("partner", 1));
    std::thread::spawn(move || drop(permit)).join().unwrap();
}

#[tokio::test(start_paused = true)]
async fn all_of_several_limits_or_none() {
    let (a, b) = (Permits::new("a", 2), Permits::new("b", 1));
    let held = acquire_all([&b, &a, &a]).await.unwrap();
    let names: Vec<_> = held.iter().map(|permit| (permit.name().to_owned(), permit.count())).collect();
    assert_eq!(names, [("a".to_owned(), 2), ("b".to_owned(), 1)], "in the order of creation, doubles merged");
    drop(held);

    let blocker = b.acquire().await.unwrap();
    let refused = acquire_all([&a, &b]).timeout(ms(70)).await.unwrap_err();
    assert!(matches!(refused, AcquireError::TimedOut { timeout, .. } if timeout == ms(70)), "{refused}");
    assert_eq!(a.available(), 2, "none is kept");
    assert!(timeout(ms(1), acquire_all([&a, &b]).no_timeout()).await.is_err());
    assert_eq!(a.available(), 2, "cancelled: none is kept");
    drop(blocker);

    assert!(matches!(acquire_all([&a, &b, &b]).await, Err(AcquireError::TooMany { asked: 2, size: 1, .. })));
    assert_eq!(a.signals().in_flight_peak, 2);
    b.close();
    assert!(matches!(acquire_all([&a, &b]).await, Err(AcquireError::Closed { .. })));
    assert_eq!(a.signals().acquired, 4, "an attempt that must fail takes nothing");
    assert_eq!(acquire_all([]).await.unwrap().len(), 0);
    assert_whole(&a);
    assert_whole(&b);
}

#[tokio::test]
async fn opposite_orders_do_not_deadlock() {
    let (a, b) = (Permits::new("a", 1), Permits::new("b", 1));
    let loops = [[a.clone(), b.clone()], [b.clone(), a.clone()]].map(|order| {
        tokio::spawn(async move {
            for _ in 0..2_000 {
                let held = acquire_all(&order).await.unwrap();
                tokio::task::yield_now().await;
                drop(held);
            }
        })
    });
    for one in loops {
        one.await.unwrap();
    }
    assert_whole(&a);
    assert_whole(&b);
}

#[tokio::test]
async fn a_loop_of_free_acquires_lets_others_run() {
    let permits = Permits::new("partner", 1);
    let spinning = tokio::spawn(async move {
        loop {
            drop(permits.acquire().await.unwrap());
        }
    });
    for _ in 0..100 {
        tokio::task::yield_now().await; // would never come back if the loop did not yield
    }
    spinning.abort();
}
