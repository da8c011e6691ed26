//! Workflows that run: starting, cancelling and looking at runs.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use duroxide::{Client, ClientError, OrchestrationStatus, runtime::Runtime};
use maitred::{
    Maitred,
    api::{AcquireFields, Call, HoldMode, RunState, RunStep},
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use tokio::task::JoinSet;

use crate::{
    acquire::{question, whole_ms},
    builder::SERIAL_TIMEOUT,
    error::RunError,
    names::{Ticket, serial_limit},
    steps,
    watch::status_of,
};

/// So that the slots of a run have an id that fits.
const RUN_MOST: usize = 150;

/// The workflows of a program, running. Dropping it stops them where they are, as a crash would; [`Workflows::stop`]
/// lets what is under way come to its end.
pub struct Workflows {
    maitred: Maitred,
    client: Client,
    /// Name, and whether it is serial.
    names: BTreeMap<String, bool>,
    runtimes: Vec<Arc<Runtime>>,
    tasks: JoinSet<()>,
}

/// A run as it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    /// Its id.
    pub run: String,
    /// The workflow.
    pub workflow: String,
    /// The version that it began with.
    pub version: String,
    /// How it stands.
    pub status: RunState,
    /// What it waits for just now, or what it says of itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// What it answered, as JSON; or its error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
    /// Milliseconds since 1970.
    pub started_at: u64,
    /// What it did and does, in order.
    pub steps: Vec<RunStep>,
}

impl Workflows {
    pub(crate) fn running(
        maitred: Maitred,
        client: Client,
        names: BTreeMap<String, bool>,
        runtimes: Vec<Arc<Runtime>>,
        tasks: JoinSet<()>,
    ) -> Self {
        Self { maitred, client, names, runtimes, tasks }
    }

    /// Starts a run. A run of this id that there is already, running or ended, stays as it is: to start is to make sure
    /// that there is such a run.
    ///
    /// Once it returns the run is durable. A run of a serial workflow has its place in the queue by then, unless the
    /// limiter is away: then it gets its place when that is back.
    ///
    /// # Errors
    /// No such workflow, an id that cannot be one, or the store's own trouble.
    pub async fn start(
        &self,
        workflow: &str,
        run: impl Into<String>,
        input: &impl Serialize,
    ) -> Result<(), RunError> {
        let run = run.into();
        let Some(is_serial) = self.names.get(workflow) else {
            let known = self.names.keys().cloned().collect::<Vec<_>>().join(", ");
            return Err(RunError::NoWorkflow { workflow: workflow.to_owned(), known });
        };
        check_run(&run)?;
        let input = serde_json::to_string(input).map_err(|error| RunError::Input(error.to_string()))?;
        self.client.start_orchestration(&run, workflow, input).await.map_err(trouble)?;
        if *is_serial {
            self.queue(workflow, &run).await;
        }
        Ok(())
    }

    /// The run asks the same itself, with the same id, when its turn to do so comes; this settles the order.
    async fn queue(&self, workflow: &str, run: &str) {
        let ticket = Ticket { run: run.to_owned(), execution: 1, number: "1".to_owned() };
        let asked = AcquireFields {
            slot: Some(ticket.slot()),
            hold: HoldMode::Run,
            timeout: whole_ms(SERIAL_TIMEOUT).into(),
            ..question(serial_limit(workflow), run.to_owned(), workflow.to_owned())
        };
        if let Err(problem) = self.maitred.call(Call::Acquire(asked)).await {
            tracing::warn!(run, %problem, "the run gets its place in the queue later");
        }
    }

    /// Cancels a run: it runs no more code, leaves every queue, and keeps no slot that it did not hold. False if it had
    /// ended.
    ///
    /// # Errors
    /// No such run, or the store's own trouble.
    pub async fn cancel(&self, run: &str, reason: &str) -> Result<bool, RunError> {
        let goes_on = match self.client.get_orchestration_status(run).await.map_err(trouble)? {
            OrchestrationStatus::NotFound => return Err(RunError::NoRun(run.to_owned())),
            OrchestrationStatus::Running { .. } => true,
            _ => false,
        };
        if goes_on {
            self.client.cancel_instance(run, reason).await.map_err(trouble)?;
        }
        Ok(goes_on)
    }

    /// A run with its steps.
    ///
    /// # Errors
    /// No such run, or the store's own trouble.
    pub async fn run(&self, run: &str) -> Result<Run, RunError> {
        let missing = || RunError::NoRun(run.to_owned());
        let status = self.client.get_orchestration_status(run).await.map_err(trouble)?;
        let (status, note, output) = match status {
            OrchestrationStatus::NotFound => return Err(missing()),
            OrchestrationStatus::Running { custom_status, .. } => (RunState::Running, custom_status, None),
            OrchestrationStatus::Completed { output, .. } => (RunState::Succeeded, None, Some(output)),
            OrchestrationStatus::Failed { details, .. } => {
                (status_of(&details).into(), None, Some(details.display_message()))
            }
        };
        let info = self.client.get_instance_info(run).await.map_err(trouble)?;
        let history = self.client.read_execution_history(run, info.current_execution_id).await;
        Ok(Run {
            run: run.to_owned(),
            workflow: info.orchestration_name,
            version: info.orchestration_version,
            status,
            note,
            output,
            started_at: info.created_at,
            steps: steps::steps(&history.map_err(trouble)?),
        })
    }

    /// The ids of all runs, the newest first.
    ///
    /// # Errors
    /// The store's own trouble.
    pub async fn runs(&self) -> Result<Vec<String>, RunError> {
        self.client.list_all_instances().await.map_err(trouble)
    }

    /// Waits until a run has ended, and answers what it answered.
    ///
    /// # Errors
    /// It has not ended in time, or failed, or answered something else.
    pub async fn wait<Out: DeserializeOwned>(
        &self,
        run: &str,
        within: Duration,
    ) -> Result<Result<Out, String>, RunError> {
        match self.client.wait_for_orchestration_typed(run, within).await {
            Ok(outcome) => Ok(outcome),
            Err(ClientError::Timeout) => Err(RunError::NotEnded(run.to_owned())),
            Err(error) => Err(trouble(error)),
        }
    }

    /// The names of the workflows.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.names.keys().map(String::as_str)
    }

    /// The engine's own client, for everything that it can do besides.
    pub fn engine(&self) -> &Client {
        &self.client
    }

    /// Takes no more work, gives steps that are under way this long to end, and stops. Runs that wait go on waiting in
    /// the store.
    pub async fn stop(mut self, within: Duration) {
        let within_ms = u64::try_from(within.as_millis()).unwrap_or(u64::MAX);
        for runtime in std::mem::take(&mut self.runtimes) {
            runtime.shutdown(Some(within_ms)).await;
        }
        self.tasks.shutdown().await;
    }
}

impl Drop for Workflows {
    fn drop(&mut self) {
        let runtimes = std::mem::take(&mut self.runtimes);
        if let Ok(handle) = tokio::runtime::Handle::try_current() {
            handle.spawn(async move {
                for runtime in runtimes {
                    runtime.shutdown(Some(0)).await;
                }
            });
        }
    }
}

fn check_run(run: &str) -> Result<(), RunError> {
    let allowed = |b| matches!(b, b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'.' | b'_' | b'=' | b'@' | b'|' | b'/' | b':' | b'-');
    match !run.is_empty() && run.len() <= RUN_MOST && run.bytes().all(allowed) {
        true => Ok(()),
        false => Err(RunError::BadRun { run: run.escape_debug().to_string(), most: RUN_MOST }),
    }
}

fn trouble(error: ClientError) -> RunError {
    RunError::Store(error.to_string())
}
