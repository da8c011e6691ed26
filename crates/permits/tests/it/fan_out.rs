//! Ten thousand items, N inside, every result kept, nothing orphaned.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

use maitred_permits::permits::{AcquireError, FanOutError, Permits, fan_out};
use tokio::time::{Instant, sleep, timeout};

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

#[tokio::test(start_paused = true)]
async fn ten_thousand_in_order_with_fifty_inside_at_the_speed_of_fifty() {
    let permits = Permits::new("partner", 50);
    let (inside, most) = (Cell::new(0), Cell::new(0));
    let started = Instant::now();
    let results = fan_out(0..10_000u64, &permits, |item| {
        let (inside, most) = (&inside, &most);
        async move {
            inside.set(inside.get() + 1);
            most.set(most.get().max(inside.get()));
            sleep(ms(10 + item % 3)).await;
            inside.set(inside.get() - 1);
            if item % 10 == 9 { Err(item) } else { Ok(item) }
        }
    })
    .await;
    assert_eq!(most.get(), 50);
    assert!(started.elapsed() <= ms(200 * 12), "{:?}", started.elapsed());
    for (item, result) in (0..10_000).zip(&results) {
        let expected = if item % 10 == 9 { Err(FanOutError::Failed(item)) } else { Ok(item) };
        assert_eq!(*result, expected);
    }
    let signals = permits.signals();
    assert_eq!((results.len(), signals.completed, signals.failed), (10_000, 9_000, 1_000));
    assert_eq!((permits.available(), signals.in_flight_peak, signals.acquired), (50, 50, 10_000));
}

#[tokio::test(start_paused = true)]
async fn a_panic_is_the_result_of_one() {
    let permits = Permits::new("partner", 3);
    let results = fan_out(0..100, &permits, |item| {
        assert!(item != 5, "before it has a future");
        async move {
            sleep(ms(1)).await;
            assert!(item != 6, "inside");
            Ok::<_, ()>(item)
        }
    })
    .await;
    let panics: Vec<_> = results.iter().filter(|result| result.is_err()).collect();
    assert_eq!(panics.len(), 2);
    assert!(
        matches!(&results[5], Err(FanOutError::Panicked(text)) if text.contains("before it has a future"))
    );
    assert!(matches!(&results[6], Err(FanOutError::Panicked(text)) if text.contains("inside")));
    assert_eq!((permits.available(), permits.signals().failed), (3, 2));
}

/// Counts itself while it lives.
struct Alive(Rc<Cell<u32>>);

impl Alive {
    fn new(count: &Rc<Cell<u32>>) -> Self {
        count.set(count.get() + 1);
        Self(Rc::clone(count))
    }
}

impl Drop for Alive {
    fn drop(&mut self) {
        self.0.set(self.0.get() - 1);
    }
}

#[tokio::test(start_paused = true)]
async fn dropping_it_cancels_all_and_orphans_none() {
    let permits = Permits::new("partner", 7);
    let alive = Rc::new(Cell::new(0));
    let all = fan_out(0..1_000, &permits, |_| {
        let alive = Alive::new(&alive);
        async move {
            let _alive = alive;
            sleep(Duration::from_secs(3600)).await;
            Ok::<_, ()>(())
        }
    });
    assert!(timeout(ms(10), all).await.is_err());
    assert_eq!((alive.get(), permits.available(), permits.signals().waiting), (0, 7, 0));
}

#[tokio::test(start_paused = true)]
async fn only_what_is_inside_exists() {
    let permits = Permits::new("partner", 7);
    let taken = Cell::new(0);
    let items = (0..1_000).inspect(|_| taken.set(taken.get() + 1));
    let all = fan_out(items, &permits, |_| async {
        sleep(Duration::from_secs(3600)).await;
        Ok::<_, ()>(())
    });
    assert!(timeout(ms(10), all).await.is_err());
    assert_eq!(taken.get(), 8, "seven inside and the one that is next");
}

#[tokio::test(start_paused = true)]
async fn slow_items_are_no_stall_but_no_permit_at_all_is() {
    let permits = Permits::new("partner", 2).with_timeout(ms(100));
    let slow = fan_out(0..6, &permits, |item| async move {
        sleep(Duration::from_secs(60)).await;
        Ok::<_, ()>(item)
    });
    assert!(
        slow.await.iter().all(Result::is_ok),
        "each waits a minute for its own kind, not for a stuck holder"
    );

    let stuck = permits.acquire_many(2).await.unwrap();
    let started = Instant::now();
    let results = fan_out(0..1_000, &permits, |item| async move { Ok::<_, ()>(item) }).await;
    assert_eq!((results.len(), started.elapsed()), (1_000, ms(100)));
    for result in &results {
        assert!(matches!(result, Err(FanOutError::Acquire(AcquireError::TimedOut { in_flight: 2, .. }))));
    }
    drop(stuck);
    assert_eq!((permits.available(), permits.signals().timeouts), (2, 1));
}

#[tokio::test(start_paused = true)]
async fn progress_starts_the_stall_anew() {
    let permits = Permits::new("partner", 1).with_timeout(ms(100));
    let other = tokio::spawn({
        let permits = permits.clone();
        async move {
            for _ in 0..5 {
                let _permit = permits.acquire().no_timeout().await.unwrap();
                sleep(ms(80)).await;
            }
        }
    });
    tokio::task::yield_now().await;
    let results = fan_out(0..5, &permits, |item| async move { Ok::<_, ()>(item) }).await;
    assert!(results.iter().all(Result::is_ok), "{results:?}");
    other.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn closed_in_the_middle_keeps_what_is_done() {
    let permits = Permits::new("partner", 2);
    let results = fan_out(0..10, &permits, |item| {
        let permits = permits.clone();
        async move {
            sleep(ms(1)).await;
            if item == 3 {
                permits.close();
            }
            Ok::<_, ()>(item)
        }
    })
    .await;
    assert!(results[..4].iter().all(Result::is_ok), "{results:?}");
    assert!(
        results[4..]
            .iter()
            .all(|result| matches!(result, Err(FanOutError::Acquire(AcquireError::Closed { .. }))))
    );
}

#[tokio::test(start_paused = true)]
async fn two_fan_outs_and_single_calls_take_turns() {
    let permits = Permits::new("partner", 1);
    let order = RefCell::new(Vec::new());
    let run = |name: char| {
        let (permits, order) = (&permits, &order);
        async move {
            fan_out(0..4, permits, |_| async move {
                order.borrow_mut().push(name);
                sleep(ms(1)).await;
                Ok::<_, ()>(())
            })
            .await
        }
    };
    tokio::join!(run('a'), run('b'));
    // a's second item is in line before b begins; from there on they alternate.
    assert_eq!(order.into_inner(), ['a', 'a', 'b', 'a', 'b', 'a', 'b', 'b']);
}

#[tokio::test]
async fn it_may_run_in_a_spawned_task_and_wake_from_other_threads() {
    let permits = Permits::new("partner", 20);
    let task = tokio::spawn(async move {
        fan_out(0..2_000u32, &permits, |item| async move {
            tokio::task::spawn_blocking(move || item + 1).await.map_err(|_| ())
        })
        .await
    });
    let results = task.await.unwrap();
    assert!(results.into_iter().zip(1..).all(|(result, expected)| result == Ok(expected)));
}

#[tokio::test]
async fn nothing_to_do_is_done() {
    let permits = Permits::new("partner", 0);
    let results = fan_out(Vec::<u8>::new(), &permits, |item| async move { Ok::<_, ()>(item) }).await;
    assert!(results.is_empty());
}
