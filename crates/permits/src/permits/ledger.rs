//! The books of one [`Permits`](super::Permits): what is held, who waits, and what has been.
//!
//! One lock, taken once when a permit is given and once when it comes back, so that numbers which belong together
//! agree. Nothing that is not ours runs while it is held: no waker, no log line, no drop of a user's value.

use std::mem;
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::time::Instant;

use super::circulation::Circulation;
use super::history::History;
use super::holds::{HoldKey, Holds};
use super::nested::TaskHolds;
use super::waits::Waits;

/// Intervals of the history per turn of the wait histogram: one minute.
const INTERVALS_PER_TURN: u64 = 6;

/// Counted since the beginning.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Totals {
    pub(crate) acquired: u64,
    pub(crate) released: u64,
    pub(crate) timeouts: u64,
    pub(crate) completed: u64,
    pub(crate) failed: u64,
    pub(crate) rejected: u64,
}

/// Holds that ended since the clock was last looked at.
#[derive(Default)]
struct Ended {
    completed: u64,
    failed: u64,
}

pub(crate) struct Ledger {
    pub(crate) circulation: Circulation,
    pub(crate) holds: Holds,
    pub(crate) history: History,
    pub(crate) waits: Waits,
    pub(crate) totals: Totals,
    ended: Ended,
    pub(crate) in_flight: u32,
    pub(crate) in_flight_peak: u32,
    pub(crate) task_holds: TaskHolds,
}

impl Ledger {
    pub(crate) fn new(epoch: Instant, size: u32) -> Self {
        Self {
            circulation: Circulation::new(size),
            holds: Holds::new(),
            history: History::new(epoch, size),
            waits: Waits::new(),
            totals: Totals::default(),
            ended: Ended::default(),
            in_flight: 0,
            in_flight_peak: 0,
            task_holds: TaskHolds::default(),
        }
    }

    /// Brings the books to `now`; every entry below does so first.
    #[inline]
    pub(crate) fn roll(&mut self, now: Instant) {
        if self.history.roll(now) {
            self.waits.roll(self.history.index() / INTERVALS_PER_TURN);
        }
        if self.ended.completed + self.ended.failed > 0 {
            self.book_ended();
        }
    }

    /// Permits were free and are given without a wait.
    pub(crate) fn granted_at_once(&mut self, now: Instant, permits: u32) -> HoldKey {
        let key = self.granted(now, permits);
        self.waits.record(Duration::ZERO);
        key
    }

    /// Permits are given; [`wait_ended`](Self::wait_ended) has booked the wait.
    pub(crate) fn granted(&mut self, now: Instant, permits: u32) -> HoldKey {
        self.roll(now);
        self.in_flight += permits;
        self.in_flight_peak = self.in_flight_peak.max(self.in_flight);
        self.totals.acquired += u64::from(permits);
        self.stands();
        self.holds.begin(now, permits)
    }

    /// A hold has ended.
    ///
    /// Reading the clock is the dearest part of it. It is left out when this serves somebody in line: nothing is available
    /// before or after, and whoever is served looks at the clock a moment later and books the end.
    pub(crate) fn released(&mut self, key: HoldKey, failed: bool) {
        let permits = self.holds.end(key);
        self.in_flight -= permits;
        self.totals.released += u64::from(permits);
        self.ended.failed += u64::from(failed);
        self.ended.completed += u64::from(!failed);
        if !self.circulation.serves_at_once() {
            self.roll(Instant::now());
            self.stands();
        }
    }

    /// Moves the ends of holds since the last look at the clock into the books.
    fn book_ended(&mut self) {
        let Ended { completed, failed } = mem::take(&mut self.ended);
        self.totals.completed += completed;
        self.totals.failed += failed;
        let interval = self.history.current();
        interval.completed += completed;
        interval.failed += failed;
    }

    /// Somebody joins the line. The answer is how many permits to add to the semaphore, after the lock.
    #[must_use]
    pub(crate) fn wait_begins(&mut self, now: Instant, asked: u32) -> u32 {
        self.roll(now);
        let added = self.circulation.join(asked);
        self.stands();
        added
    }

    /// A wait is over.
    pub(crate) fn wait_ended(&mut self, now: Instant, asked: u32, end: WaitEnd, line: &Semaphore) {
        self.roll(now);
        self.circulation.leave(asked, line);
        if let WaitEnd::Answered(wait) = end {
            self.waits.record(wait);
        }
        self.stands();
    }

    pub(crate) fn timed_out(&mut self, now: Instant) {
        self.roll(now);
        self.totals.timeouts += 1;
        self.history.current().timeouts += 1;
    }

    pub(crate) fn rejected(&mut self, now: Instant) {
        self.roll(now);
        self.totals.rejected += 1;
        self.history.current().rejected += 1;
    }

    /// Changes the size; the answer is how many permits to add to the semaphore, after the lock.
    #[must_use]
    pub(crate) fn resize(&mut self, now: Instant, size: u32, line: &Semaphore) -> u32 {
        self.roll(now);
        let added = self.circulation.resize(size, line);
        self.stands();
        added
    }

    /// While somebody waits nothing is available: what is free is set aside for the head of the line.
    fn stands(&mut self) {
        let free = self.circulation.size().saturating_sub(self.in_flight);
        let waiting = self.circulation.waiting() > 0;
        self.history.stands_at(if waiting { 0 } else { free }, waiting);
    }
}

/// How a wait ended, and how long it was where that tells how long one has to wait.
#[derive(Debug, Clone, Copy)]
pub(crate) enum WaitEnd {
    /// Served or timed out.
    Answered(Duration),
    /// Refused or cancelled.
    Left,
}
