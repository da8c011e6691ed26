use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{LimitSlotsAnswer, LimitsAnswer};

/// Something that happened, in the order it happened. A hint: the slot's or limit's own state is the truth.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LiveEvent {
    pub revision: u64,
    pub at: u64,
    /// `limit_declared`, `limit_retired`, `limit_gone`, `capacity_overridden`, `max_hold_overridden`,
    /// `limit_paused`, `limit_resumed`, `slot_queued`, `slot_granted`, `slot_confirmed`, `slot_put_back`,
    /// `slot_ended`, `run_ended`, `rate_reset`.
    pub kind: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<String>,
    /// Of a slot over several limits: all of them, `limit` being the first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub limits: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slot: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// Of a slot that ended: how. Of a grant: `busy` or `reserved`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fence: Option<u64>,
    /// Of a grant: since it was last queued.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waited_ms: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

impl LiveEvent {
    /// The limits that it is about; none for what is about none.
    pub fn about(&self) -> impl Iterator<Item = &str> {
        let first = self.limit.iter().filter(|_| self.limits.is_empty());
        first.chain(&self.limits).map(String::as_str)
    }
}

/// How a stream begins: what is true at its revision. Everything after it comes as events.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(untagged)]
pub enum LiveSnapshot {
    Limit(Box<LimitSlotsAnswer>),
    Limits(LimitsAnswer),
}
