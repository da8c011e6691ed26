use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::SlotInfo;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum RunStatus {
    Succeeded,
    Failed,
    Cancelled,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct EndRunFields {
    pub status: RunStatus,
}

/// What a run holds and waits for. A run that does neither is not known.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RunInfo {
    pub run: String,
    pub slots: Vec<SlotInfo>,
    pub places: Vec<PlaceInfo>,
    /// Hits that are given back if it does not succeed.
    pub hits: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PlaceInfo {
    pub task: String,
    pub key: String,
    pub expires_at: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RunAnswer {
    #[serde(flatten)]
    pub run: RunInfo,
    pub revision: u64,
    pub as_of: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RunsAnswer {
    pub runs: Vec<RunInfo>,
    /// Give it as `after` for the next page; absent on the last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
    pub revision: u64,
    pub as_of: u64,
}
