//! What all clones of one [`Permits`](super::Permits) share.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, SemaphorePermit, TryAcquireError as NotTaken};
use tokio::task;
use tokio::time::Instant;

use super::circulation::Circulation;
use super::error::{AcquireError, TryAcquireError};
use super::holds::HoldKey;
use super::ledger::Ledger;
use super::nested;

pub(crate) struct Shared {
    /// Order of creation: the fixed order in which several are taken.
    pub(crate) id: u64,
    pub(crate) name: Arc<str>,
    pub(crate) circulation: Circulation,
    ledger: Mutex<Ledger>,
    /// Wakes those who wait for several permits, to see whether the size still allows it.
    resized: Notify,
}

impl Shared {
    pub(crate) fn new(name: Arc<str>, size: u32) -> Self {
        static NEXT_ID: AtomicU64 = AtomicU64::new(0);
        Self {
            id: NEXT_ID.fetch_add(1, Relaxed),
            name,
            circulation: Circulation::new(size),
            ledger: Mutex::new(Ledger::new(Instant::now(), size)),
            resized: Notify::new(),
        }
    }

    pub(crate) fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes and books permits if they are free; `None` if one has to wait; an error if waiting would be in vain.
    pub(crate) fn take_now(
        &self,
        asked: u32,
        task: Option<task::Id>,
    ) -> Result<Option<HoldKey>, AcquireError> {
        self.check(asked)?;
        match self.circulation.try_take(asked) {
            Ok(taken) => Ok(Some(self.book(taken, asked, task))),
            Err(NotTaken::NoPermits) => Ok(None),
            Err(NotTaken::Closed) => Err(self.closed()),
        }
    }

    /// From here on the permits belong to the hold in the books; tokio's own guard is forgotten.
    fn book(&self, taken: SemaphorePermit<'_>, permits: u32, task: Option<task::Id>) -> HoldKey {
        let (now, size) = (Instant::now(), self.circulation.size());
        let mut ledger = self.ledger();
        ledger.task_holds.took(task);
        taken.forget();
        ledger.granted_at_once(now, size, permits)
    }

    pub(crate) fn resize(&self, size: u32) {
        self.circulation.resize(size);
        self.ledger().resized(Instant::now(), self.circulation.size());
        self.resized.notify_waiters();
    }

    /// Books a timeout and says so.
    pub(crate) fn timed_out(&self, asked: u32, timeout: Duration) -> AcquireError {
        let size = self.circulation.size();
        let mut ledger = self.ledger();
        ledger.timed_out(Instant::now());
        let (in_flight, waiting) = (ledger.in_flight, ledger.waiting);
        AcquireError::TimedOut { name: Arc::clone(&self.name), asked, timeout, in_flight, size, waiting }
    }

    pub(crate) fn record_rejection(&self) {
        self.ledger().rejected(Instant::now());
    }

    /// Waits until a request of `asked` permits can never be served at the size there is; then says so.
    pub(crate) async fn shrunk_below(&self, asked: u32) -> AcquireError {
        if asked == 1 {
            return std::future::pending().await; // a size of 0 is a pause, see `check`
        }
        let mut resized = std::pin::pin!(self.resized.notified());
        loop {
            resized.as_mut().enable(); // before the look, so that no resize falls between
            if let Err(refused) = self.check(asked) {
                return refused;
            }
            resized.as_mut().await;
            resized.set(self.resized.notified());
        }
    }

    /// Says so if whoever asks now holds already, as far as [`nested`] can see.
    pub(crate) fn warn_if_nested(&self) {
        let asks_again = || self.ledger().task_holds.asks_again(nested::current_task());
        if cfg!(debug_assertions) && (nested::asks_inside_body(self.id) || asks_again()) {
            nested::warn(&self.name);
        }
    }

    pub(crate) fn closed(&self) -> AcquireError {
        AcquireError::Closed { name: Arc::clone(&self.name) }
    }

    pub(crate) fn none_free(&self, asked: u32) -> TryAcquireError {
        TryAcquireError::NoneFree {
            name: Arc::clone(&self.name),
            asked,
            available: self.circulation.available(),
        }
    }

    /// Refuses what could never be served. One permit always could: a size of 0 is a pause, not an end.
    pub(crate) fn check(&self, asked: u32) -> Result<(), AcquireError> {
        let size = self.circulation.size();
        match asked {
            0 => Err(AcquireError::NoneAsked { name: Arc::clone(&self.name) }),
            1 => Ok(()),
            _ if asked > size => Err(AcquireError::TooMany { name: Arc::clone(&self.name), asked, size }),
            _ => Ok(()),
        }
    }
}
