//! Whether the journal's time goes at the pace of real time.
//!
//! Nobody promises that the journal's time is the true one; its store's clock may be wrong. But a record whose stamp
//! is not believed must fall where its writer's boot clock puts it: neither may one clock that leaps carry everybody
//! along (each slot would expire), nor may time stand still or crawl because nobody believes the stamps.
//!
//! The reference is set anew by each stamp that is used as it is. From there it goes on in true time. A writer that was
//! told of such a stamp at once knows the time as well; one that has only read of it, perhaps late, may lag behind.

use std::collections::{BTreeMap, BTreeSet};

use maitred::local::record::{Batch, STAMP_LEAP_MS};
use maitred_engine::time::Millis;
use maitred_journal::Position;

/// What a boot clock may be wrong by: 2 %, the drift fault at its worst.
pub(crate) const DRIFT_MAX_PER_MILLE: u64 = 20;
const TOLERANCE_MS: Millis = 1_000;

#[derive(Default)]
pub(crate) struct Pace {
    /// The journal's time, and the true time at which it was right.
    reference: Option<(Millis, Millis)>,
    /// The last record of each writer whose stamp was used, and where time last leapt.
    used: BTreeMap<u64, Position>,
    leapt_at: Position,
    /// Writers that know the time.
    sure: BTreeSet<u64>,
    /// By how much boot clocks have leapt in all.
    pub(crate) leapt_ms: Millis,
    /// When the first boot clock began to drift.
    pub(crate) drifts_since: Option<Millis>,
}

/// When a record was made and when it landed, in true time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Landing {
    pub made_at: Millis,
    pub landed_at: Millis,
}

impl Pace {
    /// A record with this batch, stamped so, took effect at `at`.
    pub(crate) fn check(
        &mut self,
        (position, writer, batch): (Position, u64, &Batch),
        stamp: Millis,
        at: Millis,
        landing: Landing,
    ) -> Result<(), String> {
        let slack = TOLERANCE_MS + self.drifted_ms(landing.landed_at);
        let expected = self.reference.map_or(at, |(time, true_at)| time + (landing.landed_at - true_at));
        let is_far = at > expected + slack + self.leapt_ms + STAMP_LEAP_MS;
        if is_far && batch.estimate.is_some() {
            return Err(format!("time leaps: {at} where {expected} was to be expected"));
        }
        let in_transit = landing.landed_at - landing.made_at;
        if at != stamp && at + slack + in_transit < expected && self.sure.contains(&writer) {
            return Err(format!("time lags: {at} where {expected} was to be expected, stamp {stamp}"));
        }
        if at == stamp {
            if at > expected + slack {
                self.leapt_at = position;
                self.sure.clear();
            }
            self.reference = Some((at, landing.landed_at));
            self.used.insert(writer, position);
        }
        Ok(())
    }

    /// The writer was told that its record stands there, at once.
    pub(crate) fn told(&mut self, writer: u64, position: Position) {
        if self.used.get(&writer) == Some(&position) && position >= self.leapt_at {
            self.sure.insert(writer);
        }
    }

    /// By how much the fastest or slowest boot clock can be wrong.
    fn drifted_ms(&self, now: Millis) -> Millis {
        self.drifts_since.map_or(0, |since| (now - since) * DRIFT_MAX_PER_MILLE / 1_000)
    }
}
