//! Where tasks run.

use std::{
    collections::{HashMap, hash_map::Entry},
    fmt,
    path::Path,
    sync::{Arc, PoisonError, RwLock},
    time::Duration,
};

use maitred::{
    Client, Far, FarOptions, Leftovers, Maitred, NodeOptions, StartError,
    api::{Problem, RunStatus},
    local::Node,
};
use serde_json::Value;
use tokio::time::timeout;

use crate::{
    Flow, HeaderNames, Meta, Options, Output, Quote, Task, TaskConfig, TaskError, TaskStream,
    id::{RunId, is_of_a_key},
    run::{self, Active},
    stream,
    task::Registered,
};

const NAME_MAX: usize = 80;
const DEADLINE: Duration = Duration::from_secs(1);

/// Told once for every execution that passed its preflight, before its body runs.
type OnCharge = Arc<dyn Fn(&Charge<'_>) + Send + Sync>;

/// How a host is set up.
#[derive(Clone)]
pub struct HostOptions {
    /// The limiter's namespace; `default` if not set.
    pub namespace: Option<String>,
    /// Who asks, for the limiter's record.
    pub by: Option<String>,
    /// How long the limiter may take before an execution goes on without a verdict. 1 s if not set.
    pub deadline: Duration,
    /// Which headers carry what.
    pub headers: Arc<HeaderNames>,
    /// Told once for every execution that passed its `options()`, sub-tasks too. A run that was refused there, for
    /// whatever reason, is never told: it is charged nothing. A quote neither.
    pub on_charge: Option<OnCharge>,
}

impl Default for HostOptions {
    fn default() -> Self {
        Self { namespace: None, by: None, deadline: DEADLINE, headers: Arc::default(), on_charge: None }
    }
}

impl fmt::Debug for HostOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { namespace, deadline, .. } = self;
        f.debug_struct("HostOptions")
            .field("namespace", namespace)
            .field("deadline", deadline)
            .finish_non_exhaustive()
    }
}

/// What an execution costs, and whom.
#[derive(Clone, Copy, Debug)]
pub struct Charge<'a> {
    /// The execution: the same charge is never told twice for one, and a failed one is known by it.
    pub run: &'a str,
    /// Its task.
    pub task: &'a str,
    /// What `options()` returned.
    pub options: &'a Options,
    /// Whose request it is.
    pub meta: &'a Meta,
}

/// A task can't be registered as this.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HostError {
    /// The name is none.
    #[error("`{0}` can't be a task's name; allowed: 1 to {NAME_MAX} of A-Z a-z 0-9 . _ = @ | : -")]
    InvalidName(String),
    /// The name is taken.
    #[error("there is a task `{0}` already; register each name once")]
    Duplicate(String),
}

/// Whether the limiter has heard of the end of a deferred run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Completion {
    /// What the run held is free.
    Settled,
    /// The limiter did not answer in time; it is asked in the background until it does, for an hour.
    Pending,
}

/// Holds the tasks, executes them and settles their runs. Cheap to clone.
#[derive(Clone)]
pub struct Host(Arc<Shared>);

struct Shared {
    limiter: Maitred,
    tasks: RwLock<HashMap<String, Arc<Registered>>>,
    active: Active,
    options: HostOptions,
}

impl fmt::Debug for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Host").field("options", &self.0.options).finish_non_exhaustive()
    }
}

impl Host {
    /// With a limiter in this process, whose journal is in this folder.
    ///
    /// # Errors
    /// The folder can't be used, or somebody else has it open.
    pub async fn open(folder: impl AsRef<Path>) -> Result<Host, StartError> {
        let options = NodeOptions { folder: Some(folder.as_ref().to_owned()), ..NodeOptions::default() };
        Self::new(Client::Near(Node::start(options).await?))
    }

    /// With the limiter at `url`, `http://HOST:PORT`, which may be shared by many hosts and may still be starting.
    ///
    /// # Errors
    /// The URL can't be used.
    pub fn connect(url: &str) -> Result<Host, StartError> {
        let far = Far::connect(url, FarOptions::default()).map_err(|problem| StartError(problem.message))?;
        Self::new(Client::Far(far))
    }

    /// With a limiter in this process that keeps nothing. For tests.
    ///
    /// # Errors
    /// The machine gives no threads.
    pub async fn memory() -> Result<Host, StartError> {
        Self::new(Client::Near(Node::start(NodeOptions::default()).await?))
    }

    /// With a limiter that there is already.
    ///
    /// # Errors
    /// The machine gives no thread.
    pub fn new(limiter: Client) -> Result<Host, StartError> {
        Self::with_options(limiter, HostOptions::default())
    }

    /// With everything there is to say about it.
    ///
    /// # Errors
    /// The machine gives no thread.
    pub fn with_options(limiter: Client, options: HostOptions) -> Result<Host, StartError> {
        let mut limiter = Maitred::new(limiter)?.deadline(options.deadline);
        if let Some(namespace) = &options.namespace {
            limiter = limiter.namespace(namespace);
        }
        if let Some(by) = &options.by {
            limiter = limiter.by(by);
        }
        Ok(Host(Arc::new(Shared { limiter, tasks: RwLock::default(), active: Active::default(), options })))
    }

    /// Adds a task.
    ///
    /// # Errors
    /// Its name is taken, or none.
    pub fn register(&self, config: TaskConfig, task: impl Task) -> Result<(), HostError> {
        let name = config.name.clone();
        let is_name =
            (1..=NAME_MAX).contains(&name.len()) && name.bytes().all(|b| is_of_a_key(b) && b != b'/');
        if !is_name {
            return Err(HostError::InvalidName(name));
        }
        let mut tasks = self.0.tasks.write().unwrap_or_else(PoisonError::into_inner);
        match tasks.entry(name) {
            Entry::Occupied(taken) => Err(HostError::Duplicate(taken.key().clone())),
            Entry::Vacant(free) => {
                free.insert(Arc::new(Registered { config, task: Box::new(task) }));
                Ok(())
            }
        }
    }

    /// Executes a task as a root, published or not. Dropping the future cancels the run.
    ///
    /// # Errors
    /// What the task, its preflight or its limits end it with.
    pub async fn execute(&self, task: &str, params: Value, meta: Meta) -> Result<Output, TaskError> {
        run::execute(self.root(task, params, meta)?).await
    }

    /// Executes a task as a root and hands out what it emits. Its limits are checked before this returns.
    ///
    /// # Errors
    /// Its preflight or its limits end it.
    pub async fn stream(&self, task: &str, params: Value, meta: Meta) -> Result<TaskStream, TaskError> {
        stream::start(self.root(task, params, meta)?).await
    }

    /// A quote: what an execution would cost, and whether it would be let in. Spends nothing, takes nothing.
    ///
    /// # Errors
    /// What `options()` returns as its own error; never a limit that the framework enforces.
    pub async fn options(&self, task: &str, params: Value, meta: Meta) -> Result<Quote, TaskError> {
        Flow::new(self, task, params, Arc::new(meta), RunId::fresh())?.quote().await
    }

    /// Ends a deferred run, from any host of the same limiter. The second time it changes nothing.
    ///
    /// # Errors
    /// The run is being executed here and has not been deferred; or the id is none.
    pub async fn complete(&self, run: &str, status: RunStatus) -> Result<Completion, TaskError> {
        if !self.0.active.complete(run)? {
            return Ok(Completion::Settled);
        }
        let ended = self.end_run(run, status).await;
        match ended.map_err(|problem| TaskError::new("invalid_run", problem.message, 400))? {
            true => Ok(Completion::Settled),
            false => {
                self.limiter().end_run_in_background(run, status);
                Ok(Completion::Pending)
            }
        }
    }

    /// The limiter, for its other uses.
    pub fn limiter(&self) -> &Maitred {
        &self.0.limiter
    }

    /// Finishes the ends that wait in the background, and closes the limiter (near). For all clones.
    pub async fn close(self, within: Duration) -> Leftovers {
        self.limiter().clone().close(within).await
    }

    /// Whether clients may run it.
    pub fn is_published(&self, task: &str) -> bool {
        self.registered(task).is_ok_and(|registered| registered.config.publish)
    }
}

impl Host {
    fn root(&self, task: &str, params: Value, meta: Meta) -> Result<Flow, TaskError> {
        let run = RunId::new(task, meta.message_id())?;
        Flow::new(self, task, params, Arc::new(meta), run)
    }

    pub(crate) fn registered(&self, task: &str) -> Result<Arc<Registered>, TaskError> {
        let tasks = self.0.tasks.read().unwrap_or_else(PoisonError::into_inner);
        tasks.get(task).cloned().ok_or_else(|| TaskError::NotFound(task.to_owned()))
    }

    pub(crate) fn charge(&self, flow: &Flow, options: &Options) {
        if let Some(on_charge) = &self.0.options.on_charge {
            on_charge(&Charge { run: flow.run_id(), task: flow.task_name(), options, meta: flow.meta() });
        }
    }

    pub(crate) fn header_names(&self) -> &Arc<HeaderNames> {
        &self.0.options.headers
    }

    /// Ends a run. True if the limiter says that it is done; false if it said nothing in time.
    pub(crate) async fn end_run(&self, run: &str, status: RunStatus) -> Result<bool, Problem> {
        match timeout(self.0.options.deadline, self.limiter().end_run(run, status)).await {
            Ok(Ok(())) => Ok(true),
            Ok(Err(problem)) if problem.reason.http_status() < 500 => Err(problem),
            Ok(Err(_)) | Err(_) => Ok(false),
        }
    }

    pub(crate) fn active(&self) -> &Active {
        &self.0.active
    }
}
