//! The guard: what a holder has, and gives back exactly once.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use tokio::task;

use super::holds::HoldKey;
use super::shared::Shared;

/// One or more permits, held until this guard is dropped.
///
/// It is given back exactly once on every way out: return, `?`, panic, cancellation of the task. There is no release
/// to forget or to call twice. Dropping never blocks on I/O, never spawns, and works outside a runtime and while one
/// shuts down. The guard owns what it needs (`'static`, `Send`, `Sync`), so it may move into another task.
///
/// A drop counts as *completed*; a drop while its thread panics, or after [`failed`](Self::failed) or
/// [`rejected`](Self::rejected), counts as *failed*.
#[must_use = "a permit that is not bound to a name is given back at once; write `let _permit = ...`"]
pub struct Permit {
    shared: Arc<Shared>,
    permits: u32,
    key: HoldKey,
    taker: Option<task::Id>,
    failed: AtomicBool,
}

impl Permit {
    pub(crate) fn new(shared: Arc<Shared>, permits: u32, key: HoldKey, taker: Option<task::Id>) -> Self {
        Self { shared, permits, key, taker, failed: AtomicBool::new(false) }
    }

    /// How many permits this guard holds.
    #[must_use]
    pub fn count(&self) -> u32 {
        self.permits
    }

    /// Name of the [`Permits`](super::Permits) it came from.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.shared.name
    }

    /// The downstream rejected the call (429, connection refused): counted as a rejection, and the hold as failed.
    pub fn rejected(&self) {
        self.failed();
        self.shared.record_rejection();
    }

    /// The call failed: the hold will count as failed, not completed.
    pub fn failed(&self) {
        self.set_failed(true);
    }

    pub(crate) fn set_failed(&self, failed: bool) {
        self.failed.store(failed, Relaxed);
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let failed = *self.failed.get_mut() || std::thread::panicking();
        self.shared.give_back(self.key, self.permits, self.taker, failed);
    }
}

impl fmt::Debug for Permit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Permit")
            .field("name", &self.shared.name)
            .field("count", &self.permits)
            .finish_non_exhaustive()
    }
}
