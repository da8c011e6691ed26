//! Everything that then happened, in order: for callers on the line, streams, history and metrics.

use crate::{
    command::{Hold, RunStatus},
    names::{Key, Label, LimitName, Namespace, RunId, SlotId, TaskId},
    outcome::End,
    time::Millis,
};

/// `at` is the instant of the change: the due time of what fell due, else the command's time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    pub at: Millis,
    pub kind: EventKind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// Declared for the first time, or with other values, or back from retirement.
    LimitDeclared {
        namespace: Namespace,
        limit: LimitName,
        capacity: u32,
        max_hold_ms: Millis,
    },
    LimitRetired {
        namespace: Namespace,
        limit: LimitName,
    },
    /// A retired limit became empty.
    LimitGone {
        namespace: Namespace,
        limit: LimitName,
    },
    /// An override was set or reset; `None` means back to what is declared.
    CapacityOverridden {
        namespace: Namespace,
        limit: LimitName,
        before: Option<u32>,
        after: Option<u32>,
    },
    MaxHoldOverridden {
        namespace: Namespace,
        limit: LimitName,
        before: Option<Millis>,
        after: Option<Millis>,
    },
    LimitPaused {
        namespace: Namespace,
        limit: LimitName,
    },
    LimitResumed {
        namespace: Namespace,
        limit: LimitName,
    },
    /// A slot was asked for and waits.
    SlotQueued(SlotEvent),
    /// Granted. `busy` says whether it needs no confirm; if so, `lapses_at` means nothing. `waited_ms` since it was
    /// (last) queued.
    SlotGranted {
        slot: SlotEvent,
        busy: bool,
        fence: u64,
        waited_ms: Millis,
        lapses_at: Millis,
        expires_at: Millis,
    },
    SlotConfirmed {
        slot: SlotEvent,
        fence: u64,
        expires_at: Millis,
    },
    /// A reservation lapsed and the slot went to the end of its queues (S5).
    SlotPutBack(SlotEvent),
    SlotEnded(Box<EndedSlot>),
    RunEnded {
        namespace: Namespace,
        run: RunId,
        status: RunStatus,
    },
    RateReset {
        namespace: Namespace,
        task: TaskId,
        key: Key,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlotEvent {
    pub namespace: Namespace,
    pub id: SlotId,
    /// The first limit named.
    pub limit: LimitName,
    /// The others.
    pub further: Box<[LimitName]>,
}

/// The whole story of a slot, handed out at its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndedSlot {
    pub namespace: Namespace,
    pub id: SlotId,
    /// With weights, in the order named.
    pub limits: Vec<(LimitName, u32)>,
    pub run: Option<RunId>,
    pub workflow: Option<Label>,
    pub label: Option<Label>,
    pub hold: Hold,
    pub end: End,
    /// Whether it was busy or reserved at its end.
    pub was: Was,
    /// Who asked for the end (S8), where somebody did.
    pub by: Option<Label>,
    pub reason: Option<Label>,
    pub asked_at: Millis,
    /// Of the last grant, if there was one.
    pub granted_at: Option<Millis>,
    pub fence: Option<u64>,
    /// How often a reservation lapsed.
    pub laps: u32,
}

/// What the slot was just before its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Was {
    /// Asked for and ended in one command (a wait of zero).
    New,
    Queued,
    Reserved,
    Busy,
}
