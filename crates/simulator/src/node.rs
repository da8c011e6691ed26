//! A machine of the simulated world, and the process that runs on it while it does.

use std::collections::BTreeSet;

use maitred::local::{sequencer::Sequencer, timekeeper::Clocks};
use maitred_engine::time::Millis;

use crate::books::CallId;

pub(crate) struct Node {
    pub process: Option<Process>,
    pub boot: BootClock,
    /// It does not reach the store until then.
    pub cut_off_until: Millis,
    /// It does nothing at all until then; it is not dead.
    pub still_until: Millis,
    /// It hears of others' records late until then.
    pub hard_of_hearing_until: Millis,
}

pub(crate) struct Process {
    /// Unique in this world: what was meant for one process never reaches the next.
    pub id: u32,
    pub writer: u64,
    pub sequencer: Sequencer<CallId>,
    /// Calls taken and not yet answered.
    pub open: BTreeSet<CallId>,
    pub next_line: u64,
    /// Of the timer that counts; an older one that rings is ignored.
    pub timer: u32,
    /// It is to end when it has finished what it took.
    pub stopping: bool,
    /// Records in a row that said only that time has come, and nothing came of it.
    pub in_vain: u32,
    /// When it last asked for an append.
    pub wrote_at: Millis,
}

impl Node {
    pub(crate) fn new(now: Millis) -> Self {
        Self {
            process: None,
            boot: BootClock { true_at: now, shows: 1_000_000, per_mille: 0 },
            cut_off_until: 0,
            still_until: 0,
            hard_of_hearing_until: 0,
        }
    }

    /// Under which it writes; 0 if nobody is there.
    pub(crate) fn writer(&self) -> u64 {
        self.process.as_ref().map_or(0, |process| process.writer)
    }

    pub(crate) fn clocks(&self, now: Millis, store: Option<Millis>) -> Clocks {
        Clocks { boot: self.boot.now(now), store }
    }
}

/// Never set, never back, but fast or slow; and it can leap ahead.
pub(crate) struct BootClock {
    true_at: Millis,
    shows: Millis,
    /// How much faster than true time it runs.
    per_mille: i64,
}

impl BootClock {
    pub(crate) fn now(&self, true_now: Millis) -> Millis {
        let passed = (true_now - self.true_at) as i64;
        self.shows + (passed + passed * self.per_mille / 1_000) as u64
    }

    pub(crate) fn run(&mut self, true_now: Millis, per_mille: i64) {
        *self = Self { true_at: true_now, shows: self.now(true_now), per_mille };
    }

    pub(crate) fn leap(&mut self, true_now: Millis, by_ms: Millis) {
        *self = Self { true_at: true_now, shows: self.now(true_now) + by_ms, per_mille: self.per_mille };
    }
}
