//! What the limiter is asked on behalf of runs, as activities: everything here may be done twice.
//!
//! An activity holds one of the engine's few workers while it runs, so it does not wait for a limiter that is away: it
//! says so within two seconds, and the run waits in a durable timer instead. While the limiter is away one activity at
//! a time finds out whether it is back; the others say at once that it is not.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use duroxide::{ActivityContext, runtime::registry::ActivityRegistry};
use maitred::{
    Maitred,
    api::{AcquireFields, Answer, Call, Certainty, Problem, Reason, SlotAnswer, SlotState},
};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use tokio::sync::Mutex;

use crate::names::actor;

/// The activities. Their names and what they take and say stand in the histories of runs: never change one, add another.
pub const ACQUIRE: &str = "maitred.acquire";
pub const CONFIRM: &str = "maitred.confirm";
pub const LAST_LOOK: &str = "maitred.last_look";
pub const RELEASE: &str = "maitred.release";
/// They have workers of their own, so that long steps of a program do not hold up a grant.
pub const TAG: &str = "maitred";
/// What all their names begin with.
pub const PREFIX: &str = "maitred.";

/// How long a worker waits for the limiter.
const ANSWER_WITHIN: Duration = Duration::from_secs(2);

/// What an activity says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Said {
    /// How the slot stands.
    Slot {
        state: SlotState,
        #[serde(default)]
        fence: u64,
        #[serde(default)]
        expires_at: u64,
    },
    Released {
        released: bool,
    },
    /// The id was used in an earlier life of the run: ask with this behind it.
    UsedBefore {
        suffix: String,
    },
    /// The limiter says no. Nothing happened.
    Refused(Problem),
    /// No answer. It may have happened; asking again does no harm.
    Away(String),
}

pub struct Desk {
    maitred: Maitred,
    is_away: AtomicBool,
    looking: Mutex<()>,
}

impl Desk {
    pub fn new(maitred: Maitred) -> Self {
        Self { maitred, is_away: AtomicBool::new(false), looking: Mutex::new(()) }
    }

    pub fn activities(self) -> ActivityRegistry {
        let desk = Arc::new(self);
        let acquire = Arc::clone(&desk);
        let confirm = Arc::clone(&desk);
        let last_look = Arc::clone(&desk);
        ActivityRegistry::builder()
            .register_typed(ACQUIRE, move |run: ActivityContext, fields: AcquireFields| {
                let desk = Arc::clone(&acquire);
                async move { Ok::<Said, String>(desk.acquire(run.instance_id(), fields).await) }
            })
            .register_typed(CONFIRM, move |run: ActivityContext, slot: String| {
                let desk = Arc::clone(&confirm);
                async move { Ok::<Said, String>(desk.confirm(run.instance_id(), slot).await) }
            })
            .register_typed(LAST_LOOK, move |run: ActivityContext, slot: String| {
                let desk = Arc::clone(&last_look);
                async move { Ok::<Said, String>(desk.last_look(run.instance_id(), slot).await) }
            })
            .register_typed(RELEASE, move |run: ActivityContext, slot: String| {
                let desk = Arc::clone(&desk);
                async move { Ok::<Said, String>(desk.release(run.instance_id(), slot).await) }
            })
            .build()
    }

    /// A slot that is free is confirmed at once: whoever asks is there to hear it.
    async fn acquire(&self, run: &str, fields: AcquireFields) -> Said {
        let waits = fields.timeout.whole_number() != Some(0);
        let slot = fields.slot.clone().unwrap_or_default();
        match self.ask(run, Call::Acquire(fields)).await {
            Said::Slot { state: SlotState::Reserved, .. } => self.confirm(run, slot).await,
            Said::Slot { state, .. } if waits && is_over(state) => {
                Said::UsedBefore { suffix: uuid::Uuid::new_v4().simple().to_string() }
            }
            said => said,
        }
    }

    async fn confirm(&self, run: &str, slot: String) -> Said {
        self.ask(run, Call::Confirm { slot }).await
    }

    /// When the run's time is up: it has the slot after all, or it does not want it any more.
    async fn last_look(&self, run: &str, slot: String) -> Said {
        match self.confirm(run, slot.clone()).await {
            Said::Slot { state: SlotState::Queued | SlotState::Reserved, .. } => {
                self.ask(run, Call::Leave { slot }).await
            }
            said => said,
        }
    }

    async fn release(&self, run: &str, slot: String) -> Said {
        self.ask(run, Call::Release { slot }).await
    }

    /// In the name of a run: the limiter's record says who did it.
    async fn ask(&self, run: &str, call: Call) -> Said {
        let _looking = match self.is_away.load(Ordering::Relaxed) {
            true => match self.looking.try_lock() {
                Ok(looking) => Some(looking),
                Err(_) => return Said::Away("the limiter did not answer a moment ago".to_owned()),
            },
            false => None,
        };
        let maitred = self.maitred.clone().by(actor(run));
        let answered = tokio::time::timeout(ANSWER_WITHIN, maitred.call(call)).await;
        let said = match answered {
            Ok(Ok(answer)) => said(answer),
            Ok(Err(problem)) if is_no_answer(&problem) => Said::Away(problem.to_string()),
            Ok(Err(problem)) => Said::Refused(problem),
            Err(_) => Said::Away(format!("the limiter did not answer within {} s", ANSWER_WITHIN.as_secs())),
        };
        self.is_away.store(matches!(said, Said::Away(_)), Ordering::Relaxed);
        said
    }
}

fn said(answer: Answer) -> Said {
    match answer {
        Answer::Slot(SlotAnswer { slot, .. }) => Said::Slot {
            state: slot.state,
            fence: slot.fence.unwrap_or_default(),
            expires_at: slot.expires_at.unwrap_or_default(),
        },
        Answer::Release(answer) => Said::Released { released: answer.released },
        other => Said::Refused(Problem::new(
            Reason::Internal,
            format!("the limiter answered another question: {other:?}"),
        )),
    }
}

/// The run waits: the limiter is away or has no room for questions, or it does not let this program in, which an
/// operator has to mend and no run should fail for.
fn is_no_answer(problem: &Problem) -> bool {
    let reason = problem.reason;
    let not_let_in = matches!(reason, Reason::Unauthorized | Reason::WrongHost);
    if not_let_in {
        tracing::error!(%problem, "the limiter does not let this program in; runs wait");
    }
    reason.certainty() == Certainty::Unknown
        || reason.retryable()
        || reason == Reason::RequestTimeout
        || not_let_in
}

pub fn is_over(state: SlotState) -> bool {
    !matches!(state, SlotState::Queued | SlotState::Reserved | SlotState::Busy)
}
