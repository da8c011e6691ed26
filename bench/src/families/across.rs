//! What servers on one journal cost each other: how long a grant takes from the one that decides it to the one where its
//! caller hangs, and what they write when nobody asks anything.

use std::{
    thread::sleep,
    time::{Duration, Instant},
};

use tokio::task::JoinSet;

use super::{Family, waiting::Line};
use crate::{
    figure::{Figure, Target, Trouble, check},
    ids::{ID_BYTES, Ids, limit, text},
    load::{Caller, Connection, answer::Answer, template::post},
    pairs::{Spread, quantile},
    process::{Maitred, limits_toml},
    report::Report,
    rivals::postgres::Postgres,
    scene::Scene,
};

pub const FAMILY: Family = Family {
    name: "across-nodes",
    figures: &[
        Figure {
            name: "advance_per_due_instant",
            unit: "records",
            target: Target::AtMost(1.2),
            what: "slots expire 60 ms apart, three servers look on: records written for each",
        },
        Figure {
            name: "cross_node_grant_ms",
            unit: "ms",
            target: Target::AtMost(5.0),
            what: "from a release at one server to the next holder's long poll answered at another, journal in PostgreSQL: median",
        },
        Figure {
            name: "cross_node_grant_p99_ms",
            unit: "ms",
            target: Target::AtMost(20.0),
            what: "the same: 99th percentile",
        },
        Figure {
            name: "cross_node_grant_polling_ms",
            unit: "ms",
            target: Target::AtMost(50.0),
            what: "the same without notifications, as if every one were lost: 99th percentile",
        },
        Figure {
            name: "idle_records",
            unit: "records",
            target: Target::AtMost(0.0),
            what: "written by three servers in a minute in which 10,000 slots are held and nobody asks anything",
        },
    ],
    run,
};

const GAP: Duration = Duration::from_millis(60);
/// Between two grants, so that one is not measured together with what the one before it left to do.
const PAUSE: Duration = Duration::from_millis(5);
const EXPIRED_WITHIN: Duration = Duration::from_secs(60);
const OTHERS_WAIT: usize = 5;
/// Of the limit whose slots expire by themselves.
const BRIEF: u64 = 1;
/// Of the limit whose slots are held.
const WIDE: u64 = 2;
const WIDE_CAPACITY: u64 = 10_000;
const AT_ONCE: usize = 50;

fn run(scene: &Scene, report: &mut Report) -> Result<(), Trouble> {
    let (folder, store) = (scene.scratch()?, Postgres::start(scene)?);
    let node = |name: &str, journal: &str| {
        Maitred::start_on(scene, &folder.path().join(name), journal, &limits(scene))
    };
    let url = store.journal("told");
    let three = [node("a", &url)?, node("b", &url)?, node("c", &url)?];
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let told = Journal { store: &store, name: "told" };
    let advances = advances(scene, &runtime, &three, &told)?;
    report.put("advance_per_due_instant", Spread::of(vec![advances]));
    let grants = runtime.block_on(grants(scene, &three[0], &three[1]))?;
    report.put("cross_node_grant_ms", grants.at(0.5));
    report.put("cross_node_grant_p99_ms", grants.at(0.99));
    let records = idle(scene, &runtime, &three, &told)?;
    report.put("idle_records", Spread::of(vec![records]));
    drop(three);
    let url = format!("{}&notify=off", store.journal("polled"));
    let two = [node("d", &url)?, node("e", &url)?];
    let grants = runtime.block_on(self::grants(scene, &two[0], &two[1]))?;
    report.put("cross_node_grant_polling_ms", grants.at(0.99));
    Ok(())
}

fn instants(scene: &Scene) -> u64 {
    if scene.quick { 20 } else { 100 }
}

/// The first is the one whose slot is passed on.
fn limits(scene: &Scene) -> String {
    // All are taken before the first expires.
    let hold_ms = 2_000 + 2 * instants(scene) * GAP.as_millis() as u64;
    let named = |number, capacity, hold: &str| {
        format!("[limits.{}]\ncapacity = {capacity}\nmax_hold = \"{hold}\"\n\n", limit(number))
    };
    limits_toml(1, 1)
        + &named(BRIEF, instants(scene), &format!("{hold_ms}ms"))
        + &named(WIDE, WIDE_CAPACITY, "2h")
}

struct Journal<'a> {
    store: &'a Postgres,
    name: &'a str,
}

impl Journal<'_> {
    fn records(&self) -> Result<f64, Trouble> {
        let count = self.store.say(&format!("SELECT count(*) FROM {}.records", self.name))?;
        count.parse().map_err(|_| Trouble::Wrong(format!("PostgreSQL counts {count:?} records")))
    }
}

/// Records for each instant at which something was due.
fn advances(
    scene: &Scene,
    runtime: &tokio::runtime::Runtime,
    nodes: &[Maitred],
    journal: &Journal<'_>,
) -> Result<f64, Trouble> {
    let instants = instants(scene);
    runtime.block_on(async {
        for number in 0..instants as usize {
            take(nodes[number % nodes.len()].addr, BRIEF, 1).await?;
            tokio::time::sleep(GAP).await;
        }
        Ok::<_, Trouble>(())
    })?;
    let before = journal.records()?;
    let held = || nodes[0].counter("maitred_limit_slots");
    check(held()? as u64 == instants, || "some expired while others were still taken".to_owned())?;
    let since = Instant::now();
    while held()? > 0.0 {
        check(since.elapsed() < EXPIRED_WITHIN, || "not all expired".to_owned())?;
        sleep(Duration::from_millis(100));
    }
    // Whoever would say it once more has done so by then.
    sleep(Duration::from_millis(500));
    Ok((journal.records()? - before) / instants as f64)
}

/// What is written while nothing is asked.
fn idle(
    scene: &Scene,
    runtime: &tokio::runtime::Runtime,
    nodes: &[Maitred],
    journal: &Journal<'_>,
) -> Result<f64, Trouble> {
    let (slots, time) = match scene.quick {
        true => (500, Duration::from_secs(5)),
        false => (WIDE_CAPACITY as usize, Duration::from_secs(60)),
    };
    runtime.block_on(async {
        let mut taking = JoinSet::new();
        for number in 0..AT_ONCE {
            taking.spawn(take(nodes[number % nodes.len()].addr, WIDE, slots / AT_ONCE));
        }
        while let Some(taken) = taking.join_next().await {
            taken.map_err(|error| Trouble::Wrong(error.to_string()))??;
        }
        Ok::<_, Trouble>(())
    })?;
    // Whoever hung on a line has been heard to be gone by then.
    sleep(Duration::from_secs(2));
    let before = journal.records()?;
    sleep(time);
    Ok(journal.records()? - before)
}

/// So many slots, one after the other, which nobody gives back.
async fn take(addr: std::net::SocketAddr, limit: u64, slots: usize) -> Result<(), Trouble> {
    let mut connection =
        Connection::open(addr, Takes { ids: Ids::new(), limit, slot: [0; ID_BYTES] }).await?;
    for _ in 0..slots {
        connection.call().await?;
    }
    Ok(())
}

struct Takes {
    ids: Ids,
    limit: u64,
    slot: [u8; ID_BYTES],
}

impl Caller for Takes {
    fn ask(&mut self, out: &mut Vec<u8>) {
        self.slot = self.ids.fresh();
        let (slot, limit) = (text(&self.slot), limit(self.limit));
        let body = format!(r#"{{"slot":"{slot}","limit":"{limit}","confirm":"auto"}}"#);
        out.extend_from_slice(post("/v1/slots", None, &body).as_bytes());
    }

    fn judge(&mut self, answer: &Answer<'_>) -> bool {
        answer.is_ok_with(r#""state":"busy""#) && answer.is_ok_with(text(&self.slot))
    }
}

/// Milliseconds of each grant, in order of length, a list for each turn.
struct Grants(Vec<Vec<f64>>);

impl Grants {
    fn at(&self, share: f64) -> Spread {
        Spread::of(self.0.iter().map(|turn| quantile(turn, share)).collect())
    }
}

async fn grants(scene: &Scene, waits_at: &Maitred, gives_at: &Maitred) -> Result<Grants, Trouble> {
    let mut line = Line::open(waits_at, gives_at, OTHERS_WAIT).await?;
    line.pause = PAUSE;
    let mut turns = Vec::new();
    for turn in 0..=scene.repetitions() {
        let took = line.turn(if scene.quick { 50 } else { 200 }).await?;
        // The first warms up.
        turns.extend((turn > 0).then_some(took));
    }
    Ok(Grants(turns))
}
