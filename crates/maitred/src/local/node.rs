//! The handle that the HTTP server and the near client hold.

use std::{
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
use tokio::sync::{mpsc, oneshot, watch};

use super::{
    check,
    history::History,
    reading,
    sequencer::{COMMAND_BYTES_MAX, Input},
    shell::{Message, Reply, gone, unknown},
    stream::Stream,
};

/// The most items in a batch.
pub const BATCH_MAX: usize = 1_000;
/// How long a read waits for the revision it asks for.
const REVISION_WAIT: Duration = Duration::from_secs(10);

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
    pub(super) inbox: mpsc::UnboundedSender<Message>,
    pub(super) lines: Arc<AtomicU64>,
    pub(super) failed: watch::Receiver<Option<String>>,
    pub(super) stream: Arc<Stream>,
    /// None if it could not be opened: the limiter does not need it.
    pub(super) history: Option<History>,
    pub(super) threads: Arc<Mutex<Vec<JoinHandle<()>>>>,
}

impl Node {
    /// One call. Reads answer at once; changes when they are as durable as promised; an acquire or a look at a
    /// slot with `wait` when the slot is granted or ended, or the wait runs out.
    ///
    /// Cancel safe: dropping the future of an auto acquire that waits on the line is a hang-up (the caller has
    /// left); dropping any other changes nothing, though what was asked may still happen.
    pub async fn call(&self, context: &Context, call: Call) -> Result<Answer, Problem> {
        match call {
            Call::History { .. } | Call::Audit { .. } => self.look_back(context, call).await,
            Call::Explain { ref what } => self.explain(context, what.clone()).await,
            call if reading::is_read(&call) => self.read(context, call).await,
            call => self.change(context, call).await,
        }
    }

    pub(super) async fn read(&self, context: &Context, call: Call) -> Result<Answer, Problem> {
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
        let (mut to, mut from) = mpsc::unbounded_channel();
        for (index, item) in items.into_iter().enumerate() {
            if reading::is_read(&item.call) {
                // A read sees the changes that stand before it, so those must be answered first.
                gather(to, from, &mut answers).await;
                (to, from) = mpsc::unbounded_channel();
            }
            let context = Context { request_id: item.id, ..context.clone() };
            if let Err(problem) = self.send_item(&context, item.call, Reply::Item(to.clone(), index)) {
                answers[index] = Err(problem);
            }
        }
        gather(to, from, &mut answers).await;
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

    /// Ends every waiting call (its slot keeps its place), writes what was accepted, and closes the journal.
    pub async fn stop(&self, within: Duration) {
        if self.inbox.send(Message::Stop).is_ok() {
            let closed = self.inbox.closed();
            if tokio::time::timeout(within, closed).await.is_err() {
                tracing::warn!("the journal did not close in time");
                return;
            }
        }
        let threads =
            self.threads.lock().map(|mut threads| std::mem::take(&mut *threads)).unwrap_or_default();
        for thread in threads {
            // The inbox is closed: they are past their last wait, and only finish and let go of the journal.
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

type ItemAnswer = (usize, Result<Answer, Problem>);

/// Takes in the answers to all items that were sent, or as many as come before the node is gone.
async fn gather(
    to: mpsc::UnboundedSender<ItemAnswer>,
    mut from: mpsc::UnboundedReceiver<ItemAnswer>,
    answers: &mut [Result<Answer, Problem>],
) {
    drop(to);
    while let Some((index, answer)) = from.recv().await {
        answers[index] = answer;
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
