use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::{LimitShare, SlotState};

/// How a slot ended, with its whole story.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct EndedSlot {
    pub slot: String,
    pub state: SlotState,
    /// What it was just before: `new` (a wait of zero), `queued`, `reserved` or `busy`.
    pub was: String,
    pub ended_at: u64,
    pub limits: Vec<LimitShare>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workflow: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// Who ended it, where somebody did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// Why, in the words of whoever did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    pub asked_at: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub granted_at: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fence: Option<u64>,
    /// From the question to the last grant, or to the end if it was never granted.
    pub waited_ms: u64,
    /// From the last grant to the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held_ms: Option<u64>,
    /// How often a reservation of it lapsed.
    pub laps: u32,
    /// The revision with which it ended.
    pub revision: u64,
}

impl EndedSlot {
    /// Whether this was the end of a wait that somebody may have to be told of. Of a run that was ended nobody waits.
    pub fn ended_a_wait(&self) -> bool {
        matches!(self.was.as_str(), "queued" | "reserved") && self.state != SlotState::RunEnded
    }
}

/// Which acts are wanted: those that fit everything that is given.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct AuditFields {
    /// Those on this limit only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<String>,
    /// Those of this kind only: `capacity`, `paused`, `released`, ….
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub act: Option<String>,
    /// Those by somebody whose name has this in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// Those at or after this. Milliseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<u64>,
    /// Those before this. Milliseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<u64>,
    /// The `next` of the page before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    /// How many at the most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub most: Option<u32>,
}

/// What was changed about limits, by whom, and what it was before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AuditEntry {
    pub at: u64,
    /// `declared`, `retired`, `gone`, `capacity`, `max_hold`, `paused`, `resumed`, `rate_reset`, and `released`: by hand,
    /// that is with a reason, `before` being the slot.
    pub act: String,
    /// The limit, or `task/key` of a rate, with the key masked.
    pub target: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    /// Who did it; absent for the limiter itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    pub revision: u64,
}

impl AuditEntry {
    /// Whether it is about a rate, and not about a limit.
    pub fn is_of_a_rate(&self) -> bool {
        self.act == "rate_reset"
    }
}

/// How far the history reaches. It is filled behind the journal and bounded by age and rows.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Reach {
    /// Everything up to this revision is in it.
    pub filled_to: u64,
    /// How many records it is behind.
    pub lag: u64,
    /// What ended before this is no longer in it.
    pub since: u64,
    /// Why it does not fill, if it does not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trouble: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct HistoryAnswer {
    /// Newest first.
    pub ends: Vec<EndedSlot>,
    /// Give it as `before` for the next page; absent on the last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
    pub reach: Reach,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AuditAnswer {
    /// Newest first.
    pub acts: Vec<AuditEntry>,
    /// Give it as `before` for the next page; absent on the last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
    pub reach: Reach,
}
