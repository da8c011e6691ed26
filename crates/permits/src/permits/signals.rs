//! What to graph: the numbers of one [`Permits`](super::Permits) at one moment.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::time::Instant;

use super::ledger::Ledger;

/// The numbers of one [`Permits`](super::Permits) at one moment.
///
/// What to look at: a floor of available permits that only falls ([`history`](super::Permits::history)) is a leak;
/// `wait_p99` tells how much of the latency is this limiter; `timeouts` above zero means holders are stuck;
/// `rejected` above zero means the size is too high or the limit is multiplied
/// ([`across_instances`](Self::across_instances)).
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Signals {
    /// Name of the permits.
    pub name: Arc<str>,
    /// How many there are.
    pub size: u32,
    /// How many are free for whoever comes.
    pub available: u32,
    /// Permits that are held.
    pub in_flight: u32,
    /// Permits set aside for waiters that have not picked them up yet. Lasting above zero: a waiter that is not polled
    /// any more, or the head of the line wants several and collects them.
    pub set_aside: u32,
    /// The most permits ever held at once.
    pub in_flight_peak: u32,
    /// Acquires that wait.
    pub waiting: u32,
    /// Permits given since the beginning.
    pub acquired: u64,
    /// Permits given back since the beginning; `acquired - released` are in flight.
    pub released: u64,
    /// Acquires that timed out.
    pub timeouts: u64,
    /// Holds that ended well.
    pub completed: u64,
    /// Holds that ended in a failure, a rejection, a panic, or (under `with_permit` and `fan_out`) by cancellation.
    pub failed: u64,
    /// Rejections by the downstream that were reported.
    pub rejected: u64,
    /// Holds per second that ended well, over the last minute.
    pub completed_per_s: f64,
    /// Holds per second that failed, over the last minute.
    pub failed_per_s: f64,
    /// What half of the acquires of the last one to two minutes waited at most, those that timed out included.
    pub wait_p50: Duration,
    /// What 99 of 100 of them waited at most.
    pub wait_p99: Duration,
    /// How long the oldest hold has lasted.
    pub oldest_hold: Option<Duration>,
}

impl Signals {
    /// What the downstream can see at most when this many instances of the process run: size times instances.
    #[must_use]
    pub fn across_instances(&self, instances: u32) -> u64 {
        u64::from(self.size) * u64::from(instances)
    }

    /// Reads everything. The caller holds the ledger, so its numbers agree with each other.
    pub(crate) fn read(name: &Arc<str>, line: &Semaphore, ledger: &mut Ledger, now: Instant) -> Self {
        ledger.roll(now);
        let recent = ledger.history.recent(now);
        let per_s =
            |count: u64| if recent.span.is_zero() { 0.0 } else { count as f64 / recent.span.as_secs_f64() };
        let circulation = &ledger.circulation;
        let totals = ledger.totals;
        Self {
            name: Arc::clone(name),
            size: circulation.size(),
            available: circulation.available(line),
            in_flight: ledger.in_flight,
            set_aside: circulation.set_aside(line, ledger.in_flight),
            in_flight_peak: ledger.in_flight_peak,
            waiting: circulation.waiting(),
            acquired: totals.acquired,
            released: totals.released,
            timeouts: totals.timeouts,
            completed: totals.completed,
            failed: totals.failed,
            rejected: totals.rejected,
            completed_per_s: per_s(recent.counts.completed),
            failed_per_s: per_s(recent.counts.failed),
            wait_p50: ledger.waits.percentile(50),
            wait_p99: ledger.waits.percentile(99),
            oldest_hold: ledger.holds.oldest(now),
        }
    }
}

impl fmt::Display for Signals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ms = |wait: Duration| wait.as_secs_f64() * 1e3;
        write!(
            f,
            "{}: {} of {} available, {} in flight (peak {}), {} waiting; wait p50 {:.1} ms, p99 {:.1} ms, {} timeouts; \
             {:.1} completed/s, {:.1} failed/s, {} rejected",
            self.name,
            self.available,
            self.size,
            self.in_flight,
            self.in_flight_peak,
            self.waiting,
            ms(self.wait_p50),
            ms(self.wait_p99),
            self.timeouts,
            self.completed_per_s,
            self.failed_per_s,
            self.rejected
        )
    }
}
