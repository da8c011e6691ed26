//! Whether the journal's time goes at the pace of real time.
//!
//! Nobody promises that the journal's time is the true one; its store's clock may be wrong. But a record whose stamp
//! is not believed must fall where its writer's boot clock puts it: neither may one clock that leaps carry everybody
//! along (each slot would expire), nor may time stand still or crawl because nobody believes the stamps.
//!
//! The reference is set anew by each stamp that is used as it is, and by a writer that has only just started and
//! knows no time of its own. From there it goes on in true time.

use maitred::local::record::{Batch, STAMP_LEAP_MS};
use maitred_engine::time::Millis;

/// What a boot clock of this world may be wrong by: 2 %, the drift fault at its worst.
pub(crate) const DRIFT_MAX_PER_MILLE: u64 = 20;
const TOLERANCE_MS: Millis = 1_000;

#[derive(Default)]
pub(crate) struct Pace {
    /// The journal's time, and the true time at which it was right.
    reference: Option<(Millis, Millis)>,
    /// By how much boot clocks have leapt since.
    pub(crate) leapt_ms: Millis,
}

/// When a record was made and when it landed, in true time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Landing {
    pub made_at: Millis,
    pub landed_at: Millis,
}

impl Pace {
    pub(crate) fn check(
        &mut self,
        batch: &Batch,
        stamp: Millis,
        at: Millis,
        landing: Landing,
    ) -> Result<(), String> {
        let fresh = batch.estimate.is_none();
        if let Some((time, true_at)) = self.reference
            && !fresh
        {
            let passed = landing.landed_at - true_at;
            let expected = time + passed;
            let slack = passed * DRIFT_MAX_PER_MILLE / 1_000 + TOLERANCE_MS;
            if at > expected + slack + self.leapt_ms + STAMP_LEAP_MS {
                return Err(format!("time leaps: {at} where {expected} was to be expected"));
            }
            let in_transit = landing.landed_at - landing.made_at;
            if at != stamp && at + slack + in_transit < expected {
                return Err(format!("time lags: {at} where {expected} was to be expected, stamp {stamp}"));
            }
        }
        if fresh || at == stamp {
            self.reference = Some((at, landing.landed_at));
            self.leapt_ms = 0;
        }
        Ok(())
    }
}
