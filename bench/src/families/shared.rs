//! The server with its journal in a store that several servers share: against the same server on its own disk, three of
//! them against one, and against what one would build on that database without us.
//!
//! Store, servers and load generator share the machine's cores, as everywhere here: three servers do the work of one
//! three times over, since each applies every record.

use std::{net::SocketAddr, path::Path, time::Duration};

use maitred_testbed::Nats;

use super::{
    Family,
    http::{CAPACITY, CONNECTIONS, LIMITS},
    versus::{RIVAL_CONNECTIONS, pairs_a_second},
};
use crate::{
    figure::{Figure, Target, Trouble},
    load::{Done, Load, callers::TakeAndGive},
    pairs::{Pairs, Spread, in_turn, pairs},
    process::{Maitred, limits_toml},
    report::Report,
    rivals::postgres::Postgres,
    scene::Scene,
};

pub const POSTGRES: Family = Family {
    name: "shared-postgres",
    figures: &[
        Figure {
            name: "pg_node_vs_local",
            unit: "ratio",
            target: Target::AtLeast(0.7),
            what: "acquire and release in turn, calls/s over 256 connections and 100 limits: journal in PostgreSQL against journal on the disk",
        },
        Figure {
            name: "pg_three_nodes_vs_one",
            unit: "ratio",
            target: Target::AtLeast(0.6),
            what: "the same, 256 connections over three servers on one PostgreSQL against 256 to one",
        },
        Figure {
            name: "pg_three_nodes_least_share",
            unit: "share",
            target: Target::AtLeast(0.2),
            what: "of the calls of those three, what the one with the fewest answered",
        },
        Figure {
            name: "pg_three_nodes_p99_vs_one",
            unit: "times",
            target: Target::AtMost(4.0),
            what: "their 99th percentile against that of the one",
        },
    ],
    run: postgres,
};

pub const NATS: Family = Family {
    name: "shared-nats",
    figures: &[Figure {
        name: "nats_node_vs_local",
        unit: "ratio",
        target: Target::AtLeast(0.6),
        what: "as pg_node_vs_local, with the journal in NATS JetStream, sync_interval always",
    }],
    run: nats,
};

pub const ROW_LOCKS: Family = Family {
    name: "shared-row-locks",
    figures: &[
        Figure {
            name: "pg_vs_row_lock_hot",
            unit: "ratio",
            target: Target::AtLeast(5.0),
            what: "acquire+release pairs/s of one limit over 64 connections, journal in PostgreSQL, against row locks on the same server (pgbench)",
        },
        Figure {
            name: "pg_vs_row_lock_100",
            unit: "ratio",
            target: Target::AtLeast(2.0),
            what: "the same over 100 limits",
        },
    ],
    run: row_locks,
};

const GRANTS: &str = "maitred_grants_total";
/// What one server has answered, the others have read by then.
const READ_WITHIN: Duration = Duration::from_secs(5);

fn postgres(scene: &Scene, report: &mut Report) -> Result<(), Trouble> {
    let (folder, store) = (scene.scratch()?, Postgres::start(scene)?);
    let limits = limits_toml(LIMITS, CAPACITY);
    let node = |name: &str, journal: &str| {
        Maitred::start_on(scene, &folder.path().join(name), &store.journal(journal), &limits)
    };
    let one = [node("one", "alone")?];
    report.put_pairs("pg_node_vs_local", &against_local(scene, folder.path(), &one)?);
    let three = [node("a", "together")?, node("b", "together")?, node("c", "together")?];
    let (ours, theirs) = in_turn(scene.repetitions(), || turn(scene, &three), || turn(scene, &one))?;
    let rates = |turns: &[Done]| turns.iter().map(|turn| turn.calls_per_s).collect();
    let p99s = |turns: &[Done]| turns.iter().map(|turn| turn.p99_ms).collect();
    let shares = ours.iter().map(least_share).collect();
    report.put_pairs("pg_three_nodes_vs_one", &Pairs::of(rates(&ours), rates(&theirs)));
    report.put("pg_three_nodes_least_share", Spread::of(shares));
    report.put_pairs("pg_three_nodes_p99_vs_one", &Pairs::of(p99s(&ours), p99s(&theirs)));
    Ok(())
}

fn nats(scene: &Scene, report: &mut Report) -> Result<(), Trouble> {
    let (folder, store) = (scene.scratch()?, scene.scratch()?);
    let nats = Nats::start_in(store).map_err(Trouble::Absent)?;
    let limits = limits_toml(LIMITS, CAPACITY);
    let node = [Maitred::start_on(scene, &folder.path().join("one"), &nats.url("limits"), &limits)?];
    report.put_pairs("nats_node_vs_local", &against_local(scene, folder.path(), &node)?);
    Ok(())
}

fn row_locks(scene: &Scene, report: &mut Report) -> Result<(), Trouble> {
    let (folder, store) = (scene.scratch()?, Postgres::start(scene)?);
    let limits = limits_toml(LIMITS, CAPACITY);
    let node = Maitred::start_on(scene, &folder.path().join("node"), &store.journal("limits"), &limits)?;
    for (name, limits) in [("pg_vs_row_lock_hot", 1), ("pg_vs_row_lock_100", LIMITS)] {
        let row_locks = store.row_locks(limits)?;
        let theirs = || row_locks.turn(RIVAL_CONNECTIONS, scene.turn());
        let pairs = pairs(scene.repetitions(), || pairs_a_second(scene, &node, limits), theirs)?;
        report.put_pairs(name, &pairs);
    }
    Ok(())
}

/// Against the same server with its journal in this folder.
fn against_local(scene: &Scene, folder: &Path, node: &[Maitred]) -> Result<Pairs, Trouble> {
    let local = [Maitred::start(scene, folder, LIMITS, CAPACITY)?];
    let rate = |servers| Ok(turn(scene, servers)?.calls_per_s);
    pairs(scene.repetitions(), || rate(node), || rate(&local))
}

/// Slots taken and given back over all of these servers, which share a journal if they are several.
fn turn(scene: &Scene, servers: &[Maitred]) -> Result<Done, Trouble> {
    let addrs: Vec<SocketAddr> = servers.iter().map(|server| server.addr).collect();
    let load = Load { servers: &addrs, connections: CONNECTIONS, time: scene.turn() };
    let before = servers[0].counter(GRANTS)?;
    let done = load.run(|connection| TakeAndGive::new(connection, LIMITS))?;
    // Each of them counts what is in the journal, whoever put it there. Every second call was an acquire.
    servers[0].until_counted(GRANTS, before + done.calls as f64 / 2.0, READ_WITHIN)?;
    Ok(done)
}

fn least_share(done: &Done) -> f64 {
    let least = done.by_server.iter().copied().min().unwrap_or(0);
    least as f64 / done.calls as f64
}
