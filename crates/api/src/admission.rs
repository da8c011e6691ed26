use serde::{Deserialize, Serialize};
use serde_json::json;
use utoipa::ToSchema;

use crate::{Given, Problem, Reason};

/// Counts and takes all of the specs for a task, or none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AdmitFields {
    /// What is limited: a key counts within its task.
    pub task: String,
    /// Required where a spec is a place in flight or counts successes only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// 1 to 16.
    pub specs: Vec<SpecFields>,
    /// The verdict only: nothing is counted or taken.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub check: bool,
    /// Over the limit: a 429 (true, the default), or the decision with `overLimit` (false).
    #[serde(default = "yes")]
    pub enforce: bool,
}

impl Default for AdmitFields {
    fn default() -> Self {
        Self { task: String::new(), run: None, specs: Vec::new(), check: false, enforce: true }
    }
}

fn yes() -> bool {
    true
}

/// A rate if it has a window, else a place in flight.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SpecFields {
    pub key: String,
    #[serde(default)]
    pub limit: Given,
    /// A whole number of seconds, 1 to 34560000 (400 days).
    #[serde(default, skip_serializing_if = "Given::is_missing")]
    pub window_seconds: Given,
    /// How much one call counts, 1 if absent.
    #[serde(default, skip_serializing_if = "Given::is_missing")]
    pub cost: Given,
    /// Give the hit back if the run does not succeed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub count_successes_only: bool,
    /// What a refusal calls this limit. The key is never told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum LimitKind {
    Rate,
    Concurrency,
}

/// The verdict over all specs of a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Decision {
    /// The kind that blocks (concurrency, if both do); when nothing does, the kind of the first spec.
    #[serde(rename = "type")]
    pub kind: LimitKind,
    pub over_limit: bool,
    /// The longest wait among the rates that are over; 0 when allowed and when concurrency blocks.
    pub retry_after_seconds: u64,
    /// The limiter could not answer, so nothing was checked.
    pub degraded: bool,
    /// One per spec; empty when degraded.
    pub results: Vec<SpecResult>,
    /// The spec that blocks, counted from 0 in the order of the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocked_by: Option<usize>,
    /// The answer to a request id that was answered before.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub replayed: bool,
    #[serde(default)]
    pub revision: u64,
    #[serde(default)]
    pub as_of: u64,
}

impl Decision {
    /// The 429 that an enforced call gets when it is over: it names the limit that blocks by its label, if it has
    /// one, and never by its key. None when nothing is over.
    pub fn refusal(&self) -> Option<Problem> {
        let blocking = self.results.get(self.blocked_by?).filter(|_| self.over_limit)?;
        let named = blocking.label.as_ref().map(|label| format!(" `{label}`")).unwrap_or_default();
        let (reason, wait, message) = match self.kind {
            LimitKind::Rate => (
                Reason::RateLimitExceeded,
                json!(self.retry_after_seconds),
                format!("the rate limit{named} is used up; try again in {} s", self.retry_after_seconds),
            ),
            LimitKind::Concurrency => (
                Reason::ConcurrencyLimitExceeded,
                json!(null),
                format!("the concurrency limit{named} is reached; it frees when a running task finishes"),
            ),
        };
        let mut details = json!({ "retryAfterSeconds": wait, "limit": blocking.limit });
        if let Some(label) = &blocking.label {
            details["label"] = json!(label);
        }
        Some(Problem::new(reason, message).with_details(details))
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SpecResult {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    pub limit: u64,
    pub used: u64,
    pub remaining: u64,
    pub reset_seconds: u64,
    pub over: bool,
    /// The window of a rate. Not on the wire: whoever asked has said it.
    #[serde(skip)]
    pub window_seconds: Option<u64>,
}
