use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::Given;

/// Counts and takes all of the specs for a task, or none.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AdmitFields {
    pub task: String,
    /// Required where a spec is a place in flight or counts successes only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    pub specs: Vec<SpecFields>,
    /// The verdict only: nothing is counted or taken.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub check: bool,
    /// Over the limit: a 429 (true, the default), or the decision with `overLimit` (false).
    #[serde(default = "yes")]
    pub enforce: bool,
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
}
