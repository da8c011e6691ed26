//! Whether permits leak, judged from the history and the oldest holds.
//!
//! # Worked example
//!
//! A size of 50, busy but not full. Each minute one task hangs with its permit. The floor of available permits goes
//! 20, 19, 18, ... though no more work is done than before: [`LeakSign::FloorOnlyFalls`]. At a floor of 0 callers
//! begin to wait, and from here on each lost permit costs throughput: 1,000 calls a second, 980, 960, with the same
//! share of errors: [`LeakSign::ThroughputFalls`]. In the end all 50 are gone and nothing ends any more:
//! [`LeakSign::Stalled`].
//!
//! # Why it is not fooled
//!
//! *More load* makes the floor fall too, but more work gets done. *Less load* makes throughput fall too, but nobody
//! waits. *Errors* of the downstream change the share of failures. A *slower downstream* lowers floor and throughput,
//! but its holds still end. So a fall also needs permits that went missing with it: taken in the time looked at, and
//! held for half of it or longer. A holder that has always held for long is not blamed for what falls now.
//!
//! A leak may take minutes or hours to show, so the last hour is looked at three times, in six steps each: of ten
//! seconds, of a minute and of ten minutes.

use std::fmt;
use std::time::Duration;

use tokio::time::Instant;

use super::history::{INTERVAL, Interval};
use super::ledger::Ledger;

const STEPS: usize = 6;
/// Steps in half of the time looked at.
const HALF: u32 = STEPS as u32 / 2;
/// Intervals per step: the last minute, six minutes and hour.
const SCALES: [usize; 3] = [1, 6, 60];
/// Holds that must have ended in the first half before a fall of throughput means anything.
const ENOUGH_ENDED: u64 = 20;
/// Throughput fell when the second half ended no more than this share of the holds of the first.
const FALLEN_TO: f64 = 0.8;
/// And when the difference is more than this many standard deviations of counts as large as these: not by chance.
const DEVIATIONS: f64 = 3.0;
/// Throughput rose when it ended more than this share.
const RISEN_TO: f64 = 1.1;
/// Shares of failures this close to each other are the same.
const FLAT_WITHIN: f64 = 0.02;

/// Answer of [`Permits::leak_alarm`](super::Permits::leak_alarm).
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum LeakVerdict {
    /// There is too little to judge from.
    Unknown {
        /// What is missing.
        reason: &'static str,
    },
    /// No sign of a leak.
    NoSign,
    /// Permits seem to leak.
    Suspected(LeakEvidence),
}

impl LeakVerdict {
    /// Whether to raise the alarm.
    #[must_use]
    pub fn is_suspected(&self) -> bool {
        matches!(self, Self::Suspected(_))
    }
}

/// What gave the leak away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum LeakSign {
    /// The floor of available permits only falls while somebody waits and no more work is done.
    FloorOnlyFalls,
    /// Fewer holds end while somebody waits and the share of failures stays the same.
    ThroughputFalls,
    /// Every permit is held, somebody waits, and nothing has ended in the whole time.
    Stalled,
}

/// What a suspicion rests on.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct LeakEvidence {
    /// What gave it away.
    pub sign: LeakSign,
    /// The steps looked at, oldest first.
    pub steps: Vec<Interval>,
    /// Length of a step.
    pub step: Duration,
    /// Permits in holds that have lasted half of the steps together, or longer.
    pub long_held: u64,
    /// How long the oldest hold has lasted.
    pub oldest_hold: Duration,
    /// Acquires that wait now.
    pub waiting: u32,
}

/// Judges at `now`, to which the ledger has been rolled.
pub(crate) fn judge(ledger: &Ledger, now: Instant) -> LeakVerdict {
    let intervals: Vec<Interval> = ledger.history.whole().copied().collect();
    if intervals.len() < STEPS {
        return LeakVerdict::Unknown { reason: "less than a minute of history; ask again later" };
    }
    let mut verdict = LeakVerdict::NoSign;
    for scale in SCALES.into_iter().filter(|scale| intervals.len() >= STEPS * scale) {
        let length = INTERVAL * scale as u32;
        let window = Window {
            steps: steps(&intervals, scale),
            long_held: ledger.holds.permits_older_than(length * HALF, now),
            held_since_before: ledger.holds.permits_older_than(length * (STEPS as u32 + 1), now),
        };
        match window.sign(ledger.circulation.size()) {
            Seen::Sign(sign) => return LeakVerdict::Suspected(window.evidence(sign, length, ledger, now)),
            Seen::TooLittle if verdict == LeakVerdict::NoSign => {
                verdict = LeakVerdict::Unknown {
                    reason: "somebody waits, but too few holds have ended to compare",
                };
            }
            Seen::TooLittle | Seen::Nothing => {}
        }
    }
    verdict
}

enum Seen {
    Nothing,
    TooLittle,
    Sign(LeakSign),
}

/// The time looked at.
struct Window {
    steps: Vec<Interval>,
    /// Permits held for half of it, or longer.
    long_held: u64,
    /// Those of them that were taken before it.
    held_since_before: u64,
}

impl Window {
    fn sign(&self, size: u32) -> Seen {
        let (first, second) = halves(&self.steps);
        if !first.waited && !second.waited {
            return Seen::Nothing; // there were permits for everybody
        }
        if self.long_held >= u64::from(size.max(1))
            && self.steps.iter().all(|step| step.waited && ended(step) == 0)
        {
            return Seen::Sign(LeakSign::Stalled);
        }
        let went_missing = self.long_held > self.held_since_before;
        if went_missing && floor_only_falls(&self.steps) && !throughput_rose(&first, &second) {
            return Seen::Sign(LeakSign::FloorOnlyFalls);
        }
        if ended(&first) < ENOUGH_ENDED {
            return Seen::TooLittle;
        }
        let waited_throughout = self.steps[STEPS / 2..].iter().all(|step| step.waited);
        if went_missing
            && waited_throughout
            && throughput_fell(&first, &second)
            && errors_are_flat(&first, &second)
        {
            return Seen::Sign(LeakSign::ThroughputFalls);
        }
        Seen::Nothing
    }

    fn evidence(self, sign: LeakSign, step: Duration, ledger: &Ledger, now: Instant) -> LeakEvidence {
        LeakEvidence {
            sign,
            steps: self.steps,
            step,
            long_held: self.long_held,
            oldest_hold: ledger.holds.oldest(now).unwrap_or_default(),
            waiting: ledger.circulation.waiting(),
        }
    }
}

fn ended(step: &Interval) -> u64 {
    step.completed + step.failed
}

fn throughput_rose(first: &Interval, second: &Interval) -> bool {
    ended(second) as f64 > ended(first) as f64 * RISEN_TO
}

fn throughput_fell(first: &Interval, second: &Interval) -> bool {
    let (first, second) = (ended(first) as f64, ended(second) as f64);
    second <= first * FALLEN_TO && first - second > DEVIATIONS * (first + second).sqrt()
}

fn errors_are_flat(first: &Interval, second: &Interval) -> bool {
    let failed_share = |step: &Interval| step.failed as f64 / ended(step).max(1) as f64;
    ended(second) == 0 || (failed_share(second) - failed_share(first)).abs() <= FLAT_WITHIN
}

fn floor_only_falls(steps: &[Interval]) -> bool {
    let never_rises = steps.windows(2).all(|pair| pair[1].floor <= pair[0].floor);
    never_rises && steps[steps.len() - 1].floor < steps[0].floor
}

/// The last [`STEPS`] steps of `scale` intervals each.
fn steps(intervals: &[Interval], scale: usize) -> Vec<Interval> {
    intervals[intervals.len() - STEPS * scale..].chunks_exact(scale).map(merge).collect()
}

fn halves(steps: &[Interval]) -> (Interval, Interval) {
    let (first, second) = steps.split_at(steps.len() / 2);
    (merge(first), merge(second))
}

fn merge(intervals: &[Interval]) -> Interval {
    intervals[1..].iter().fold(intervals[0], Interval::merge)
}

impl fmt::Display for LeakVerdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown { reason } => write!(f, "unknown: {reason}"),
            Self::NoSign => f.write_str("no sign of a leak"),
            Self::Suspected(evidence) => write!(f, "permits seem to leak: {evidence}"),
        }
    }
}

impl fmt::Display for LeakEvidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |number: fn(&Interval) -> u64| {
            self.steps.iter().map(|step| number(step).to_string()).collect::<Vec<_>>().join(" ")
        };
        let sign = match self.sign {
            LeakSign::FloorOnlyFalls => "available permits only fall",
            LeakSign::ThroughputFalls => "throughput falls at a flat error rate",
            LeakSign::Stalled => "every permit is held and nothing ends",
        };
        write!(
            f,
            "{sign}; per {} s: floor {}, completed {}, failed {}; {} permits held for {} s or longer, oldest hold {} s, \
             {} waiting",
            self.step.as_secs(),
            list(|step| u64::from(step.floor)),
            list(|step| step.completed),
            list(|step| step.failed),
            self.long_held,
            (self.step * HALF).as_secs(),
            self.oldest_hold.as_secs(),
            self.waiting
        )
    }
}
