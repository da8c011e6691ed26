//! Workflow runs over kills: the project in `examples/workflows` places calls, far from its limiter, while both are
//! killed with SIGKILL in turns at random. The provider is a folder in which every call is a file; calls last a moment
//! and their end is posted, as a webhook would.
//!
//! Afterwards every run has come to its end, every call was made once, never more went on at once than the limit lets
//! in, and no slot is left.

mod calls;
mod host;
mod measure;

use std::{
    collections::BTreeMap,
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use maitred::{
    Client, Maitred,
    api::{Call, Context},
};
use tokio::{task::JoinSet, time::sleep};

use self::{calls::Calls, host::Host};
use crate::{binary, chance, chance::Chance, server::Server};

const LIMIT: &str = "voice-calls";
const CAPACITY: u32 = 5;
/// With more room than it is judged by.
const WIDE: u32 = 50;
const DONE_WITHIN: Duration = Duration::from_secs(600);

#[derive(clap::Args)]
pub struct Options {
    /// How many runs place a call
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u64).range(1..))]
    runs: u64,
    /// How many kills there are, of the program, of the server, or of both
    #[arg(long, default_value_t = 30)]
    kills: u64,
    /// Fixes when calls end and what is killed when [default: another one each time]
    #[arg(long)]
    seed: Option<u64>,
    /// A defect to plant: the limit lets more in than it is judged by, which must be seen
    #[arg(long, hide = true)]
    wide: bool,
    /// Instead: what so many waiting runs cost, how soon they are back after a kill, and how soon a grant is a step
    #[arg(long, value_name = "WAITING")]
    measure: Option<u64>,
}

pub fn run(options: Options) -> Result<(), String> {
    let packages = ["--package", "xtask", "--package", "calls", "--profile", &binary::profile()];
    let (server, program) = (binary::build()?, binary::build_as("calls", &packages)?);
    let seed = options.seed.unwrap_or_else(chance::fresh_seed);
    println!("{} runs, {} kills, seed {seed}", options.runs, options.kills);
    let temporary = tempfile::Builder::new().prefix("maitred-workflows-").tempdir();
    let temporary = temporary.map_err(|error| error.to_string())?;
    let runtime = tokio::runtime::Runtime::new().map_err(|error| error.to_string())?;
    let stage = async {
        let server = Server::start(&server, &temporary.path().join("server"), "").await?;
        let host = Host::start(&program, &temporary.path().join("host"), &server.url()).await?;
        match options.measure {
            Some(waiting) => measure::measure(waiting, server, host).await,
            None => chaos(&options, seed, server, host).await,
        }
    };
    let ended = runtime.block_on(stage);
    runtime.shutdown_background();
    ended.map_err(|why| {
        if options.wide {
            return why;
        }
        format!("{why}\nseed {seed}; what there was is kept in {}", temporary.keep().display())
    })
}

async fn chaos(options: &Options, seed: u64, mut server: Server, mut host: Host) -> Result<(), String> {
    let limiter = Maitred::new(Client::Far(server.far())).map_err(|error| error.to_string())?;
    let capacity = if options.wide { WIDE } else { CAPACITY };
    limiter.set_capacity(LIMIT, capacity).await.map_err(|problem| problem.to_string())?;
    let since = Instant::now();
    let calls = Arc::new(Calls::new(host.calls(), host.poster(), seed));
    let mut world = JoinSet::new();
    for run in 0..options.runs {
        let calls = Arc::clone(&calls);
        world.spawn(async move { calls.one(run).await });
    }
    let killed = kill_in_turns(options, seed, &mut server, &mut host).await?;
    let ended = tokio::time::timeout(DONE_WITHIN, world.join_all()).await;
    let ended = ended.map_err(|_| "not every run has come to its end in ten minutes".to_owned())?;
    let took = since.elapsed();
    let ended = ended.into_iter().collect::<Result<Vec<calls::Ended>, String>>()?;
    until_no_slot_is_left(&limiter).await?;
    report(options, &ended, &killed, took)
}

/// What was killed, and how often.
type Killed = BTreeMap<&'static str, u64>;

async fn kill_in_turns(
    options: &Options,
    seed: u64,
    server: &mut Server,
    host: &mut Host,
) -> Result<Killed, String> {
    let mut chance = Chance::new(seed, "kill");
    let mut killed = Killed::new();
    for _ in 0..options.kills {
        sleep(Duration::from_millis(chance.between(100, 900))).await;
        let what = *chance.pick(&["program", "program", "server", "server", "both"]);
        if what != "server" {
            host.kill().await?;
        }
        if what != "program" {
            server.kill().await?;
        }
        sleep(Duration::from_millis(chance.between(0, 500))).await;
        if what != "program" {
            server.start_again().await?;
        }
        if what != "server" {
            host.start_again().await?;
        }
        *killed.entry(what).or_default() += 1;
    }
    Ok(killed)
}

/// A run that ended while its limiter was away is heard of a little later.
async fn until_no_slot_is_left(limiter: &Maitred) -> Result<(), String> {
    let since = Instant::now();
    loop {
        let limit = limiter.limit(LIMIT).await.map_err(|problem| problem.to_string())?.limit;
        let left = limit.busy + limit.reserved + u64::from(limit.waiting);
        match left {
            0 => return Ok(()),
            _ if since.elapsed() > Duration::from_secs(40) => return Err(format!("{left} slots are left")),
            _ => sleep(Duration::from_millis(100)).await,
        }
    }
}

fn report(options: &Options, ended: &[calls::Ended], killed: &Killed, took: Duration) -> Result<(), String> {
    let dials: u64 = ended.iter().map(|call| call.dials).sum();
    let most = calls::most_at_once(ended);
    let kills: u64 = killed.values().sum();
    let of_what: Vec<String> = killed.iter().map(|(what, times)| format!("{what} {times}")).collect();
    println!("{kills} kills made ({}) in {:.1} s", of_what.join(", "), took.as_secs_f64());
    println!(
        "{} calls counted, one for each of {} runs; {} times a step was done again; at most {most} at once of {CAPACITY}; \
         no slot is left",
        ended.len(),
        options.runs,
        dials - ended.len() as u64,
    );
    if most > CAPACITY as usize {
        return Err(format!("{most} calls went on at once, where the limit is {CAPACITY}"));
    }
    if kills < options.kills || ended.len() as u64 != options.runs {
        return Err("not everything was done that was to be done".to_owned());
    }
    Ok(())
}

/// The number of runs that the limiter knows to wait.
async fn waiting(server: &Server) -> Result<u32, String> {
    let call = Call::Limit { limit: LIMIT.to_owned() };
    match server.far().call(&Context::default(), call).await {
        Ok(maitred::api::Answer::Limit(answer)) => Ok(answer.limit.waiting),
        other => Err(format!("{other:?}")),
    }
}

fn in_folder(folder: &Path, error: &std::io::Error) -> String {
    format!("{}: {error}", folder.display())
}
