//! Every question that changes something. What comes back stands in `outcome.rs`.
//!
//! Everything here has been checked for form: names by their types, numbers by [`crate::bounds`], durations and
//! duplicates by whoever built the command. [`Command::check_form`] says so again for commands read from bytes.

use crate::{
    names::{Key, Label, LimitName, Namespace, RequestId, RunId, SlotId, TaskId},
    time::Millis,
};

/// One entry of the journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// Only time moves.
    Advance,
    /// From here on the rules of this version apply (D5).
    SetRules { version: u32 },
    /// The server process that wrote as `writer` is gone, and with it every line it held (S7a).
    DropLines { writer: u64 },
    /// What somebody asked for in a namespace.
    In(Box<Request>),
}

/// A verb, where it applies, and who asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    pub namespace: Namespace,
    /// The same id with the same content has one effect and gets the first verdict (A5).
    pub request: Option<RequestId>,
    /// Who asks, for the record (S8): a token's name, an operator, a run.
    pub by: Option<Label>,
    /// Why, in the words of an operator. For the record only.
    pub reason: Option<Label>,
    pub verb: Verb,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verb {
    /// Declares one limit, others untouched (L2).
    Declare(Declaration),
    /// Declares the whole set of the namespace; what is missing is retired (L3).
    Deploy(Vec<Declaration>),
    /// The operator's override of the capacity, or back to what is declared (L4).
    SetCapacity {
        limit: LimitName,
        capacity: Option<u32>,
    },
    /// The operator's override of the max hold, or back to what is declared (L4).
    SetMaxHold {
        limit: LimitName,
        max_hold_ms: Option<Millis>,
    },
    Pause {
        limit: LimitName,
    },
    Resume {
        limit: LimitName,
    },
    Acquire(Acquire),
    Confirm {
        slot: SlotId,
    },
    Release {
        slot: SlotId,
    },
    Leave {
        slot: SlotId,
    },
    /// The caller on this line is gone: it has left, and what it was given on this line is released (S7a).
    HangUp {
        slot: SlotId,
        line: Line,
    },
    /// The wait on this line ran out: the slot stays and is ordinary from now on (S7a).
    EndLine {
        slot: SlotId,
        line: Line,
    },
    EndRun {
        run: RunId,
        status: RunStatus,
    },
    Admit(Admit),
    /// Forgets what is counted against a rate key: an operator's act.
    ResetRate {
        task: TaskId,
        key: Key,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Declaration {
    pub limit: LimitName,
    pub capacity: u32,
    pub max_hold_ms: Millis,
}

/// Asks for one slot in one or several limits (S1, S12).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Acquire {
    pub slot: SlotId,
    /// 1 to 8 different limits, in the order named.
    pub asks: Vec<Ask>,
    pub run: Option<RunId>,
    pub workflow: Option<Label>,
    pub label: Option<Label>,
    /// How long to wait from now; 0 does not wait.
    pub timeout_ms: Millis,
    pub confirm: Confirm,
    pub hold: Hold,
    /// The line the caller waits on, if it does. Not part of the content.
    pub line: Option<Line>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ask {
    pub limit: LimitName,
    pub weight: u32,
}

/// Who makes a granted slot busy (S4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Confirm {
    /// The holder, by `confirm`, within the reservation.
    Holder,
    /// The grant itself, for a caller on the line.
    Auto,
}

/// Until when a busy slot is held, its expiry aside (S11).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hold {
    Released,
    /// Also freed when its run ends.
    Run,
}

/// One wait of one caller: a late hang-up of an older line changes nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Line {
    /// The server process that holds the connection.
    pub writer: u64,
    pub number: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunStatus {
    Succeeded,
    Failed,
    Cancelled,
}

/// Counts and takes all of the specs or none (R1, K1, K3).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Admit {
    pub task: TaskId,
    /// Required for places in flight and for `successes_only`.
    pub run: Option<RunId>,
    /// 1 to 16; a key at most once as a rate and once as a place.
    pub specs: Vec<Spec>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spec {
    pub key: Key,
    pub limit: u64,
    pub kind: SpecKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpecKind {
    Rate {
        window_ms: Millis,
        cost: u64,
        /// Given back if the run ends other than succeeded (R5).
        successes_only: bool,
    },
    /// One place in flight for the run (K1).
    Place,
}
