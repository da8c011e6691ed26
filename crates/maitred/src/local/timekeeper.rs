//! What time it is for a node: the journal's, carried on by this machine's boot clock.

use maitred_engine::time::Millis;

use super::record::{self, Batch};

/// This machine's clocks at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Clocks {
    /// Milliseconds since the machine started, sleep included. Never set, never goes back.
    pub boot: Millis,
    /// The clock of the journal's store, where this process can read it (the local journal).
    pub store: Option<Millis>,
}

#[derive(Clone, Debug, Default)]
pub struct Timekeeper {
    /// The time of the last record, and the boot clock when this process saw it appear. None before that.
    seen: Option<(Millis, Millis)>,
    last_at: Millis,
    /// Set under a manual clock.
    manual: Option<Millis>,
}

impl Timekeeper {
    /// After a replay that ended at `last_at`.
    pub fn new(last_at: Millis, manual: bool) -> Self {
        Self { seen: None, last_at, manual: manual.then_some(last_at) }
    }

    /// A record was taken while this process looked on.
    pub fn saw(&mut self, at: Millis, clocks: Clocks) {
        self.last_at = at;
        self.seen = Some((at, clocks.boot));
        self.manual = self.manual.map(|manual| manual.max(at));
    }

    /// This process's own idea of the time, if it has one yet.
    pub fn estimate(&self, clocks: Clocks) -> Option<Millis> {
        self.seen.map(|(at, boot)| at + clocks.boot.saturating_sub(boot))
    }

    pub fn manual(&self) -> Option<Millis> {
        self.manual
    }

    /// Moves a manual clock forward. An earlier time changes nothing (T1).
    pub fn advance_to(&mut self, at: Millis) {
        self.manual = self.manual.map(|manual| manual.max(at));
    }

    pub fn now(&self, clocks: Clocks) -> Millis {
        if let Some(manual) = self.manual {
            return manual;
        }
        let estimate = self.estimate(clocks);
        let stamp = clocks.store.or(estimate).unwrap_or(self.last_at);
        record::effective_at(self.last_at, stamp, &Batch { estimate, ..Batch::default() }).0
    }
}
