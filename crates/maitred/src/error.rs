//! What went wrong, and what to do next.

use std::time::Duration;

use maitred_api::{Certainty, Decision, Dialect, LimitKind, Problem, RateFields, Reason, SlotState};
use maitred_engine::{names::SlotId, time::format_duration};

/// What whoever called does next.
///
/// Every error also says what is certain: *refused*, nothing happened, or *unknown*, it may have happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NextStep {
    /// The call is wrong as it is: change it. Asking again brings the same answer.
    Fix,
    /// The call is right, there is no room now: ask later.
    Wait,
    /// No answer came: ask again, with the same id where there is one.
    Retry,
    /// Asking again does not help, changing the call neither: somebody has to look.
    GiveUp,
}

/// What to do about a problem.
pub fn next_step(problem: &Problem) -> NextStep {
    match problem.reason {
        Reason::Unavailable | Reason::Unknown => NextStep::Retry,
        Reason::LimitRetired | Reason::TooOld | Reason::Internal | Reason::UnsupportedRules => {
            NextStep::GiveUp
        }
        Reason::RequestTimeout => NextStep::Wait,
        reason if matches!(reason.http_status(), 429 | 503) => NextStep::Wait,
        _ => NextStep::Fix,
    }
}

/// Whether the limiter is in trouble, rather than the call: it says so itself, or nothing could be heard of it.
pub(crate) fn is_trouble(problem: &Problem) -> bool {
    problem.reason.http_status() >= 500
}

/// Whether asking again soon may bring another answer.
pub(crate) fn is_passing(problem: &Problem) -> bool {
    matches!(problem.reason, Reason::Unavailable | Reason::Unknown | Reason::Internal | Reason::Overloaded)
}

/// Why there is no slot.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AcquireError {
    /// None became free in time. The limiter's clock decided. Nothing is held.
    #[error(
        "no slot of `{limiter}` became free within {}; ask again later, or wait longer with `timeout`",
        shown(.timeout)
    )]
    Timeout {
        /// The limit, or the first of several.
        limiter: String,
        /// How long was waited, as asked.
        timeout: Duration,
    },
    /// Somebody ended it while it waited: its run ended, or an operator took it out of the queue. Nothing is held.
    #[error("the wait for `{limiter}` was ended from elsewhere: the slot is {}", .state.as_str())]
    Ended {
        /// The limit, or the first of several.
        limiter: String,
        /// How it ended.
        state: SlotState,
    },
    /// The limiter said no. Nothing happened.
    #[error(transparent)]
    Refused(Problem),
    /// The limiter could not be reached. Nothing happened.
    #[error(transparent)]
    Unavailable(Problem),
    /// The answer was lost, and so was every later one: the slot may have been taken. The client keeps giving it
    /// back in the background; its max hold is the last resort.
    #[error("slot `{slot}`: {problem}")]
    Unknown {
        /// The id that was asked with.
        slot: SlotId,
        /// The last thing that was heard.
        problem: Problem,
    },
}

impl AcquireError {
    /// What to do next.
    pub fn next_step(&self) -> NextStep {
        match self {
            AcquireError::Timeout { .. } => NextStep::Wait,
            AcquireError::Ended { .. } => NextStep::GiveUp,
            AcquireError::Refused(problem) => next_step(problem),
            AcquireError::Unavailable(_) | AcquireError::Unknown { .. } => NextStep::Retry,
        }
    }

    /// Whether anything may have happened.
    pub fn certainty(&self) -> Certainty {
        match self {
            AcquireError::Unknown { .. } => Certainty::Unknown,
            _ => Certainty::Refused,
        }
    }
}

/// A call over the limit that was to be enforced: answer it with [`RateLimitExceeded::problem`] and status 429.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.problem().message)]
pub struct RateLimitExceeded {
    /// The whole verdict.
    pub decision: Decision,
    /// Which kind is over; both kinds in one call: concurrency.
    pub kind: LimitKind,
}

impl RateLimitExceeded {
    /// For a decision that was looked at first (`enforce(false)`) and refuses after all.
    pub fn new(decision: Decision, kind: LimitKind) -> Self {
        Self { decision, kind }
    }

    /// The body of the 429 (rule A3). It names the limit that blocks by its label, if it has one, never by its key.
    pub fn problem(&self) -> Problem {
        let decision = self.refused();
        decision.refusal().unwrap_or_else(|| nameless(&decision))
    }

    /// The header fields of the 429: names in small letters, and their values.
    pub fn rate_fields(&self, dialect: Dialect) -> RateFields {
        self.refused().rate_fields(dialect)
    }

    fn refused(&self) -> Decision {
        Decision { kind: self.kind, over_limit: true, ..self.decision.clone() }
    }
}

/// A refusal of something that no limit refused.
fn nameless(decision: &Decision) -> Problem {
    let (reason, wait) = match decision.kind {
        LimitKind::Rate => (Reason::RateLimitExceeded, Some(decision.retry_after_seconds)),
        LimitKind::Concurrency => (Reason::ConcurrencyLimitExceeded, None),
    };
    Problem::new(reason, "the limit is reached; try again later")
        .with_details(serde_json::json!({ "retryAfterSeconds": wait }))
}

/// Why a call about keys was not decided, or was decided against.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AdmitError {
    /// Over the limit. Nothing was counted or taken.
    #[error(transparent)]
    Exceeded(#[from] RateLimitExceeded),
    /// The call is not one that can be decided. Nothing was counted or taken.
    #[error(transparent)]
    Refused(Problem),
}

impl AdmitError {
    /// What to do next.
    pub fn next_step(&self) -> NextStep {
        match self {
            AdmitError::Exceeded(_) => NextStep::Wait,
            AdmitError::Refused(problem) => next_step(problem),
        }
    }

    /// The body of the answer to whoever called.
    pub fn problem(&self) -> Problem {
        match self {
            AdmitError::Exceeded(exceeded) => exceeded.problem(),
            AdmitError::Refused(problem) => problem.clone(),
        }
    }
}

fn shown(duration: &Duration) -> String {
    format_duration(millis(*duration))
}

/// Whole milliseconds, rounded up: a wait is never shorter than what was asked for.
pub(crate) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX)
}
