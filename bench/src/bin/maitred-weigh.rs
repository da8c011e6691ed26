//! What one of a kind takes in memory, counted by the allocator. A program of its own, since counting costs time.
//! Prints `NAME BYTES` lines; `maitred-bench` starts it.
#![forbid(unsafe_code)]

use std::{alloc::System, pin::Pin, time::Duration};

use maitred::Maitred;
use maitred_bench::{
    commands::{acquire, admit, declare, name, numbered_id, plain},
    figure::{Trouble, check, wrong},
};
use maitred_engine::{
    Engine,
    bounds::Bounds,
    command::{Acquire, Command, Verb},
};
use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// The worst numbers of units: the hash tables have just doubled.
const UNITS: u64 = 930_000;
const CALLERS: u64 = 10_000;
const START: u64 = 1_800_000_000_000;

fn live_bytes() -> i64 {
    let stats = ALLOCATOR.stats();
    stats.bytes_allocated as i64 - stats.bytes_deallocated as i64
}

fn main() -> Result<(), String> {
    weigh().map_err(|trouble| trouble.to_string())
}

fn weigh() -> Result<(), Trouble> {
    let mut engine = engine();
    let waiting = each(&mut engine, |number| {
        let run = Some(name(&numbered_id(number, START + 1)));
        Verb::Acquire(Acquire { run, ..acquire(&numbered_id(number + 1, START), 0) })
    });
    check(u64::from(engine.stats().waiting) == UNITS, || "not all of them wait".to_owned())?;
    println!("bytes_per_waiting {waiting}");
    drop(engine);

    let mut engine = engine_without_holder();
    let key = each(&mut engine, admit);
    check(u64::from(engine.stats().counters) == UNITS, || "not all of the keys are live".to_owned())?;
    println!("bytes_per_key {key}");
    drop(engine);

    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    println!("bytes_per_waiting_acquire {}", runtime.block_on(a_waiting_acquire())?);
    Ok(())
}

fn engine_without_holder() -> Engine {
    let mut engine = Engine::new([1, 2], Bounds::default());
    apply(&mut engine, &plain(declare(0, 1)));
    engine
}

fn engine() -> Engine {
    let mut engine = engine_without_holder();
    apply(&mut engine, &plain(Verb::Acquire(acquire(&numbered_id(0, START), 0))));
    engine
}

fn apply(engine: &mut Engine, command: &Command) {
    engine.apply(START, command, &mut Vec::new());
}

/// Bytes that each of many adds to the engine.
fn each(engine: &mut Engine, make: impl Fn(u64) -> Verb) -> i64 {
    let before = live_bytes();
    (0..UNITS).for_each(|number| apply(engine, &plain(make(number))));
    (live_bytes() - before) / UNITS as i64
}

/// Everything that a call near adds to the process while it waits: its future, its way back, its slot in the engine.
async fn a_waiting_acquire() -> Result<i64, Trouble> {
    // On the disk: a journal in memory would be weighed with it.
    let folder = tempfile::tempdir()?;
    let limiter = Maitred::open(folder.path()).await.map_err(|error| wrong("start")(&error))?;
    let hour = Duration::from_secs(3_600);
    limiter.declare("l", 1, hour).await.map_err(|error| wrong("declare")(&error.message))?;
    let held = limiter.acquire("l").await.map_err(|error| wrong("acquire")(&error))?;
    settled().await;
    let mut waits: Vec<Pin<Box<dyn Future<Output = _>>>> = Vec::with_capacity(CALLERS as usize);
    let before = live_bytes();
    for _ in 0..CALLERS {
        let limiter = limiter.clone();
        waits.push(Box::pin(async move { limiter.acquire("l").await }));
    }
    for wait in &mut waits {
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        check(wait.as_mut().poll(&mut context).is_pending(), || "an acquire did not wait".to_owned())?;
    }
    settled().await;
    let after = live_bytes();
    let asked = limiter.limit("l").await.map_err(|error| wrong("limit")(&error.message))?;
    check(u64::from(asked.limit.waiting) == CALLERS, || format!("{} wait", asked.limit.waiting))?;
    drop(waits);
    held.release().await.map_err(|error| wrong("release")(&error.message))?;
    Ok((after - before) / CALLERS as i64)
}

/// What stands behind the limiter has taken the last record too.
async fn settled() {
    tokio::time::sleep(Duration::from_millis(1_500)).await;
}
