//! Servers of two versions side by side: one after another is replaced by one that knows newer rules, under load.
//!
//! The newer version is the same program, built with the feature `next-rules` of the engine: it says that it knows one
//! version of the rules more. What must hold:
//!
//! 1. While an old server lives, the rules in force stay as they are.
//! 2. Once all can, they rise, and every server follows.
//! 3. An old server that stood still meanwhile, and one that is started afterwards, end and say what they need.

use std::{
    fs,
    path::PathBuf,
    time::{Duration, Instant},
};

use tempfile::TempDir;
use tokio::time::sleep;

use super::{
    Options,
    caller::Callers,
    judged, limits,
    stage::{JOURNAL, Stage},
};
use crate::{binary, server::Server};

/// What an old server says.
const NEEDS_NEWER: &str = "are newer than this binary knows; start the newer binary";
/// A server that is gone is taken for dead after some five seconds, on a machine with nothing else to do.
const RISE_WITHIN: Duration = Duration::from_secs(60);

pub async fn run(options: &Options, seed: u64) -> Result<(), String> {
    let (_kept, newer) = newer()?;
    let older = binary::build()?;
    let mut stage = Stage::set(options, &older, &limits()).await?;
    let callers = Callers::begin(&stage, options.callers, seed)?;
    let more = stage.servers.len() as u8;
    let mut left_behind = stage.server(more, &older, &limits(), JOURNAL).await?;
    let old_rules = rules(&stage.servers[0]).await?;
    for number in 0..stage.servers.len() {
        sleep(Duration::from_secs(2)).await;
        stays(&stage, old_rules).await?;
        stage.servers[number].end().await?;
        stage.servers[number].replace(&newer);
        stage.servers[number].start_again().await?;
    }
    // The last old one has a say for as long as it lives.
    sleep(Duration::from_secs(8)).await;
    stays(&stage, old_rules).await?;
    left_behind.pause(true)?;
    let since = Instant::now();
    for server in &stage.servers {
        rises(server, old_rules + 1, since).await?;
    }
    println!(
        "rules {} in force {:.1} s after the last old server fell silent",
        old_rules + 1,
        since.elapsed().as_secs_f64()
    );
    left_behind.pause(false)?;
    ends(&mut left_behind).await?;
    refused(stage.server(more + 1, &older, &limits(), JOURNAL).await)?;
    let made = callers.end().await?;
    if let Some(why) = stage.ended_by_itself() {
        return Err(why);
    }
    match judged(&made)?.releases {
        0..50 => Err("too little went on to prove anything".to_owned()),
        _ => Ok(()),
    }
}

/// The newer version, copied to where the next build does not overwrite it.
fn newer() -> Result<(TempDir, PathBuf), String> {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let (copy, built) = (folder.path().join("maitred-newer"), binary::build_newer()?);
    fs::copy(&built, &copy).map_err(|error| format!("{}: {error}", built.display()))?;
    Ok((folder, copy))
}

async fn rules(server: &Server) -> Result<u64, String> {
    server.gauge("maitred_rules").await
}

async fn stays(stage: &Stage, old_rules: u64) -> Result<(), String> {
    for server in &stage.servers {
        let found = rules(server).await?;
        if found != old_rules {
            return Err(format!("rules {found} are in force although an old server lives"));
        }
    }
    Ok(())
}

async fn rises(server: &Server, new_rules: u64, since: Instant) -> Result<(), String> {
    while rules(server).await? != new_rules {
        if since.elapsed() > RISE_WITHIN {
            return Err(format!("every server can follow rules {new_rules}, and they are not in force"));
        }
        sleep(Duration::from_millis(100)).await;
    }
    Ok(())
}

/// It reads of rules that it does not know.
async fn ends(left_behind: &mut Server) -> Result<(), String> {
    let since = Instant::now();
    while since.elapsed() < RISE_WITHIN {
        match left_behind.ended_by_itself() {
            Some(why) if why.contains(NEEDS_NEWER) => return Ok(()),
            Some(why) => return Err(format!("an old server ended for another reason: {why}")),
            None => sleep(Duration::from_millis(100)).await,
        }
    }
    Err("an old server goes on under rules that it does not know".to_owned())
}

fn refused(started: Result<Server, String>) -> Result<(), String> {
    match started {
        Ok(_) => Err("an old server was started under rules that it does not know".to_owned()),
        Err(why) if why.contains(NEEDS_NEWER) => Ok(()),
        Err(why) => Err(format!("an old server that is started late does not say what it needs: {why}")),
    }
}
