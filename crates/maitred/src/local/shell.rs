//! Carries out what the sequencer asks for: a thread of its own that owns the journal's writer.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use maitred_api::{Answer, Problem, Reason};
use maitred_engine::time::Millis;
use maitred_journal::{Archive, Clock, Journal};
use tokio::sync::{mpsc, oneshot, watch};

use super::{
    clock::boot_ms,
    follower::Halt,
    metrics::Counters,
    node::{Health, Metrics},
    sequencer::{Effect, Input, Sequencer},
    stream::Stream,
    timekeeper::Clocks,
};

/// At most this many inputs are taken before the sequencer is pumped.
const INPUTS_AT_ONCE: usize = 8_192;
/// How long nothing is written before the journal attests that all of it was flushed.
const ATTEST_AFTER: Duration = Duration::from_secs(1);
/// How many bytes of others' records are read at once.
const READ_BYTES: usize = 4 * 1024 * 1024;

/// What comes of a call.
pub type Answered = Result<Answer, Problem>;

/// Where an answer goes. Boxed, since the place for it is there for as long as its caller waits.
#[derive(Debug)]
pub enum Reply {
    One(oneshot::Sender<Box<Answered>>),
    /// The n-th item of a batch.
    Item(mpsc::UnboundedSender<(usize, Answered)>, usize),
}

impl Reply {
    /// A caller that is gone does not want it; its line's guard has said so.
    fn send(self, answer: Answered) {
        match self {
            Reply::One(to) => drop(to.send(Box::new(answer))),
            Reply::Item(to, index) => drop(to.send((index, answer))),
        }
    }
}

/// What the handles send.
pub enum Message {
    Input(Box<Input<Reply>>),
    Now(oneshot::Sender<Millis>),
    Health(oneshot::Sender<Health>),
    Metrics(oneshot::Sender<Metrics>),
    /// Finish what was accepted, then end the thread.
    Stop,
}

pub struct Shell {
    pub sequencer: Sequencer<Reply>,
    pub journal: Box<dyn Journal>,
    pub archive: Box<dyn Archive>,
    /// The journal's own clock, where this process can read it.
    pub store_clock: Option<Arc<dyn Clock>>,
    pub inbox: mpsc::UnboundedReceiver<Message>,
    /// Set once, when the node stopped by itself.
    pub failed: watch::Sender<Option<String>>,
    pub counters: Counters,
    /// Told the durable head after each record, for the second engine.
    pub head: watch::Sender<u64>,
    pub stream: Arc<Stream>,
    /// When the journal is to write down that everything so far was flushed.
    pub attest_at: Option<Instant>,
}

impl Shell {
    /// Runs until it is told to stop, every handle is gone, or something failed.
    pub async fn run(mut self) {
        let mut stopping = false;
        loop {
            if self.work().await.is_err() {
                return;
            }
            if stopping && self.sequencer.is_idle() {
                let _ = self.attest().await;
                return;
            }
            if self.attest_at.is_some_and(|at| at <= Instant::now()) && self.attest().await.is_err() {
                return;
            }
            if !self.gather(&mut stopping).await {
                return;
            }
        }
    }

    fn clocks(&self) -> Clocks {
        Clocks { boot: boot_ms(), store: self.store_clock.as_ref().map(|clock| clock.now()) }
    }

    /// Waits for something to do, then takes all that is there. False when nobody can ask any more.
    async fn gather(&mut self, stopping: &mut bool) -> bool {
        let clocks = self.clocks();
        let now = self.sequencer.now(clocks);
        let due_in = self.sequencer.wake_at(clocks).map(|at| Duration::from_millis(at.saturating_sub(now)));
        let attest_in = self.attest_at.map(|at| at.saturating_duration_since(Instant::now()));
        let timer = async {
            match due_in.into_iter().chain(attest_in).min() {
                Some(pause) => tokio::time::sleep(pause).await,
                None => std::future::pending().await,
            }
        };
        let first = tokio::select! {
            biased;
            message = self.inbox.recv() => match message {
                Some(message) => Some(message),
                None => return false,
            },
            () = self.journal.changed() => {
                self.input(Input::Changed).await;
                None
            }
            () = timer => None,
        };
        if let Some(message) = first {
            self.take(message, stopping).await;
        }
        for _ in 1..INPUTS_AT_ONCE {
            match self.inbox.try_recv() {
                Ok(message) => self.take(message, stopping).await,
                Err(_) => break,
            }
        }
        true
    }

    async fn take(&mut self, message: Message, stopping: &mut bool) {
        match message {
            Message::Input(input) => self.input(*input).await,
            Message::Now(reply) => drop(reply.send(self.sequencer.now(self.clocks()))),
            Message::Health(reply) => drop(reply.send(self.health())),
            Message::Metrics(reply) => drop(reply.send(self.metrics())),
            Message::Stop => {
                *stopping = true;
                self.input(Input::EndWaits).await;
            }
        }
    }

    async fn input(&mut self, input: Input<Reply>) {
        let mut effects = Vec::new();
        self.sequencer.input(self.clocks(), input, &mut effects);
        // Whatever an input alone brings about is an answer; the journal's turn comes with the pump.
        for effect in effects {
            if let Effect::Answer { reply, answer } = effect {
                reply.send(answer);
            }
        }
    }

    /// Pumps and carries out effects until nothing is under way.
    async fn work(&mut self) -> Result<(), ()> {
        loop {
            let mut effects = Vec::new();
            self.sequencer.set_room(self.journal.room());
            self.sequencer.pump(self.clocks(), &mut effects);
            if effects.is_empty() {
                return Ok(());
            }
            while !effects.is_empty() {
                let mut next = Vec::new();
                for effect in effects {
                    self.carry_out(effect, &mut next).await?;
                }
                effects = next;
            }
        }
    }

    async fn carry_out(&mut self, effect: Effect<Reply>, next: &mut Vec<Effect<Reply>>) -> Result<(), ()> {
        let input = match effect {
            Effect::Answer { reply, answer } => {
                reply.send(answer);
                return Ok(());
            }
            Effect::Publish(published) => {
                self.counters.count(&published);
                self.head.send_replace(published.position);
                self.stream.publish(Arc::new(published));
                return Ok(());
            }
            Effect::Halt(halt) => return self.fail(halt),
            Effect::Append { after, bytes } => Input::Appended(self.journal.append(after, bytes).await),
            Effect::Sync => {
                self.attest_at = Some(Instant::now() + ATTEST_AFTER);
                Input::Synced(self.journal.sync().await)
            }
            Effect::Read { after } => Input::Records(self.archive.read(after, READ_BYTES).await),
        };
        self.sequencer.input(self.clocks(), input, next);
        Ok(())
    }

    /// Nothing was written for a while: whatever is damaged from now on is damage, not a torn end.
    async fn attest(&mut self) -> Result<(), ()> {
        self.attest_at = None;
        match self.journal.attest().await {
            Ok(()) => Ok(()),
            Err(error) => self.fail(Halt::Journal(error.to_string())),
        }
    }

    /// Callers whose answer is now dropped learn that it is not known what became of their call.
    fn fail(&mut self, halt: Halt) -> Result<(), ()> {
        tracing::error!(reason = %halt, "the node stops");
        self.failed.send_replace(Some(halt.to_string()));
        Err(())
    }

    fn health(&self) -> Health {
        let follower = self.sequencer.follower();
        let stats = self.sequencer.engine().map(|engine| engine.stats()).unwrap_or_default();
        let bounds = maitred_engine::bounds::Bounds::default();
        let mut notes = Vec::new();
        if self.journal.room() == maitred_journal::Room::Reserve {
            notes.push("storage is full: only what gives something back is taken".to_owned());
        }
        if follower.voids > 0 {
            notes.push(format!("{} void records: the journal let two writers through", follower.voids));
        }
        if follower.leaps > 0 {
            notes.push(format!("{} stamps of a clock that leapt were not believed", follower.leaps));
        }
        Health {
            ready: true,
            notes,
            revision: follower.head(),
            as_of: self.sequencer.now(self.clocks()),
            horizon: stats.horizon,
            remembered_timed: f64::from(stats.remembered_timed) / f64::from(bounds.remembered_timed),
            remembered_other: f64::from(stats.remembered_other) / f64::from(bounds.remembered_other),
        }
    }

    fn metrics(&self) -> Metrics {
        let now = self.sequencer.now(self.clocks());
        Metrics { text: self.counters.text(&self.sequencer, now) }
    }
}

/// The answer when the node is gone before anything was sent.
pub fn gone() -> Problem {
    Problem::new(Reason::Unavailable, "the limiter has stopped; nothing was done")
}

/// The answer when the node went while the call was under way.
pub fn unknown() -> Problem {
    let message = "the limiter stopped while this call was under way; it may have been done: ask again with the same id";
    Problem::new(Reason::Unknown, message)
}
