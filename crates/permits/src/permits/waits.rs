//! How long acquires waited lately: a histogram of the last one to two minutes, of fixed size.
//!
//! Buckets are whole microseconds up to 8, then eight per doubling, so an answer is at most 12.5 % too high and never
//! too low. Two histograms take turns: the one being filled, and the one before it; answers read both.

use std::time::Duration;

/// Microseconds from which everything lands in the last bucket: 19 hours.
const MOST_US: u64 = (1 << 36) - 1;
const BUCKETS: usize = 272;

type Counts = [u32; BUCKETS];

pub(crate) struct Waits {
    turn: u64,
    current: Box<Counts>,
    previous: Box<Counts>,
}

impl Waits {
    pub(crate) fn new() -> Self {
        Self { turn: 0, current: Box::new([0; BUCKETS]), previous: Box::new([0; BUCKETS]) }
    }

    /// Forgets what is older than the turn before `turn`.
    pub(crate) fn roll(&mut self, turn: u64) {
        if turn <= self.turn {
            return;
        }
        std::mem::swap(&mut self.current, &mut self.previous);
        self.current.fill(0);
        if turn > self.turn + 1 {
            self.previous.fill(0);
        }
        self.turn = turn;
    }

    pub(crate) fn record(&mut self, wait: Duration) {
        let count = &mut self.current[bucket(wait)];
        *count = count.saturating_add(1);
    }

    /// The wait that `percent` of a hundred did not exceed; zero when there was none.
    pub(crate) fn percentile(&self, percent: u64) -> Duration {
        let counts =
            || self.current.iter().zip(self.previous.iter()).map(|(a, b)| u64::from(*a) + u64::from(*b));
        let rank = (counts().sum::<u64>() * percent).div_ceil(100);
        let mut seen = 0;
        let found = counts().position(|count| {
            seen += count;
            seen >= rank && seen > 0
        });
        found.map_or(Duration::ZERO, upper_edge)
    }
}

fn bucket(wait: Duration) -> usize {
    let us = u64::try_from(wait.as_micros()).unwrap_or(MOST_US).min(MOST_US);
    if us < 8 {
        return us as usize;
    }
    let doublings = us.ilog2() - 3;
    let eighth = (us >> doublings) - 8;
    (doublings as usize + 1) * 8 + eighth as usize
}

fn upper_edge(bucket: usize) -> Duration {
    if bucket < 8 {
        return Duration::from_micros(bucket as u64);
    }
    let doublings = bucket / 8 - 1;
    let next = (8 + bucket as u64 % 8 + 1) << doublings;
    Duration::from_micros(next - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_cover_every_wait_without_gaps() {
        assert_eq!(bucket(Duration::MAX), BUCKETS - 1);
        for at in 1..BUCKETS {
            assert_eq!(bucket(upper_edge(at)), at, "the upper edge belongs to its bucket");
            assert_eq!(bucket(upper_edge(at - 1) + Duration::from_micros(1)), at, "no gap");
        }
    }

    #[test]
    fn an_answer_is_never_low_and_at_most_an_eighth_high() {
        for us in (0..5_000_000u64).step_by(977) {
            let answer = upper_edge(bucket(Duration::from_micros(us))).as_micros() as u64;
            assert!(answer >= us && answer <= us + us / 8, "{us} us became {answer} us");
        }
    }

    #[test]
    fn percentiles_of_a_known_set() {
        let mut waits = Waits::new();
        assert_eq!(waits.percentile(99), Duration::ZERO);
        for us in 1..=100 {
            waits.record(Duration::from_millis(us));
        }
        let (p50, p99) = (waits.percentile(50), waits.percentile(99));
        assert!((50.0..57.0).contains(&(p50.as_secs_f64() * 1e3)), "{p50:?}");
        assert!((99.0..112.0).contains(&(p99.as_secs_f64() * 1e3)), "{p99:?}");
    }

    #[test]
    fn what_is_two_turns_old_is_forgotten() {
        let mut waits = Waits::new();
        waits.record(Duration::from_secs(4));
        waits.roll(1);
        assert!(waits.percentile(99) >= Duration::from_secs(4));
        waits.roll(2);
        assert_eq!(waits.percentile(99), Duration::ZERO);
        waits.record(Duration::from_secs(4));
        waits.roll(9);
        assert_eq!(waits.percentile(99), Duration::ZERO);
    }
}
