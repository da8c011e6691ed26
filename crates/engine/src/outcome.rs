//! Every answer of the engine. A refusal is an answer too: nothing happened.

use crate::{names::LimitName, time::Millis};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    Done,
    /// The slot as it is after the command.
    Slot(SlotStatus),
    /// Whether this release freed the slot, and what the slot is now.
    Release {
        released: bool,
        status: SlotStatus,
    },
    Admission(Admission),
    Refused(Refusal),
}

/// What a slot is, now or since its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlotStatus {
    /// `place` counts from 1, in the queue of the first limit the slot names.
    Queued {
        place: u64,
        gives_up_at: Millis,
    },
    /// Granted, not yet confirmed. `lapses_at` is the end of the reservation.
    Reserved {
        fence: u64,
        granted_at: Millis,
        lapses_at: Millis,
        expires_at: Millis,
    },
    Busy {
        fence: u64,
        granted_at: Millis,
        expires_at: Millis,
    },
    Ended(End),
    /// No such slot is known.
    Unknown,
}

/// How a slot ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum End {
    Released,
    Expired,
    TimedOut,
    Left,
    RunEnded,
}

/// The verdict over the specs of one call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Admission {
    pub verdict: Verdict,
    /// One per spec, in the order of the call, as after the call; a preview has what the call would answer.
    pub results: Vec<KeyResult>,
    /// True if this answers a request id that was answered before; the verdict is the first one, the results
    /// are those of now.
    pub replayed: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Allowed,
    /// `spec`: the place in the call of the rate with the longest wait.
    OverRate {
        spec: usize,
        retry_after_s: u64,
    },
    /// `spec`: the first place-in-flight spec of the call that is over.
    OverConcurrency {
        spec: usize,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyResult {
    pub used: u64,
    pub remaining: u64,
    /// Until the running window ends, rounded up; a whole window if the key is over though none runs (its cost can
    /// never fit); else 0 when none runs, and for places.
    pub reset_s: u64,
    pub over: bool,
}

/// Why nothing happened. [`Refusal::code`] is the `reason` of the API.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    LimitNotFound {
        limit: LimitName,
    },
    LimitRetired {
        limit: LimitName,
    },
    /// The weight is over the effective capacity (S13).
    NeverFits {
        limit: LimitName,
        weight: u32,
        capacity: u32,
    },
    /// The id was used with other content.
    Conflict,
    /// The id is older than what is remembered (B1).
    TooOld {
        horizon: Millis,
    },
    /// The share of ids without a time in them is full (B1).
    IdempotencyFull,
    /// Too many slots wait: in this limit, or in all (`limit` is none).
    QueueFull {
        limit: Option<LimitName>,
    },
    /// Too many slots are alive in all.
    TooManySlots,
    TooManyLimits,
    TooManyKeys,
    TooManyNamespaces,
    /// The rules in force do not know this command, or a `SetRules` asks for rules that this binary lacks.
    UnsupportedRules {
        version: u32,
    },
}

impl Refusal {
    pub fn code(&self) -> &'static str {
        match self {
            Refusal::LimitNotFound { .. } => "limit_not_found",
            Refusal::LimitRetired { .. } => "limit_retired",
            Refusal::NeverFits { .. } => "never_fits",
            Refusal::Conflict => "conflict",
            Refusal::TooOld { .. } => "too_old",
            Refusal::IdempotencyFull => "idempotency_full",
            Refusal::QueueFull { .. } => "queue_full",
            Refusal::TooManySlots => "too_many_slots",
            Refusal::TooManyLimits => "too_many_limits",
            Refusal::TooManyKeys => "too_many_keys",
            Refusal::TooManyNamespaces => "too_many_namespaces",
            Refusal::UnsupportedRules { .. } => "unsupported_rules",
        }
    }
}

impl End {
    pub fn as_str(self) -> &'static str {
        match self {
            End::Released => "released",
            End::Expired => "expired",
            End::TimedOut => "timed_out",
            End::Left => "left",
            End::RunEnded => "run_ended",
        }
    }
}
