//! The whole server over HTTP, every answer synced, against a route of the same library that echoes the same JSON.

use std::{process::Command, time::Duration};

use super::Family;
use crate::{
    figure::{Figure, Target, Trouble, check},
    load::{
        Caller, Load,
        callers::{AdmitBatches, Admits, TakeAndGive},
    },
    pairs::{Spread, pairs},
    process::{Maitred, Process, free_addr, get},
    report::Report,
    rivals::redis::{Fsync, Redis},
    scene::Scene,
};

pub const TAKE_AND_GIVE: Family = Family {
    name: "http-acquire-release",
    figures: &[Figure {
        name: "http_acquire_release_vs_echo",
        unit: "ratio",
        target: Target::AtLeast(0.5),
        what: "acquire and release in turn, calls/s over 256 connections and 100 limits, against axum echoing the same JSON",
    }],
    run: take_and_give,
};

pub const ADMIT: Family = Family {
    name: "http-admit",
    figures: &[Figure {
        name: "http_admit_vs_echo",
        unit: "ratio",
        target: Target::AtLeast(0.6),
        what: "admissions/s over 256 connections and 10,000 keys, against axum echoing the same JSON",
    }],
    run: admit,
};

pub const BATCH: Family = Family {
    name: "http-batch",
    figures: &[
        Figure {
            name: "batch_admit_per_s",
            unit: "decisions/s",
            target: Target::AtLeast(300_000.0),
            what: "/v1/batch of 64 admissions over 64 connections, synced",
        },
        Figure {
            name: "batch_vs_redis_pipeline",
            unit: "ratio",
            target: Target::AtLeast(1.0),
            what: "those, against a fixed window in Redis Lua (appendfsync always), 64 connections, pipelines of 64",
        },
    ],
    run: batch,
};

pub const CONNECTIONS: usize = 256;
pub const LIMITS: u64 = 100;
pub const CAPACITY: u64 = 1_000;

fn take_and_give(scene: &Scene, report: &mut Report) -> Result<(), Trouble> {
    let (folder, echo) = (scene.scratch()?, Echo::start(scene)?);
    let maitred = Maitred::start(scene, folder.path(), LIMITS, CAPACITY)?;
    let make = |connection| TakeAndGive::new(connection, LIMITS);
    let ours = || {
        let load = Load { servers: maitred.addrs(), connections: CONNECTIONS, time: scene.turn() };
        counted(&maitred, "maitred_grants_total", 0.5, &load, make)
    };
    let pairs = pairs(scene.repetitions(), ours, || echo.turn(scene.turn(), make))?;
    report.put_pairs("http_acquire_release_vs_echo", &pairs);
    Ok(())
}

fn admit(scene: &Scene, report: &mut Report) -> Result<(), Trouble> {
    let (folder, echo) = (scene.scratch()?, Echo::start(scene)?);
    let maitred = Maitred::start(scene, folder.path(), 1, 1)?;
    let ours = || {
        let load = Load { servers: maitred.addrs(), connections: CONNECTIONS, time: scene.turn() };
        counted(&maitred, "maitred_rate_decisions_total", 1.0, &load, Admits::new)
    };
    let pairs = pairs(scene.repetitions(), ours, || echo.turn(scene.turn(), Admits::new))?;
    report.put_pairs("http_admit_vs_echo", &pairs);
    Ok(())
}

fn batch(scene: &Scene, report: &mut Report) -> Result<(), Trouble> {
    let folder = scene.scratch()?;
    let maitred = Maitred::start(scene, folder.path(), 1, 1)?;
    let items = AdmitBatches::ITEMS as f64;
    let ours = || {
        let load = Load { servers: maitred.addrs(), connections: 64, time: scene.turn() };
        Ok(items * counted(&maitred, "maitred_rate_decisions_total", items, &load, AdmitBatches::new)?)
    };
    let redis = match Redis::start(scene, Fsync::Always) {
        Ok(redis) => redis,
        Err(trouble) => {
            let alone: Result<Vec<f64>, Trouble> =
                (0..=scene.repetitions()).map(|_| ours()).skip(1).collect();
            report.put("batch_admit_per_s", Spread::of(alone?));
            return Err(trouble);
        }
    };
    let windows = redis.windows()?;
    let pairs = pairs(scene.repetitions(), ours, || windows.turn(64, 64, scene.turn()))?;
    report.put("batch_admit_per_s", pairs.ours);
    report.put_pairs("batch_vs_redis_pipeline", &pairs);
    Ok(())
}

/// Calls a second; the server must have counted as much as was answered.
pub fn counted<C: Caller>(
    maitred: &Maitred,
    counter: &str,
    each: f64,
    load: &Load<'_>,
    make: impl Fn(usize) -> C + Sync,
) -> Result<f64, Trouble> {
    let before = maitred.counter(counter)?;
    let done = load.run(make)?;
    let counted = maitred.counter(counter)? - before;
    let answered = done.calls as f64 * each;
    check(counted == answered, || format!("{answered} were answered, and {counter} says {counted}"))?;
    Ok(done.calls_per_s)
}

/// The yardstick in a process of its own.
struct Echo {
    _process: Process,
    addr: std::net::SocketAddr,
    _folder: tempfile::TempDir,
}

impl Echo {
    fn start(scene: &Scene) -> Result<Echo, Trouble> {
        let (folder, addr) = (scene.scratch()?, free_addr()?);
        let mut command = Command::new(std::env::current_exe()?.with_file_name("maitred-echo"));
        command.arg(addr.to_string());
        let mut process = Process::start(&mut command, folder.path().join("echo.log"))?;
        process.until(|| get(addr, "/readyz").is_ok_and(|answer| answer.starts_with("HTTP/1.1 200")))?;
        Ok(Echo { _process: process, addr, _folder: folder })
    }

    fn turn<C: Caller>(&self, time: Duration, make: impl Fn(usize) -> C + Sync) -> Result<f64, Trouble> {
        let load = Load { servers: std::slice::from_ref(&self.addr), connections: CONNECTIONS, time };
        Ok(load.run(make)?.calls_per_s)
    }
}
