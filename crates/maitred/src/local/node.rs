//! The handle that the HTTP server and the near client hold.

use std::{
    path::PathBuf,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    thread::JoinHandle,
    time::Duration,
};

use maitred_api::{Answer, BatchItem, Call, Context, Problem, Reason};
use maitred_engine::{
    bytes::Writer,
    command::{Command, Request, Verb},
    names::{Namespace, SlotId},
    time::Millis,
};
use maitred_journal::Memory;
use tokio::sync::{mpsc, oneshot, watch};

use super::{
    check,
    metrics::Counters,
    open::{self, Opened},
    reading,
    sequencer::{COMMAND_BYTES_MAX, Input, Sequencer},
    shell::{Message, Reply, Shell, gone, unknown},
    snapshots,
};

/// The most items in a batch.
pub const BATCH_MAX: usize = 1_000;
/// How long a read waits for the revision it asks for.
const REVISION_WAIT: Duration = Duration::from_secs(10);

/// How a node is started.
#[derive(Clone, Default)]
pub struct NodeOptions {
    /// The folder of the local journal; none keeps everything in memory, for tests and throw-away servers.
    pub folder: Option<PathBuf>,
    /// Without a folder: this journal in memory, so that a node started later finds what one before it left.
    pub memory: Option<Memory>,
    /// Time stands still until [`Node::advance_to`] moves it. For rehearsals and scenario files.
    pub manual_clock: bool,
    /// Take the machine's clock even after a gap of more than a day or a step back.
    pub accept_clock: bool,
    /// Namespaces whose rates and places are answered when written: a killed process loses none of them, a power
    /// loss may forget the last moments. Slots are always synced.
    pub rates_when_written: Vec<String>,
}

/// Why a node did not start. The message names the place and the way out.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct StartError(pub String);

/// What `/readyz` tells.
#[derive(Clone, Debug)]
pub struct Health {
    pub ready: bool,
    /// Why it is not ready, or what an operator should know although it is.
    pub notes: Vec<String>,
    pub revision: u64,
    pub as_of: u64,
    /// Ids with a time before this are refused as too old.
    pub horizon: u64,
    /// Fill level of the two shares of remembered ids, 0 to 1.
    pub remembered_timed: f64,
    pub remembered_other: f64,
}

/// Numbers for `/metrics`.
#[derive(Clone, Debug, Default)]
pub struct Metrics {
    /// Prometheus text, without process metrics and without the closing mark.
    pub text: String,
}

/// A running limiter. Cheap to clone; the last clone that goes stops it.
#[derive(Clone)]
pub struct Node {
    inbox: mpsc::UnboundedSender<Message>,
    lines: Arc<AtomicU64>,
    failed: watch::Receiver<Option<String>>,
    thread: Arc<Mutex<Option<JoinHandle<()>>>>,
}

impl Node {
    /// Opens the journal, replays it and starts the sequencer's thread.
    pub async fn start(options: NodeOptions) -> Result<Node, StartError> {
        let written = options.rates_when_written.iter().map(|name| Namespace::parse(name));
        let written = written.collect::<Result<_, _>>().map_err(|error| StartError(error.to_string()))?;
        let opened = open::open(&options).await?;
        let Opened { journal, follower, writer, clock } = opened;
        let (head, head_seen) = watch::channel(follower.head());
        let mut sequencer = Sequencer::new(follower, writer, options.manual_clock);
        sequencer.answer_when_written(written);
        sequencer.take_over();
        let (inbox, messages) = mpsc::unbounded_channel();
        let (failed, failed_seen) = watch::channel(None);
        let snapshots = journal.archive();
        let archive = journal.archive();
        let counters = Counters::new();
        let store_clock = Some(clock);
        let shell = Shell {
            sequencer,
            journal,
            archive,
            store_clock,
            inbox: messages,
            failed: failed.clone(),
            counters,
            head,
        };
        spawn("maitred-snapshots", async move {
            if let Err(halt) = snapshots::keep(snapshots, head_seen, snapshots::SNAPSHOT_EVERY).await {
                failed.send_replace(Some(halt.to_string()));
            }
        })?;
        let thread = spawn("maitred-sequencer", shell.run())?;
        Ok(Node {
            inbox,
            lines: Arc::new(AtomicU64::new(1)),
            failed: failed_seen,
            thread: Arc::new(Mutex::new(Some(thread))),
        })
    }

    /// One call. Reads answer at once; changes when they are as durable as promised; an acquire or a look at a
    /// slot with `wait` when the slot is granted or ended, or the wait runs out.
    ///
    /// Cancel safe: dropping the future of an auto acquire that waits on the line is a hang-up (the caller has
    /// left); dropping any other changes nothing, though what was asked may still happen.
    pub async fn call(&self, context: &Context, call: Call) -> Result<Answer, Problem> {
        match call {
            call if reading::is_read(&call) => self.read(context, call).await,
            call => self.change(context, call).await,
        }
    }

    async fn read(&self, context: &Context, call: Call) -> Result<Answer, Problem> {
        let namespace = check::namespace(context)?;
        if let Call::Slot { slot, wait } = &call
            && let Some(wait_ms) = check::wait(wait)?
        {
            let place = (namespace, check::slot_id(slot)?);
            return self
                .wait(place, false, wait_ms, |(namespace, slot), line, reply| Input::Look {
                    namespace,
                    slot,
                    line,
                    reply,
                })
                .await;
        }
        let (reply, answer) = oneshot::channel();
        let min_revision = context.min_revision;
        self.send(Input::Read { namespace, call, min_revision, reply: Reply::One(reply) })?;
        match tokio::time::timeout(REVISION_WAIT, answer).await {
            Ok(answer) => answer.unwrap_or_else(|_| Err(unknown())),
            Err(_) => {
                Err(Problem::new(Reason::Unavailable, "the revision asked for was not reached within 10 s"))
            }
        }
    }

    async fn change(&self, context: &Context, mut call: Call) -> Result<Answer, Problem> {
        let request = checked(context, &mut call)?;
        let wait = match &call {
            Call::Acquire(fields) => check::wait(&fields.wait)?,
            _ => None,
        };
        let admit = match call {
            Call::Admit(fields) => Some(fields),
            _ => None,
        };
        if let (Some(wait_ms), Verb::Acquire(acquire)) = (wait, &request.verb) {
            let place = (request.namespace.clone(), acquire.slot.clone());
            let auto = acquire.confirm == maitred_engine::command::Confirm::Auto;
            return self
                .wait(place, auto, wait_ms, |_, line, reply| Input::Ask {
                    request,
                    admit,
                    line: Some(line),
                    reply,
                })
                .await;
        }
        let (reply, answer) = oneshot::channel();
        self.send(Input::Ask { request, admit, line: None, reply: Reply::One(reply) })?;
        answer.await.unwrap_or_else(|_| Err(unknown()))
    }

    /// Asks on a line of its own, and stays on it until the answer, the end of the wait, or the drop of this
    /// future, which is the hang-up.
    async fn wait(
        &self,
        (namespace, slot): (Namespace, SlotId),
        auto: bool,
        wait_ms: Millis,
        ask: impl FnOnce((Namespace, SlotId), u64, Reply) -> Input<Reply>,
    ) -> Result<Answer, Problem> {
        let number = self.lines.fetch_add(1, Ordering::Relaxed);
        let (reply, mut answer) = oneshot::channel();
        self.send(ask((namespace.clone(), slot.clone()), number, Reply::One(reply)))?;
        let mut line = LineGuard { node: self, namespace, slot, number, auto, answered: false };
        let answered = match tokio::time::timeout(Duration::from_millis(wait_ms), &mut answer).await {
            Ok(answered) => answered,
            Err(_) => {
                let (namespace, slot) = (line.namespace.clone(), line.slot.clone());
                self.send(Input::WaitOver { namespace, slot, line: number, auto })?;
                answer.await
            }
        };
        line.answered = true;
        answered.unwrap_or_else(|_| Err(unknown()))
    }

    /// The items in order, each with its own outcome. Nothing waits, `wait` is refused.
    pub async fn batch(&self, context: &Context, items: Vec<BatchItem>) -> Vec<Result<Answer, Problem>> {
        let mut answers: Vec<Result<Answer, Problem>> = items.iter().map(|_| Err(unknown())).collect();
        let (to, mut from) = mpsc::unbounded_channel();
        for (index, item) in items.into_iter().enumerate() {
            let context = Context { request_id: item.id, ..context.clone() };
            if let Err(problem) = self.send_item(&context, item.call, Reply::Item(to.clone(), index)) {
                answers[index] = Err(problem);
            }
        }
        drop(to);
        while let Some((index, answer)) = from.recv().await {
            answers[index] = answer;
        }
        answers
    }

    fn send_item(&self, context: &Context, mut call: Call, reply: Reply) -> Result<(), Problem> {
        let wait = match &call {
            Call::Acquire(fields) => &fields.wait,
            Call::Slot { wait, .. } => wait,
            _ => &Default::default(),
        };
        if check::wait(wait)?.is_some() {
            return Err(Problem::new(Reason::InvalidWait, "nothing waits in a batch; leave `wait` out"));
        }
        if reading::is_read(&call) {
            let namespace = check::namespace(context)?;
            return self.send(Input::Read { namespace, call, min_revision: context.min_revision, reply });
        }
        let request = checked(context, &mut call)?;
        let admit = match call {
            Call::Admit(fields) => Some(fields),
            _ => None,
        };
        self.send(Input::Ask { request, admit, line: None, reply })
    }

    fn send(&self, input: Input<Reply>) -> Result<(), Problem> {
        self.inbox.send(Message::Input(Box::new(input))).map_err(|_| gone())
    }

    /// Moves a manual clock, stepping through everything due on the way; an earlier time changes nothing.
    /// Answers the time that now is. Refused unless the node was started with a manual clock.
    pub async fn advance_to(&self, at_ms: u64) -> Result<u64, Problem> {
        let (reply, answer) = oneshot::channel();
        self.send(Input::AdvanceTo { at: at_ms, reply: Reply::One(reply) })?;
        match answer.await.unwrap_or_else(|_| Err(unknown()))? {
            Answer::Done(done) => Ok(done.as_of),
            _ => Err(Problem::new(Reason::Internal, "the clock gave no time")),
        }
    }

    /// The node's time in milliseconds since 1970; 0 once it has stopped.
    pub async fn now(&self) -> u64 {
        self.ask(Message::Now).await.unwrap_or(0)
    }

    pub async fn health(&self) -> Health {
        self.ask(Message::Health).await.unwrap_or_else(|| Health {
            ready: false,
            notes: vec![self.failed.borrow().clone().unwrap_or_else(|| "the node has stopped".to_owned())],
            revision: 0,
            as_of: 0,
            horizon: 0,
            remembered_timed: 0.0,
            remembered_other: 0.0,
        })
    }

    pub async fn metrics(&self) -> Metrics {
        self.ask(Message::Metrics).await.unwrap_or_default()
    }

    async fn ask<T>(&self, message: impl FnOnce(oneshot::Sender<T>) -> Message) -> Option<T> {
        let (reply, answer) = oneshot::channel();
        self.inbox.send(message(reply)).ok()?;
        answer.await.ok()
    }

    /// Ends every waiting call (`unavailable`), writes what was accepted, and closes the journal.
    pub async fn stop(&self, within: Duration) {
        if self.inbox.send(Message::Stop).is_ok() {
            let closed = self.inbox.closed();
            if tokio::time::timeout(within, closed).await.is_err() {
                tracing::warn!("the journal did not close in time");
                return;
            }
        }
        let thread = self.thread.lock().ok().and_then(|mut thread| thread.take());
        if let Some(thread) = thread {
            // The inbox is closed: the thread is past its last wait and only lets go of the journal.
            let _ = tokio::task::spawn_blocking(move || thread.join()).await;
        }
    }

    /// Resolves when the node has stopped by itself: the reason, for the log and the exit status. Cancel safe.
    pub async fn failed(&self) -> String {
        let mut failed = self.failed.clone();
        match failed.wait_for(Option::is_some).await {
            Ok(reason) => reason.clone().unwrap_or_default(),
            // Stopped on purpose: there is nothing to report, ever.
            Err(_) => std::future::pending().await,
        }
    }
}

/// Hangs up when it is dropped before the answer.
struct LineGuard<'a> {
    node: &'a Node,
    namespace: Namespace,
    slot: SlotId,
    number: u64,
    auto: bool,
    answered: bool,
}

impl Drop for LineGuard<'_> {
    fn drop(&mut self) {
        if !self.answered {
            let (namespace, slot) = (self.namespace.clone(), self.slot.clone());
            let hang_up = Input::HangUp { namespace, slot, line: self.number, auto: self.auto };
            // A node that is gone has no lines any more.
            let _ = self.node.send(hang_up);
        }
    }
}

/// The command of a changing call; an acquire without an id gets one.
fn checked(context: &Context, call: &mut Call) -> Result<Box<Request>, Problem> {
    if let Call::Acquire(fields) = call {
        fields.slot.get_or_insert_with(|| uuid::Uuid::now_v7().to_string());
    }
    let request = Box::new(check::request(context, call)?);
    if matches!(request.verb, Verb::Deploy(_)) {
        let mut bytes = Writer::new();
        Command::In(request.clone()).encode(&mut bytes);
        if bytes.len() > COMMAND_BYTES_MAX {
            let message = format!(
                "the set takes {} bytes; at most {COMMAND_BYTES_MAX} fit into one deploy",
                bytes.len()
            );
            return Err(Problem::new(Reason::InvalidArgument, message));
        }
    }
    Ok(request)
}

/// A thread with a small runtime of its own: what it does may block, and nobody else waits for it.
fn spawn(name: &str, work: impl Future<Output = ()> + Send + 'static) -> Result<JoinHandle<()>, StartError> {
    let cannot = |error: std::io::Error| StartError(format!("the thread {name} cannot be started: {error}"));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(cannot)?;
    std::thread::Builder::new().name(name.to_owned()).spawn(move || runtime.block_on(work)).map_err(cannot)
}
