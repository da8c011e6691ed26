//! What happened lately, in intervals of ten seconds over the last hour: a ring of fixed size.
//!
//! Nothing ticks. The first event of a new interval closes the old one and fills the intervals in which nothing
//! happened with the level that stood through them, so a quiet hour costs nothing and is still told correctly.

use std::collections::VecDeque;
use std::mem;
use std::time::Duration;

use tokio::time::Instant;

/// Length of one [`Interval`] of the history.
pub const INTERVAL: Duration = Duration::from_secs(10);
/// How many whole intervals are kept: one hour.
pub const INTERVALS_KEPT: usize = 360;
/// Over how many whole intervals rates per second are taken: one minute.
const RATE_INTERVALS: usize = 6;

/// One interval of [`INTERVAL`], or several merged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Interval {
    /// The fewest permits that were available at any moment. While somebody waits, none are.
    pub floor: u32,
    /// Whether anybody waited.
    pub waited: bool,
    /// Holds that ended well.
    pub completed: u64,
    /// Holds that ended in a failure, a rejection, a panic, or by cancellation.
    pub failed: u64,
    /// Rejections by the downstream that were reported.
    pub rejected: u64,
    /// Acquires that timed out.
    pub timeouts: u64,
}

impl Interval {
    /// This interval and the next as one.
    pub(crate) fn merge(self, next: &Interval) -> Interval {
        Interval {
            floor: self.floor.min(next.floor),
            waited: self.waited || next.waited,
            completed: self.completed + next.completed,
            failed: self.failed + next.failed,
            rejected: self.rejected + next.rejected,
            timeouts: self.timeouts + next.timeouts,
        }
    }
}

/// What happened in the last minute or so, and how long that span is.
pub(crate) struct Recent {
    pub(crate) counts: Interval,
    pub(crate) span: Duration,
}

pub(crate) struct History {
    epoch: Instant,
    index: u64,
    /// When the interval under way ends.
    ends_at: Instant,
    /// The interval under way.
    current: Interval,
    /// Those that are over, oldest first.
    whole: VecDeque<Interval>,
    level: u32,
    waiting: bool,
}

impl History {
    pub(crate) fn new(epoch: Instant, level: u32) -> Self {
        let current = Interval { floor: level, ..Interval::default() };
        let ends_at = epoch + INTERVAL;
        Self { epoch, index: 0, ends_at, current, whole: VecDeque::new(), level, waiting: false }
    }

    /// Closes the intervals that ended before `now`; whether there were any. Call it before anything is counted.
    #[inline]
    pub(crate) fn roll(&mut self, now: Instant) -> bool {
        now >= self.ends_at && self.close_until(now)
    }

    #[cold]
    fn close_until(&mut self, now: Instant) -> bool {
        let index = now.saturating_duration_since(self.epoch).as_secs() / INTERVAL.as_secs();
        let quiet = Interval { floor: self.level, waited: self.waiting, ..Interval::default() };
        self.whole.push_back(mem::replace(&mut self.current, quiet));
        let missed = (index - self.index - 1).min(INTERVALS_KEPT as u64);
        self.whole.extend((0..missed).map(|_| quiet));
        let surplus = self.whole.len().saturating_sub(INTERVALS_KEPT);
        self.whole.drain(..surplus);
        self.index = index;
        self.ends_at = self.epoch + Duration::from_secs((index + 1) * INTERVAL.as_secs());
        true
    }

    /// The interval under way.
    pub(crate) fn current(&mut self) -> &mut Interval {
        &mut self.current
    }

    /// Tells how many permits are available from here on.
    pub(crate) fn stands_at(&mut self, available: u32, waiting: bool) {
        self.level = available;
        self.waiting = waiting;
        self.current.floor = self.current.floor.min(available);
        self.current.waited |= waiting;
    }

    pub(crate) fn index(&self) -> u64 {
        self.index
    }

    /// The intervals that are over, oldest first.
    pub(crate) fn whole(&self) -> impl ExactSizeIterator<Item = &Interval> {
        self.whole.iter()
    }

    pub(crate) fn recent(&self, now: Instant) -> Recent {
        let taken = self.whole.len().min(RATE_INTERVALS);
        let counts = self.whole.range(self.whole.len() - taken..).fold(self.current, Interval::merge);
        let since = (self.index - taken as u64) * INTERVAL.as_secs();
        let age = now.saturating_duration_since(self.epoch);
        Recent { counts, span: age.saturating_sub(Duration::from_secs(since)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quiet_intervals_keep_the_level_that_stood() {
        let epoch = Instant::now();
        let mut history = History::new(epoch, 50);
        history.stands_at(7, false);
        history.stands_at(9, false);
        history.roll(epoch + 3 * INTERVAL);
        history.stands_at(50, false);
        let floors: Vec<_> = history.whole().map(|interval| interval.floor).collect();
        assert_eq!(floors, [7, 9, 9]);
        assert_eq!(history.current().floor, 9, "the level at the start of an interval counts in it");
    }

    #[test]
    fn a_day_of_silence_keeps_one_hour() {
        let epoch = Instant::now();
        let mut history = History::new(epoch, 5);
        history.roll(epoch + Duration::from_secs(86_400));
        assert_eq!(history.whole().len(), INTERVALS_KEPT);
        assert!(history.whole().all(|interval| interval.floor == 5));
    }

    #[test]
    fn time_that_steps_back_changes_nothing() {
        let epoch = Instant::now();
        let mut history = History::new(epoch, 5);
        history.roll(epoch + 2 * INTERVAL);
        history.roll(epoch);
        assert_eq!((history.index(), history.whole().len()), (2, 2));
    }

    #[test]
    fn recent_spans_at_most_a_minute_and_the_interval_under_way() {
        let epoch = Instant::now();
        let mut history = History::new(epoch, 5);
        history.current().completed = 100;
        let recent = history.recent(epoch + Duration::from_secs(4));
        assert_eq!((recent.counts.completed, recent.span), (100, Duration::from_secs(4)));
        let later = epoch + Duration::from_secs(95);
        history.roll(later);
        history.current().completed = 30;
        let recent = history.recent(later);
        assert_eq!((recent.counts.completed, recent.span), (30, Duration::from_secs(65)));
    }
}
