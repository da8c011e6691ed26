//! How many permits: from service time, ceiling and timeout to a table, and the N to choose.
//!
//! # Worked example
//!
//! A partner answers in 40 ms and does 1,000 calls a second at most; each call costs 3 ms of our own outside the permit;
//! the caller gives up after 500 ms; there are 10,000 tasks.
//!
//! ```
//! # use maitred_permits as maitred;
//! use std::time::Duration;
//! use maitred::plan::{Plan, ROWS};
//!
//! let ms = Duration::from_millis;
//! let plan = Plan::new(ms(40), ms(3), 1000.0, ms(500), 10_000);
//! let table = plan.table(&ROWS)?;
//! assert_eq!(table.to_string(), "\
//! permits  goodput  mean latency  timeouts  failed of 10K
//!       1     25/s         43 ms     0.00%              0
//!       5    125/s         43 ms     0.00%              0
//!      10    250/s         43 ms     0.00%              0
//!      25    625/s         43 ms     0.00%              0
//!      50   1000/s         53 ms     0.00%              0
//!     100   1000/s        103 ms     0.00%              0
//!     200   1000/s        203 ms     0.00%              0
//!     350   1000/s        353 ms     0.00%              0
//!     500      0/s        503 ms    100.0%            10K
//! ");
//! assert_eq!(plan.choose()?.permits, 40);
//! # Ok::<(), maitred::plan::PlanError>(())
//! ```
//!
//! # The model, and why it is right
//!
//! Write *S* for the service time, *V* for the overhead, *C* for the ceiling, *T* for the timeout, *N* for the permits.
//!
//! * **Time inside** is `max(S, N / C)`. Up to `N = S x C` calls the downstream has room and each takes its service time.
//!   Beyond, it still ends C calls a second, so by Little's law (inside = rate x time) N calls spend `N / C` inside: the
//!   queue has moved from our limiter into the downstream.
//! * **Mean latency** is time inside plus V: what a caller sees once it has its permit.
//! * **Goodput** is `min(N / S, C)`. The overhead is no part of it: it is spent outside the permit, while others hold it.
//! * **Timeouts**: a caller gives up when its latency exceeds T. In this model all calls of a row are alike, so none or all
//!   of them do. Then goodput is 0, not C: the downstream works at full speed for callers that have gone.
//!
//! **The N to choose** is the smallest that reaches the ceiling, `S x C` rounded up (here 40): fewer leave capacity idle,
//! more buy nothing and cost latency, `1 / C` each (here 1 ms), until at `(T - V) x C` (here 497) the next one loses
//! everything at once. Real service times vary, so a little above the knee is fine and the cliff is not to be approached.
//!
//! A ceiling on how many may be *connected* (the 50 of a partner that refuses the 51st) is another number: take the
//! smaller of the two.
#![allow(clippy::doc_markdown)]

mod table;

use std::fmt;
use std::time::Duration;

use thiserror::Error;

pub use table::{Row, Table};

/// The rows of the worked example.
pub const ROWS: [u32; 9] = [1, 5, 10, 25, 50, 100, 200, 350, 500];

const NANOS_PER_S: f64 = 1e9;
const NANOS_PER_MS: f64 = 1e6;

/// What is known of the downstream and the caller.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Plan {
    /// How long a call takes at the downstream when it has room.
    pub service_time: Duration,
    /// What a call costs beside it, outside the permit: local work, the network.
    pub overhead: Duration,
    /// The most calls the downstream ends per second.
    pub ceiling_per_s: f64,
    /// When the caller gives up.
    pub timeout: Duration,
    /// How many calls there are to make.
    pub tasks: u64,
}

/// Why there is no plan.
#[derive(Debug, Clone, Copy, PartialEq, Error)]
#[non_exhaustive]
pub enum PlanError {
    /// A service time of zero: any number of permits would do.
    #[error("the service time is 0; give the time one call takes at the downstream, as 40ms")]
    NoServiceTime,
    /// A ceiling that is not above zero, or not a number.
    #[error("a ceiling of {ceiling_per_s} calls per second was given; it must be above 0, as 1000")]
    NoCeiling {
        /// What was given.
        ceiling_per_s: f64,
    },
    /// A row of 0 permits.
    #[error("a row of 0 permits was asked for; with 0 nothing ever runs, ask for 1 or more")]
    NoPermits,
    /// Nothing to do.
    #[error("there are 0 tasks; give at least 1")]
    NoTasks,
    /// Even an idle downstream is too slow for the caller.
    #[error(
        "no number of permits helps: a call takes {} ms even when nothing waits, and the caller gives up after {} ms; \
         raise the timeout above {0} ms or make the call faster",
        latency.as_secs_f64() * 1e3, timeout.as_secs_f64() * 1e3
    )]
    TimeoutTooShort {
        /// What one call at a time takes.
        latency: Duration,
        /// The caller's timeout.
        timeout: Duration,
    },
    /// More permits would be needed than there can be.
    #[error(
        "the ceiling needs {permits:.0} permits, more than the {} there can be; give the ceiling per instance",
        u32::MAX
    )]
    TooMany {
        /// What would be needed.
        permits: f64,
    },
}

/// The N to choose, and why. `Display` says it in words.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Choice {
    /// The N to choose: the smallest that reaches the most goodput there can be.
    pub permits: u32,
    /// What keeps it from being larger.
    pub bound: Bound,
    /// What it does.
    pub row: Row,
    /// Seconds until all tasks are done with it.
    pub all_done_s: f64,
    /// The most permits with which callers do not time out; `None` if that is beyond any size.
    pub last_before_timeouts: Option<u32>,
    /// Milliseconds that each permit above the knee adds to every call.
    pub each_further_adds_ms: f64,
    knee: u32,
    plan: Plan,
}

/// Why more permits than the [`Choice`] would gain nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Bound {
    /// The downstream's ceiling is reached: the usual case.
    Ceiling,
    /// There are no more tasks.
    Tasks,
    /// With one more, calls take longer than the caller waits.
    Timeout,
}

impl Plan {
    /// Takes the numbers; [`table`](Self::table) and [`choose`](Self::choose) check them.
    #[must_use]
    pub fn new(
        service_time: Duration,
        overhead: Duration,
        ceiling_per_s: f64,
        timeout: Duration,
        tasks: u64,
    ) -> Self {
        Self { service_time, overhead, ceiling_per_s, timeout, tasks }
    }

    /// One row for each number of permits, in the order given.
    ///
    /// # Errors
    ///
    /// What is wrong with the numbers of the plan or of the rows. A timeout too short for any call is no error here:
    /// the table shows it.
    pub fn table(&self, permits: &[u32]) -> Result<Table, PlanError> {
        self.check()?;
        if permits.contains(&0) {
            return Err(PlanError::NoPermits);
        }
        Ok(Table { tasks: self.tasks, rows: permits.iter().map(|permits| self.row(*permits)).collect() })
    }

    /// The N to choose.
    ///
    /// # Errors
    ///
    /// What is wrong with the numbers; [`PlanError::TimeoutTooShort`] if every call times out whatever N is;
    /// [`PlanError::TooMany`] if the knee is beyond any size.
    pub fn choose(&self) -> Result<Choice, PlanError> {
        self.check()?;
        if self.times_out(1) {
            let latency = Duration::from_nanos(self.latency_nanos(1) as u64);
            return Err(PlanError::TimeoutTooShort { latency, timeout: self.timeout });
        }
        let (knee, last_before_timeouts) = (self.knee()?, self.last_before_timeouts());
        let bounds = [
            (knee, Bound::Ceiling),
            (u32::try_from(self.tasks).unwrap_or(u32::MAX), Bound::Tasks),
            (last_before_timeouts.unwrap_or(u32::MAX), Bound::Timeout),
        ];
        let (permits, bound) = bounds.into_iter().min_by_key(|(permits, _)| *permits).expect("three of them");
        let row = self.row(permits);
        let all_done_s = self.tasks as f64 / row.goodput_per_s;
        let each_further_adds_ms = 1e3 / self.ceiling_per_s;
        Ok(Choice {
            permits,
            bound,
            row,
            all_done_s,
            last_before_timeouts,
            each_further_adds_ms,
            knee,
            plan: *self,
        })
    }

    fn check(&self) -> Result<(), PlanError> {
        if self.service_time.is_zero() {
            return Err(PlanError::NoServiceTime);
        }
        if !(self.ceiling_per_s.is_finite() && self.ceiling_per_s > 0.0) {
            return Err(PlanError::NoCeiling { ceiling_per_s: self.ceiling_per_s });
        }
        if self.tasks == 0 { Err(PlanError::NoTasks) } else { Ok(()) }
    }

    fn row(&self, permits: u32) -> Row {
        let timed_out = self.times_out(permits);
        let reached = (f64::from(permits) * NANOS_PER_S / nanos(self.service_time)).min(self.ceiling_per_s);
        Row {
            permits,
            goodput_per_s: if timed_out { 0.0 } else { reached },
            mean_latency_ms: self.latency_nanos(permits) / NANOS_PER_MS,
            timeouts: if timed_out { 1.0 } else { 0.0 },
            failed: if timed_out { self.tasks } else { 0 },
        }
    }

    /// `max(S, N / C) + V`. Products come before quotients, so whole numbers stay whole.
    fn latency_nanos(&self, permits: u32) -> f64 {
        let queued = f64::from(permits) * NANOS_PER_S / self.ceiling_per_s;
        nanos(self.service_time).max(queued) + nanos(self.overhead)
    }

    fn times_out(&self, permits: u32) -> bool {
        self.latency_nanos(permits) > nanos(self.timeout)
    }

    /// The smallest N with `N / S >= C`.
    fn knee(&self) -> Result<u32, PlanError> {
        let permits = (nanos(self.service_time) * self.ceiling_per_s / NANOS_PER_S).ceil().max(1.0);
        if permits > f64::from(u32::MAX) { Err(PlanError::TooMany { permits }) } else { Ok(permits as u32) }
    }

    /// The largest N that does not time out, given that some does not.
    fn last_before_timeouts(&self) -> Option<u32> {
        let guess = ((nanos(self.timeout) - nanos(self.overhead)) * self.ceiling_per_s / NANOS_PER_S).floor();
        if guess >= f64::from(u32::MAX) {
            return None;
        }
        // The quotient may be off by one in its last digit; the rule itself decides.
        let around = [guess + 1.0, guess, guess - 1.0];
        around
            .into_iter()
            .map(|permits| permits as u32)
            .find(|permits| *permits > 0 && !self.times_out(*permits))
    }
}

fn nanos(time: Duration) -> f64 {
    time.as_nanos() as f64
}

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { permits, row, plan, knee, .. } = self;
        let ms = |time: Duration| time.as_secs_f64() * 1e3;
        write!(f, "choose {permits}: ")?;
        match self.bound {
            Bound::Ceiling => write!(
                f,
                "the smallest number that reaches the ceiling ({permits} calls of {} ms are {}/s)",
                ms(plan.service_time),
                row.goodput_per_s
            ),
            Bound::Tasks => write!(f, "there are only {permits} tasks; the ceiling would need {knee}"),
            Bound::Timeout => write!(
                f,
                "the most with which calls stay within {} ms; the ceiling would need {knee}",
                ms(plan.timeout)
            ),
        }?;
        write!(f, "; {:.0} ms a call, all done after {:.1} s. ", row.mean_latency_ms, self.all_done_s)?;
        write!(
            f,
            "Each permit above {knee} adds {} ms to every call and nothing else",
            table::short_decimal(self.each_further_adds_ms)
        )?;
        match self.last_before_timeouts {
            Some(last) => write!(
                f,
                "; above {last} every call takes longer than {} ms and all are lost",
                ms(plan.timeout)
            ),
            None => Ok(()),
        }
    }
}
