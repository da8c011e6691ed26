//! The handle that the HTTP server and the near client hold.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    thread::JoinHandle,
    time::Duration,
};

use maitred_api::{AdmitFields, Answer, BatchItem, Call, Context, Given, Problem, Reason};
use maitred_engine::{
    bytes::Writer,
    command::{Command, Confirm, Request, Verb},
    names::{Namespace, SlotId},
    time::Millis,
};
use tokio::sync::{mpsc, oneshot, watch};

use super::{
    Answering,
    answering::OnLine,
    check,
    clock::boot_ms,
    history::History,
    sequencer::{COMMAND_BYTES_MAX, CUT_OFF_MS, Input},
    series::Series,
    shell::{Answered, Message, Reply, gone, unknown},
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
    pub(super) heard_at: Arc<AtomicU64>,
    pub(super) history: History,
    pub(super) series: Arc<Series>,
    pub(super) threads: Arc<Mutex<Vec<JoinHandle<()>>>>,
}

impl Node {
    /// One call. Reads answer at once; changes when they are as durable as promised; an acquire or a look at a
    /// slot with `wait` when the slot is granted or ended, or the wait runs out. A change is sent by this call, before
    /// its answer is awaited.
    ///
    /// Cancel safe: dropping the future of an auto acquire that waits on the line is a hang-up (the caller has
    /// left); dropping any other changes nothing, though what was asked may still happen.
    pub fn call(&self, context: &Context, call: Call) -> Answering {
        if call.changes() {
            return self.change(context, call).unwrap_or_else(|problem| Answering::known(Err(problem)));
        }
        if let Call::Slot { slot, wait } = &call
            && !wait.is_missing()
        {
            let looked = self.look_and_wait(context, slot, wait);
            return looked.unwrap_or_else(|problem| Answering::known(Err(problem)));
        }
        let (node, context) = (self.clone(), context.clone());
        Answering::looking(async move {
            node.second_engine_sees(&context, &call).await?;
            match call {
                Call::History { .. } | Call::Audit(_) => node.look_back(&context, call).await,
                Call::Overview(fields) => node.overview(&context, fields).await,
                Call::Nodes {} => node.nodes().await,
                Call::Runs(fields) => node.runs(&context, fields).await,
                Call::Series { limit, range } => node.limit_series(&context, &limit, &range).await,
                call => {
                    let mut answer = match call {
                        Call::Explain { what } => node.explain(&context, what).await?,
                        Call::Run { .. } => node.run_with_its_past(&context, call).await?,
                        call => node.read(&context, call).await?,
                    };
                    node.mark_orphans(&context, &mut answer);
                    Ok(answer)
                }
            }
        })
    }

    pub(super) async fn read(&self, context: &Context, call: Call) -> Answered {
        let namespace = check::namespace(context)?;
        let (reply, answer) = oneshot::channel();
        let min_revision = context.min_revision;
        self.send(Input::Read { namespace, call, min_revision, reply: Reply::One(reply) })?;
        match tokio::time::timeout(REVISION_WAIT, answer).await {
            Ok(answer) => answer.map_or_else(|_| Err(unknown()), |answer| *answer),
            Err(_) => Err(self.not_reached(min_revision).await),
        }
    }

    /// What comes from the second engine is behind the writer by a moment: whoever wants to see a revision waits for that
    /// too. Not while the history cannot be filled: its answers say how far they reach.
    async fn second_engine_sees(&self, context: &Context, call: &Call) -> Result<(), Problem> {
        let Some(revision) = context.min_revision.filter(|_| comes_from_second_engine(call)) else {
            return Ok(());
        };
        let mut progress = self.history.progress.clone();
        let reached =
            progress.wait_for(|progress| progress.filled_to >= revision || progress.trouble.is_some());
        let is_reached = tokio::time::timeout(REVISION_WAIT, reached).await.is_ok();
        if is_reached { Ok(()) } else { Err(self.not_reached(context.min_revision).await) }
    }

    /// Why a read that wanted to see a revision did not. A node that is in touch has read its journal to the end often
    /// by then: whoever was told of that revision was told by another journal, or this one has lost its end (D6).
    async fn not_reached(&self, min_revision: Option<u64>) -> Problem {
        let (wanted, ends_at) = (min_revision.unwrap_or(0), self.health().await.revision);
        if self.stale_ms().is_some() || ends_at >= wanted {
            let message = format!("revision {wanted} was not reached within 10 s; ask again");
            return Problem::new(Reason::Unavailable, message);
        }
        tracing::error!(wanted, ends_at, "somebody knows a revision that the journal does not have");
        let message = format!(
            "revision {wanted} is not in the journal, which ends at {ends_at}: if a server of this journal told it, \
             the journal has lost its end, and the operator must know; otherwise ask without min_revision"
        );
        Problem::new(Reason::Unavailable, message)
    }

    fn look_and_wait(&self, context: &Context, slot: &str, wait: &Given) -> Result<Answering, Problem> {
        let place = (check::namespace(context)?, check::slot_id(slot)?);
        let look = |(namespace, slot), line, reply| Input::Look { namespace, slot, line, reply };
        self.open_line(place, false, check::wait(wait)?, look)
    }

    fn change(&self, context: &Context, mut call: Call) -> Result<Answering, Problem> {
        let request = checked(context, &mut call)?;
        let if_match = check::condition(context, &request.verb)?;
        if let (Call::Acquire(fields), Verb::Acquire(acquire)) = (&call, &request.verb)
            && let Some(wait_ms) = check::wait(&fields.wait)?
        {
            let place = (request.namespace.clone(), acquire.slot.clone());
            let auto = acquire.confirm == Confirm::Auto;
            // Whoever waits as long as can be, and longer than the slot does, needs no timer of its own.
            let is_longest = wait_ms == check::WAIT_MAX_MS && acquire.timeout_ms <= wait_ms;
            let wait_ms = (!is_longest).then_some(wait_ms);
            let ask =
                |_, line, reply| Input::Ask { request, admit: None, if_match: None, line: Some(line), reply };
            return self.open_line(place, auto, wait_ms, ask);
        }
        let (reply, answer) = oneshot::channel();
        let admit = admit_fields(call);
        self.send(Input::Ask { request, admit, if_match, line: None, reply: Reply::One(reply) })?;
        Ok(Answering::sent(answer))
    }

    /// Asks on a line of its own, which stays open until the answer, the end of the wait, or the drop of the future,
    /// which is the hang-up.
    fn open_line(
        &self,
        place: (Namespace, SlotId),
        auto: bool,
        wait_ms: Option<Millis>,
        ask: impl FnOnce((Namespace, SlotId), u64, Reply) -> Input<Reply>,
    ) -> Result<Answering, Problem> {
        let number = self.lines.fetch_add(1, Ordering::Relaxed);
        let (reply, answer) = oneshot::channel();
        self.send(ask(place.clone(), number, Reply::One(reply)))?;
        let line = OnLine::new(self.inbox.clone(), place, (number, auto), wait_ms, answer);
        Ok(Answering::on_line(line))
    }

    /// The items in order, each with its own outcome. Nothing waits, `wait` is refused.
    pub async fn batch(&self, context: &Context, items: Vec<BatchItem>) -> Vec<Answered> {
        let mut answers: Vec<Answered> = items.iter().map(|_| Err(unknown())).collect();
        let (mut to, mut from) = mpsc::unbounded_channel();
        for (index, item) in items.into_iter().enumerate() {
            let context = Context { request_id: item.id, ..context.clone() };
            if let Err(problem) = check_waitless(&item.call) {
                answers[index] = Err(problem);
            } else if !item.call.changes() {
                // A read sees the changes that stand before it, so those must be answered first.
                gather(to, from, &mut answers).await;
                (to, from) = mpsc::unbounded_channel();
                answers[index] = self.call(&context, item.call).await;
            } else if let Err(problem) = self.send_item(&context, item.call, Reply::Item(to.clone(), index)) {
                answers[index] = Err(problem);
            }
        }
        gather(to, from, &mut answers).await;
        answers
    }

    fn send_item(&self, context: &Context, mut call: Call, reply: Reply) -> Result<(), Problem> {
        let request = checked(context, &mut call)?;
        if context.if_match.is_some() {
            let message = "If-Match is for one change; a batch has none, leave the header out";
            return Err(Problem::new(Reason::InvalidArgument, message));
        }
        self.send(Input::Ask { request, admit: admit_fields(call), if_match: None, line: None, reply })
    }

    fn send(&self, input: Input<Reply>) -> Result<(), Problem> {
        self.inbox.send(Message::Input(Box::new(input))).map_err(|_| gone())
    }

    /// Moves a manual clock, stepping through everything due on the way; an earlier time changes nothing.
    /// Answers the time that now is. Refused unless the node was started with a manual clock.
    pub async fn advance_to(&self, at_ms: u64) -> Result<u64, Problem> {
        let (reply, answer) = oneshot::channel();
        self.send(Input::AdvanceTo { at: at_ms, reply: Reply::One(reply) })?;
        match Answering::sent(answer).await? {
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

    /// For how long a shared journal has not answered, if that is too long: what is read is as old as that. None while
    /// the node is in touch, and always on a journal of its own.
    pub fn stale_ms(&self) -> Option<u64> {
        let ms = boot_ms().saturating_sub(self.heard_at.load(Ordering::Relaxed));
        (ms >= CUT_OFF_MS).then_some(ms)
    }

    async fn nodes(&self) -> Answered {
        let gone = || Problem::new(Reason::Unavailable, "the limiter has stopped");
        self.ask(Message::Nodes).await.map(Answer::Nodes).ok_or_else(gone)
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
        let until = tokio::time::Instant::now() + within;
        if self.inbox.send(Message::Stop).is_ok() {
            let closed = self.inbox.closed();
            if tokio::time::timeout_at(until, closed).await.is_err() {
                tracing::warn!("the journal did not close in time");
                return;
            }
        }
        let threads =
            self.threads.lock().map(|mut threads| std::mem::take(&mut *threads)).unwrap_or_default();
        // The inbox is closed: they are past their last wait, and only finish and let go of the journal.
        let finished = async {
            for thread in threads {
                let _ = tokio::task::spawn_blocking(move || thread.join()).await;
            }
        };
        if tokio::time::timeout_at(until, finished).await.is_err() {
            tracing::warn!("the history was not filled in time; the next start goes on with it");
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

fn check_waitless(call: &Call) -> Result<(), Problem> {
    let wait = match call {
        Call::Acquire(fields) => &fields.wait,
        Call::Slot { wait, .. } => wait,
        _ => return Ok(()),
    };
    match check::wait(wait)? {
        None => Ok(()),
        Some(_) => Err(Problem::new(Reason::InvalidWait, "nothing waits in a batch; leave `wait` out")),
    }
}

type ItemAnswer = (usize, Answered);

/// Takes in the answers to all items that were sent, or as many as come before the node is gone.
async fn gather(
    to: mpsc::UnboundedSender<ItemAnswer>,
    mut from: mpsc::UnboundedReceiver<ItemAnswer>,
    answers: &mut [Answered],
) {
    drop(to);
    while let Some((index, answer)) = from.recv().await {
        answers[index] = answer;
    }
}

fn admit_fields(call: Call) -> Option<AdmitFields> {
    match call {
        Call::Admit(fields) => Some(fields),
        _ => None,
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

/// Answers of these tell of what was, or of runs that have ended.
fn comes_from_second_engine(call: &Call) -> bool {
    matches!(
        call,
        Call::History { .. }
            | Call::Audit(_)
            | Call::Overview(_)
            | Call::Series { .. }
            | Call::Runs(_)
            | Call::Run { .. }
            | Call::Explain { .. }
            | Call::Slot { .. }
            | Call::LimitSlots { .. }
    )
}
