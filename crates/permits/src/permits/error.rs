//! What can go wrong while asking for permits.

use std::sync::Arc;
use std::time::Duration;

use thiserror::Error;

/// Why an acquire got no permit. It holds nothing, and nothing has to be given back.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum AcquireError {
    /// The wait was longer than its timeout. The holders may be stuck, or the size too small for the load.
    #[error(
        "no {asked} permit(s) of `{name}` within {} ms: {in_flight} of {size} in flight, {waiting} waiting; \
         a holder may be stuck (see signals().oldest_hold), else resize, or give a longer .timeout(..)",
        timeout.as_millis()
    )]
    TimedOut {
        /// Name of the permits.
        name: Arc<str>,
        /// How many were asked for.
        asked: u32,
        /// The timeout that passed.
        timeout: Duration,
        /// Permits held at that moment.
        in_flight: u32,
        /// The size at that moment.
        size: u32,
        /// Acquires that were waiting, this one included.
        waiting: u32,
    },
    /// More was asked for than the size, now or since a shrink, so waiting could never help.
    #[error(
        "{asked} permits of `{name}` asked for at once, but there are {size} in all; ask for at most {size}, or resize"
    )]
    TooMany {
        /// Name of the permits.
        name: Arc<str>,
        /// How many were asked for.
        asked: u32,
        /// How many there are.
        size: u32,
    },
    /// Zero permits were asked for.
    #[error("0 permits of `{name}` asked for; ask for at least 1")]
    NoneAsked {
        /// Name of the permits.
        name: Arc<str>,
    },
    /// [`close`](crate::permits::Permits::close) was called: no permit is given any more.
    #[error("the permits of `{name}` are closed; none is given any more")]
    Closed {
        /// Name of the permits.
        name: Arc<str>,
    },
}

/// Why [`try_acquire`](crate::permits::Permits::try_acquire) got no permit.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum TryAcquireError {
    /// Not enough permits are free at this moment.
    #[error(
        "{asked} permit(s) of `{name}` asked for, {available} available; try later, or wait with acquire()"
    )]
    NoneFree {
        /// Name of the permits.
        name: Arc<str>,
        /// How many were asked for.
        asked: u32,
        /// How many were free.
        available: u32,
    },
    /// Waiting would not help: see the inner error.
    #[error(transparent)]
    Refused(#[from] AcquireError),
}

/// Why one item of a [`fan_out`](crate::permits::fan_out) has no value.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum FanOutError<E> {
    /// The item never started: no permit.
    #[error(transparent)]
    Acquire(AcquireError),
    /// The item ran and returned this error.
    #[error("{0}")]
    Failed(E),
    /// The item panicked with this message. The others went on.
    #[error("the item panicked: {0}")]
    Panicked(String),
}
