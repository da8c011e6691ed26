//! Several limits in one call.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::acquire::{Acquire, Taker};
use super::error::AcquireError;
use super::handle::Permits;
use super::permit::Permit;
use super::shared::Shared;

/// Asks for one permit of each, all or none; a limit named twice gives two. Await the answer; the whole of it waits at
/// most for the shortest timeout of the limits named, unless told otherwise.
///
/// Limits are taken in the order in which they were created, however they are written here. That is why two calls that
/// name the same limits in different orders cannot end with each holding one and waiting for the other. Waiting for a
/// later one, it holds the earlier ones: create the scarcest first, or the others stand idle behind it.
///
/// ```
/// # use maitred_permits as maitred;
/// use maitred::permits::{Permits, acquire_all};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), maitred::permits::AcquireError> {
/// let (database, partner) = (Permits::new("database", 10), Permits::new("partner", 50));
/// let held = acquire_all([&partner, &database]).await?;
/// assert_eq!((database.available(), partner.available()), (9, 49));
/// drop(held); // all of them
/// assert_eq!((database.available(), partner.available()), (10, 50));
/// # Ok(())
/// # }
/// ```
///
/// # Errors
///
/// As [`Permits::acquire_many`], of the limit that gave the reason. What is closed or too small is found before anything
/// is taken, so an attempt that must fail takes nothing from anybody.
///
/// # Cancel safety
///
/// Dropped while it waits, it gives back what it has and leaves the line it is in.
pub fn acquire_all<'a>(limits: impl IntoIterator<Item = &'a Permits>) -> AcquireAll {
    let mut wanted = BTreeMap::new();
    let mut timeout = None;
    for limit in limits {
        wanted.entry(limit.id()).or_insert_with(|| (Arc::clone(limit.shared()), 0)).1 += 1;
        timeout = timeout.into_iter().chain(limit.default_timeout()).min();
    }
    AcquireAll { wanted: wanted.into_values().collect(), timeout }
}

/// A request for permits of several limits; await it. Made by [`acquire_all`].
#[must_use = "an acquire does nothing unless it is awaited"]
pub struct AcquireAll {
    /// In the fixed order, each with how many of it.
    wanted: Vec<(Arc<Shared>, u32)>,
    timeout: Option<Duration>,
}

impl AcquireAll {
    /// Waits at most this long for all of them together.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Waits for as long as it takes.
    pub fn no_timeout(mut self) -> Self {
        self.timeout = None;
        self
    }

    async fn take(self) -> Result<Vec<Permit>, AcquireError> {
        for (limit, count) in &self.wanted {
            limit.check(*count)?;
            if limit.line.is_closed() {
                return Err(limit.closed());
            }
        }
        let started = Instant::now();
        let mut held = Vec::with_capacity(self.wanted.len());
        for (limit, count) in self.wanted {
            let left = self.timeout.map(|timeout| timeout.saturating_sub(started.elapsed()));
            let permit = Acquire::new(limit, count, left, Taker::Task).await;
            held.push(permit.map_err(|refused| with_timeout(refused, self.timeout))?);
        }
        Ok(held)
    }
}

/// The timeout that was asked for, not what was left of it for the last limit.
fn with_timeout(mut refused: AcquireError, asked: Option<Duration>) -> AcquireError {
    if let (AcquireError::TimedOut { timeout, .. }, Some(asked)) = (&mut refused, asked) {
        *timeout = asked;
    }
    refused
}

impl IntoFuture for AcquireAll {
    type Output = Result<Vec<Permit>, AcquireError>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.take())
    }
}
