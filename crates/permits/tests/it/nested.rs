//! The debug build's warning of a holder that asks again: what it sees, and what it must not mistake.
#![cfg(debug_assertions)]

use std::cell::RefCell;
use std::io;
use std::time::Duration;

use maitred_permits::permits::{Permits, acquire_all, fan_out};
use tracing::subscriber::set_global_default;

thread_local! {
    static LOGGED: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Collects what is logged, by thread.
struct Log;

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        LOGGED.with_borrow_mut(|logged| logged.extend_from_slice(bytes));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// From here on what is logged on this thread is counted.
fn listen() {
    // Of the whole process: whether anybody listens is remembered for each line that logs, and another test may be the
    // first to come by it.
    let _ = set_global_default(tracing_subscriber::fmt().with_writer(|| Log).finish());
    LOGGED.take();
}

fn warnings() -> usize {
    let text = String::from_utf8(LOGGED.take()).unwrap();
    text.matches("a holder asks the same permits again").count()
}

/// Runs a body as a task of its own on this thread; the answer is how many warnings it brought.
async fn warnings_of(body: impl Future<Output = ()> + Send + 'static) -> usize {
    listen();
    tokio::spawn(body).await.unwrap();
    warnings()
}

fn permits() -> Permits {
    Permits::new("partner", 10)
}

#[tokio::test]
async fn a_task_that_holds_a_guard_and_asks_again_is_warned_once_though_there_is_room() {
    let count = warnings_of(async {
        let permits = permits();
        let _first = permits.acquire().await.unwrap();
        let _second = permits.acquire().await.unwrap();
        let _third = permits.acquire_many(2).await.unwrap();
        permits.with_permit(async || {}).await.unwrap();
    });
    assert_eq!(count.await, 1);
}

#[tokio::test(start_paused = true)]
async fn the_deadlock_itself_is_warned_of_before_it_times_out() {
    let count = warnings_of(async {
        let permits = Permits::new("partner", 1).with_timeout(Duration::from_secs(1));
        let _first = permits.acquire().await.unwrap();
        assert!(permits.acquire().await.is_err());
    });
    assert_eq!(count.await, 1);
}

#[tokio::test]
async fn a_body_that_asks_its_own_permits_is_warned_once() {
    let count = warnings_of(async {
        let permits = permits();
        permits
            .with_permit(async || {
                for _ in 0..3 {
                    drop(permits.acquire().await.unwrap());
                }
                let other = Permits::new("other", 1);
                other.with_permit(async || drop(permits.acquire().await.unwrap())).await.unwrap();
            })
            .await
            .unwrap();
    });
    assert_eq!(count.await, 1);
}

#[tokio::test]
async fn a_fan_out_inside_a_body_of_its_permits_is_warned_once() {
    let count = warnings_of(async {
        let permits = permits();
        let inner = async || fan_out(0..100, &permits, |_| async { Ok::<_, ()>(()) }).await;
        permits.with_permit(inner).await.unwrap();
    });
    assert_eq!(count.await, 1);
}

#[tokio::test]
async fn siblings_in_one_task_are_not_mistaken_when_they_have_bodies() {
    let count = warnings_of(async {
        let permits = permits();
        let one = async || tokio::task::yield_now().await;
        let (a, b) = tokio::join!(permits.with_permit(one), permits.with_permit(one));
        assert!(a.is_ok() && b.is_ok());
        let all = fan_out(0..100, &permits, |_| async {
            tokio::task::yield_now().await;
            Ok::<_, ()>(())
        });
        assert_eq!(all.await.len(), 100);
    });
    assert_eq!(count.await, 0);
}

#[tokio::test]
async fn other_permits_and_one_after_the_other_are_fine() {
    let count = warnings_of(async {
        let (permits, other) = (permits(), permits());
        for _ in 0..3 {
            let _one = permits.acquire().await.unwrap();
            let _other = other.acquire().await.unwrap();
        }
        let _all = acquire_all([&permits, &other, &other]).await.unwrap();
    });
    assert_eq!(count.await, 0);
}

/// The accept loop: one task takes, others give back. It is mistaken at first, and learns.
#[tokio::test]
async fn once_a_guard_came_back_from_another_task_ids_are_not_believed() {
    let count = warnings_of(async {
        let permits = permits();
        for _ in 0..100 {
            let permit = permits.acquire().await.unwrap();
            tokio::spawn(async move {
                tokio::task::yield_now().await;
                drop(permit);
            });
        }
    });
    assert!(count.await <= 1);
}
