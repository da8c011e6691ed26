//! Permits of one process against the semaphore of tokio that they are built on.

use std::{
    future::Future,
    sync::Arc,
    time::{Duration, Instant},
};

use maitred::permits::Permits;
use tokio::{runtime::Runtime, sync::Semaphore, task::JoinSet};

use super::Family;
use crate::{
    figure::{Figure, Target, Trouble, check, wrong},
    pairs::pairs,
    report::Report,
    scene::Scene,
};

pub const FAMILY: Family = Family {
    name: "permits",
    figures: &[
        Figure {
            name: "permit_vs_tokio",
            unit: "times",
            target: Target::AtMost(3.0),
            what: "time for acquire and drop with nobody else there, against tokio's Semaphore alone",
        },
        Figure {
            name: "permit_contended_vs_tokio",
            unit: "times",
            target: Target::AtMost(1.5),
            what: "the same for 64 tasks on 4 permits and two threads, each holder yielding once",
        },
    ],
    run,
};

const TASKS: usize = 64;
const PERMITS: u32 = 4;

fn run(scene: &Scene, report: &mut Report) -> Result<(), Trouble> {
    let rounds = if scene.quick { 100_000 } else { 2_000_000 };
    let alone = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let pairs_alone =
        pairs(scene.many_repetitions(), || ours_alone(&alone, rounds), || tokios_alone(&alone, rounds))?;
    report.put_pairs("permit_vs_tokio", &pairs_alone);

    let rounds = rounds / 400;
    let two = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let pairs_contended = pairs(
        scene.many_repetitions(),
        || {
            let permits = Permits::new("bench", PERMITS);
            let shared = permits.clone();
            let nanos = contended(&two, rounds, move || {
                let permits = shared.clone();
                async move { permits.acquire().await.ok().map(Held::Ours) }
            })?;
            check(permits.signals().acquired == (TASKS * rounds) as u64, || {
                "not every acquire was counted".to_owned()
            })?;
            Ok(nanos)
        },
        || {
            let semaphore = Arc::new(Semaphore::new(PERMITS as usize));
            contended(&two, rounds, move || {
                let semaphore = Arc::clone(&semaphore);
                async move { semaphore.acquire_owned().await.ok().map(Held::Tokios) }
            })
        },
    )?;
    report.put_pairs("permit_contended_vs_tokio", &pairs_contended);
    Ok(())
}

/// Only dropped.
#[expect(dead_code, reason = "held, and given back by the drop")]
enum Held {
    Ours(maitred::permits::Permit),
    Tokios(tokio::sync::OwnedSemaphorePermit),
}

/// Nanoseconds for one acquire and its drop.
fn ours_alone(runtime: &Runtime, rounds: usize) -> Result<f64, Trouble> {
    runtime.block_on(async {
        let permits = Permits::new("bench", PERMITS);
        let begin = Instant::now();
        for _ in 0..rounds {
            let permit = permits.acquire().await.map_err(|error| wrong("acquire")(&error))?;
            drop(permit);
        }
        let nanos = nanos(begin.elapsed(), rounds);
        check(permits.signals().acquired == rounds as u64, || "not every acquire was counted".to_owned())?;
        Ok(nanos)
    })
}

fn tokios_alone(runtime: &Runtime, rounds: usize) -> Result<f64, Trouble> {
    runtime.block_on(async {
        let semaphore = Semaphore::new(PERMITS as usize);
        let begin = Instant::now();
        for _ in 0..rounds {
            let permit = semaphore.acquire().await.map_err(|error| wrong("acquire")(&error))?;
            drop(permit);
        }
        check(semaphore.available_permits() == PERMITS as usize, || "a permit is gone".to_owned())?;
        Ok(nanos(begin.elapsed(), rounds))
    })
}

/// Every task takes, lets others run, gives back.
fn contended<F>(
    runtime: &Runtime,
    rounds: usize,
    take: impl Fn() -> F + Clone + Send + 'static,
) -> Result<f64, Trouble>
where
    F: Future<Output = Option<Held>> + Send + 'static,
{
    let begin = Instant::now();
    let given: usize = runtime.block_on(async {
        let mut tasks = JoinSet::new();
        for _ in 0..TASKS {
            let take = take.clone();
            tasks.spawn(async move {
                let mut given = 0;
                for _ in 0..rounds {
                    let held = take().await;
                    given += usize::from(held.is_some());
                    tokio::task::yield_now().await;
                    drop(held);
                }
                given
            });
        }
        tasks.join_all().await.into_iter().sum()
    });
    let nanos = nanos(begin.elapsed(), TASKS * rounds);
    check(given == TASKS * rounds, || format!("{given} of {} were given", TASKS * rounds))?;
    Ok(nanos)
}

fn nanos(took: Duration, rounds: usize) -> f64 {
    took.as_nanos() as f64 / rounds as f64
}
