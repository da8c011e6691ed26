use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The process runs and its threads turn.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LiveAnswer {
    pub live: bool,
    pub version: String,
}

/// Whether the server takes calls, and what it remembers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ReadyAnswer {
    pub ready: bool,
    /// It was told to stop and finishes what it began.
    pub draining: bool,
    /// Why it is not ready, or what an operator should know although it is.
    pub notes: Vec<String>,
    /// Ids with a time before this are refused as too old. Milliseconds since 1970.
    pub horizon: u64,
    /// How full the room for remembered ids that carry a time is, 0 to 1. When it is full the horizon moves.
    pub remembered_timed: f64,
    /// The same for ids without a time. When it is full, new ones are refused.
    pub remembered_other: f64,
    pub revision: u64,
    pub as_of: u64,
}
