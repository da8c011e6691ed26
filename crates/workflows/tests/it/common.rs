//! A limiter whose clock the test moves, near or far, and programs whose runs are kept in a file.

use std::{
    path::PathBuf,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use maitred::{
    Client, Maitred,
    api::{Answer, Call},
    local::{Node, NodeOptions},
};
use maitred_server::http::{Server, Shared};
#[cfg(feature = "postgres")]
use maitred_testbed::Postgres;
#[cfg(feature = "postgres")]
use maitred_workflows::postgres;
use maitred_workflows::{
    Builder, Run, RunState, SlotError, Step, StepState, Store, Workflow, Workflows, sqlite,
};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::net::TcpListener;

pub const MINUTE: Duration = Duration::from_secs(60);
pub const VOICE: &str = "voice-calls";
pub const HOOK: &str = "Esperando hueco · voice-calls";

/// Runs a test near and far: `near::NAME` and `far::NAME`; and with runs in PostgreSQL, if that was built: `on_postgres::NAME`.
macro_rules! near_and_far {
    ($($name:ident)*) => {
        mod near {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                super::$name($crate::common::World::near().await).await;
            })*
        }
        mod far {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                super::$name($crate::common::World::far().await).await;
            })*
        }
        #[cfg(feature = "postgres")]
        mod on_postgres {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                super::$name($crate::common::World::on_postgres().await).await;
            })*
        }
    };
}

pub(crate) use near_and_far;

pub struct World {
    pub folder: TempDir,
    pub node: Node,
    pub maitred: Maitred,
    pub server: Option<Server>,
    /// Where runs are kept, if not in a file.
    #[cfg(feature = "postgres")]
    pub postgres: Option<Postgres>,
    /// What the step `work` was called with, in order.
    pub worked: Arc<Mutex<Vec<String>>>,
}

impl World {
    pub async fn near() -> World {
        let folder = TempDir::new().unwrap();
        let node = node(&folder).await;
        let maitred = Maitred::new(Client::Near(node.clone())).unwrap();
        World {
            folder,
            node,
            maitred,
            server: None,
            #[cfg(feature = "postgres")]
            postgres: None,
            worked: Arc::default(),
        }
    }

    /// Near, with runs in a PostgreSQL of their own.
    #[cfg(feature = "postgres")]
    pub async fn on_postgres() -> World {
        let server = tokio::task::spawn_blocking(Postgres::start).await.unwrap().unwrap();
        World { postgres: Some(server), ..World::near().await }
    }

    pub async fn far() -> World {
        let mut world = World::near().await;
        let server = serve(world.node.clone(), "127.0.0.1:0").await;
        world.maitred = Maitred::connect(&format!("http://{}", server.addr)).unwrap();
        world.server = Some(server);
        world
    }

    /// The server stops with its journal, and is started again.
    pub async fn away(&mut self, for_: Duration) {
        let server = self.server.take().expect("the limiter is far");
        let addr = server.addr.to_string();
        server.stop(Duration::from_secs(5)).await;
        tokio::time::sleep(for_).await;
        self.node = node(&self.folder).await;
        self.server = Some(serve(self.node.clone(), &addr).await);
    }

    pub fn file(&self) -> PathBuf {
        self.folder.path().join("runs.db")
    }

    pub async fn store(&self) -> Store {
        #[cfg(feature = "postgres")]
        if let Some(server) = &self.postgres {
            return postgres(&database(server), "runs").await.unwrap();
        }
        sqlite(self.file()).await.unwrap()
    }

    /// The programs of the tests, declared and not started.
    pub fn programs(&self) -> Builder {
        let worked = Arc::clone(&self.worked);
        Workflows::builder(self.maitred.clone())
            .workflow("take", take)
            .workflow("free", free)
            .workflow("inside", inside)
            .workflow("free_in_step", async |workflow: Workflow, slot: String| {
                workflow.step::<bool>("free", &slot).await
            })
            .step("free", async |step: Step, slot: String| {
                step.release_slot(&slot)
                    .await
                    .map(|answer| answer.released)
                    .map_err(|problem| problem.to_string())
            })
            .step("work", move |_: Step, what: String| {
                let worked = Arc::clone(&worked);
                async move { work(&worked, what).await }
            })
    }

    /// With one limit of this capacity.
    pub async fn start(&self, capacity: u32) -> Workflows {
        self.programs().limit(VOICE, capacity, 10 * MINUTE).start(self.store().await).await.unwrap()
    }

    /// The node itself, without the client under test.
    pub fn observer(&self) -> Maitred {
        Maitred::new(Client::Near(self.node.clone())).unwrap()
    }

    /// Busy, reserved and waiting.
    pub async fn counts(&self, limit: &str) -> (u64, u64, u32) {
        let info = self.observer().limit(limit).await.unwrap().limit;
        (info.busy, info.reserved, info.waiting)
    }

    pub async fn until(&self, limit: &str, counts: (u64, u64, u32)) {
        eventually(&format!("`{limit}` has (busy, reserved, waiting) {counts:?}"), async || {
            self.counts(limit).await == counts
        })
        .await;
    }

    /// Who gave slots back, the last first, as soon as the record has that many.
    pub async fn released_by(&self, limit: &str, most: usize) -> Vec<String> {
        let mut who = Vec::new();
        eventually(&format!("`{limit}` has {most} releases on record"), async || {
            let limit = Some(limit.to_owned());
            let look = Call::History { limit, slot: None, run: None, label: None, before: None, most: None };
            let Answer::History(history) = self.observer().call(look).await.unwrap() else { panic!() };
            who = history.ends.into_iter().filter_map(|end| end.by).collect();
            who.len() == most
        })
        .await;
        who
    }

    /// Moves the limiter's clock.
    pub async fn pass(&self, time: Duration) {
        let now = self.node.now().await;
        self.node.advance_to(now + time.as_millis() as u64).await.unwrap();
    }

    pub fn worked(&self) -> Vec<String> {
        self.worked.lock().unwrap().clone()
    }
}

#[cfg(feature = "postgres")]
pub fn database(server: &Postgres) -> String {
    format!("postgres://postgres@127.0.0.1:{}/postgres", server.port())
}

async fn node(folder: &TempDir) -> Node {
    let folder = Some(folder.path().join("limiter"));
    Node::start(NodeOptions { folder, manual_clock: true, ..NodeOptions::default() }).await.unwrap()
}

pub async fn serve(node: Node, addr: &str) -> Server {
    let listener = TcpListener::bind(addr).await.unwrap();
    Server::start(listener, Arc::new(Shared::new(node))).unwrap()
}

/// Takes a slot as it is told, and answers its id, or why there is none.
async fn take(workflow: Workflow, told: Value) -> Result<Value, String> {
    let mut asked = workflow.acquire_slot(told["limit"].as_str().unwrap_or(VOICE));
    if let Some(other) = told["and"].as_str() {
        asked = asked.and(other);
    }
    if let Some(weight) = told["weight"].as_u64() {
        asked = asked.weight(weight as u32);
    }
    if let Some(label) = told["label"].as_str() {
        asked = asked.label(label);
    }
    if let Some(timeout_ms) = told["timeout_ms"].as_u64() {
        asked = asked.timeout(Duration::from_millis(timeout_ms));
    }
    if told["until_run_ends"] == true {
        asked = asked.until_run_ends();
    }
    let slot = match asked.await {
        Ok(slot) => slot,
        Err(SlotError::Timeout(late)) => {
            return Ok(json!({ "limiter": late.limiter, "timeout_ms": late.timeout.as_millis() as u64 }));
        }
        Err(error) => return Err(error.into()),
    };
    if let Some(work) = told["work"].as_str() {
        workflow.step::<String>("work", &work).await?;
    }
    if told["stay"] == true {
        workflow.dequeue_event("never").await;
    }
    Ok(json!({ "slot": slot.id }))
}

async fn free(workflow: Workflow, slot: String) -> Result<bool, String> {
    Ok(workflow.release_slot(slot).await?)
}

async fn inside(workflow: Workflow, what: String) -> Result<String, String> {
    workflow.with_limit(VOICE, async |_| workflow.step::<String>("work", &what).await).await?
}

async fn work(worked: &Mutex<Vec<String>>, what: String) -> Result<String, String> {
    worked.lock().unwrap().push(what.clone());
    match what.as_str() {
        "fail" => Err("as told".to_owned()),
        _ => Ok(what),
    }
}

/// What the run answered.
pub async fn answer(workflows: &Workflows, run: &str) -> Value {
    let answered = workflows.wait::<Value>(run, MINUTE).await.unwrap();
    answered.unwrap_or_else(|error| panic!("run {run} failed: {error}"))
}

/// Why the run failed.
pub async fn error(workflows: &Workflows, run: &str) -> String {
    match workflows.wait::<Value>(run, MINUTE).await.unwrap() {
        Ok(answer) => panic!("run {run} answered {answer}"),
        Err(error) => error,
    }
}

/// The slot that the run answered.
pub async fn slot(workflows: &Workflows, run: &str) -> String {
    answer(workflows, run).await["slot"].as_str().expect("a slot").to_owned()
}

/// The waits for slots in a run's steps.
pub fn hooks(run: &Run) -> Vec<(&str, StepState)> {
    let hooks = run.steps.iter().filter(|step| step.kind == maitred_workflows::StepKind::Hook);
    hooks.map(|step| (step.name.as_str(), step.state)).collect()
}

pub async fn until_waiting(workflows: &Workflows, run: &str) {
    eventually(&format!("run {run} waits"), async || {
        workflows.run(run).await.is_ok_and(|run| run.note.as_deref() == Some(HOOK))
    })
    .await;
}

pub async fn until_ended(workflows: &Workflows, run: &str) -> Run {
    eventually(&format!("run {run} ends"), async || {
        workflows.run(run).await.is_ok_and(|run| run.status != RunState::Running)
    })
    .await;
    workflows.run(run).await.unwrap()
}

pub async fn eventually(what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    let started = Instant::now();
    while !is_so().await {
        assert!(started.elapsed() < Duration::from_secs(40), "in 40 s it was never so: {what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}
