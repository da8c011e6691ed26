//! What waiting runs cost.

use std::{
    collections::HashSet,
    fs,
    time::{Duration, Instant, SystemTime},
};

use maitred::{Client, Maitred};
use serde_json::json;
use tokio::time::sleep;

use super::{
    LIMIT,
    calls::Calls,
    host::{Host, Poster},
    waiting,
};
use crate::server::Server;

const WATCHED: Duration = Duration::from_secs(30);
const GRANTS: u64 = 50;

pub async fn measure(runs: u64, server: Server, mut host: Host) -> Result<(), String> {
    let limiter = Maitred::new(Client::Far(server.far())).map_err(|error| error.to_string())?;
    limiter.set_capacity(LIMIT, 1).await.map_err(|problem| problem.to_string())?;
    let (poster, calls) = (host.poster(), Calls::new(host.calls(), host.poster(), 0));
    poster.start("place_call", "held", json!({ "callId": "held" })).await;
    let mut slot = slot_of(&poster, "held").await?;
    let since = Instant::now();
    for number in 0..runs {
        let call = format!("call-{number}");
        poster.start("place_call", &call, json!({ "callId": call })).await;
    }
    while u64::from(waiting(&server).await?) < runs {
        sleep(Duration::from_millis(50)).await;
    }
    println!("{runs} runs started and waiting after {:.1} s", since.elapsed().as_secs_f64());
    sleep(Duration::from_secs(5)).await;
    println!("they cost {:.1} % of a core just after that", share(&host).await?);

    host.kill().await?;
    let killed = Instant::now();
    host.start_again().await?;
    let up = killed.elapsed();
    release(&limiter, &slot).await?;
    let mut known = HashSet::from(["held".to_owned()]);
    let (mut call, _) = calls.another(&mut known).await;
    println!(
        "after kill -9: up in {} ms, a grant was a step {} ms after the kill",
        up.as_millis(),
        killed.elapsed().as_millis()
    );
    sleep(Duration::from_secs(20)).await;
    println!("they cost {:.1} % of a core {} s after the kill", share(&host).await?, 20);

    let mut waits = Vec::new();
    for _ in 0..GRANTS.min(runs.saturating_sub(1)) {
        slot = slot_of(&poster, &call).await?;
        let released = SystemTime::now();
        release(&limiter, &slot).await?;
        let (next, dialled) = calls.another(&mut known).await;
        waits.push(dialled.duration_since(released).unwrap_or_default());
        call = next;
    }
    waits.sort();
    let at = |share: usize| waits.get(waits.len() * share / 100).map_or(0, Duration::as_millis);
    println!("grant to next step over {} grants: median {} ms, p95 {} ms", waits.len(), at(50), at(95));
    Ok(())
}

async fn slot_of(poster: &Poster, run: &str) -> Result<String, String> {
    let placed = poster.until_ended(run).await?;
    placed["slotId"].as_str().map(str::to_owned).ok_or(format!("{run} has no slot"))
}

async fn release(limiter: &Maitred, slot: &str) -> Result<(), String> {
    let slot = maitred::SlotId::parse(slot).map_err(|error| error.to_string())?;
    limiter.release(&slot).await.map(drop).map_err(|problem| problem.to_string())
}

/// The processor time of the program, in hundredths of a core.
async fn share(host: &Host) -> Result<f64, String> {
    let ticks = || {
        let id = host.process_id().ok_or("the program is not there")?;
        let stat = fs::read_to_string(format!("/proc/{id}/stat")).map_err(|error| error.to_string())?;
        let fields = stat.rsplit_once(')').map_or("", |(_, rest)| rest).split_whitespace();
        // utime and stime, in hundredths of a second.
        Ok::<u64, String>(fields.skip(11).take(2).filter_map(|field| field.parse::<u64>().ok()).sum())
    };
    let before = ticks()?;
    sleep(WATCHED).await;
    Ok((ticks()? - before) as f64 / WATCHED.as_secs_f64())
}
