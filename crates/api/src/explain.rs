use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{EndedSlot, SlotInfo};

/// Why something is not moving, in words and in numbers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ExplainAnswer {
    /// What was asked about, and what it was taken for.
    pub what: String,
    pub kind: ExplainedKind,
    /// The answer in a sentence or two.
    pub text: String,
    /// Slots that are alive: the one asked about, or those of the run or label.
    pub slots: Vec<ExplainedSlot>,
    /// The last ends of it, where the history has them; newest first.
    pub ended: Vec<EndedSlot>,
    pub revision: u64,
    pub as_of: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ExplainedKind {
    Slot,
    Run,
    Label,
    /// Nothing alive and nothing in the history has this name.
    Unknown,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ExplainedSlot {
    #[serde(flatten)]
    pub slot: SlotInfo,
    pub text: String,
    /// For a slot that waits: how things stand in each limit it names.
    pub waits_for: Vec<ExplainedLimit>,
    /// When the next place of a limit that blocks comes back at the latest. Absent if none is held.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_due_at: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ExplainedLimit {
    pub limit: String,
    pub weight: u32,
    pub capacity: u32,
    /// Weights of busy and reserved slots.
    pub used: u64,
    /// The slot's place in this queue, from 1.
    pub place: u64,
    pub waiting: u32,
    pub block: Block,
    /// Who is first in this queue, if somebody else is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first: Option<SlotInfo>,
    /// Who holds, the one that comes back first in front; at most ten.
    pub holders: Vec<SlotInfo>,
}

/// What keeps a slot waiting in one limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Block {
    /// Nothing: another limit of the slot blocks.
    None,
    /// Not enough room for its weight.
    Full,
    /// An operator paused the limit.
    Paused,
    /// Its weight is over the capacity, since that was lowered.
    TooSmall,
    /// Others are ahead.
    Behind,
}
