//! What can be seen of the state: plain values, made when asked for, never part of it.

use crate::{
    command::{Confirm, Hold},
    names::{Key, Label, LimitName, RunId, SlotId, TaskId},
    outcome::SlotStatus,
    time::Millis,
};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LimitView {
    pub limit: LimitName,
    /// In force: the override if there is one, else what is declared.
    pub capacity: u32,
    pub max_hold_ms: Millis,
    pub declared_capacity: u32,
    pub declared_max_hold_ms: Millis,
    pub capacity_override: Option<u32>,
    pub max_hold_override_ms: Option<Millis>,
    pub paused: bool,
    pub retired: bool,
    /// Sums of weights.
    pub busy: u64,
    pub reserved: u64,
    /// Numbers of slots.
    pub busy_slots: u32,
    pub reserved_slots: u32,
    pub waiting: u32,
    /// When the first in the queue was queued, and when the longest holder was granted.
    pub oldest_queued_at: Option<Millis>,
    pub oldest_granted_at: Option<Millis>,
}

/// A slot that has not ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlotView {
    pub slot: SlotId,
    /// With weights, in the order named.
    pub limits: Vec<(LimitName, u32)>,
    pub run: Option<RunId>,
    pub workflow: Option<Label>,
    pub label: Option<Label>,
    pub status: SlotStatus,
    pub confirm: Confirm,
    pub hold: Hold,
    /// Whether it waits for an auto caller that is on the line.
    pub on_line: bool,
    pub asked_at: Millis,
    /// When it last joined its queues.
    pub queued_at: Millis,
    pub gives_up_at: Millis,
    /// How often a reservation lapsed.
    pub laps: u32,
}

/// What a run holds and waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunView {
    pub run: RunId,
    pub slots: Vec<SlotView>,
    /// Task, key and expiry of each place in flight.
    pub places: Vec<(TaskId, Key, Millis)>,
    /// Hits that are given back if the run does not succeed.
    pub hits: u64,
}

/// A running rate window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CounterView {
    pub used: u64,
    pub started_at: Millis,
    pub ends_at: Millis,
}

/// One live key of a task: its window, its places in flight, or both.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyView {
    pub task: TaskId,
    pub key: Key,
    pub counter: Option<CounterView>,
    pub in_flight: u64,
}

/// Sizes and fill levels, for metrics and readiness.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    pub namespaces: u32,
    pub limits: u32,
    pub slots: u32,
    pub waiting: u32,
    pub runs: u32,
    pub counters: u32,
    pub places: u32,
    pub remembered_timed: u32,
    pub remembered_other: u32,
    /// Ids with a time before this are refused as too old.
    pub horizon: Millis,
    pub last_fence: u64,
}
