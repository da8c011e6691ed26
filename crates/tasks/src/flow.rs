//! What a task is handed: who asks, its limits, its sub-tasks.

use std::{
    fmt,
    pin::Pin,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU32, Ordering::Relaxed},
    },
};

use maitred::{
    Spec,
    api::{Decision, Problem, SpecFields},
};
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::sync::mpsc;

use crate::{
    Host, Meta, Options, Output, Quote, RateLimit, RateLimitVerdict, TaskError, TaskStream,
    id::RunId,
    run::{self, Run, caught},
    stream,
    task::Registered,
};

/// Where a flow is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// In `options()`, for a quote: nothing is spent.
    Quote,
    /// In `options()`, for an execution.
    Preflight,
    Body,
}

/// One execution of a task, or one quote of it.
pub struct Flow {
    host: Host,
    registered: Arc<Registered>,
    run: RunId,
    meta: Arc<Meta>,
    params: Value,
    phase: Phase,
    chunks: Option<mpsc::Sender<Value>>,
    calls: AtomicU32,
    children: AtomicU32,
    /// Over all limits that were read so far.
    verdict: Mutex<Option<RateLimitVerdict>>,
}

impl fmt::Debug for Flow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (task, run) = (self.task_name(), self.run_id());
        f.debug_struct("Flow").field("task", &task).field("run", &run).field("phase", &self.phase).finish()
    }
}

impl Flow {
    /// The headers of the request.
    pub fn meta(&self) -> &Meta {
        &self.meta
    }

    /// The limits of this task. In `options()` only.
    pub fn rate_limit(&self) -> RateLimit<'_> {
        RateLimit { flow: self }
    }

    /// The parameters.
    ///
    /// # Errors
    /// They are none of that kind: 400 `invalid_params`.
    pub fn params<T: DeserializeOwned>(&self) -> Result<T, TaskError> {
        T::deserialize(&self.params).map_err(|error| TaskError::InvalidParams(error.to_string()))
    }

    /// The name of the run: of this execution, not of its root.
    pub fn run_id(&self) -> &str {
        self.run.as_str()
    }

    /// The name that the task was registered with.
    pub fn task_name(&self) -> &str {
        &self.registered.config.name
    }

    /// What another task would cost and whether it would be let in. Spends nothing, here too.
    pub fn options(&self, task: impl Into<String>, params: Value) -> SubQuote<'_> {
        SubQuote { flow: self, task: task.into(), params, include_rate_limit: false }
    }

    /// Executes another task as a part of this one, its own limits first. Dropping the future cancels it.
    ///
    /// # Errors
    /// What the sub-task ends with; returned on, the client gets the same.
    pub async fn execute_task(&self, task: &str, params: Value) -> Result<Output, TaskError> {
        let start = self.child(task, params)?;
        // Boxed, since a task may execute tasks without end.
        let execution: Pin<Box<dyn Future<Output = _> + Send>> = Box::pin(run::execute(start));
        execution.await
    }

    /// Executes another task and hands out what it emits as it comes. Its limits are checked before this returns.
    /// Dropping the stream cancels it.
    ///
    /// # Errors
    /// The sub-task is refused, or ends in its preflight.
    pub async fn stream_task(&self, task: &str, params: Value) -> Result<TaskStream, TaskError> {
        let start = self.child(task, params)?;
        let starting: Pin<Box<dyn Future<Output = _> + Send>> = Box::pin(stream::start(start));
        starting.await
    }

    /// Hands a piece of the response to whoever streams this execution; waits while they are slow. Nobody does: it is
    /// gone.
    pub async fn emit(&self, chunk: Value) {
        if let Some(chunks) = &self.chunks {
            let _ = chunks.send(chunk).await;
        }
    }

    /// The work goes on elsewhere, and the run with it: it keeps what it holds until [`Host::complete`] is called with
    /// [`Flow::run_id`]. Hand the id to whoever completes it after this call, then return what this returns.
    ///
    /// # Errors
    /// Outside of the body.
    pub fn defer(&self) -> Result<Output, TaskError> {
        self.in_the_body("defer")?;
        self.host.active().defer(self.run_id());
        Ok(Output::Deferred { run: self.run_id().to_owned() })
    }

    fn child(&self, task: &str, params: Value) -> Result<Flow, TaskError> {
        self.in_the_body("execute a task")?;
        let run = self.run.child(self.children.fetch_add(1, Relaxed));
        Flow::new(&self.host, task, params, Arc::clone(&self.meta), run)
    }

    /// `options()` only tells; a quote must be able to run it and spend nothing.
    fn in_the_body(&self, what: &str) -> Result<(), TaskError> {
        match self.phase {
            Phase::Body => Ok(()),
            Phase::Quote | Phase::Preflight => {
                Err(TaskError::internal(format!("options() can't {what}; only the body can")))
            }
        }
    }
}

/// How the host drives it.
impl Flow {
    pub(crate) fn new(
        host: &Host,
        task: &str,
        params: Value,
        meta: Arc<Meta>,
        run: RunId,
    ) -> Result<Flow, TaskError> {
        Ok(Flow {
            host: host.clone(),
            registered: host.registered(task)?,
            run,
            meta,
            params,
            phase: Phase::Preflight,
            chunks: None,
            calls: AtomicU32::new(0),
            children: AtomicU32::new(0),
            verdict: Mutex::new(None),
        })
    }

    pub(crate) fn emitting_to(mut self, chunks: mpsc::Sender<Value>) -> Flow {
        self.chunks = Some(chunks);
        self
    }

    pub(crate) fn phase(&self) -> Phase {
        self.phase
    }

    pub(crate) fn begin(&self) -> Result<Run, TaskError> {
        Run::begin(&self.host, self.run_id())
    }

    /// Runs `options()` if it is enabled, and tells the ledger what it says. The flow goes on as the body's.
    pub(crate) async fn preflight(mut self) -> Result<Flow, TaskError> {
        if self.registered.config.enable_preflight {
            let options = caught(self.registered.task.options(&self)).await?;
            self.host.charge(&self, &options);
        }
        self.phase = Phase::Body;
        Ok(self)
    }

    pub(crate) async fn body(&self) -> Result<Output, TaskError> {
        caught(self.registered.task.run(self)).await
    }

    pub(crate) async fn quote(mut self) -> Result<Quote, TaskError> {
        if !self.registered.config.enable_preflight {
            return Err(TaskError::NoPreflight(self.task_name().to_owned()));
        }
        self.phase = Phase::Quote;
        let options: Options = caught(self.registered.task.options(&self)).await?;
        let rate_limit_verdict = self.verdict.into_inner().unwrap_or_else(PoisonError::into_inner);
        Ok(Quote { options, rate_limit_verdict })
    }

    /// The limiter's verdict on these specs. A quote only looks.
    pub(crate) async fn ask(&self, specs: Vec<SpecFields>) -> Result<Decision, Problem> {
        let specs = specs.into_iter().map(Spec::from);
        let mut asked =
            self.host.limiter().admit(self.task_name()).run(self.run_id()).specs(specs).enforce(false);
        if self.phase == Phase::Quote {
            return asked.check().await;
        }
        if let Some(id) = self.run.call(self.calls.fetch_add(1, Relaxed)) {
            asked = asked.request_id(id);
        }
        asked.await.map_err(|error| error.problem())
    }

    /// One more limit that this quote stands for. Outside of a quote nobody reads it.
    pub(crate) fn blame(&self, verdict: RateLimitVerdict) {
        let mut so_far = self.verdict.lock().unwrap_or_else(PoisonError::into_inner);
        *so_far = Some(match so_far.take() {
            Some(earlier) => earlier.and(verdict),
            None => verdict,
        });
    }
}

/// A question what another task would cost; await it. Made by [`Flow::options`].
#[must_use = "nothing is asked until it is awaited"]
#[derive(Debug)]
pub struct SubQuote<'a> {
    flow: &'a Flow,
    task: String,
    params: Value,
    include_rate_limit: bool,
}

impl SubQuote<'_> {
    /// In a quote: the sub-task's verdict counts toward this task's own. Set it for a sub-task that will be run, not
    /// for one that is only looked at. Outside of a quote it does nothing: the sub-task decides when it runs.
    pub fn include_rate_limit(mut self, include: bool) -> Self {
        self.include_rate_limit = include;
        self
    }

    async fn asked(self) -> Result<Quote, TaskError> {
        let Self { flow, task, params, include_rate_limit } = self;
        let quote =
            Flow::new(&flow.host, &task, params, Arc::clone(&flow.meta), RunId::fresh())?.quote().await?;
        if let Some(verdict) = quote.rate_limit_verdict.clone().filter(|_| include_rate_limit) {
            flow.blame(verdict);
        }
        Ok(quote)
    }
}

impl<'a> IntoFuture for SubQuote<'a> {
    type Output = Result<Quote, TaskError>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send + 'a>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.asked())
    }
}
