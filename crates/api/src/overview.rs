use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::LimitInfo;

/// What the numbers of a limit say together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum LimitHealth {
    /// Places are lost: releases do not come, the floor of available places only falls, or runs that ended still hold.
    Leaking,
    /// Somebody waits and nothing was granted for far longer than places are held.
    Stuck,
    /// Grants come at less than half the pace of the hour before, while somebody waits.
    Stalled,
    /// Full nearly all the time, and somebody waits.
    Saturated,
    /// What the verdict is made from is too old: nothing is claimed.
    Unknown,
    Ok,
}

impl LimitHealth {
    pub const ALL: [LimitHealth; 6] = [
        LimitHealth::Leaking,
        LimitHealth::Stuck,
        LimitHealth::Stalled,
        LimitHealth::Saturated,
        LimitHealth::Unknown,
        LimitHealth::Ok,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            LimitHealth::Leaking => "leaking",
            LimitHealth::Stuck => "stuck",
            LimitHealth::Stalled => "stalled",
            LimitHealth::Saturated => "saturated",
            LimitHealth::Unknown => "unknown",
            LimitHealth::Ok => "ok",
        }
    }
}

/// By what the list is sorted; equal ones by name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum LimitOrder {
    /// What needs somebody first: leaking, stuck, stalled, saturated or paused with a queue.
    #[default]
    Attention,
    Name,
    Health,
    /// The share of the capacity that is taken.
    Used,
    Capacity,
    Waiting,
    OldestWait,
    OldestHold,
    WaitP50,
    WaitP99,
    Expired,
    MaxHold,
}

/// Only limits of which this is true.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum LimitFilter {
    Overridden,
    Waiting,
    Paused,
    Retired,
}

/// Which limits, in which order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct OverviewFields {
    /// This limit only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<String>,
    /// Names that have this in them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(inline)]
    pub health: Option<LimitHealth>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(inline)]
    pub only: Option<LimitFilter>,
    #[serde(default)]
    #[param(inline)]
    pub sort: LimitOrder,
    /// The other way round: numbers come largest first, names from a, unless this is true.
    #[serde(default)]
    pub reverse: bool,
    /// How many of those that fit to pass over.
    #[serde(default)]
    pub skip: u32,
    /// How many at the most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub most: Option<u32>,
    /// Only limits whose names begin with one of these are seen and counted; all, if there are none. The server sets it,
    /// from the token.
    #[serde(skip)]
    #[param(ignore)]
    pub prefixes: Vec<String>,
}

/// A limit with what its last day says about it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LimitOverview {
    #[serde(flatten)]
    pub limit: LimitInfo,
    pub health: LimitHealth,
    /// What the verdict was made from, in words. Empty where nothing is wrong.
    pub evidence: String,
    /// What to do about it. Empty where nothing is wrong.
    pub advice: String,
    /// Busy slots whose run has ended.
    pub held_by_ended_runs: u32,
    /// Of the grants in the last 15 minutes: how long they had waited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait_p50_ms: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait_p99_ms: Option<u64>,
    /// Slots taken back at their max hold in the last 24 hours.
    pub expired_24h: u64,
    /// When the queue will be empty at the pace of the last 10 minutes, if nobody joins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drains_in_ms: Option<u64>,
    /// The lowest number of available places in each of the last 60 minutes, the oldest first; null where unknown.
    pub floor: Vec<Option<u64>>,
    /// From when on the limit's numbers are known to this server.
    pub known_since: u64,
}

/// How many limits have this health.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct HealthCount {
    pub health: LimitHealth,
    pub limits: u32,
}

/// A page of limits, all of it at one revision.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct OverviewAnswer {
    pub limits: Vec<LimitOverview>,
    /// All limits of the namespace.
    pub total: u32,
    /// Those that fit what was asked.
    pub matching: u32,
    /// Of all limits, those of each health that there are any of.
    pub health: Vec<HealthCount>,
    pub revision: u64,
    pub as_of: u64,
}

/// What a limit did over time, in steps of equal length, the oldest first: each list has one number a step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SeriesAnswer {
    pub limit: String,
    pub step_ms: u64,
    /// What was before this is not known to this server: it began, or kept no more.
    pub known_since: u64,
    /// When each step began.
    pub at: Vec<u64>,
    pub capacity: Vec<Option<u64>>,
    /// The lowest number of available places in the step.
    pub available_min: Vec<Option<u64>>,
    /// Of the places that were not available then, those that were reserved: granted, and not confirmed yet.
    pub reserved: Vec<Option<u64>>,
    /// The highest number of slots in the queue.
    pub waiting_max: Vec<Option<u64>>,
    pub grants: Vec<u64>,
    pub released: Vec<u64>,
    pub expired: Vec<u64>,
    pub timed_out: Vec<u64>,
    pub left: Vec<u64>,
    pub run_ended: Vec<u64>,
    /// Reservations that lapsed.
    pub lapsed: Vec<u64>,
    /// How long those that were granted in the step had waited, to about 6 percent.
    pub wait_p50_ms: Vec<Option<u64>>,
    pub wait_p99_ms: Vec<Option<u64>>,
    pub revision: u64,
    pub as_of: u64,
}

/// What a change of a limit would do, if it were made at this revision. Nothing was done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PreviewAnswer {
    pub limit: String,
    /// In force after the change.
    pub capacity: u32,
    pub max_hold_ms: u64,
    /// Waiting slots that would be granted at once.
    pub starts: u32,
    /// By how much busy and reserved slots would exceed the capacity; they stay.
    pub over: u64,
    /// Waiting slots that would not fit any more, however long they wait.
    pub never_fit: u32,
    /// The same in words, a sentence each.
    pub effects: Vec<String>,
    pub revision: u64,
    pub as_of: u64,
}
