//! What all clones of one [`Permits`](super::Permits) share.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, Semaphore};
use tokio::task;
use tokio::time::Instant;

use super::error::{AcquireError, TryAcquireError};
use super::holds::HoldKey;
use super::ledger::Ledger;
use super::nested;

/// Every `u32` is a number of permits tokio can count, so sizes need no check and no error.
const _: () = assert!(Semaphore::MAX_PERMITS >= u32::MAX as usize, "maitred-permits needs a 64-bit target");

pub(crate) struct Shared {
    /// Order of creation: the fixed order in which several are taken.
    pub(crate) id: u64,
    pub(crate) name: Arc<str>,
    /// Those who wait, in order. While nobody does, free permits are with the ledger's circulation.
    pub(crate) line: Semaphore,
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
            line: Semaphore::new(0),
            ledger: Mutex::new(Ledger::new(Instant::now(), size)),
            resized: Notify::new(),
        }
    }

    pub(crate) fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn size(&self) -> u32 {
        self.ledger().circulation.size()
    }

    pub(crate) fn available(&self) -> u32 {
        self.ledger().circulation.available(&self.line)
    }

    /// Takes and books permits if they are free. If not, the answer is that of `otherwise`, under the same lock; an error
    /// if waiting would be in vain.
    pub(crate) fn take_or<R>(
        &self,
        asked: u32,
        task: Option<task::Id>,
        otherwise: impl FnOnce(&mut Ledger, Instant) -> R,
    ) -> Result<Result<HoldKey, R>, AcquireError> {
        if self.line.is_closed() {
            return Err(self.closed());
        }
        self.check(asked)?;
        let now = Instant::now();
        let mut ledger = self.ledger();
        if !ledger.circulation.take(asked, &self.line) {
            return Ok(Err(otherwise(&mut ledger, now)));
        }
        ledger.task_holds.took(task);
        Ok(Ok(ledger.granted_at_once(now, asked)))
    }

    /// Ends a hold. Booked first: whoever gets the permits next must not find them still booked as in flight.
    pub(crate) fn give_back(&self, key: HoldKey, permits: u32, taker: Option<task::Id>, failed: bool) {
        let mut ledger = self.ledger();
        ledger.released(key, failed);
        ledger.task_holds.gave_back(taker);
        let returned = ledger.circulation.give_back(permits);
        drop(ledger);
        self.line.add_permits(returned as usize);
    }

    pub(crate) fn resize(&self, size: u32) {
        let added = self.ledger().resize(Instant::now(), size, &self.line);
        self.line.add_permits(added as usize);
        self.resized.notify_waiters();
    }

    /// Books a timeout and says so.
    pub(crate) fn timed_out(&self, asked: u32, timeout: Duration) -> AcquireError {
        let mut ledger = self.ledger();
        ledger.timed_out(Instant::now());
        let (size, in_flight, waiting) =
            (ledger.circulation.size(), ledger.in_flight, ledger.circulation.waiting());
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
        TryAcquireError::NoneFree { name: Arc::clone(&self.name), asked, available: self.available() }
    }

    /// Refuses what could never be served. One permit always could: a size of 0 is a pause, not an end.
    pub(crate) fn check(&self, asked: u32) -> Result<(), AcquireError> {
        match asked {
            0 => Err(AcquireError::NoneAsked { name: Arc::clone(&self.name) }),
            1 => Ok(()),
            _ => match self.size() {
                size if asked > size => {
                    Err(AcquireError::TooMany { name: Arc::clone(&self.name), asked, size })
                }
                _ => Ok(()),
            },
        }
    }
}
