//! The signals of rule P3. Time is virtual, so every number is exact.

use std::time::Duration;

use maitred_permits::permits::{INTERVAL, Permits};
use tokio::time::{advance, sleep, timeout};

const fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

#[tokio::test(start_paused = true)]
async fn the_numbers_of_one_moment() {
    let permits = Permits::new("partner", 5).with_timeout(seconds(2));
    let oldest = permits.acquire_many(3).await.unwrap();
    sleep(seconds(4)).await;
    let newest = permits.acquire().await.unwrap();
    assert!(permits.acquire_many(2).await.is_err(), "times out after 2 s");
    let waiting = tokio::spawn({
        let permits = permits.clone();
        async move { permits.acquire_many(2).await.map(|permit| permit.count()) }
    });
    sleep(seconds(1)).await;
    let signals = permits.signals();
    assert_eq!((signals.size, signals.available, signals.in_flight, signals.set_aside), (5, 0, 4, 1));
    assert_eq!((signals.waiting, signals.timeouts, signals.in_flight_peak), (1, 1, 4));
    assert_eq!((signals.acquired, signals.released), (4, 0));
    assert_eq!(signals.oldest_hold, Some(seconds(7)));
    assert_eq!(signals.across_instances(12), 60);
    drop(oldest);
    assert_eq!(waiting.await.unwrap(), Ok(2));
    assert_eq!(permits.signals().oldest_hold, Some(seconds(3)));
    drop(newest);
    let signals = permits.signals();
    assert_eq!((signals.acquired, signals.released, signals.completed), (6, 6, 3));
    assert_eq!((signals.available, signals.set_aside, signals.waiting), (5, 0, 0));
}

#[tokio::test(start_paused = true)]
async fn rates_are_those_of_the_last_minute() {
    let permits = Permits::new("partner", 2);
    for number in 0..240 {
        let permit = permits.acquire().await.unwrap();
        sleep(Duration::from_millis(500)).await;
        match number % 4 {
            0 => permit.failed(),
            1 => permit.rejected(),
            _ => {}
        }
    }
    let signals = permits.signals();
    assert_eq!((signals.completed, signals.failed, signals.rejected), (120, 120, 60));
    assert!((signals.completed_per_s - 1.0).abs() < 0.05, "{signals:?}");
    assert!((signals.failed_per_s - 1.0).abs() < 0.05, "{signals:?}");
    sleep(seconds(120)).await;
    let signals = permits.signals();
    assert_eq!((signals.completed_per_s, signals.failed_per_s), (0.0, 0.0));
}

#[tokio::test(start_paused = true)]
async fn waits_tell_how_much_of_the_latency_is_the_limiter() {
    let permits = Permits::new("partner", 1);
    for _ in 0..90 {
        drop(permits.acquire().await.unwrap());
    }
    assert_eq!(permits.signals().wait_p99, Duration::ZERO);
    for _ in 0..10 {
        let held = permits.acquire().await.unwrap();
        let (_, waited) = tokio::join!(
            async {
                sleep(Duration::from_millis(400)).await;
                drop(held);
            },
            permits.acquire()
        );
        drop(waited.unwrap());
    }
    let signals = permits.signals();
    assert_eq!(signals.wait_p50, Duration::ZERO);
    assert!((400..=450).contains(&signals.wait_p99.as_millis()), "{signals:?}");
    sleep(seconds(180)).await;
    assert_eq!(permits.signals().wait_p99, Duration::ZERO, "old waits are forgotten");
}

#[tokio::test(start_paused = true)]
async fn a_wait_that_timed_out_counts_as_a_wait_and_a_cancelled_one_does_not() {
    let permits = Permits::new("partner", 1);
    let _held = permits.acquire().await.unwrap();
    assert!(timeout(seconds(3), permits.acquire()).await.is_err());
    assert_eq!(permits.signals().wait_p99, Duration::ZERO);
    assert!(permits.acquire().await.is_err());
    assert!(permits.signals().wait_p99 >= seconds(5));
}

#[tokio::test(start_paused = true)]
async fn the_floor_of_each_interval_over_time() {
    let permits = Permits::new("partner", 5);
    let all = permits.acquire_many(5).await.unwrap();
    advance(2 * INTERVAL).await;
    drop(all);
    advance(INTERVAL).await;
    let one = permits.acquire().await.unwrap();
    drop(one);
    advance(INTERVAL).await;
    let floors: Vec<_> =
        permits.history().iter().map(|interval| (interval.floor, interval.completed)).collect();
    assert_eq!(floors, [(0, 0), (0, 0), (0, 1), (4, 1)]);
    advance(INTERVAL).await;
    assert_eq!(permits.history().last().map(|interval| interval.floor), Some(5));
    advance(seconds(7200)).await;
    assert_eq!(permits.history().len(), maitred_permits::permits::INTERVALS_KEPT);
}

#[tokio::test(start_paused = true)]
async fn while_somebody_waits_the_floor_is_zero_and_the_interval_says_so() {
    let permits = Permits::new("partner", 5);
    let _held = permits.acquire_many(2).await.unwrap();
    assert!(permits.acquire_many(4).timeout(seconds(15)).await.is_err());
    advance(2 * INTERVAL).await;
    let told: Vec<_> = permits
        .history()
        .iter()
        .map(|interval| (interval.floor, interval.waited, interval.timeouts))
        .collect();
    assert_eq!(told, [(0, true, 0), (0, true, 1), (3, false, 0)]);
}

#[tokio::test(start_paused = true)]
async fn ends_are_counted_in_their_interval_though_somebody_waits_for_many() {
    let permits = Permits::new("partner", 3).without_timeout();
    let held = [
        permits.acquire().await.unwrap(),
        permits.acquire().await.unwrap(),
        permits.acquire().await.unwrap(),
    ];
    let all = tokio::spawn({
        let permits = permits.clone();
        async move { permits.acquire_many(3).await.map(drop) }
    });
    for permit in held {
        advance(INTERVAL).await;
        drop(permit);
    }
    all.await.unwrap().unwrap();
    advance(INTERVAL).await;
    let ends: Vec<_> = permits.history().iter().map(|interval| interval.completed).collect();
    assert_eq!(ends, [0, 1, 1, 2]);
}

#[tokio::test]
async fn signals_read_well() {
    let permits = Permits::new("partner", 5);
    let _held = permits.acquire_many(2).await.unwrap();
    let text = permits.signals().to_string();
    assert!(text.starts_with("partner: 3 of 5 available, 2 in flight (peak 2), 0 waiting;"), "{text}");
}
