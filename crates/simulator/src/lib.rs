//! The real engine and sequencer in a simulated world that goes wrong on purpose.
//!
//! # Worked example
//! ```text
//! seed 17 -> two nodes over a database; of all faults `kill`, `append_answer_lost`, `hang_up` are switched on
//!   1.000 s   the operator deploys limits through node 0: record 2
//!   6.310 s   client 3 acquires "a" through node 1 and stays on the line
//!   6.312 s   node 1 appends; the store takes it as record 3, and the answer is lost
//!  11.313 s   node 1 is told: unknown. It reads behind record 2, finds its own bytes, answers: busy, fence 1
//!             the books look: record 3 is durable, holds this call once, and made this slot busy with fence 1
//!  40.000 s   node 1 is killed; client 3, who holds the slot, knows nothing of it
//!  48.201 s   client 3 releases through node 0: done
//! ```
//! Some simulated hours of this, then all faults end: whatever is under way must come to its end within bounded
//! time, after that an idle hour must write nothing, and every copy of the state must be the same.
//!
//! # What is real and what is not
//! Real: the engine, the sequencer, the follower, the records, and for one node the local journal with its files.
//! Simulated: clocks, the disk under the local journal, the database or the stream that one to five nodes share, the
//! network, and the thin shell that carries out what the sequencer asks for. Chance comes from one seed, so a seed is a
//! history.
//!
//! # Who watches
//! - `witness` reads what is durable and is no node; every answer is held against it in `books`.
//! - `mirror` keeps limits and queues a second time, from events alone.
//! - `pace` watches the journal's time.
//! - `judge` gives the commands of the journal to the naive model of the rules.
//! - `invariants` compares the nodes with one another, with snapshots and with a replay from the beginning.
#![forbid(unsafe_code)]

mod books;
mod chance;
mod client;
mod faults;
mod invariants;
mod jobs;
mod journaling;
#[path = "../../engine/tests/it/judge/commanded.rs"]
#[allow(dead_code, reason = "the engine's own tests use more of it")]
mod judge;
mod mirror;
mod node;
mod pace;
mod report;
mod shell;
mod store;
mod trouble;
mod witness;
mod world;

use std::time::Instant;

use self::world::World;
pub use self::{
    faults::{Branch, Fault},
    report::{Counts, Failure, Report},
    store::{Journal, Kind, NODES_MAX, Wanted},
};

/// One world from this seed: so many hours with faults, then the healing.
pub fn run(seed: u64, hours: f64, wanted: Wanted) -> Report {
    let began = Instant::now();
    let _named = NamedOnPanic(seed);
    let faulty_ms = (hours * 3_600_000.0) as u64;
    let mut world = World::new(seed, wanted, false);
    let ran = world.run(faulty_ms);
    let mut report = Report {
        worlds: 1,
        simulated_ms: faulty_ms.saturating_sub(world.outages_ms),
        took: began.elapsed(),
        records: world.witness.head(),
        calls: world.books.calls.len() as u64,
        judged: world.witness.judged().len() as u64,
        trace: world.trace,
        counts: world.counts,
        failures: Vec::new(),
    };
    if let Err(what) = ran {
        // The same history once more, this time with notes.
        let mut world = World::new(seed, wanted, true);
        let last = match world.run(faulty_ms) {
            Err(again) if again == what => world.notes(),
            other => vec![format!("played again it went otherwise: {other:?}")],
        };
        report.failures.push(Failure { seed, what, last });
    }
    report
}

/// Worlds from this seed on, until so many hours have been simulated, on so many threads. How many threads there are
/// changes nothing in the report but the time. `progress` sees the report after each world.
pub fn run_many(runs: &Runs, mut progress: impl FnMut(&Report)) -> Report {
    let mut report = Report::default();
    let mut seed = runs.first_seed;
    loop {
        for world in at_once(runs, seed) {
            report.add(world);
            progress(&report);
            let is_enough = report.simulated_ms as f64 >= runs.hours * 3_600_000.0;
            if is_enough || report.failures.len() >= FAILURES_MAX {
                return report;
            }
        }
        seed += runs.threads as u64;
    }
}

fn at_once(runs: &Runs, from: u64) -> Vec<Report> {
    std::thread::scope(|threads| {
        let seeds = from..from + runs.threads as u64;
        let begun: Vec<_> =
            seeds.map(|seed| threads.spawn(move || run(seed, runs.hours_each, runs.wanted))).collect();
        let ended = begun.into_iter().map(|thread| thread.join());
        ended.map(|report| report.unwrap_or_else(|panic| std::panic::resume_unwind(panic))).collect()
    })
}

/// Which worlds are run.
#[derive(Clone, Copy, Debug)]
pub struct Runs {
    pub first_seed: u64,
    pub hours: f64,
    /// For how long each world has its faults.
    pub hours_each: f64,
    pub wanted: Wanted,
    /// 1 or more.
    pub threads: usize,
}

const FAILURES_MAX: usize = 5;

/// A panic of the engine or the sequencer names its seed.
struct NamedOnPanic(u64);

impl Drop for NamedOnPanic {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("the simulated world of seed {} panicked", self.0);
        }
    }
}
