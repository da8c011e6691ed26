//! What the time is, for whoever keeps the journal.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{SystemTime, UNIX_EPOCH},
};

use crate::Millis;

/// Tells the time. Time is an input: nothing else in this crate reads a clock.
pub trait Clock: Send + Sync {
    fn now(&self) -> Millis;
}

/// The clock of this machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Millis {
        // A clock that is set before 1970 says 0: the reader of the records decides what to believe.
        SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |past| past.as_millis() as Millis)
    }
}

/// A clock that stands still until it is set. Clones show the same time.
#[derive(Clone, Debug, Default)]
pub struct ManualClock(Arc<AtomicU64>);

impl ManualClock {
    pub fn new(at: Millis) -> Self {
        Self(Arc::new(AtomicU64::new(at)))
    }

    /// Sets the time, also backwards: real clocks do that too.
    pub fn set(&self, at: Millis) {
        self.0.store(at, Ordering::SeqCst);
    }

    pub fn advance(&self, by_ms: u64) {
        self.0.fetch_add(by_ms, Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Millis {
        self.0.load(Ordering::SeqCst)
    }
}
