//! What gives back when nobody waits for it: guards that were dropped, calls that were cancelled.
//!
//! A `Drop` can't wait for an answer, must not start anything, and may run outside a runtime or while one ends. So it
//! does one thing that always works: it puts a [`Job`] into a channel. A thread of the client's own, with a small
//! runtime of its own, takes it out and asks the limiter until it answers or until there is nothing left to give back
//! (the slot's own expiry). For example, with the server away for a moment:
//!
//! ```text
//! caller's thread   drop(slot) ── Job::release(id, until 45m) ──▶ returns at once
//! releaser          POST …/release ✗   wait 50 ms   POST …/release ✗   wait 100 ms   POST …/release ✓ released
//! ```
//!
//! The far client's connections live on the same runtime ([`crate::line`]), so they outlive every runtime of the program.

mod job;

use std::{
    collections::BTreeMap,
    io,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use maitred_engine::names::SlotId;
use tokio::{
    sync::{Semaphore, mpsc, oneshot, watch},
    task::JoinSet,
    time::Instant,
};

pub(crate) use job::{Job, What};

use crate::{Client, line::Line};

/// How many jobs ask at once.
const AT_ONCE: usize = 64;

/// What was not answered when the client was closed: it stays taken until it expires.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Leftovers {
    /// Slots that may still be held, at the longest until their max hold has passed.
    pub slots: Vec<SlotId>,
    /// Runs whose end was not recorded: their places are freed an hour after they were taken.
    pub runs: Vec<String>,
}

impl Leftovers {
    /// Whether everything was answered.
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty() && self.runs.is_empty()
    }
}

/// The way to the releaser's thread, which lives until every clone is dropped and every job is done.
#[derive(Clone)]
pub(crate) struct Releaser {
    inbox: mpsc::UnboundedSender<Message>,
}

enum Message {
    Job(Job),
    Close { until: Instant, reply: oneshot::Sender<Leftovers> },
}

impl Releaser {
    /// Starts the thread. The line is the way to the limiter through the thread's own runtime.
    pub fn start(client: Client) -> io::Result<(Releaser, Line)> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let line = Line::new(client, runtime.handle().clone());
        let (inbox, messages) = mpsc::unbounded_channel();
        let desk = Desk::new(line.clone(), messages);
        std::thread::Builder::new()
            .name("maitred-releaser".to_owned())
            .spawn(move || runtime.block_on(desk.work()))?;
        Ok((Releaser { inbox }, line))
    }

    /// Takes over a job. Never blocks, works anywhere.
    pub fn take(&self, job: Job) {
        if let Err(mpsc::error::SendError(Message::Job(job))) = self.inbox.send(Message::Job(job)) {
            job.is_left("the client was closed before");
        }
    }

    /// Finishes what there is, until then; later jobs are not taken any more.
    pub async fn close(&self, until: Instant) -> Leftovers {
        let (reply, answer) = oneshot::channel();
        if self.inbox.send(Message::Close { until, reply }).is_err() {
            return Leftovers::default();
        }
        answer.await.unwrap_or_default()
    }
}

/// What jobs share.
#[derive(Clone)]
struct Tools {
    line: Line,
    places: Arc<Semaphore>,
    /// Nobody brings new jobs: what was answered "not there" needs no later look.
    closing: watch::Receiver<bool>,
}

struct Desk {
    inbox: mpsc::UnboundedReceiver<Message>,
    tools: Tools,
    closing: watch::Sender<bool>,
    open: Arc<Open>,
    working: JoinSet<()>,
}

/// The jobs that are not done, for the report at the end.
#[derive(Default)]
struct Open(Mutex<(u64, BTreeMap<u64, Job>)>);

impl Open {
    fn lock(&self) -> MutexGuard<'_, (u64, BTreeMap<u64, Job>)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, job: Job) -> u64 {
        let (last, jobs) = &mut *self.lock();
        *last += 1;
        jobs.insert(*last, job);
        *last
    }

    fn done(&self, number: u64) {
        self.lock().1.remove(&number);
    }
}

impl Desk {
    fn new(line: Line, inbox: mpsc::UnboundedReceiver<Message>) -> Self {
        let (closing, closing_seen) = watch::channel(false);
        let tools = Tools { line, places: Arc::new(Semaphore::new(AT_ONCE)), closing: closing_seen };
        Self { inbox, tools, closing, open: Arc::default(), working: JoinSet::new() }
    }

    async fn work(mut self) {
        loop {
            tokio::select! {
                message = self.inbox.recv() => match message {
                    Some(Message::Job(job)) => self.begin(job),
                    Some(Message::Close { until, reply }) => return self.close(until, reply).await,
                    None => break,
                },
                Some(_) = self.working.join_next() => {}
            }
        }
        self.closing.send_replace(true);
        self.finish().await;
    }

    fn begin(&mut self, job: Job) {
        let number = self.open.add(job.clone());
        let (tools, open) = (self.tools.clone(), Arc::clone(&self.open));
        self.working.spawn(async move {
            job.settle(tools).await;
            open.done(number);
        });
    }

    async fn finish(&mut self) {
        while self.working.join_next().await.is_some() {}
    }

    async fn close(mut self, until: Instant, reply: oneshot::Sender<Leftovers>) {
        self.inbox.close();
        let mut also = vec![reply];
        while let Some(message) = self.inbox.recv().await {
            match message {
                Message::Job(job) => self.begin(job),
                Message::Close { reply, .. } => also.push(reply),
            }
        }
        self.closing.send_replace(true);
        let _ = tokio::time::timeout_at(until, self.finish()).await;
        let left = self.left();
        for reply in also {
            let _ = reply.send(left.clone());
        }
    }

    fn left(&self) -> Leftovers {
        let mut left = Leftovers::default();
        for job in self.open.lock().1.values() {
            job.is_left("the client is closed");
            match &job.what {
                What::Release { slot } | What::GiveUp { slot } => left.slots.push(slot.clone()),
                What::EndRun { run, .. } => left.runs.push(run.clone()),
            }
        }
        left
    }
}

/// Waits that grow from 50 ms to 2 s, with up to a quarter more so that many callers don't come at once.
pub(crate) struct BackOff(Duration);

impl Default for BackOff {
    fn default() -> Self {
        Self(Duration::from_millis(50))
    }
}

impl BackOff {
    const MOST: Duration = Duration::from_secs(2);

    pub fn next(&mut self) -> Duration {
        let wait = self.0;
        self.0 = (wait * 2).min(Self::MOST);
        let chance = uuid::Uuid::new_v4().as_bytes()[0];
        wait + wait.mul_f64(f64::from(chance) / 1024.0)
    }
}
