//! Kills the real server with SIGKILL again and again under load, and looks after each restart whether everything
//! that was answered is there and nothing was done twice.

mod client;
mod verify;

use std::{
    collections::HashSet,
    fs, io,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use maitred::{
    Far,
    api::{Answer, Call, Context, LimitInfo, SlotState},
};
use tokio::{task::JoinSet, time::sleep};

use self::{
    client::{Client, NARROW, WIDE},
    verify::Doubts,
};
use crate::{binary, chance, chance::Chance, server::Server};

const LIMITS: &str =
    "[limits.wide]\ncapacity = 1000\nmax_hold = \"1h\"\n\n[limits.narrow]\ncapacity = 8\nmax_hold = \"1h\"\n";

#[derive(clap::Args)]
pub struct Options {
    /// How often the server is killed
    #[arg(long, default_value_t = 40, value_parser = clap::value_parser!(u64).range(1..))]
    rounds: u64,
    /// How many callers there are
    #[arg(long, default_value_t = 24, value_parser = clap::value_parser!(u64).range(1..=500))]
    callers: u64,
    /// Fixes what is called and when the server is killed [default: another one each time]
    #[arg(long)]
    seed: Option<u64>,
    /// A defect to plant: before the last start the journal is put back to an earlier one, which must be seen
    #[arg(long, hide = true)]
    lose: bool,
}

pub fn run(options: Options) -> Result<(), String> {
    let binary = binary::build()?;
    let seed = options.seed.unwrap_or_else(chance::fresh_seed);
    println!("{} rounds, {} callers, seed {seed}", options.rounds, options.callers);
    let temporary = tempfile::Builder::new().prefix("maitred-kill-").tempdir();
    let temporary = temporary.map_err(|error| error.to_string())?;
    let runtime = tokio::runtime::Runtime::new().map_err(|error| error.to_string())?;
    let ended = runtime.block_on(rounds(&options, seed, &binary, temporary.path()));
    runtime.shutdown_background();
    ended.map_err(|why| {
        if options.lose {
            return why;
        }
        let kept = temporary.keep();
        format!("{why}\nseed {seed}; the journal is kept in {}", kept.display())
    })
}

#[derive(Default)]
struct Totals {
    doubts: Doubts,
    acknowledged: u64,
    slowest_start: Duration,
}

async fn rounds(options: &Options, seed: u64, binary: &Path, folder: &Path) -> Result<(), String> {
    let since = Instant::now();
    let mut server = Server::start(binary, folder, LIMITS).await?;
    let far = server.far();
    let mut clients: Vec<Client> =
        (0..options.callers).map(|number| Client::new(far.clone(), number, seed)).collect();
    let mut chance = Chance::new(seed, "kill");
    let mut totals = Totals::default();
    let earlier = folder.join("earlier");
    for round in 1..=options.rounds {
        clients = load_and_kill(clients, &mut server, &mut chance).await?;
        if options.lose && round == options.rounds {
            copy(&earlier, &server.data()).map_err(|error| error.to_string())?;
        } else if options.lose {
            copy(&server.data(), &earlier).map_err(|error| error.to_string())?;
        }
        let took = server.start_again().await.map_err(|why| format!("round {round}: {why}"))?;
        totals.slowest_start = totals.slowest_start.max(took);
        clients = verify(clients, &mut totals).await.map_err(|why| format!("round {round}: {why}"))?;
        together(&far, &clients).await.map_err(|why| format!("round {round}: {why}"))?;
        eprintln!("round {round}: all there after {:.1} s", since.elapsed().as_secs_f64());
    }
    totals.acknowledged = clients.iter().map(|client| client.acknowledged).sum();
    report(options, &totals)
}

/// Everybody calls; after a while the server is killed; everybody notices.
async fn load_and_kill(
    clients: Vec<Client>,
    server: &mut Server,
    chance: &mut Chance,
) -> Result<Vec<Client>, String> {
    let mut loading = JoinSet::new();
    for mut client in clients {
        loading.spawn(async move {
            let ended = client.load().await;
            (client, ended)
        });
    }
    sleep(Duration::from_millis(chance.between(30, 500))).await;
    server.kill().await?;
    in_order(loading).await
}

async fn verify(clients: Vec<Client>, totals: &mut Totals) -> Result<Vec<Client>, String> {
    let mut verifying = JoinSet::new();
    for mut client in clients {
        verifying.spawn(async move {
            let doubts = client.verify().await;
            (client, doubts)
        });
    }
    let mut clients = Vec::new();
    while let Some(joined) = verifying.join_next().await {
        let (client, doubts) = joined.map_err(|error| error.to_string())?;
        let doubts = doubts?;
        totals.doubts.had_happened += doubts.had_happened;
        totals.doubts.had_not += doubts.had_not;
        clients.push(client);
    }
    Ok(clients)
}

async fn in_order(mut set: JoinSet<(Client, Result<(), String>)>) -> Result<Vec<Client>, String> {
    let mut clients = Vec::new();
    while let Some(joined) = set.join_next().await {
        let (client, ended) = joined.map_err(|error| error.to_string())?;
        ended?;
        clients.push(client);
    }
    Ok(clients)
}

/// All callers' knowledge together is the whole state: it must be what the limits show. Nobody calls meanwhile, but
/// settling one caller's doubt may have granted another's slot, so live slots are read once more.
async fn together(far: &Far, clients: &[Client]) -> Result<(), String> {
    let newest = clients.iter().map(|client| client.revision).max().unwrap_or(0);
    let mut fences = HashSet::new();
    for slot in clients.iter().flat_map(|client| &client.slots) {
        if slot.fence.is_some_and(|fence| !fences.insert(fence)) {
            return Err(format!("two grants have the fence of {slot:?}"));
        }
    }
    for name in [WIDE, NARROW] {
        let limit = limit(far, name, newest).await?;
        let slots = || clients.iter().flat_map(|client| &client.slots).filter(|slot| slot.limit == name);
        let busy = slots().filter(|slot| slot.state == SlotState::Busy).count() as u64;
        let others =
            slots().filter(|slot| matches!(slot.state, SlotState::Queued | SlotState::Reserved)).count();
        let shown = limit.reserved + u64::from(limit.waiting);
        if limit.busy != busy || shown != others as u64 || limit.busy + limit.reserved > limit.capacity.into()
        {
            return Err(format!("callers know of {busy} busy and {others} other slots, and {limit:?}"));
        }
    }
    Ok(())
}

/// With the newest revision that anybody was shown: a restart must not go behind it.
async fn limit(far: &Far, name: &str, newest: u64) -> Result<LimitInfo, String> {
    let context = Context { min_revision: Some(newest), ..Context::default() };
    match far.call(&context, Call::Limit { limit: name.to_owned() }).await {
        Ok(Answer::Limit(answer)) if answer.revision >= newest => Ok(answer.limit),
        other => Err(format!("the limit {name} at revision {newest}: {other:?}")),
    }
}

fn copy(from: &Path, to: &PathBuf) -> io::Result<()> {
    if to.exists() {
        fs::remove_dir_all(to)?;
    }
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &to.join(entry.file_name()))?;
        } else {
            fs::copy(entry.path(), to.join(entry.file_name()))?;
        }
    }
    Ok(())
}

/// Kills that never caught a call prove little.
fn report(options: &Options, totals: &Totals) -> Result<(), String> {
    let Doubts { had_happened, had_not } = totals.doubts;
    println!(
        "killed {} times; {} calls were answered, and all of it was there every time; {} calls were in doubt, \
         {had_happened} of them had happened; slowest start {:.2} s",
        options.rounds,
        totals.acknowledged,
        had_happened + had_not,
        totals.slowest_start.as_secs_f64()
    );
    match had_happened + had_not {
        0 => Err("no kill caught a call under way, so nothing was proven".to_owned()),
        _ => Ok(()),
    }
}
