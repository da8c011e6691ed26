use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{Given, SlotInfo};

/// What `PUT /v1/limits/{limit}` declares.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct LimitFields {
    /// A whole number, 1 to 100000.
    #[serde(default)]
    pub capacity: Given,
    /// `45m`, `1h30m`, … or milliseconds: 1 ms to 30 days. Required.
    #[serde(default)]
    pub max_hold: Given,
}

/// One limit of a deployed set.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NamedLimit {
    pub name: String,
    /// A whole number, 1 to 100000. Required.
    #[serde(default)]
    pub capacity: Given,
    /// `45m`, `1h30m`, … or milliseconds: 1 ms to 30 days. Required.
    #[serde(default)]
    pub max_hold: Given,
}

/// The whole set of a namespace: every limit that is not in it is retired.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct DeployFields {
    pub limits: Vec<NamedLimit>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CapacityFields {
    /// A whole number, 1 to 100000.
    #[serde(default)]
    pub capacity: Given,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct MaxHoldFields {
    /// `45m`, `1h30m`, … or milliseconds: 1 ms to 30 days.
    #[serde(default)]
    pub max_hold: Given,
}

/// A limit as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LimitInfo {
    pub limit: String,
    /// In force: the operator's override, else what is declared.
    pub capacity: u32,
    pub max_hold_ms: u64,
    pub declared_capacity: u32,
    pub declared_max_hold_ms: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capacity_override: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_hold_override_ms: Option<u64>,
    pub paused: bool,
    pub retired: bool,
    /// Names these settings: another one once any of them is changed. A change of the limit that carries it as `If-Match`
    /// is refused if somebody else was faster.
    #[serde(default)]
    pub tag: String,
    /// Sum of the weights of busy slots. Never includes reserved ones.
    pub busy: u64,
    pub reserved: u64,
    /// Capacity less busy and reserved, never below 0.
    pub available: u64,
    pub busy_slots: u32,
    pub reserved_slots: u32,
    /// Slots in the queue.
    pub waiting: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub oldest_queued_at: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub oldest_granted_at: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LimitAnswer {
    #[serde(flatten)]
    pub limit: LimitInfo,
    pub revision: u64,
    pub as_of: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LimitsAnswer {
    /// By name.
    pub limits: Vec<LimitInfo>,
    /// Give it as `after` for the next page; absent on the last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
    pub revision: u64,
    pub as_of: u64,
}

/// One limit with its slots, all at one revision.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LimitSlotsAnswer {
    pub limit: LimitInfo,
    /// Busy ones in the order of their grants, then reserved ones.
    pub holders: Vec<SlotInfo>,
    /// In order: the first is next.
    pub queue: Vec<SlotInfo>,
    pub revision: u64,
    pub as_of: u64,
}
