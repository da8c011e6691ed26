//! Carries out what the sequencer asks for: a thread of its own that owns the journal's writer. `Desk` is everything
//! but the journal, so that callers are answered while the journal is waited for.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use maitred_api::{Answer, NodesAnswer, Problem, Reason};
use maitred_engine::time::Millis;
use maitred_journal::{Archive, Clock, Journal, Room};
use tokio::sync::{mpsc, oneshot, watch};

use super::{
    clock::boot_ms,
    follower::Halt,
    history::History,
    metrics::{Counters, Standing},
    node::{Health, Metrics},
    sequencer::{Effect, Input, Published, Sequencer},
    stream::Stream,
    timekeeper::Clocks,
};

/// At most this many inputs are taken before the sequencer is pumped.
const INPUTS_AT_ONCE: usize = 8_192;
/// How long nothing is written before the journal attests that all of it was flushed.
const ATTEST_AFTER: Duration = Duration::from_secs(1);
/// While the journal is waited for, how often it is looked whether that takes too long.
const LOOK_UP: Duration = Duration::from_millis(100);
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
    Nodes(oneshot::Sender<NodesAnswer>),
    Metrics(oneshot::Sender<Metrics>),
    /// Finish what was accepted, then end the thread.
    Stop,
}

pub struct Shell {
    pub desk: Desk,
    pub journal: Box<dyn Journal>,
    pub archive: Box<dyn Archive>,
    /// When the journal is to write down that everything so far was flushed.
    pub attest_at: Option<Instant>,
    /// When the record under way was handed to the journal.
    pub appended_at: Option<Instant>,
}

/// Everything but the journal: it works on while the journal is waited for.
pub struct Desk {
    pub sequencer: Sequencer<Reply>,
    /// The journal's own clock, where this process can read it.
    pub store_clock: Option<Arc<dyn Clock>>,
    pub inbox: mpsc::UnboundedReceiver<Message>,
    /// Set once, when the node stopped by itself.
    pub failed: watch::Sender<Option<String>>,
    pub counters: Counters,
    /// Told the durable head after each record, for the second engine.
    pub head: watch::Sender<u64>,
    pub stream: Arc<Stream>,
    /// When a shared journal was last heard of, for the handles; the end of time where there is none.
    pub heard_at: Arc<AtomicU64>,
    /// What the journal said of itself when it was last free to.
    pub room: Room,
    pub notes: Vec<String>,
    /// Nobody can ask any more.
    pub is_closed: bool,
    pub is_stopping: bool,
    /// How far the history is.
    pub history: History,
}

impl Shell {
    /// Runs until it is told to stop, every handle is gone, or something failed.
    pub async fn run(mut self) {
        loop {
            if self.work().await.is_err() {
                return;
            }
            if self.desk.is_closed {
                return;
            }
            if self.desk.is_stopping && self.desk.sequencer.is_idle() {
                let _ = self.attest().await;
                return;
            }
            if self.attest_at.is_some_and(|at| at <= Instant::now()) && self.attest().await.is_err() {
                return;
            }
            self.gather().await;
        }
    }

    /// Waits for something to do, then takes all that is there.
    async fn gather(&mut self) {
        let clocks = self.desk.clocks();
        let now = self.desk.sequencer.now(clocks);
        let due_in =
            self.desk.sequencer.wake_at(clocks).map(|at| Duration::from_millis(at.saturating_sub(now)));
        let attest_in = self.attest_at.map(|at| at.saturating_duration_since(Instant::now()));
        let timer = async {
            match due_in.into_iter().chain(attest_in).min() {
                Some(pause) => tokio::time::sleep(pause).await,
                None => std::future::pending().await,
            }
        };
        let is_shared = self.journal.is_shared();
        let first = tokio::select! {
            biased;
            // First, since callers who never cease must not keep the news of others away.
            () = self.journal.changed(), if is_shared => {
                self.desk.input(Input::Changed);
                None
            }
            message = self.desk.inbox.recv() => Some(message),
            () = timer => None,
        };
        if let Some(message) = first {
            self.desk.take_or_close(message);
        }
        self.desk.take_all();
        // Whoever is about to ask, such as those who were just answered, gets the moment to: one record for many costs
        // less than one for each, and while this thread runs nobody has to wake it.
        std::thread::yield_now();
        self.desk.take_all();
    }

    /// Pumps and carries out effects until nothing is under way.
    async fn work(&mut self) -> Result<(), ()> {
        loop {
            let mut effects = Vec::new();
            (self.desk.room, self.desk.notes) = (self.journal.room(), self.journal.notes());
            self.desk.sequencer.set_room(self.desk.room);
            self.desk.sequencer.pump(self.desk.clocks(), &mut effects);
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
        let desk = &mut self.desk;
        let input = match effect {
            Effect::Answer { reply, answer } => {
                reply.send(answer);
                return Ok(());
            }
            Effect::Publish(published) => {
                desk.publish(published);
                return Ok(());
            }
            Effect::Halt(halt) => return desk.fail(halt),
            Effect::Append { after, bytes } => {
                self.appended_at = Some(Instant::now());
                Input::Appended(desk.meanwhile(self.journal.append(after, bytes)).await)
            }
            Effect::Sync => {
                self.attest_at = Some(Instant::now() + ATTEST_AFTER);
                let synced = desk.meanwhile(self.journal.sync()).await;
                if let (Ok(_), Some(appended_at)) = (&synced, self.appended_at.take()) {
                    desk.counters.committed(appended_at.elapsed());
                }
                Input::Synced(synced)
            }
            Effect::Read { after } => {
                Input::Records(desk.meanwhile(self.archive.read(after, READ_BYTES)).await)
            }
            Effect::Meet(me) => Input::Met(desk.meanwhile(self.journal.meet(me)).await),
        };
        desk.sequencer.input(desk.clocks(), input, next);
        desk.heard_at.store(desk.sequencer.heard_at().unwrap_or(Millis::MAX), Ordering::Relaxed);
        Ok(())
    }

    /// Nothing was written for a while: whatever is damaged from now on is damage, not a torn end.
    async fn attest(&mut self) -> Result<(), ()> {
        self.attest_at = None;
        match self.journal.attest().await {
            Ok(()) => Ok(()),
            Err(error) => self.desk.fail(error.into()),
        }
    }
}

impl Desk {
    fn clocks(&self) -> Clocks {
        Clocks { boot: boot_ms(), store: self.store_clock.as_ref().map(|clock| clock.now()) }
    }

    /// Waits for the journal, and meanwhile takes what comes in: a journal that does not answer must not keep anybody
    /// from being told so.
    async fn meanwhile<T>(&mut self, asked: maitred_journal::Answer<'_, T>) -> T {
        let mut asked = asked;
        loop {
            tokio::select! {
                biased;
                done = &mut asked => return done,
                message = self.inbox.recv(), if !self.is_closed => {
                    self.take_or_close(message);
                    self.take_all();
                }
                () = tokio::time::sleep(LOOK_UP) => {}
            }
            let mut effects = Vec::new();
            self.sequencer.pump(self.clocks(), &mut effects);
            answer_all(effects);
        }
    }

    fn take_or_close(&mut self, message: Option<Message>) {
        match message {
            Some(message) => self.take(message),
            None => self.is_closed = true,
        }
    }

    fn take_all(&mut self) {
        for _ in 1..INPUTS_AT_ONCE {
            match self.inbox.try_recv() {
                Ok(message) => self.take(message),
                Err(_) => break,
            }
        }
    }

    fn take(&mut self, message: Message) {
        match message {
            Message::Input(input) => self.input(*input),
            Message::Now(reply) => drop(reply.send(self.sequencer.now(self.clocks()))),
            Message::Health(reply) => drop(reply.send(self.health())),
            Message::Nodes(reply) => drop(reply.send(self.sequencer.nodes(self.clocks()))),
            Message::Metrics(reply) => drop(reply.send(self.metrics())),
            Message::Stop => {
                self.is_stopping = true;
                self.input(Input::EndWaits);
            }
        }
    }

    fn input(&mut self, input: Input<Reply>) {
        let mut effects = Vec::new();
        self.sequencer.input(self.clocks(), input, &mut effects);
        answer_all(effects);
    }

    fn publish(&mut self, published: Published) {
        self.counters.count(&published);
        self.head.send_replace(published.position);
        self.stream.publish(Arc::new(published));
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
        let cut_off_ms = self.sequencer.cut_off_ms(self.clocks());
        Health {
            ready: cut_off_ms.is_none(),
            notes: self.notes_of(cut_off_ms, follower.voids, follower.leaps),
            revision: follower.head(),
            as_of: self.sequencer.now(self.clocks()),
            horizon: stats.horizon,
            remembered_timed: f64::from(stats.remembered_timed) / f64::from(bounds.remembered_timed),
            remembered_other: f64::from(stats.remembered_other) / f64::from(bounds.remembered_other),
        }
    }

    fn notes_of(&self, cut_off_ms: Option<Millis>, voids: u64, leaps: u64) -> Vec<String> {
        let mut notes = Vec::new();
        if let Some(ms) = cut_off_ms {
            let seconds = ms / 1_000;
            notes.push(format!(
                "the journal has not answered for {seconds} s: nothing is changed, lists are stale"
            ));
        }
        if self.room == Room::Reserve {
            notes.push("storage is full: only what gives something back is taken".to_owned());
        }
        if voids > 0 {
            notes.push(format!("{voids} void records: the journal let two writers through"));
        }
        if leaps > 0 {
            notes.push(format!("{leaps} stamps of a clock that leapt were not believed"));
        }
        if let Some(trouble) = self.history.trouble() {
            notes.push(format!(
                "the history cannot be filled, and is tried again; limits work without it: {trouble}"
            ));
        }
        notes.extend(self.notes.iter().cloned());
        notes
    }

    fn metrics(&self) -> Metrics {
        let standing = Standing {
            clocks: self.clocks(),
            is_full: self.room == Room::Reserve,
            history: self.history.progress.borrow().clone(),
        };
        Metrics { text: self.counters.text(&self.sequencer, &standing) }
    }
}

/// What an input alone brings about, and a pump while something is under way, is answers; the journal's turn comes with
/// the pump after it.
fn answer_all(effects: Vec<Effect<Reply>>) {
    for effect in effects {
        if let Effect::Answer { reply, answer } = effect {
            reply.send(answer);
        }
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
