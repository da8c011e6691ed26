//! Several servers over one PostgreSQL or one cluster of NATS, killed, stopped and cut under load: every call of every caller is remembered,
//! and all of them together must be what one limiter could have answered (`maitred_testbed::history`).

mod caller;
mod store;
mod trouble;

use std::{
    collections::BTreeMap,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use maitred_testbed::history;
use tokio::{task::JoinSet, time::sleep};

use self::{
    caller::Caller,
    store::{Kind, Store},
    trouble::Trouble,
};
use crate::{binary, chance, chance::Chance, server::Server};

/// What each limit has room for.
const LIMITS: [(&str, u64); 2] = [("narrow", 3), ("wide", 10)];

#[derive(clap::Args)]
pub struct Options {
    /// What keeps the journal
    #[arg(long, value_enum, default_value_t = Kind::Postgres)]
    on: Kind,
    /// How long callers call and trouble is made
    #[arg(long, default_value_t = 30, value_parser = clap::value_parser!(u64).range(1..))]
    seconds: u64,
    /// How many servers there are
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u64).range(1..=9))]
    nodes: u64,
    /// How many callers there are
    #[arg(long, default_value_t = 24, value_parser = clap::value_parser!(u64).range(1..=500))]
    callers: u64,
    /// Fixes what is called and what goes wrong [default: another one each time]
    #[arg(long)]
    seed: Option<u64>,
    /// A defect to plant: the last server has a journal of its own, which must be seen
    #[arg(long, hide = true)]
    split: bool,
}

pub fn run(options: Options) -> Result<(), String> {
    let binary = binary::build()?;
    let seed = options.seed.unwrap_or_else(chance::fresh_seed);
    println!("{} servers, {} callers, {} s, seed {seed}", options.nodes, options.callers, options.seconds);
    let temporary = tempfile::Builder::new().prefix("maitred-nodes-").tempdir();
    let temporary = temporary.map_err(|error| error.to_string())?;
    let runtime = tokio::runtime::Runtime::new().map_err(|error| error.to_string())?;
    let ended = runtime.block_on(judged(&options, seed, &binary, temporary.path()));
    runtime.shutdown_background();
    ended.map_err(|why| format!("{why}\nseed {seed}"))
}

async fn judged(options: &Options, seed: u64, binary: &Path, folder: &Path) -> Result<(), String> {
    let mut store = Store::start(options.on)?;
    let mut servers = Vec::new();
    for number in 0..options.nodes {
        let is_apart = options.split && number + 1 == options.nodes;
        let url = store.url(if is_apart { "apart" } else { "together" });
        let folder = folder.join(format!("node-{number}"));
        servers.push(Server::start_on(binary, &folder, &limits(), &["--journal", &url]).await?);
    }
    let over = Arc::new(AtomicBool::new(false));
    let clock = Instant::now();
    let fars: Vec<_> = servers.iter().map(|server| server.url()).collect();
    let mut calling = JoinSet::new();
    for number in 0..options.callers {
        let caller = Caller::new(number as u32, &fars, seed, clock, Arc::clone(&over))?;
        calling.spawn(caller.work());
    }
    let mut trouble = Trouble::new(Chance::new(seed, "trouble"));
    let until = clock + Duration::from_secs(options.seconds);
    while Instant::now() < until {
        sleep(Duration::from_millis(700)).await;
        if !options.split {
            trouble.make(&mut servers, &mut store).await?;
        }
    }
    over.store(true, Ordering::Relaxed);
    let mut calls = Vec::new();
    while let Some(joined) = calling.join_next().await {
        calls.extend(joined.map_err(|error| error.to_string())??);
    }
    report(options, &calls, &trouble)
}

fn limits() -> String {
    let limit = |(name, capacity): &(&str, u64)| {
        format!("[limits.{name}]\ncapacity = {capacity}\nmax_hold = \"1h\"\n")
    };
    LIMITS.iter().map(limit).collect()
}

/// A run in which nothing went wrong, or nobody waited, proves little.
fn report(options: &Options, calls: &[history::Call], trouble: &Trouble) -> Result<(), String> {
    let capacities: BTreeMap<String, u64> =
        LIMITS.iter().map(|(name, most)| ((*name).to_owned(), *most)).collect();
    let looked = history::check(calls, &capacities).map_err(|wrong| {
        let shown: Vec<&str> = wrong.iter().take(10).map(String::as_str).collect();
        format!("no one limiter could have answered this ({} things):\n{}", wrong.len(), shown.join("\n"))
    })?;
    println!(
        "{} calls judged, {} of them not known; {} grants, {} after a wait, {} releases; trouble: {trouble}",
        looked.calls, looked.unknown, looked.grants, looked.waited, looked.releases
    );
    if options.split {
        return Ok(());
    }
    let is_little = looked.waited < 20 || looked.releases < 50 || looked.unknown == 0;
    match is_little || !trouble.was_made() {
        true => Err("too little went on to prove anything".to_owned()),
        false => Ok(()),
    }
}
