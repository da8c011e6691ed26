//! The public face: [`Permits`].

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::acquire::{Acquire, Taker, try_ask};
use super::error::{AcquireError, TryAcquireError};
use super::history::Interval;
use super::leak::{self, LeakVerdict};
use super::nested;
use super::permit::Permit;
use super::shared::Shared;
use super::signals::Signals;

/// How long an acquire waits unless told otherwise.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(5);

/// A limit on how many calls are inside at once, in this process. Cloning is cheap; all clones are the same limit.
///
/// First come, first served. See the [module](crate::permits) for where to put it and how to pick the size.
///
/// ```
/// # use maitred_permits as maitred;
/// use maitred::permits::Permits;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), maitred::permits::AcquireError> {
/// let permits = Permits::new("partner", 50);
/// let permit = permits.acquire().await?; // waits at most 5 s
/// assert_eq!(permits.available(), 49);
/// drop(permit); // or return, `?`, panic, cancellation: it is given back exactly once
/// assert_eq!(permits.available(), 50);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Permits {
    shared: Arc<Shared>,
    timeout: Option<Duration>,
}

impl Permits {
    /// A limit of `size` at once. The name appears in errors, warnings and signals. Every size is allowed; 0 is a
    /// pause: single acquires wait until a [`resize`](Self::resize).
    #[must_use]
    pub fn new(name: impl Into<Arc<str>>, size: u32) -> Self {
        Self { shared: Arc::new(Shared::new(name.into(), size)), timeout: Some(DEFAULT_TIMEOUT) }
    }

    /// This handle, and clones made of it, wait at most this long unless an acquire says otherwise.
    #[must_use]
    pub fn with_timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// This handle, and clones made of it, wait for as long as it takes. A stuck holder then stalls callers silently.
    #[must_use]
    pub fn without_timeout(mut self) -> Self {
        self.timeout = None;
        self
    }

    /// Asks for one permit: `permits.acquire().await`, `permits.acquire().timeout(d).await`.
    ///
    /// # Errors
    ///
    /// [`AcquireError::TimedOut`] or [`AcquireError::Closed`].
    ///
    /// # Cancel safety
    ///
    /// Dropped while it waits, it leaves the line, holds nothing and gives nothing back. See [`Acquire`].
    pub fn acquire(&self) -> Acquire {
        self.acquire_many(1)
    }

    /// Asks for `count` permits in one step: all of them or none. Two calls that each need two can not hold one each
    /// and wait for the other.
    ///
    /// At the head of the line it collects permits as they come free, and those behind wait.
    ///
    /// # Errors
    ///
    /// As [`acquire`](Self::acquire); [`AcquireError::TooMany`] at once if `count` is above the size, also when a
    /// shrink makes it so during the wait; [`AcquireError::NoneAsked`] for 0.
    pub fn acquire_many(&self, count: u32) -> Acquire {
        Acquire::new(Arc::clone(&self.shared), count, self.timeout, Taker::Task)
    }

    /// A permit for something that runs in a scope of its own, as the bodies of `with_permit` and `fan_out` do.
    pub(crate) fn acquire_for_body(&self) -> Acquire {
        Acquire::new(Arc::clone(&self.shared), 1, self.timeout, Taker::Body)
    }

    /// Takes one permit if it is free now. Never passes by those who wait.
    ///
    /// # Errors
    ///
    /// [`TryAcquireError::NoneFree`], or [`TryAcquireError::Refused`] if waiting would not help either.
    pub fn try_acquire(&self) -> Result<Permit, TryAcquireError> {
        self.try_acquire_many(1)
    }

    /// Takes `count` permits if they are free now, all or none.
    ///
    /// # Errors
    ///
    /// As [`try_acquire`](Self::try_acquire). An attempt that fails takes nothing, not even for a moment.
    pub fn try_acquire_many(&self, count: u32) -> Result<Permit, TryAcquireError> {
        try_ask(Arc::clone(&self.shared), count)
    }

    /// Runs `body` with a permit; the permit is back before this returns. `body` is not called without one.
    ///
    /// A body that panics or is cancelled counts as failed. For bodies that return a `Result` use
    /// [`try_with_permit`](Self::try_with_permit), which counts an `Err` as failed.
    ///
    /// ```
    /// # use maitred_permits as maitred;
    /// # use maitred::permits::Permits;
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), maitred::permits::AcquireError> {
    /// let permits = Permits::new("partner", 50);
    /// let record = String::from("prepared outside: local work needs no permit");
    /// let length = permits.with_permit(async || record.len()).await?;
    /// assert_eq!(length, 44);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// As [`acquire`](Self::acquire).
    ///
    /// # Cancel safety
    ///
    /// Dropped, it drops the body first and then gives the permit back.
    pub async fn with_permit<T, F: Future<Output = T>>(
        &self,
        body: impl FnOnce() -> F,
    ) -> Result<T, AcquireError> {
        let permit = self.acquire_for_body().await?;
        permit.set_failed(true); // until it has returned
        let value = nested::scope(self.shared.id, body()).await;
        permit.set_failed(false);
        Ok(value)
    }

    /// As [`with_permit`](Self::with_permit), for a body that can fail: its `Err` counts as failed.
    ///
    /// # Errors
    ///
    /// What the body returned, or the [`AcquireError`] turned into `E`.
    ///
    /// # Cancel safety
    ///
    /// As [`with_permit`](Self::with_permit).
    pub async fn try_with_permit<T, E, F>(&self, body: impl FnOnce() -> F) -> Result<T, E>
    where
        E: From<AcquireError>,
        F: Future<Output = Result<T, E>>,
    {
        let permit = self.acquire_for_body().await?;
        permit.set_failed(true);
        let result = nested::scope(self.shared.id, body()).await;
        permit.set_failed(result.is_err());
        result
    }

    /// Changes the size. Growing serves waiters at once. Shrinking takes nothing back: more than `size` may be in
    /// flight until holders give back, and permits that come free are removed before anybody else gets one.
    /// Those who wait for more than the new size get [`AcquireError::TooMany`].
    pub fn resize(&self, size: u32) {
        self.shared.resize(size);
    }

    /// Gives no permit any more: those who wait, and all who come, get [`AcquireError::Closed`]. Holders keep theirs
    /// and give them back as ever.
    pub fn close(&self) {
        self.shared.line.close();
    }

    /// Whether [`close`](Self::close) was called.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.shared.line.is_closed()
    }

    /// Name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.shared.name
    }

    /// How many may be in flight.
    #[must_use]
    pub fn size(&self) -> u32 {
        self.shared.size()
    }

    /// How many are free for whoever comes next; 0 while somebody waits.
    #[must_use]
    pub fn available(&self) -> u32 {
        self.shared.available()
    }

    /// Reports that the downstream rejected a call (429, connection refused). With a guard at hand use
    /// [`Permit::rejected`], which counts the hold as failed too.
    pub fn record_rejection(&self) {
        self.shared.record_rejection();
    }

    /// The numbers to graph, now.
    #[must_use]
    pub fn signals(&self) -> Signals {
        let now = Instant::now();
        Signals::read(&self.shared.name, &self.shared.line, &mut self.shared.ledger(), now)
    }

    /// Available permits and ends of holds over the last hour, in whole intervals of
    /// [`INTERVAL`](super::INTERVAL), oldest first.
    #[must_use]
    pub fn history(&self) -> Vec<Interval> {
        let mut ledger = self.shared.ledger();
        ledger.roll(Instant::now());
        ledger.history.whole().copied().collect()
    }

    /// Judges whether permits leak: taken and never given back, so that capacity decays without an error.
    /// Ask it every minute or so. See [`LeakVerdict`] for what it looks at.
    #[must_use]
    pub fn leak_alarm(&self, now: Instant) -> LeakVerdict {
        let mut ledger = self.shared.ledger();
        ledger.roll(now);
        leak::judge(&ledger, now)
    }

    pub(crate) fn id(&self) -> u64 {
        self.shared.id
    }

    pub(crate) fn default_timeout(&self) -> Option<Duration> {
        self.timeout
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }
}

impl fmt::Debug for Permits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Permits")
            .field("name", &self.name())
            .field("size", &self.size())
            .field("available", &self.available())
            .finish_non_exhaustive()
    }
}
