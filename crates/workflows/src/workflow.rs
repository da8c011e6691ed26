//! What a workflow body and a step are given.

use std::{ops::Deref, time::Duration};

use duroxide::{ActivityContext, OrchestrationContext};
use maitred::{
    Maitred, Released, SlotId,
    api::{Problem, Reason},
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::{
    acquire::{AcquireSlot, question},
    desk::{RELEASE, Said, TAG},
    error::SlotError,
    names::actor,
};

/// The first pause when the limiter is away, and the longest.
const PAUSE: Duration = Duration::from_secs(1);
const PAUSE_MOST: Duration = Duration::from_secs(15);
/// Twenty-four hours: how long a run waits if nobody says otherwise.
const TIMEOUT: Duration = Duration::from_secs(86_400);

/// What a workflow body is given: slots, steps, and everything of the engine's own context ([`OrchestrationContext`]).
#[derive(Clone)]
pub struct Workflow(OrchestrationContext);

impl Deref for Workflow {
    type Target = OrchestrationContext;

    fn deref(&self) -> &OrchestrationContext {
        &self.0
    }
}

/// A slot that the run holds, until somebody releases it or its limit's max hold is over. A plain value: hand `id` to
/// whoever ends the work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Slot {
    /// Whoever knows it may release the slot, from any run, step or process.
    pub id: String,
    /// The limit, or the first of several.
    pub limiter: String,
    /// Grows with every grant, so that a resource can refuse an older holder.
    pub fence: u64,
    /// When the limiter takes it back, by its clock: milliseconds since 1970.
    pub expires_at_ms: u64,
}

impl Workflow {
    pub(crate) fn new(context: OrchestrationContext) -> Self {
        Self(context)
    }

    /// Asks for a slot of a limit; await it. The run waits in its queue, up to 24 h unless changed, over restarts of
    /// everything.
    ///
    /// The slot belongs to the work that the run started, not to the run: it stays busy when the run ends, until it is
    /// released or its max hold is over.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use maitred_workflows::{SlotError, Workflow};
    /// async fn place_call(workflow: Workflow, call: String) -> Result<Option<String>, String> {
    ///     let asked = workflow.acquire_slot("voice-calls").label(&call).timeout(Duration::from_secs(30 * 60));
    ///     match asked.await {
    ///         Ok(slot) => {
    ///             workflow.step::<()>("dial_out", &(call, &slot.id)).await?;
    ///             Ok(Some(slot.id))
    ///         }
    ///         Err(SlotError::Timeout(_)) => Ok(None), // no slot free in 30 minutes
    ///         Err(error) => Err(error.into()),
    ///     }
    /// }
    /// ```
    ///
    /// Only a workflow body can wait, so a step has no such method:
    ///
    /// ```compile_fail,E0599
    /// async fn dial_out(step: maitred_workflows::Step, _: ()) -> Result<(), String> {
    ///     step.acquire_slot("voice-calls").await?;
    ///     Ok(())
    /// }
    /// ```
    pub fn acquire_slot(&self, limit: impl Into<String>) -> AcquireSlot {
        let fields = question(limit.into(), self.instance_id(), self.orchestration_name());
        AcquireSlot::new(self.clone(), fields, TIMEOUT)
    }

    /// Gives a slot back, whichever run took it. The second time, and after its max hold, the answer is `false` and
    /// nothing changes. While the limiter is away the run waits.
    ///
    /// # Errors
    /// The id is none, or the engine ended the step.
    pub async fn release_slot(&self, slot: impl Into<String>) -> Result<bool, SlotError> {
        match self.said(RELEASE, &slot.into()).await? {
            Said::Released { released } => Ok(released),
            Said::Refused(problem) => Err(SlotError::Refused { limiter: String::new(), problem }),
            other => Err(SlotError::Engine(format!("a release said {other:?}"))),
        }
    }

    /// Runs the body while a slot of this limit is held, and gives the slot back when the body returns, whatever it
    /// returns. [`AcquireSlot::with`] does it with a label, a timeout and so on.
    ///
    /// A run that is cancelled or panics in there runs no code any more: its slot stays busy until its max hold, or,
    /// with [`AcquireSlot::until_run_ends`], until the run has ended.
    ///
    /// # Errors
    /// There was no slot, and the body did not run.
    pub async fn with_limit<T>(
        &self,
        limit: impl Into<String>,
        body: impl AsyncFnOnce(&Slot) -> T,
    ) -> Result<T, SlotError> {
        self.acquire_slot(limit).with(body).await
    }

    /// Runs a step: its input and what it answers stand in the run's history. It may be run again if the process dies
    /// in it.
    ///
    /// # Errors
    /// What the step answered.
    pub async fn step<Out>(&self, name: &str, input: &impl Serialize) -> Result<Out, String>
    where
        Out: DeserializeOwned + Send + 'static,
    {
        self.schedule_activity_typed::<_, Out>(name, input).await
    }

    /// Asks the limiter until it answers. Between two questions the run waits in a durable timer.
    pub(crate) async fn said(&self, activity: &str, input: &impl Serialize) -> Result<Said, SlotError> {
        let input = serde_json::to_string(input).map_err(|error| SlotError::Engine(error.to_string()))?;
        let mut pause = PAUSE;
        loop {
            let answered = self.schedule_activity(activity, input.clone()).with_tag(TAG).await;
            let answered = answered.map_err(SlotError::Engine)?;
            match serde_json::from_str(&answered).map_err(|error| SlotError::Engine(error.to_string()))? {
                Said::Away(why) => {
                    self.trace_warn(format!("{activity}: {why}"));
                    self.schedule_timer(pause).await;
                    pause = (pause * 2).min(PAUSE_MOST);
                }
                said => return Ok(said),
            }
        }
    }
}

/// What a step is given: the engine's own context ([`ActivityContext`]), and a way to give slots back.
pub struct Step {
    context: ActivityContext,
    maitred: Maitred,
}

impl Deref for Step {
    type Target = ActivityContext;

    fn deref(&self) -> &ActivityContext {
        &self.context
    }
}

impl Step {
    pub(crate) fn new(context: ActivityContext, maitred: Maitred) -> Self {
        Self { context, maitred }
    }

    /// Gives a slot back, whoever holds it. The second time, and after its max hold, it says `released: false`.
    ///
    /// # Errors
    /// The limiter could not be heard within 10 s, or the id is none.
    pub async fn release_slot(&self, slot: &str) -> Result<Released, Problem> {
        let wrong =
            |error| Problem::new(Reason::InvalidId, format!("slot \"{}\": {error}", slot.escape_debug()));
        let maitred = self.maitred.clone().by(actor(self.context.instance_id()));
        maitred.release(&SlotId::parse(slot).map_err(wrong)?).await
    }
}
