//! Ten thousand callers on the line for one limit: how long a release takes to reach the next of them, whether it
//! wakes nobody else, and what they cost in memory.
//!
//! One slot is held. It is given back; whoever is first in line hears of it on the call that hangs, and asks again for
//! a new slot at the end of the line, so always as many wait. From the release being sent to the grant being heard is
//! what is timed.

use std::time::{Duration, Instant};

use tokio::{
    sync::mpsc,
    task::JoinSet,
    time::{sleep, timeout},
};

use super::Family;
use crate::{
    figure::{Figure, Target, Trouble, check},
    ids::{ID_BYTES, Ids, limit, text},
    load::{Caller, Connection, answer::Answer, template::post},
    pairs::{Spread, quantile},
    process::Maitred,
    report::Report,
    scene::Scene,
};

pub const FAMILY: Family = Family {
    name: "waiting",
    figures: &[
        Figure {
            name: "grant_p50_ms",
            unit: "ms",
            target: Target::AtMost(2.0),
            what: "from a release to the next holder's long poll answered, 10,000 others waiting: median",
        },
        Figure {
            name: "grant_p99_ms",
            unit: "ms",
            target: Target::AtMost(10.0),
            what: "the same: 99th percentile",
        },
        Figure {
            name: "long_polls_10k_mb",
            unit: "MB",
            target: Target::AtMost(300.0),
            what: "resident memory of the server with 10,000 long polls open",
        },
    ],
    run,
};

const ANSWER_WITHIN: Duration = Duration::from_secs(20);

fn run(scene: &Scene, report: &mut Report) -> Result<(), Trouble> {
    let others = if scene.quick { 1_000 } else { 10_000 };
    let folder = scene.scratch()?;
    let maitred = Maitred::start(scene, folder.path(), 1, 1)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let turns = runtime.block_on(async {
        let mut line = Line::open(&maitred, &maitred, others).await?;
        let memory = maitred.process.resident_bytes()?;
        let mut turns = Vec::new();
        for turn in 0..=scene.repetitions() {
            let took = line.turn(if scene.quick { 50 } else { 400 }).await?;
            // The first warms up.
            turns.extend((turn > 0).then_some(took));
        }
        line.nobody_else_was_told().await?;
        Ok::<_, Trouble>((turns, memory))
    });
    let (turns, memory) = turns?;
    let of = |share| Spread::of(turns.iter().map(|turn: &Vec<f64>| quantile(turn, share)).collect());
    report.put("grant_p50_ms", of(0.5));
    report.put("grant_p99_ms", of(0.99));
    report.put("long_polls_10k_mb", Spread::of(vec![memory as f64 / 1e6]));
    Ok(())
}

struct Granted {
    slot: [u8; ID_BYTES],
    at: Instant,
}

/// Who waits for the one slot of the first limit, and who holds it.
pub struct Line {
    _waiting: JoinSet<Result<(), Trouble>>,
    heard: mpsc::UnboundedReceiver<Result<Granted, Trouble>>,
    gives: Connection<Gives>,
    holder: [u8; ID_BYTES],
    /// Between a grant and the next release.
    pub pause: Duration,
}

impl Line {
    /// One holds, `others` and one more wait, each on a call of its own; the slot is given back at `gives_at`.
    pub async fn open(maitred: &Maitred, gives_at: &Maitred, others: usize) -> Result<Line, Trouble> {
        let (told, mut heard) = mpsc::unbounded_channel();
        let mut waiting = JoinSet::new();
        for number in 0..others + 2 {
            let mut connection = Connection::open(maitred.addr, Waits::new()).await?;
            let told = told.clone();
            connection.ask().await?;
            waiting.spawn(async move { wait_in_turn(connection, &told).await });
            if number % 100 == 0 {
                until_waiting(maitred, number).await?;
            }
        }
        until_waiting(maitred, others + 1).await?;
        let first = next(&mut heard).await?;
        let gives = Connection::open(gives_at.addr, Gives { slot: first.slot }).await?;
        Ok(Line { _waiting: waiting, heard, gives, holder: first.slot, pause: Duration::ZERO })
    }

    /// Milliseconds of so many grants, in order of length.
    pub async fn turn(&mut self, grants: usize) -> Result<Vec<f64>, Trouble> {
        let mut took = Vec::with_capacity(grants);
        for _ in 0..grants {
            if !self.pause.is_zero() {
                sleep(self.pause).await;
            }
            self.gives.caller.slot = self.holder;
            let since = Instant::now();
            self.gives.call().await?;
            let granted = next(&mut self.heard).await?;
            took.push((granted.at - since).as_secs_f64() * 1e3);
            self.holder = granted.slot;
        }
        took.sort_by(f64::total_cmp);
        Ok(took)
    }

    /// One release wakes one caller.
    async fn nobody_else_was_told(&mut self) -> Result<(), Trouble> {
        let more = timeout(Duration::from_millis(300), self.heard.recv()).await;
        check(more.is_err(), || "somebody was answered whom no release had let in".to_owned())
    }
}

async fn next(heard: &mut mpsc::UnboundedReceiver<Result<Granted, Trouble>>) -> Result<Granted, Trouble> {
    let told = timeout(ANSWER_WITHIN, heard.recv()).await;
    let told =
        told.map_err(|_| Trouble::Wrong(format!("nobody was granted anything within {ANSWER_WITHIN:?}")))?;
    told.ok_or_else(|| Trouble::Wrong("all of those who waited are gone".to_owned()))?
}

/// Those who wait are counted by the server.
async fn until_waiting(maitred: &Maitred, many: usize) -> Result<(), Trouble> {
    for _ in 0..2_000 {
        if maitred.counter("maitred_limit_waiting")? as usize >= many {
            return Ok(());
        }
        sleep(Duration::from_millis(10)).await;
    }
    Err(Trouble::Wrong(format!("{many} never waited at once")))
}

/// Waits for a grant that was asked for, tells of it, and asks for another at the end of the line.
async fn wait_in_turn(
    mut connection: Connection<Waits>,
    told: &mpsc::UnboundedSender<Result<Granted, Trouble>>,
) -> Result<(), Trouble> {
    loop {
        let heard = connection.hear().await;
        let granted = heard.map(|()| Granted { slot: connection.caller.slot, at: Instant::now() });
        if told.send(granted).is_err() {
            return Ok(());
        }
        connection.ask().await?;
    }
}

/// Asks for a slot and stays on the line for it.
struct Waits {
    ids: Ids,
    slot: [u8; ID_BYTES],
}

impl Waits {
    fn new() -> Waits {
        Waits { ids: Ids::new(), slot: [0; ID_BYTES] }
    }
}

impl Caller for Waits {
    fn ask(&mut self, out: &mut Vec<u8>) {
        self.slot = self.ids.fresh();
        let (slot, limit) = (text(&self.slot), limit(0));
        let body = format!(r#"{{"slot":"{slot}","limit":"{limit}","confirm":"auto","wait":"30m"}}"#);
        out.extend_from_slice(post("/v1/slots", None, &body).as_bytes());
    }

    fn judge(&mut self, answer: &Answer<'_>) -> bool {
        answer.is_ok_with(r#""state":"busy""#) && answer.is_ok_with(text(&self.slot))
    }
}

struct Gives {
    slot: [u8; ID_BYTES],
}

impl Caller for Gives {
    fn ask(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(post(&format!("/v1/slots/{}/release", text(&self.slot)), None, "").as_bytes());
    }

    fn judge(&mut self, answer: &Answer<'_>) -> bool {
        answer.is_ok_with(r#""released":true"#)
    }
}
