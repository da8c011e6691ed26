//! Several servers over one PostgreSQL or one cluster of NATS, killed, stopped and cut off under load: every call of every
//! caller is remembered, and all of them together must be what one limiter could have answered
//! (`maitred_testbed::history`).

mod caller;
mod delay;
mod idle;
mod stage;
mod store;
mod trouble;
mod upgrade;

use std::{
    collections::BTreeMap,
    path::PathBuf,
    time::{Duration, Instant},
};

use maitred_testbed::history;
use tokio::time::sleep;

use self::{
    caller::{Callers, Made},
    stage::Stage,
    store::Kind,
    trouble::Trouble,
};
use crate::{binary, chance, chance::Chance};

/// What each limit has room for.
const LIMITS: [(&str, u64); 2] = [("narrow", 3), ("wide", 10)];
/// Between two things that go wrong.
const QUIET: Duration = Duration::from_millis(700);

/// Each run has a journal and servers of its own. Partitions between servers and journal need the right to make network
/// namespaces (root, and `ip`); without it they are left out, and it is said.
#[derive(clap::Args)]
pub struct Options {
    /// What keeps the journal
    #[arg(long, value_enum, default_value_t = Kind::Postgres)]
    on: Kind,
    /// How long callers call and trouble is made in a run
    #[arg(long, default_value_t = 30, value_parser = clap::value_parser!(u64).range(1..))]
    seconds: u64,
    /// Begins another run, with the next seed, until so many minutes are over [default: one run]
    #[arg(long, default_value_t = 0, hide_default_value = true)]
    minutes: u64,
    /// How many servers there are
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u64).range(1..=9))]
    nodes: u64,
    /// How many callers there are
    #[arg(long, default_value_t = 24, value_parser = clap::value_parser!(u64).range(1..=500))]
    callers: u64,
    /// Fixes what is called and what goes wrong [default: another one each time]
    #[arg(long)]
    seed: Option<u64>,
    /// Another nats-server, such as Debian's 2.9, whose conditional append is faulty and which acknowledges before it
    /// flushes: the servers are then started with --accept-weaker-durability
    #[arg(long, value_name = "FILE")]
    nats_server: Option<PathBuf>,
    /// Instead of trouble: the servers are replaced by those of a newer version, one after another, under load
    #[arg(long)]
    upgrade: bool,
    /// Instead of calls: 10,000 slots are held and nobody asks anything for so many minutes; no record may be written
    #[arg(long, value_name = "MINUTES", conflicts_with_all = ["upgrade", "minutes"])]
    idle: Option<u64>,
    /// A defect to plant: the last server has a journal of its own, which must be seen
    #[arg(long, hide = true)]
    split: bool,
}

pub fn run(options: Options) -> Result<(), String> {
    let runtime = tokio::runtime::Runtime::new().map_err(|error| error.to_string())?;
    let ended = runtime.block_on(runs(&options));
    runtime.shutdown_background();
    ended
}

async fn runs(options: &Options) -> Result<(), String> {
    let until = Instant::now() + Duration::from_secs(60 * options.minutes);
    let mut seed = options.seed.unwrap_or_else(chance::fresh_seed);
    loop {
        println!(
            "{} servers, {} callers, {} s, seed {seed}",
            options.nodes, options.callers, options.seconds
        );
        let ended = match options {
            Options { idle: Some(minutes), .. } => idle::run(options, *minutes).await,
            Options { upgrade: true, .. } => upgrade::run(options, seed).await,
            _ => over_trouble(options, seed).await,
        };
        ended.map_err(|why| format!("{why}\nseed {seed}"))?;
        if Instant::now() >= until {
            return Ok(());
        }
        seed += 1;
    }
}

async fn over_trouble(options: &Options, seed: u64) -> Result<(), String> {
    let mut stage = Stage::set(options, &binary::build()?, &limits()).await?;
    let callers = Callers::begin(&stage, options.callers, seed)?;
    let mut trouble = Trouble::new(Chance::new(seed, "trouble"), &stage.store);
    let lost = match make_trouble(options, &mut trouble, &mut stage).await {
        Err(why) if stage.store.may_forget() && says_lost(&why) => Some(why),
        ended => ended.map(|()| None)?,
    };
    let made = if lost.is_some() { callers.abandon().await? } else { callers.end().await? };
    let looked = judged(&made)?;
    println!("trouble: {trouble}");
    if let Some(delay) = delay::elsewhere(&trouble.kills, &made) {
        println!("while a server was killed: {delay}");
    }
    if let Some(why) = lost {
        println!("the store lost what it had acknowledged, and was not gone on with: {why}");
        return Ok(());
    }
    if options.split {
        return Ok(());
    }
    // A run in which nothing went wrong, or nobody waited, proves little.
    let is_little = looked.waited < 20 || looked.releases < 50 || looked.unknown == 0;
    match is_little || !trouble.was_made() {
        true => Err("too little went on to prove anything".to_owned()),
        false => Ok(()),
    }
}

async fn make_trouble(options: &Options, trouble: &mut Trouble, stage: &mut Stage) -> Result<(), String> {
    let until = Instant::now() + Duration::from_secs(options.seconds);
    while Instant::now() < until {
        sleep(QUIET).await;
        if !options.split {
            trouble.make(stage).await?;
        }
    }
    Ok(())
}

/// A server has ended, or does not start, because the journal is not what it was.
fn says_lost(why: &str) -> bool {
    ["lost records that were acknowledged", "is missing", "are gone; the oldest kept is"]
        .iter()
        .any(|words| why.contains(words))
}

fn limits() -> String {
    let limit = |(name, capacity): &(&str, u64)| {
        format!("[limits.{name}]\ncapacity = {capacity}\nmax_hold = \"1h\"\n")
    };
    LIMITS.iter().map(limit).collect()
}

/// Whether one limiter could have answered all of it.
fn judged(made: &[Made]) -> Result<history::Looked, String> {
    let calls: Vec<history::Call> = made.iter().map(|made| made.call.clone()).collect();
    let capacities: BTreeMap<String, u64> =
        LIMITS.iter().map(|(name, most)| ((*name).to_owned(), *most)).collect();
    let looked = history::check(&calls, &capacities).map_err(|wrong| {
        let shown: Vec<&str> = wrong.iter().take(10).map(String::as_str).collect();
        format!("no one limiter could have answered this ({} things):\n{}", wrong.len(), shown.join("\n"))
    })?;
    println!(
        "{} calls judged, {} of them not known, an order searched and found for {} (given up: {}); {} grants, {} after a \
         wait, {} releases",
        looked.calls,
        looked.unknown,
        looked.searched,
        looked.given_up,
        looked.grants,
        looked.waited,
        looked.releases
    );
    Ok(looked)
}
