use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::Given;

/// Asks for a slot in one limit (`limit`, with `weight`) or in several (`limits`).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AcquireFields {
    /// The id of the slot, chosen by the caller: the same id with the same content is the same slot, so a call
    /// whose answer was lost can be made again. Made by the server if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slot: Option<String>,
    /// The limit it is of, if it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<String>,
    /// How much of `limit` the slot takes, 1 if absent.
    #[serde(default, skip_serializing_if = "Given::is_missing")]
    pub weight: Given,
    /// Or the limits it is of, up to 8: it is granted when there is room in all of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub limits: Vec<WeightedLimit>,
    /// The execution that asks. When it ends, its slots that wait or are reserved are gone, and with `hold: run` the busy
    /// ones too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// What it is a run of, for people to find. No part of the slot's content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workflow: Option<String>,
    /// An id for people to find. No personal data. No part of the slot's content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// How long to stay in the queue: `30m` or milliseconds, 24 h if absent, at most 400 days; 0 does not wait.
    #[serde(default, skip_serializing_if = "Given::is_missing")]
    pub timeout: Given,
    #[serde(default, skip_serializing_if = "is_default")]
    pub confirm: ConfirmMode,
    #[serde(default, skip_serializing_if = "is_default")]
    pub hold: HoldMode,
    /// How long this call stays open for the grant: a duration, absent for none. Not part of the slot.
    #[serde(default, skip_serializing_if = "Given::is_missing")]
    pub wait: Given,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct WeightedLimit {
    pub limit: String,
    /// How much of it the slot takes, 1 if absent.
    #[serde(default, skip_serializing_if = "Given::is_missing")]
    pub weight: Given,
}

/// Who makes a granted slot busy: its holder by `confirm` within two minutes, or the grant itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ConfirmMode {
    #[default]
    Holder,
    Auto,
}

/// Until when a busy slot is held, its expiry aside: until released, or also until its run ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum HoldMode {
    #[default]
    Released,
    Run,
}

/// How a slot stands. It waits (`queued`), or is its holder's (`reserved` until confirmed, then `busy`), or has ended:
/// given back, taken back when its max hold was over (`expired`), given up by its timeout, by its holder (`left`) or by its
/// run's end. `unknown`: there is no such slot, or it ended so long ago that it is forgotten.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum SlotState {
    Queued,
    Reserved,
    Busy,
    Released,
    Expired,
    TimedOut,
    Left,
    RunEnded,
    /// No such slot is known, or it ended so long ago that it is forgotten.
    Unknown,
}

impl SlotState {
    pub fn as_str(self) -> &'static str {
        match self {
            SlotState::Queued => "queued",
            SlotState::Reserved => "reserved",
            SlotState::Busy => "busy",
            SlotState::Released => "released",
            SlotState::Expired => "expired",
            SlotState::TimedOut => "timed_out",
            SlotState::Left => "left",
            SlotState::RunEnded => "run_ended",
            SlotState::Unknown => "unknown",
        }
    }

    pub fn is_granted(self) -> bool {
        matches!(self, SlotState::Reserved | SlotState::Busy)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LimitShare {
    pub limit: String,
    pub weight: u32,
}

/// A slot as it is. A slot that has ended has only its id, its state and how it ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SlotInfo {
    pub slot: String,
    pub state: SlotState,
    /// Its place in the queue of the first limit it names, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<u64>,
    /// A number that grows with every grant, for resources that can refuse an older holder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fence: Option<u64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub limits: Vec<LimitShare>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workflow: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confirm: Option<ConfirmMode>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hold: Option<HoldMode>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked_at: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queued_at: Option<u64>,
    /// When it times out, if it still waits then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gives_up_at: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub granted_at: Option<u64>,
    /// When the reservation lapses, if it is not confirmed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lapses_at: Option<u64>,
    /// When it is taken back. Set at the grant, never moved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<u64>,
    /// How often a reservation of it lapsed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub laps: Option<u32>,
    /// When its run ended, if it is held on after that. Absent also if that was before what this server remembers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_ended_at: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SlotAnswer {
    #[serde(flatten)]
    pub slot: SlotInfo,
    pub revision: u64,
    pub as_of: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ReleaseAnswer {
    /// Whether this call freed the slot. A second release, or one after the max hold, says false.
    pub released: bool,
    pub slot: String,
    /// What the slot is now.
    pub state: SlotState,
    pub revision: u64,
    pub as_of: u64,
}
