//! Simulated worlds (`maitred_simulator`) from the command line: so many hours, and what they met.

use std::{
    thread::available_parallelism,
    time::{Duration, Instant},
};

use clap::ValueEnum;
use maitred_simulator::{Journal, Kind, NODES_MAX, Report, Runs, Wanted, run_many};
use serde_json::{Value, json};

use crate::chance;

/// From so many hours on a run must have met everything; a shorter one cannot.
const COVERS_FROM_HOURS: f64 = 20.0;
const PROGRESS_EVERY: Duration = Duration::from_secs(5);

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum On {
    Local,
    Postgres,
    Jetstream,
}

#[derive(clap::Args)]
pub struct Options {
    /// The seed of the first world; each further one has the next [default: another one each time]
    #[arg(long)]
    seed: Option<u64>,
    /// How many hours are simulated, outages not counted
    #[arg(long, default_value_t = 10.0, value_parser = more_than_0)]
    hours: f64,
    /// How many hours each world has its faults; after that it is healed, and everything must come to its end
    #[arg(long, default_value_t = 0.5, value_parser = more_than_0)]
    hours_each: f64,
    /// Only worlds with so many nodes [default: 1 to 5]
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..=NODES_MAX as u64))]
    nodes: Option<u64>,
    /// Only worlds with this journal [default: each of them]
    #[arg(long, value_enum)]
    journal: Option<On>,
    /// How many worlds go on at once; the outcome is the same [default: one a core]
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..=256))]
    threads: Option<u64>,
    /// Print what was met as JSON
    #[arg(long)]
    json: bool,
}

fn more_than_0(text: &str) -> Result<f64, String> {
    let hours: f64 = text.parse().map_err(|_| format!("{text:?} is not a number of hours"))?;
    if hours > 0.0 { Ok(hours) } else { Err("more than 0 hours, please".to_owned()) }
}

pub fn run(options: Options) -> Result<(), String> {
    let runs = options.runs()?;
    let report = simulated(&runs);
    match options.json {
        true => println!("{:#}", as_json(&runs, &report)),
        false => print!("seeds from {}: {report}", runs.first_seed),
    }
    judge(&runs, &report)
}

/// Runs the worlds, and says how far they are.
pub fn simulated(runs: &Runs) -> Report {
    let since = Instant::now();
    let mut said = since;
    run_many(runs, |report| {
        if said.elapsed() > PROGRESS_EVERY {
            said = Instant::now();
            eprintln!(
                "{:.0} of {:.0} simulated hours after {:.0} s, {} worlds, {} failures",
                report.simulated_ms as f64 / 3_600_000.0,
                runs.hours,
                since.elapsed().as_secs_f64(),
                report.worlds,
                report.failures.len()
            );
        }
    })
}

/// Nothing is broken, and nothing that should have been met was not.
pub fn judge(runs: &Runs, report: &Report) -> Result<(), String> {
    if let Some(failure) = report.failures.first() {
        let again = format!("cargo xtask simulate --seed {} --hours {}", failure.seed, runs.hours_each);
        let hours_each = format!("--hours-each {}", runs.hours_each);
        return Err(format!("{} worlds broke; the first again: {again} {hours_each}", report.failures.len()));
    }
    let missing = report.not_covered(runs.wanted);
    match missing.is_empty() || runs.hours < COVERS_FROM_HOURS {
        true => Ok(()),
        false => Err(format!("not covered: {}", missing.join(", "))),
    }
}

impl Options {
    fn runs(&self) -> Result<Runs, String> {
        let journal = self.journal.map(|on| match on {
            On::Local => Journal::Local,
            On::Postgres => Journal::Postgres,
            On::Jetstream => Journal::Jetstream,
        });
        let nodes = self.nodes.map(|nodes| nodes as usize);
        if journal == Some(Journal::Local) && nodes.is_some_and(|nodes| nodes > 1) {
            return Err("a local journal has one node".to_owned());
        }
        let cores = available_parallelism().map_or(1, |cores| cores.get());
        Ok(Runs {
            first_seed: self.seed.unwrap_or_else(chance::fresh_seed),
            hours: self.hours,
            hours_each: self.hours_each,
            wanted: Wanted { journal, nodes },
            threads: self.threads.map_or(cores, |threads| threads as usize),
        })
    }
}

fn as_json(runs: &Runs, report: &Report) -> Value {
    let faults = report
        .counts
        .faults()
        .map(|(fault, met, worlds)| (fault.name().to_owned(), json!({ "met": met, "worlds": worlds })));
    let branches = report.counts.branches().map(|(branch, taken)| (branch.name().to_owned(), json!(taken)));
    let kind = |(Kind { journal, nodes }, worlds): (Kind, u64)| json!({ "journal": journal.name(), "nodes": nodes, "worlds": worlds });
    let failures = report
        .failures
        .iter()
        .map(|failure| json!({ "seed": failure.seed, "what": failure.what, "last": failure.last }));
    json!({
        "first_seed": runs.first_seed,
        "worlds": report.worlds,
        "simulated_hours": report.simulated_ms as f64 / 3_600_000.0,
        "core_seconds": report.took.as_secs_f64(),
        "times_as_fast_as_life": report.speed(),
        "calls": report.calls,
        "records": report.records,
        "outcomes_judged": report.judged,
        "digest": format!("{:016x}", report.trace),
        "kinds": report.counts.kinds().map(kind).collect::<Vec<_>>(),
        "faults": faults.collect::<serde_json::Map<_, _>>(),
        "branches": branches.collect::<serde_json::Map<_, _>>(),
        "not_covered": report.not_covered(runs.wanted),
        "failures": failures.collect::<Vec<_>>(),
    })
}
