//! A host in a world whose clock the test moves, and tasks made of two closures.

use std::{
    pin::Pin,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    time::{Duration, Instant},
};

use maitred::{
    Client, NodeOptions,
    api::{Answer, Call},
    local::Node,
};
use maitred_tasks::{
    ConcurrencySpec, Flow, Host, HostOptions, Meta, Options, Output, Quote, RateLimitVerdict, RateSpec,
    RunStatus, Task, TaskConfig, TaskError,
};
use serde_json::{Value, json};

pub const MINUTE: Duration = Duration::from_secs(60);
pub const HOUR: u64 = 3_600;
pub const THIRTY_DAYS: Duration = Duration::from_secs(30 * 86_400);

pub type Boxed<'a, T> = Pin<Box<dyn Future<Output = Result<T, TaskError>> + Send + 'a>>;

/// A task made of its preflight and its body.
pub struct Made<O, R>(O, R);

pub fn made<O, R>(options: O, run: R) -> Made<O, R>
where
    O: for<'a> Fn(&'a Flow) -> Boxed<'a, Options> + Send + Sync + 'static,
    R: for<'a> Fn(&'a Flow, Value) -> Boxed<'a, Output> + Send + Sync + 'static,
{
    Made(options, run)
}

impl<O, R> Task for Made<O, R>
where
    O: for<'a> Fn(&'a Flow) -> Boxed<'a, Options> + Send + Sync + 'static,
    R: for<'a> Fn(&'a Flow, Value) -> Boxed<'a, Output> + Send + Sync + 'static,
{
    type Params = Value;

    async fn options(&self, flow: &Flow) -> Result<Options, TaskError> {
        (self.0)(flow).await
    }

    async fn run(&self, flow: &Flow, params: Value) -> Result<Output, TaskError> {
        (self.1)(flow, params).await
    }
}

/// A closure that is a preflight for any flow.
pub fn preflight<F>(options: F) -> F
where
    F: for<'a> Fn(&'a Flow) -> Boxed<'a, Options> + Send + Sync + 'static,
{
    options
}

/// A closure that is a body for any flow.
pub fn bodied<F>(run: F) -> F
where
    F: for<'a> Fn(&'a Flow, Value) -> Boxed<'a, Output> + Send + Sync + 'static,
{
    run
}

/// A body that does what its parameters say: `{}` succeeds, `{"fail": true}` fails, and so on.
pub fn body(flow: &Flow, params: Value) -> Boxed<'_, Output> {
    Box::pin(async move {
        match params["do"].as_str() {
            None => Ok(json!({ "done": true }).into()),
            Some("fail") => Err(TaskError::internal("as told")),
            Some("moderate") => Err(TaskError::new("moderation_rejected", "not this", 422)),
            Some("misread") => flow.params::<u64>().map(|number| json!(number).into()),
            Some("cancel") => Err(TaskError::Cancelled),
            Some("panic") => panic!("as told"),
            Some("defer") => flow.defer(),
            Some("hang") => std::future::pending().await,
            Some(other) => unreachable!("{other}"),
        }
    })
}

pub fn free(_flow: &Flow) -> Boxed<'_, Options> {
    Box::pin(async { Ok(Options::new()) })
}

/// A preflight with these rates.
pub fn consume(specs: impl IntoIterator<Item = RateSpec>) -> impl for<'a> Fn(&'a Flow) -> Boxed<'a, Options> {
    let specs: Vec<RateSpec> = specs.into_iter().collect();
    move |flow| {
        let specs = specs.clone();
        Box::pin(async move {
            flow.rate_limit().consume(specs).await?;
            Ok(Options::new().credits(12))
        })
    }
}

/// A preflight with these places in flight.
pub fn acquire(
    specs: impl IntoIterator<Item = ConcurrencySpec>,
) -> impl for<'a> Fn(&'a Flow) -> Boxed<'a, Options> {
    let specs: Vec<ConcurrencySpec> = specs.into_iter().collect();
    move |flow| {
        let specs = specs.clone();
        Box::pin(async move {
            flow.rate_limit().acquire(specs).await?;
            Ok(Options::new())
        })
    }
}

pub fn rate(key: &str, limit: u64) -> RateSpec {
    RateSpec::new(key, limit, MINUTE)
}

pub fn place(key: &str, limit: u64) -> ConcurrencySpec {
    ConcurrencySpec::new(key, limit)
}

type Charges = Arc<Mutex<Vec<(String, Option<u64>)>>>;

pub struct World {
    pub host: Host,
    pub client: Client,
    /// What the ledger was told: task and credits.
    pub charges: Charges,
}

impl World {
    pub async fn new() -> World {
        let node = Node::start(NodeOptions { manual_clock: true, ..NodeOptions::default() }).await.unwrap();
        World::over(Client::Near(node))
    }

    pub fn over(client: Client) -> World {
        let charges = Charges::default();
        let ledger = Arc::clone(&charges);
        let options = HostOptions {
            on_charge: Some(Arc::new(move |charge| {
                ledger.lock().unwrap().push((charge.task.to_owned(), charge.options.credits));
            })),
            ..HostOptions::default()
        };
        World { host: Host::with_options(client.clone(), options).unwrap(), client, charges }
    }

    /// A published task `t` with this preflight and the body that does as told.
    pub async fn with(
        options: impl for<'a> Fn(&'a Flow) -> Boxed<'a, Options> + Send + Sync + 'static,
    ) -> World {
        let world = World::new().await;
        world.add("t", options);
        world
    }

    pub fn add(
        &self,
        name: &str,
        options: impl for<'a> Fn(&'a Flow) -> Boxed<'a, Options> + Send + Sync + 'static,
    ) {
        self.task(name, made(options, body));
    }

    pub fn task(&self, name: &str, task: impl Task) {
        self.host.register(TaskConfig::new(name).publish().enable_preflight(), task).unwrap();
    }

    /// Executes `t`, which does this.
    pub async fn run(&self, what: &str) -> Result<Output, TaskError> {
        self.host.execute("t", json!({ "do": what }), Meta::new()).await
    }

    pub async fn ok(&self) -> Result<Output, TaskError> {
        self.host.execute("t", json!({}), Meta::new()).await
    }

    /// Defers a run of `t` and tells its id.
    pub async fn deferred(&self) -> String {
        match self.run("defer").await.unwrap() {
            Output::Deferred { run } => run,
            Output::Response(response) => panic!("not deferred: {response}"),
        }
    }

    pub async fn complete(&self, run: &str) {
        self.host.complete(run, RunStatus::Succeeded).await.unwrap();
    }

    pub async fn quote(&self) -> Quote {
        self.host.options("t", json!({}), Meta::new()).await.unwrap()
    }

    pub async fn verdict(&self) -> RateLimitVerdict {
        self.quote().await.rate_limit_verdict.unwrap()
    }

    /// Moves the clock on.
    pub async fn pass(&self, seconds: u64) {
        let now = self.client.now().await.unwrap();
        self.client.advance_to(now + seconds * 1_000).await.unwrap();
    }

    /// What is counted against a key of a task, and how many places of it are taken.
    pub async fn counted_of(&self, task: &str, key: &str) -> (u64, u64) {
        let (task, key) = (Some(task.to_owned()), Some(key.to_owned()));
        let call = Call::Keys { task, key, after: None, most: None };
        let Ok(Answer::Keys(answer)) = self.host.limiter().call(call).await else { panic!("no keys") };
        answer.keys.first().map_or((0, 0), |key| (key.window.as_ref().map_or(0, |w| w.used), key.in_flight))
    }

    pub async fn counted(&self, key: &str) -> (u64, u64) {
        self.counted_of("t", key).await
    }

    /// Waits until it is so: for what happens in the background.
    pub async fn until_counted(&self, key: &str, counted: (u64, u64)) {
        let started = Instant::now();
        while self.counted(key).await != counted {
            assert!(started.elapsed() < Duration::from_secs(20), "{key}: {:?}", self.counted(key).await);
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

/// The 429 that it is: its reason and details.
#[track_caller]
pub fn refusal(result: Result<Output, TaskError>) -> (String, Value) {
    let error = result.expect_err("it is to be refused");
    assert_eq!(error.status(), 429, "{error}");
    let body = error.body();
    (body.reason, body.details.unwrap_or_default())
}

#[track_caller]
pub fn is_refused(result: Result<Output, TaskError>) -> bool {
    match result {
        Ok(_) => false,
        Err(error) => {
            assert_eq!(error.status(), 429, "{error}");
            true
        }
    }
}

/// How often something happened.
#[derive(Clone, Default)]
pub struct Tally(Arc<AtomicUsize>);

impl Tally {
    pub fn add(&self) {
        self.0.fetch_add(1, SeqCst);
    }

    pub fn get(&self) -> usize {
        self.0.load(SeqCst)
    }
}
