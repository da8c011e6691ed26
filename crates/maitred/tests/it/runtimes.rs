//! Guards and clients outlive the runtimes they were used on.

use std::{
    sync::mpsc,
    time::{Duration, Instant},
};

use maitred::Maitred;
use tokio::runtime::{Builder, Runtime};

use crate::common::{MINUTE, World};

/// A limiter on a thread of its own, so that the test may do with its runtimes what it wants.
struct Elsewhere {
    world: World,
    runtime: Runtime,
}

impl Elsewhere {
    fn start(is_far: bool) -> Elsewhere {
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let world = runtime.block_on(async {
            let world = if is_far { World::far().await } else { World::near().await };
            world.declare("calls", 1).await;
            world
        });
        Elsewhere { world, runtime }
    }

    fn until(&self, counts: (u64, u64, u32)) {
        self.runtime.block_on(self.world.until("calls", counts));
    }

    fn client(&self) -> Maitred {
        self.world.maitred.clone()
    }
}

fn runtime() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

fn both(test: impl Fn(Elsewhere)) {
    test(Elsewhere::start(false));
    test(Elsewhere::start(true));
}

#[test]
fn a_slot_is_dropped_after_its_runtime() {
    both(|there| {
        let short_lived = runtime();
        let slot = short_lived.block_on(there.client().acquire("calls").into_future()).unwrap();
        there.until((1, 0, 0));
        drop(short_lived);
        let started = Instant::now();
        std::thread::spawn(move || drop(slot)).join().unwrap();
        assert!(started.elapsed() < Duration::from_millis(500), "a drop does not wait");
        there.until((0, 0, 0));
    });
}

#[test]
fn a_runtime_is_dropped_with_callers_in_it() {
    both(|there| {
        let short_lived = Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let (told, holds) = mpsc::channel();
        for _ in 0..10 {
            let (client, told) = (there.client(), told.clone());
            short_lived.spawn(async move {
                let slot = client.acquire("calls").timeout(MINUTE).await.unwrap();
                told.send(()).unwrap();
                std::future::pending::<()>().await;
                drop(slot);
            });
        }
        holds.recv().unwrap();
        there.until((1, 0, 9));
        drop(short_lived);
        there.until((0, 0, 0));
    });
}

#[test]
fn two_runtimes_share_a_client_even_when_one_is_idle() {
    both(|there| {
        let (one, other) = (runtime(), runtime());
        let client = there.client();
        for _ in 0..3 {
            for turn in [&one, &other] {
                let started = Instant::now();
                let slot = turn.block_on(client.acquire("calls").timeout(MINUTE).into_future()).unwrap();
                turn.block_on(slot.release()).unwrap();
                assert!(started.elapsed() < Duration::from_secs(3), "an idle runtime holds nobody up");
            }
        }
    });
}

#[test]
fn a_slot_survives_its_client() {
    both(|there| {
        let own = runtime();
        let slot = own.block_on(async {
            let client = there.world.another();
            client.acquire("calls").await.unwrap()
        });
        there.until((1, 0, 0));
        drop(slot);
        there.until((0, 0, 0));
    });
}

#[test]
fn a_panic_between_two_awaits_gives_back() {
    both(|there| {
        let own = runtime();
        let client = there.client();
        let panicked = own.block_on(own.spawn(async move {
            let _slot = client.acquire("calls").await.unwrap();
            tokio::task::yield_now().await;
            panic!("on purpose");
        }));
        assert!(panicked.unwrap_err().is_panic());
        there.until((0, 0, 0));
    });
}

#[test]
fn near_what_was_held_is_still_held_when_the_folder_is_opened_again() {
    let folder = tempfile::tempdir().unwrap();
    let own = runtime();
    own.block_on(async {
        let maitred = Maitred::open(folder.path()).await.unwrap();
        maitred.declare("calls", 1, MINUTE).await.unwrap();
        let id = maitred.acquire("calls").await.unwrap().detach();
        let dropped = maitred.acquire("calls").timeout(MINUTE);
        let waiting = tokio::spawn(async move { dropped.await.map(drop) });
        tokio::time::sleep(Duration::from_millis(50)).await;
        waiting.abort();
        assert!(waiting.await.unwrap_err().is_cancelled(), "it has gone before the close");
        assert!(maitred.close(Duration::from_secs(5)).await.is_empty());

        let again = Maitred::open(folder.path()).await.unwrap();
        let info = again.limit("calls").await.unwrap().limit;
        assert_eq!((info.busy, info.waiting), (1, 0));
        assert!(again.release(&id).await.unwrap().released);
    });
}

/// A close while other threads are still dropping: what was dropped before it is given back, what comes too late is
/// left to its expiry, and neither blocks or panics.
#[test]
fn a_close_races_drops_of_other_threads() {
    const ROUNDS: usize = 20;
    const SLOTS: usize = 40;
    let there = Elsewhere::start(true);
    there.runtime.block_on(there.world.declare("many", (2 * ROUNDS * SLOTS) as u32));
    for _ in 0..ROUNDS {
        let own = runtime();
        let client = there.world.another();
        let take = async || {
            let mut slots = Vec::new();
            for _ in 0..SLOTS {
                slots.push(client.acquire("many").await.unwrap());
            }
            slots
        };
        let (before, during) = own.block_on(async { (take().await, take().await) });
        let early: Vec<_> = before.iter().map(|slot| slot.id().clone()).collect();
        std::thread::spawn(move || drop(before)).join().unwrap();
        let racing = std::thread::spawn(move || drop(during));
        let left = own.block_on(client.close(Duration::from_secs(20)));
        racing.join().unwrap();
        assert!(left.is_empty(), "there was time for all that was taken over: {left:?}");
        let observer = there.client();
        for slot in early {
            let state = there.runtime.block_on(observer.slot(&slot)).unwrap().slot.state;
            assert_eq!(state, maitred::api::SlotState::Released);
        }
    }
}
