use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A key of a task: what is counted against it and how many runs hold a place of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct KeyInfo {
    pub task: String,
    pub key: String,
    /// The running rate window, if one runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<WindowInfo>,
    pub in_flight: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct WindowInfo {
    pub used: u64,
    pub started_at: u64,
    pub ends_at: u64,
    /// Whole seconds until then, rounded up.
    pub resets_in_s: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct KeysAnswer {
    pub keys: Vec<KeyInfo>,
    /// Give it as `after` for the next page; absent on the last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
    pub revision: u64,
    pub as_of: u64,
}
