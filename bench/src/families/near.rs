//! The library near: the limiter in this process, on a journal of its own on the disk.

use std::{
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use bytes::Bytes;
use maitred::{Maitred, NodeOptions};
use maitred_journal::{Journal, Local, Options};
use tempfile::TempDir;
use tokio::{
    runtime::Runtime,
    sync::{mpsc, oneshot},
    task::JoinSet,
};

use super::Family;
use crate::{
    figure::{Figure, Target, Trouble, check, wrong},
    ids::{Chance, key, limit},
    pairs::{Spread, pairs},
    report::Report,
    scene::Scene,
};

pub const ADMIT: Family = Family {
    name: "near-admit",
    figures: &[Figure {
        name: "near_admit_per_s",
        unit: "decisions/s",
        target: Target::AtLeast(300_000.0),
        what: "admissions near at level `written`, 64 tasks, 10,000 keys",
    }],
    run: admits,
};

pub const SLOTS: Family = Family {
    name: "near-slots",
    figures: &[
        Figure {
            name: "near_acquire_release_vs_journal",
            unit: "ratio",
            target: Target::AtLeast(0.8),
            what: "acquires and releases near, synced, 64 tasks: commands/s against 64 tasks that append as much to a bare journal, which gathers them into batches in the same way",
        },
        Figure {
            name: "near_alone_vs_journal",
            unit: "ratio",
            target: Target::None,
            what: "the same for one task, where each command is a record and a flush of its own",
        },
    ],
    run: slots,
};

const TASKS: usize = 64;
const KEYS: u64 = 10_000;
const LIMITS: u64 = 100;
const COMMAND_BYTES: usize = 100;
/// As many as one batch of the near limiter takes at most.
const BATCH_MOST: usize = 8_192;
const HOUR: Duration = Duration::from_secs(3_600);

fn admits(scene: &Scene, report: &mut Report) -> Result<(), Trouble> {
    let near = Near::start(scene)?;
    let turns: Result<Vec<f64>, Trouble> =
        (0..=scene.repetitions()).map(|_| near.turn(TASKS, scene.turn(), admit_until)).skip(1).collect();
    report.put("near_admit_per_s", Spread::of(turns?));
    Ok(())
}

fn slots(scene: &Scene, report: &mut Report) -> Result<(), Trouble> {
    let near = Near::start(scene)?;
    let bare = Bare::start(scene)?;
    for (name, tasks) in [("near_acquire_release_vs_journal", TASKS), ("near_alone_vs_journal", 1)] {
        let ours = || near.turn(tasks, scene.turn(), take_and_give_until);
        let pairs = pairs(scene.repetitions(), ours, || bare.turn(tasks, scene.turn()))?;
        report.put_pairs(name, &pairs);
    }
    Ok(())
}

fn two_threads() -> Result<Runtime, Trouble> {
    Ok(tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?)
}

struct Near {
    limiter: Maitred,
    runtime: Runtime,
    _folder: TempDir,
}

impl Near {
    fn start(scene: &Scene) -> Result<Near, Trouble> {
        let (folder, runtime) = (scene.scratch()?, two_threads()?);
        let options = NodeOptions {
            folder: Some(folder.path().join("data")),
            rates_when_written: vec!["default".to_owned()],
            ..NodeOptions::default()
        };
        let limiter = runtime.block_on(async {
            let limiter = Maitred::open_with(options).await.map_err(|error| wrong("open")(&error))?;
            for number in 0..LIMITS {
                let declared = limiter.declare(&limit(number), 1_000, HOUR).await;
                declared.map_err(|problem| wrong("declare")(&problem.message))?;
            }
            Ok::<_, Trouble>(limiter)
        })?;
        Ok(Near { limiter, runtime, _folder: folder })
    }

    /// Commands a second.
    fn turn<F>(
        &self,
        tasks: usize,
        time: Duration,
        each: impl Fn(Maitred, usize, Instant) -> F,
    ) -> Result<f64, Trouble>
    where
        F: Future<Output = Result<u64, Trouble>> + Send + 'static,
    {
        let end = Instant::now() + time;
        in_tasks(&self.runtime, (0..tasks).map(|task| each(self.limiter.clone(), task, end)))
    }
}

/// What all of them did, a second.
fn in_tasks<F>(runtime: &Runtime, tasks: impl Iterator<Item = F>) -> Result<f64, Trouble>
where
    F: Future<Output = Result<u64, Trouble>> + Send + 'static,
{
    let begin = Instant::now();
    let done = runtime.block_on(async {
        let mut running = JoinSet::new();
        tasks.for_each(|task| drop(running.spawn(task)));
        running.join_all().await.into_iter().sum::<Result<u64, Trouble>>()
    })?;
    Ok(done as f64 / begin.elapsed().as_secs_f64())
}

async fn admit_until(limiter: Maitred, task: usize, end: Instant) -> Result<u64, Trouble> {
    let (mut chance, mut done) = (Chance(task as u64), 0);
    while Instant::now() < end {
        let asked = limiter.admit("describe-image").rate(key(chance.below(KEYS)), 1_000_000_000, HOUR);
        let decision = asked.await.map_err(|error| wrong("admit")(&error))?;
        check(!decision.over_limit && !decision.degraded, || "an admission was not decided".to_owned())?;
        done += 1;
    }
    Ok(done)
}

async fn take_and_give_until(limiter: Maitred, task: usize, end: Instant) -> Result<u64, Trouble> {
    let (name, mut done) = (limit(task as u64 % LIMITS), 0);
    while Instant::now() < end {
        let slot = limiter.acquire(name.as_str()).await.map_err(|error| wrong("acquire")(&error))?;
        slot.release().await.map_err(|problem| wrong("release")(&problem.message))?;
        done += 2;
    }
    Ok(done)
}

/// The yardstick: a thread that owns a journal appends all that was asked for meanwhile as one record, flushes, and
/// answers everybody. What the limiter adds to that is rules, checks and answers.
struct Bare {
    asks: mpsc::UnboundedSender<oneshot::Sender<()>>,
    runtime: Runtime,
    _folder: TempDir,
}

impl Bare {
    fn start(scene: &Scene) -> Result<Bare, Trouble> {
        let (folder, runtime) = (scene.scratch()?, two_threads()?);
        let journal = Local::open(&folder.path().join("journal"), Options::new([1; 16]));
        let journal = journal.map_err(|error| wrong("journal")(&error))?;
        let (asks, asked) = mpsc::unbounded_channel();
        let own = tokio::runtime::Builder::new_current_thread().build()?;
        thread::spawn(move || own.block_on(append_all(journal, asked)));
        Ok(Bare { asks, runtime, _folder: folder })
    }

    fn turn(&self, tasks: usize, time: Duration) -> Result<f64, Trouble> {
        let end = Instant::now() + time;
        let asks = Arc::new(self.asks.clone());
        in_tasks(&self.runtime, (0..tasks).map(|_| append_until(Arc::clone(&asks), end)))
    }
}

async fn append_until(
    asks: Arc<mpsc::UnboundedSender<oneshot::Sender<()>>>,
    end: Instant,
) -> Result<u64, Trouble> {
    let mut done = 0;
    while Instant::now() < end {
        let (reply, answer) = oneshot::channel();
        asks.send(reply).map_err(|_| Trouble::Wrong("the bare journal is gone".to_owned()))?;
        answer.await.map_err(|_| Trouble::Wrong("the bare journal did not append".to_owned()))?;
        done += 1;
    }
    Ok(done)
}

/// Ends, and with it every caller's turn, at the first append that fails.
async fn append_all(mut journal: Local, mut asked: mpsc::UnboundedReceiver<oneshot::Sender<()>>) {
    let mut batch = Vec::new();
    while asked.recv_many(&mut batch, BATCH_MOST).await > 0 {
        let bytes = Bytes::from(vec![7; batch.len() * COMMAND_BYTES]);
        if journal.append(journal.head(), bytes).await.is_err() || journal.sync().await.is_err() {
            return;
        }
        for reply in batch.drain(..) {
            let _ = reply.send(());
        }
    }
}
