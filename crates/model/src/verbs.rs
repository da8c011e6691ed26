//! What can be said to the limiter, and what it answers.

/// One command. Values are as after defaults; times are milliseconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verb {
    Declare {
        limit: String,
        capacity: u64,
        max_hold_ms: u64,
    },
    /// The whole set of a namespace (L3).
    Deploy {
        limits: Vec<Declared>,
    },
    /// The operator's override; `None` resets it.
    Capacity {
        limit: String,
        value: Option<u64>,
    },
    /// The operator's override; `None` resets it.
    MaxHold {
        limit: String,
        value_ms: Option<u64>,
    },
    Pause {
        limit: String,
    },
    Resume {
        limit: String,
    },
    Acquire(Acquire),
    Confirm {
        slot: String,
    },
    Leave {
        slot: String,
    },
    Release {
        slot: String,
    },
    /// The caller of an auto slot is gone from this line (S7a).
    HangUp {
        slot: String,
        line: u64,
    },
    /// The wait on this line ran out, or its answer was delivered: no hang-up (S7a).
    LineEnd {
        slot: String,
        line: u64,
    },
    /// The server died, and with it every line in every namespace (S7a).
    DropLines,
    End {
        run: String,
        status: EndStatus,
    },
    Admit {
        task: String,
        run: Option<String>,
        specs: Vec<Spec>,
    },
    /// Only time moves.
    Advance,
}

impl Verb {
    /// A5. `acquire` has its slot id for that; `confirm` and `leave` can be repeated as they are.
    pub fn may_carry_request_id(&self) -> bool {
        matches!(
            self,
            Verb::Declare { .. }
                | Verb::Deploy { .. }
                | Verb::Capacity { .. }
                | Verb::MaxHold { .. }
                | Verb::Pause { .. }
                | Verb::Resume { .. }
                | Verb::Release { .. }
                | Verb::End { .. }
                | Verb::Admit { .. }
        )
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Declared {
    pub limit: String,
    pub capacity: u64,
    pub max_hold_ms: u64,
}

/// S1. Everything but `line` is the content that S2 compares.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Acquire {
    pub slot: String,
    /// Limits with the weight asked of each, in the order named.
    pub limits: Vec<(String, u64)>,
    pub run: Option<String>,
    pub timeout_ms: u64,
    /// `confirm: auto`
    pub auto: bool,
    /// `hold: run`
    pub hold_run: bool,
    /// The connection on which the caller waits for its answer.
    pub line: Option<u64>,
}

impl Acquire {
    /// One place in one limit, everything else at its default.
    pub fn new(slot: &str, limit: &str) -> Acquire {
        Acquire {
            slot: slot.into(),
            limits: vec![(limit.into(), 1)],
            run: None,
            timeout_ms: 24 * 60 * 60 * 1000,
            auto: false,
            hold_run: false,
            line: None,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndStatus {
    Succeeded,
    Failed,
    Cancelled,
}

/// One rate (with a window) or one place in flight (without).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spec {
    pub key: String,
    pub limit: u64,
    pub window_ms: Option<u64>,
    pub cost: u64,
    pub successes_only: bool,
    pub label: Option<String>,
}

impl Spec {
    pub fn kind(&self) -> Kind {
        if self.window_ms.is_some() { Kind::Rate } else { Kind::Concurrency }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Rate,
    Concurrency,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    Done,
    Slot(SlotView),
    Released(bool),
    Verdict(Verdict),
    /// Nothing changed. The codes are those of the scenario files.
    Error(&'static str),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    Queued,
    Reserved,
    Busy,
    Released,
    Expired,
    TimedOut,
    Left,
    RunEnded,
    Unknown,
}

/// A slot as its caller sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlotView {
    pub state: State,
    /// 1-based, in the queue of the first limit it names; while queued.
    pub place: Option<u64>,
    /// While reserved or busy.
    pub fence: Option<u64>,
    /// While reserved or busy: granted + max hold.
    pub expires_at_ms: Option<u64>,
    /// While reserved.
    pub reserved_until_ms: Option<u64>,
    /// Once ended.
    pub ended_at_ms: Option<u64>,
}

/// A2, A3: what `admit` and `check` answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    pub allowed: bool,
    /// The spec that blocks; `None` when allowed.
    pub blocking: Option<Blocking>,
    /// One per spec, in the order of the call.
    pub results: Vec<SpecResult>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blocking {
    /// Its index in the call.
    pub spec: usize,
    pub kind: Kind,
    /// `None` for concurrency.
    pub retry_after_seconds: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpecResult {
    pub used: u64,
    pub remaining: u64,
    pub over: bool,
    pub resets_in_ms: u64,
}
