//! Against what people use today, each as real servers on this machine.
//!
//! Two commands are a pair: a slot is taken and given back. Connections are equal; each rival is driven by its own
//! tool, in C and cheaper than our load generator, so what is left of two cores for its server is more.

use super::{
    Family,
    http::{CAPACITY, CONNECTIONS, LIMITS, counted},
};
use crate::{
    figure::{Figure, Target, Trouble},
    load::{
        Load,
        callers::{Admits, TakeAndGive, Throttles},
    },
    pairs::pairs,
    process::Maitred,
    report::Report,
    rivals::{
        postgres::Postgres,
        redis::{Fsync, Redis},
        throttlecrab::Throttlecrab,
    },
    scene::Scene,
};

pub const REDIS: Family = Family {
    name: "versus-redis",
    figures: &[
        Figure {
            name: "vs_redis_lua_always",
            unit: "ratio",
            target: Target::AtLeast(1.0),
            what: "acquire+release pairs/s over 64 connections and 100 limits, against a lease semaphore in Redis Lua, appendfsync always",
        },
        Figure {
            name: "vs_redis_lua_everysec",
            unit: "ratio",
            target: Target::None,
            what: "the same with appendfsync everysec, which may lose the last second",
        },
    ],
    run: redis,
};

pub const POSTGRES: Family = Family {
    name: "versus-postgres",
    figures: &[Figure {
        name: "vs_postgres_row_lock",
        unit: "ratio",
        target: Target::AtLeast(1.0),
        what: "acquire+release pairs/s over 64 connections and 100 limits, against row locks and a table of slots in PostgreSQL (pgbench)",
    }],
    run: postgres,
};

pub const THROTTLECRAB: Family = Family {
    name: "versus-throttlecrab",
    figures: &[Figure {
        name: "vs_throttlecrab_http",
        unit: "ratio",
        target: Target::AtLeast(0.8),
        what: "admissions/s over 256 connections and 10,000 keys, synced, against throttlecrab-server, which keeps nothing",
    }],
    run: throttlecrab,
};

pub const RIVAL_CONNECTIONS: usize = 64;

fn redis(scene: &Scene, report: &mut Report) -> Result<(), Trouble> {
    let folder = scene.scratch()?;
    let maitred = Maitred::start(scene, folder.path(), LIMITS, CAPACITY)?;
    for (name, fsync) in
        [("vs_redis_lua_always", Fsync::Always), ("vs_redis_lua_everysec", Fsync::EverySecond)]
    {
        let redis = Redis::start(scene, fsync)?;
        let semaphore = redis.semaphores()?;
        let theirs = || Ok(semaphore.turn(RIVAL_CONNECTIONS, 1, scene.turn())? / 2.0);
        let pairs = pairs(scene.repetitions(), || pairs_a_second(scene, &maitred, LIMITS), theirs)?;
        report.put_pairs(name, &pairs);
    }
    Ok(())
}

fn postgres(scene: &Scene, report: &mut Report) -> Result<(), Trouble> {
    let folder = scene.scratch()?;
    let maitred = Maitred::start(scene, folder.path(), LIMITS, CAPACITY)?;
    let postgres = Postgres::start(scene)?;
    let row_locks = postgres.row_locks(LIMITS)?;
    let theirs = || row_locks.turn(RIVAL_CONNECTIONS, scene.turn());
    let pairs = pairs(scene.repetitions(), || pairs_a_second(scene, &maitred, LIMITS), theirs)?;
    report.put_pairs("vs_postgres_row_lock", &pairs);
    Ok(())
}

fn throttlecrab(scene: &Scene, report: &mut Report) -> Result<(), Trouble> {
    let folder = scene.scratch()?;
    let maitred = Maitred::start(scene, folder.path(), 1, 1)?;
    let throttlecrab = Throttlecrab::start(scene)?;
    let load = Load { servers: maitred.addrs(), connections: CONNECTIONS, time: scene.turn() };
    let ours = || counted(&maitred, "maitred_rate_decisions_total", 1.0, &load, Admits::new);
    let load = Load { servers: std::slice::from_ref(&throttlecrab.addr), ..load };
    let theirs = || Ok(load.run(Throttles::new)?.calls_per_s);
    report.put_pairs("vs_throttlecrab_http", &pairs(scene.repetitions(), ours, theirs)?);
    Ok(())
}

/// Slots of so many limits taken and given back.
pub fn pairs_a_second(scene: &Scene, maitred: &Maitred, limits: u64) -> Result<f64, Trouble> {
    let load = Load { servers: maitred.addrs(), connections: RIVAL_CONNECTIONS, time: scene.turn() };
    let calls =
        counted(maitred, "maitred_grants_total", 0.5, &load, |number| TakeAndGive::new(number, limits))?;
    Ok(calls / 2.0)
}
