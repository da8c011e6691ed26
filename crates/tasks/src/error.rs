//! What a caller gets instead of a response.

use std::fmt::Display;

use maitred::{
    RateLimitExceeded,
    api::{Decision, Dialect, LimitKind, Problem, RateFields, Reason, RunStatus},
};
use serde::Serialize;
use serde_json::Value;

/// Why an execution or a quote has no response. Every way out of a task is one of these; all but
/// [`TaskError::Cancelled`] end the run as failed.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TaskError {
    /// A limit is reached: 429, by the framework or by the task's own hand.
    #[error(transparent)]
    RateLimitExceeded(#[from] RateLimitExceededError),
    /// The task's own error, sent as it is: [`TaskError::new`].
    #[error("{message} ({reason})")]
    Own {
        /// The HTTP status, 400 to 599.
        status: u16,
        /// For programs to branch on.
        reason: String,
        /// For display.
        message: String,
    },
    /// The parameters are not what the task takes: 400 `invalid_params`.
    #[error("the parameters can't be used: {0}")]
    InvalidParams(String),
    /// There is no such task, or not for this caller: 404 `task_not_found`.
    #[error("there is no task `{0}`")]
    NotFound(String),
    /// The task has no quote, since its preflight is not enabled: 404 `preflight_disabled`.
    #[error("task `{0}` has no options: set enablePreflight to have them run before every execution")]
    NoPreflight(String),
    /// The run is still being executed, by a message that came twice or before it was deferred: 409 `conflict`.
    #[error(
        "run `{0}` is being executed; complete it after it was deferred, redeliver its message after its end"
    )]
    Conflict(String),
    /// The run was cancelled: 499 `cancelled`. Ends the run as cancelled.
    #[error("the run was cancelled")]
    Cancelled,
    /// A fault of the program, told to the log only: 500 `internal`. [`TaskError::internal`].
    #[error("{0}")]
    Internal(String),
    /// The limiter can't decide what it was asked, such as a key with other characters than a key's.
    #[error("a limit can't be used: {0}")]
    Limit(Problem),
}

impl TaskError {
    /// The task's own error: it reaches the caller with this status, reason and message, from the body and from
    /// `options()` alike. A status outside 400 to 599 becomes 500.
    pub fn new(reason: impl Into<String>, message: impl Into<String>, status: u16) -> Self {
        let status = if (400..=599).contains(&status) { status } else { 500 };
        TaskError::Own { status, reason: reason.into(), message: message.into() }
    }

    /// Anything that went wrong inside: the caller learns only that it did, the log learns what.
    pub fn internal(what: impl Display) -> Self {
        TaskError::Internal(what.to_string())
    }

    /// The HTTP status.
    pub fn status(&self) -> u16 {
        match self {
            TaskError::RateLimitExceeded(_) => 429,
            TaskError::Own { status, .. } => *status,
            TaskError::InvalidParams(_) => 400,
            TaskError::NotFound(_) | TaskError::NoPreflight(_) => 404,
            TaskError::Conflict(_) => 409,
            TaskError::Cancelled => 499,
            TaskError::Limit(problem) if problem.reason == Reason::InvalidKey => 400,
            TaskError::Internal(_) | TaskError::Limit(_) => 500,
        }
    }

    /// The body of the answer. A key is never in it.
    pub fn body(&self) -> ErrorBody {
        let (reason, message) = match self {
            TaskError::RateLimitExceeded(exceeded) => return exceeded.body(),
            TaskError::Own { reason, message, .. } => (reason.as_str(), message.clone()),
            TaskError::InvalidParams(_) => ("invalid_params", self.to_string()),
            TaskError::NotFound(_) => ("task_not_found", self.to_string()),
            TaskError::NoPreflight(_) => ("preflight_disabled", self.to_string()),
            TaskError::Conflict(_) => ("conflict", self.to_string()),
            TaskError::Cancelled => ("cancelled", self.to_string()),
            TaskError::Limit(problem) if problem.reason == Reason::InvalidKey => {
                ("invalid_key", "this request carries something that makes no key of a limit".to_owned())
            }
            TaskError::Internal(_) | TaskError::Limit(_) => ("internal", "the task failed".to_owned()),
        };
        ErrorBody::new(reason, message)
    }

    /// How a run ends that got this far.
    pub(crate) fn run_status(&self) -> RunStatus {
        match self {
            TaskError::Cancelled => RunStatus::Cancelled,
            _ => RunStatus::Failed,
        }
    }

    /// What the caller is not told.
    pub(crate) fn is_private(&self) -> bool {
        matches!(self, TaskError::Internal(_) | TaskError::Limit(_))
    }
}

/// The error as the client gets it: `{"status":"error","reason":…,"message":…,"details":…}`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ErrorBody {
    status: &'static str,
    /// Branch on this.
    pub reason: String,
    /// For display; may change.
    pub message: String,
    /// Of a 429: `retryAfterSeconds` (null for concurrency), `limit`, and the label of the limit if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
}

impl ErrorBody {
    fn new(reason: &str, message: String) -> Self {
        Self { status: "error", reason: reason.to_owned(), message, details: None }
    }
}

/// Which call a decision came from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kind {
    /// `consume`: the client gets `rate_limit_exceeded`.
    #[default]
    Consume,
    /// `acquire`: the client gets `concurrency_limit_exceeded`.
    Acquire,
}

/// Over a limit. The framework returns it from an enforced call; a task that took the decision with `enforce(false)`
/// returns it by hand, and the client gets the very same 429.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(transparent)]
pub struct RateLimitExceededError(RateLimitExceeded);

impl RateLimitExceededError {
    /// To reject after all, for a decision that was looked at first.
    pub fn new(decision: Decision, kind: Kind) -> Self {
        let kind = match kind {
            Kind::Consume => LimitKind::Rate,
            Kind::Acquire => LimitKind::Concurrency,
        };
        Self(RateLimitExceeded::new(decision, kind))
    }

    pub(crate) fn enforced(decision: Decision) -> Self {
        let kind = decision.kind;
        Self(RateLimitExceeded::new(decision, kind))
    }

    /// The whole verdict.
    pub fn decision(&self) -> &Decision {
        &self.0.decision
    }

    /// The header fields of the 429: `Retry-After` for a rate, and those of the dialect (rule A3).
    pub fn rate_fields(&self, dialect: Dialect) -> RateFields {
        self.0.rate_fields(dialect)
    }

    fn body(&self) -> ErrorBody {
        let problem = self.0.problem();
        ErrorBody { details: problem.details, ..ErrorBody::new(problem.reason.code(), problem.message) }
    }
}
