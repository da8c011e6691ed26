//! Callers that go at any moment leave nothing behind.

use std::{
    future::poll_fn,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::Poll,
    time::Duration,
};

use maitred::{AcquireError, Slot};

use crate::common::{Chance, World};

const CAPACITY: usize = 3;
const AT_ONCE: usize = 48;

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn near_ten_thousand() {
    all_gone_in_the_end(World::near().await, 10_000).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn far_ten_thousand() {
    all_gone_in_the_end(World::far().await, 10_000).await;
}

/// What became of the callers; a test in which nobody was cancelled, or nobody got a slot, proves nothing.
#[derive(Default)]
struct Tally {
    inside: AtomicUsize,
    most_inside: AtomicUsize,
    held: AtomicUsize,
    cancelled: AtomicUsize,
    timed_out: AtomicUsize,
}

impl Tally {
    fn ended(&self, task: Result<(), tokio::task::JoinError>) {
        match task {
            Ok(()) => {}
            Err(error) if error.is_cancelled() => drop(self.cancelled.fetch_add(1, Ordering::Relaxed)),
            Err(error) => panic!("a caller panicked: {error}"),
        }
    }
}

/// So many callers that this many of them are cancelled, by themselves or by others.
async fn all_gone_in_the_end(world: World, cancellations: usize) {
    world.declare("a", CAPACITY as u32).await;
    world.declare("b", CAPACITY as u32 + 1).await;
    let mut chance = Chance::new();
    let tally = Arc::new(Tally::default());
    let mut tasks = tokio::task::JoinSet::new();
    let mut callers = 0;
    while tally.cancelled.load(Ordering::Relaxed) < cancellations {
        callers += 1;
        if tasks.len() == AT_ONCE
            && let Some(ended) = tasks.join_next().await
        {
            tally.ended(ended);
        }
        let abort = chance.below(4) == 0;
        let (pause, caller) = (chance.below(2_000), one(&world, &mut chance, Arc::clone(&tally)));
        let task = tasks.spawn(caller);
        if abort {
            tokio::spawn(async move {
                tokio::time::sleep(Duration::from_micros(pause)).await;
                task.abort();
            });
        }
    }
    while let Some(ended) = tasks.join_next().await {
        tally.ended(ended);
    }
    world.until("a", (0, 0, 0)).await;
    world.until("b", (0, 0, 0)).await;
    let seen = |count: &AtomicUsize| count.load(Ordering::Relaxed);
    let (held, cancelled, timed_out) = (seen(&tally.held), seen(&tally.cancelled), seen(&tally.timed_out));
    println!("{callers} callers: {held} held, {cancelled} cancelled, {timed_out} timed out");
    assert!(seen(&tally.most_inside) <= CAPACITY, "{} were inside", seen(&tally.most_inside));
    assert!(held > callers / 20, "too little happened");
    let left = world.maitred.close(Duration::from_secs(10)).await;
    assert!(left.is_empty(), "{left:?}");
}

/// A caller with a fate of its own.
fn one(world: &World, chance: &mut Chance, tally: Arc<Tally>) -> impl Future<Output = ()> + Send + use<> {
    let mut acquire = world.maitred.acquire("a");
    if chance.below(3) == 0 {
        acquire = acquire.and("b");
    }
    let timeout = [5, 50, 60_000][chance.below(3) as usize];
    let acquire = acquire.timeout(Duration::from_millis(timeout));
    let (fate, polls, micros, ending) =
        (chance.below(3), chance.below(5), chance.below(5_000), chance.below(3));
    async move {
        let acquire = acquire.into_future();
        let got = match fate {
            0 => polled_at_most(acquire, polls).await,
            1 => tokio::time::timeout(Duration::from_micros(micros), acquire).await.ok(),
            _ => Some(acquire.await),
        };
        match got {
            None => drop(tally.cancelled.fetch_add(1, Ordering::Relaxed)),
            Some(Err(AcquireError::Timeout { .. })) => drop(tally.timed_out.fetch_add(1, Ordering::Relaxed)),
            Some(Err(error)) => panic!("{error}"),
            Some(Ok(slot)) => hold(slot, ending, &tally).await,
        }
    }
}

async fn hold(slot: Slot, ending: u64, tally: &Tally) {
    let inside = Inside::enter(tally);
    tokio::task::yield_now().await;
    drop(inside);
    match ending {
        0 => drop(slot),
        1 => drop(slot.release().await.unwrap()),
        _ => drop(polled_at_most(Box::pin(slot.release()), 1).await),
    }
}

/// Counts even if its task is aborted while it is inside.
struct Inside<'a>(&'a Tally);

impl<'a> Inside<'a> {
    fn enter(tally: &'a Tally) -> Self {
        tally.held.fetch_add(1, Ordering::Relaxed);
        let inside = tally.inside.fetch_add(1, Ordering::SeqCst) + 1;
        tally.most_inside.fetch_max(inside, Ordering::SeqCst);
        Self(tally)
    }
}

impl Drop for Inside<'_> {
    fn drop(&mut self) {
        self.0.inside.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Polls so often at the most. When it is woken after that, it is dropped instead: exactly when its answer came.
async fn polled_at_most<T>(
    mut future: Pin<Box<dyn Future<Output = T> + Send + '_>>,
    polls: u64,
) -> Option<T> {
    let mut polled = 0;
    poll_fn(move |context| {
        if polled == polls {
            return Poll::Ready(None);
        }
        polled += 1;
        future.as_mut().poll(context).map(Some)
    })
    .await
}
