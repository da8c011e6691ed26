//! Why there is no slot, and why nothing was started.

use std::time::Duration;

use maitred::{
    api::{Problem, SlotState},
    format_duration,
};

/// Why a run has no slot. Nothing is held.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SlotError {
    /// None became free in time.
    #[error(transparent)]
    Timeout(#[from] SlotTimeoutError),
    /// Somebody ended the wait: an operator took the slot out of the queue, or ended the run at the limiter.
    #[error("the wait for a slot of `{limiter}` was ended from elsewhere: it is {}", .state.as_str())]
    Ended {
        /// The limit, or the first of several.
        limiter: String,
        /// How it ended.
        state: SlotState,
    },
    /// The limiter said no; its words name the field.
    #[error("no slot of `{limiter}`: {problem}")]
    Refused {
        /// The limit, or the first of several.
        limiter: String,
        /// What it said.
        problem: Problem,
    },
    /// The engine could not ask. Its words.
    #[error("the limiter could not be asked: {0}")]
    Engine(String),
}

impl SlotError {
    /// Whether no slot became free in time.
    pub fn is_timeout(&self) -> bool {
        matches!(self, SlotError::Timeout(_))
    }
}

/// So that `?` works in a body, whose errors are text.
impl From<SlotError> for String {
    fn from(error: SlotError) -> String {
        error.to_string()
    }
}

/// No slot became free in time. The limiter's clock decided.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no slot of `{limiter}` became free within {}", format_duration(timeout_ms(*.timeout)))]
pub struct SlotTimeoutError {
    /// The limit, or the first of several.
    pub limiter: String,
    /// How long was waited, as asked.
    pub timeout: Duration,
}

fn timeout_ms(timeout: Duration) -> u64 {
    u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX)
}

/// Why the workflows did not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// A workflow is declared in a way that cannot be.
    #[error("workflow `{workflow}`: {field}: {message}")]
    Workflow {
        /// Its name.
        workflow: String,
        /// `name`, `version` or `serial`.
        field: &'static str,
        /// What is wrong, and what is allowed.
        message: String,
    },
    /// A step is declared in a way that cannot be.
    #[error("steps: {0}")]
    Steps(String),
    /// The limiter did not take the limits; its words name the limit and the field.
    #[error("the limits could not be declared: {0}")]
    Limits(Problem),
    /// The store of the runs cannot be used.
    #[error("the store of the runs {store}: {message}")]
    Store {
        /// Which.
        store: String,
        /// Why.
        message: String,
    },
}

/// Why a run was not started, cancelled or shown.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// There is no such workflow.
    #[error("there is no workflow `{workflow}`; there are: {known}")]
    NoWorkflow {
        /// The one that was asked for.
        workflow: String,
        /// Those there are.
        known: String,
    },
    /// The id cannot be one of a run.
    #[error("run \"{run}\" is no id; allowed: 1 to {most} of A-Z a-z 0-9 . _ = @ | / : -")]
    BadRun {
        /// The id.
        run: String,
        /// How many characters it may have.
        most: usize,
    },
    /// There is no such run.
    #[error("there is no run `{0}`")]
    NoRun(String),
    /// The run did not end in time.
    #[error("run `{0}` has not ended yet")]
    NotEnded(String),
    /// The input is no JSON.
    #[error("the input cannot be written as JSON: {0}")]
    Input(String),
    /// The store of the runs did not do it. Its words.
    #[error("the store of the runs: {0}")]
    Store(String),
}
