//! The debug build's warning of a task that holds one slot and waits for another.
#![cfg(debug_assertions)]

use std::{cell::RefCell, io, time::Duration};

use maitred::Maitred;
use tracing::subscriber::set_global_default;

use crate::common::{MINUTE, World};

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

/// Runs a body as a task of its own on this thread; the answer is how many warnings it brought.
async fn warnings_of<F: Future<Output = ()> + Send + 'static>(body: impl FnOnce(Maitred) -> F) -> usize {
    // Of the whole process: whether anybody listens is remembered for each line that logs, and another test may be the
    // first to come by it.
    let _ = set_global_default(tracing_subscriber::fmt().with_writer(|| Log).finish());
    let world = World::near().await;
    world.declare("a", 5).await;
    world.declare("b", 5).await;
    LOGGED.take();
    tokio::spawn(body(world.maitred.clone())).await.unwrap();
    let text = String::from_utf8(LOGGED.take()).unwrap();
    text.matches("a task that holds a slot waits for another").count()
}

#[tokio::test]
async fn a_task_that_holds_one_and_waits_for_another_is_warned_once_though_there_is_room() {
    let count = warnings_of(async |maitred| {
        let _a = maitred.acquire("a").await.unwrap();
        let _b = maitred.acquire("b").await.unwrap();
        maitred.with_limit("a", async |_| ()).await.unwrap();
    });
    assert_eq!(count.await, 1);
}

#[tokio::test]
async fn the_deadlock_itself_is_warned_of_before_it_times_out() {
    let count = warnings_of(async |maitred| {
        maitred.declare("one", 1, MINUTE).await.unwrap();
        let body = async |_: &_| maitred.acquire("one").timeout(Duration::from_millis(20)).await.is_err();
        assert!(maitred.with_limit("one", body).await.unwrap());
    });
    assert_eq!(count.await, 1);
}

#[tokio::test]
async fn all_in_one_call_one_after_the_other_and_a_look_without_a_wait_are_fine() {
    let count = warnings_of(async |maitred| {
        drop(maitred.acquire("a").and("b").await.unwrap());
        let a = maitred.acquire("a").await.unwrap();
        let _b = maitred.acquire("b").timeout(Duration::ZERO).await.unwrap();
        a.release().await.unwrap();
    });
    assert_eq!(count.await, 0);
}

#[tokio::test]
async fn slots_of_several_tasks_and_detached_ones_are_fine() {
    let count = warnings_of(async |maitred| {
        let other = maitred.clone();
        let held = tokio::spawn(async move { other.acquire("a").await.unwrap().detach() }).await.unwrap();
        let _detached = maitred.acquire("a").await.unwrap().detach();
        drop(maitred.acquire("b").await.unwrap());
        maitred.release(&held).await.unwrap();
    });
    assert_eq!(count.await, 0);
}
