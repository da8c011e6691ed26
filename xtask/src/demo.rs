//! The main job, on real input: product records, each enriched by a call to a partner that holds 50 connections and
//! refuses the 51st. Worker processes share the limit `partner` through one server; server and workers are killed
//! with SIGKILL on the way. At the end the books of all sides must agree.
//!
//! ```text
//!   parent ── records, results (pipes) ── 16 workers ── slots (HTTP) ── maitred serve
//!     └ partner, in the parent                 └── one call per slot (HTTP) ── partner
//! ```

mod audit;
mod books;
mod catalog;
mod chaos;
mod fleet;
mod foreman;
mod guarded;
mod keeper;
mod ledger;
mod partner;
mod progress;
mod results;
mod talk;
pub mod worker;

use std::{
    collections::HashMap,
    fs, io,
    path::{Path, PathBuf},
};

use maitred::Far;
use tokio::sync::mpsc;

use self::{
    audit::{Audit, PROBE},
    books::Finding,
    chaos::Chaos,
    fleet::Fleet,
    foreman::Foreman,
    keeper::Keeper,
    ledger::Ledger,
    partner::{HOLDS, Partner},
    progress::Progress,
    results::Results,
};
use crate::{binary, chance};

const LIMIT: &str = "partner";
/// A killed worker's slots come back after this.
const MAX_HOLD: &str = "3s";

#[derive(clap::Args)]
pub struct Options {
    /// How many product records to enrich
    #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u64).range(10..=1_000_000))]
    records: u64,
    /// How many worker processes share the limit
    #[arg(long, default_value_t = 16, value_parser = clap::value_parser!(u64).range(1..=200))]
    workers: u64,
    /// How many records a worker has in hand at once
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u64).range(1..=200))]
    at_once: u64,
    /// How often the server is killed and started again
    #[arg(long, default_value_t = 6)]
    server_kills: usize,
    /// How often a worker is killed
    #[arg(long, default_value_t = 8)]
    worker_kills: usize,
    /// Fixes records, service times and what is killed when [default: another one each time]
    #[arg(long)]
    seed: Option<u64>,
    /// Where to keep input, results and the server's journal [default: a folder that is thrown away if all is well]
    #[arg(long)]
    folder: Option<PathBuf>,
    /// A defect to plant: some calls are made without a slot, which must be seen
    #[arg(long, hide = true)]
    unguarded: bool,
}

pub fn run(options: Options) -> Result<(), String> {
    let executable = Fleet::executable()?;
    let binary = binary::build()?;
    let seed = options.seed.unwrap_or_else(chance::fresh_seed);
    println!(
        "{} records, {} workers with {} in hand each, limit `{LIMIT}` of {HOLDS}, max hold {MAX_HOLD}, seed {seed}",
        options.records, options.workers, options.at_once
    );
    let (folder, temporary) = folder(options.folder.as_deref()).map_err(|error| error.to_string())?;
    let runtime = tokio::runtime::Runtime::new().map_err(|error| error.to_string())?;
    let ended = runtime.block_on(job(&options, seed, &executable, &binary, &folder));
    runtime.shutdown_background();
    if let (Err(why), Some(temporary), false) = (&ended, temporary, options.unguarded) {
        let kept = temporary.keep();
        return Err(format!("{why}\nseed {seed}; everything is kept in {}", kept.display()));
    }
    ended
}

fn folder(given: Option<&Path>) -> io::Result<(PathBuf, Option<tempfile::TempDir>)> {
    if let Some(given) = given {
        fs::create_dir_all(given)?;
        return Ok((fs::canonicalize(given)?, None));
    }
    let temporary = tempfile::Builder::new().prefix("maitred-demo-").tempdir()?;
    Ok((temporary.path().to_owned(), Some(temporary)))
}

async fn job(
    options: &Options,
    seed: u64,
    executable: &Path,
    binary: &Path,
    folder: &Path,
) -> Result<(), String> {
    let partner = Partner::start(seed).await?;
    let limits = format!(
        "[limits.{LIMIT}]\ncapacity = {HOLDS}\nmax_hold = \"{MAX_HOLD}\"\n\n[limits.{PROBE}]\ncapacity = 1\nmax_hold = \"1m\"\n"
    );
    let keeper = Keeper::start(binary, &folder.join("server"), &limits, seed).await?;
    let server = keeper.server().ok_or("the server is away")?;
    let (url, far) = (server.url(), server.far());
    let audit = Audit::begin(far.clone()).await?;
    let (say, heard) = mpsc::unbounded_channel();
    let fleet = Fleet {
        executable: executable.to_owned(),
        server: url,
        partner: partner.url.clone(),
        unguarded: options.unguarded,
        heard: say,
    };
    let mut foreman = foreman(options, seed, folder, keeper, fleet, heard, far)?;
    foreman.work(options.workers as usize).await?;
    report(options, &foreman, &audit, &partner).await
}

fn foreman(
    options: &Options,
    seed: u64,
    folder: &Path,
    keeper: Keeper,
    fleet: Fleet,
    heard: mpsc::UnboundedReceiver<(ledger::Life, fleet::Heard)>,
    far: Far,
) -> Result<Foreman, String> {
    let (records, workers) = (options.records as usize, options.workers as usize);
    let products = catalog::products(seed, records);
    let lines: String =
        products.iter().map(|product| serde_json::to_string(product).unwrap_or_default() + "\n").collect();
    fs::write(folder.join("products.jsonl"), lines).map_err(|error| error.to_string())?;
    Ok(Foreman {
        results: Results::create(folder).map_err(|error| error.to_string())?,
        ledger: Ledger::default(),
        chaos: Chaos::plan(seed, records, workers, options.server_kills, options.worker_kills),
        progress: Progress::new(records),
        todo: (0..records).collect(),
        in_hand: HashMap::new(),
        done: vec![false; records],
        workers: Vec::new(),
        lives: 0,
        at_once: options.at_once as usize,
        products,
        fleet,
        heard,
        keeper,
        far,
    })
}

async fn report(
    options: &Options,
    foreman: &Foreman,
    audit: &Audit,
    partner: &Partner,
) -> Result<(), String> {
    let took = foreman.progress.took();
    println!(
        "done in {:.1} s; the server was killed {} times (longest without an answer {:.1} s), workers {} times, \
         {} answers were lost",
        took.as_secs_f64(),
        foreman.keeper.kills,
        foreman.keeper.longest_down.as_secs_f64(),
        foreman.progress.worker_kills,
        foreman.ledger.lost_answers
    );
    let wrong = foreman.results.check(&foreman.products).map_err(|error| error.to_string())?;
    let server = audit.end(foreman.ledger.slots.keys().cloned()).await?;
    let mut findings = vec![records(options, &wrong), kills(options, foreman)];
    findings.extend(books::judge(&foreman.ledger, &server, &partner.numbers()));
    for finding in &findings {
        println!("{}  {}", if finding.holds { "ok " } else { "OFF" }, finding.text);
    }
    match findings.iter().filter(|finding| !finding.holds).count() {
        0 => Ok(()),
        off => Err(format!("{off} of {} checks are off", findings.len())),
    }
}

fn records(options: &Options, wrong: &[String]) -> Finding {
    let text = match wrong.first() {
        None => format!("records: every one of {} is in the result file once, and right", options.records),
        Some(first) => format!("records: {} are wrong, such as: {first}", wrong.len()),
    };
    Finding { holds: wrong.is_empty(), text }
}

/// A run in which nothing went wrong proves nothing.
fn kills(options: &Options, foreman: &Foreman) -> Finding {
    let met = (foreman.keeper.kills, foreman.progress.worker_kills);
    let lost = foreman.ledger.lost_answers;
    let holds = met == (options.server_kills, options.worker_kills) && (met.0 == 0 || lost > 0);
    let text = format!(
        "faults met: server killed {} of {} times, workers {} of {}, {lost} answers lost",
        met.0, options.server_kills, met.1, options.worker_kills
    );
    Finding { holds, text }
}
