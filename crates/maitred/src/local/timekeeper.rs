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
    /// A time, and what the boot clock said then. None until this process has seen a record appear.
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

    /// A record was taken while this process looked on. `just_now`: it was stamped a moment ago and the stamp
    /// believed, so that it is the time.
    ///
    /// Any other record only proves that it is no earlier than `at`: it may have been read late, or its time may
    /// itself be an estimate, made before it was on its way. Taking it for the time would lose that way each time,
    /// and under load time would crawl wherever stamps are not believed.
    pub fn saw(&mut self, at: Millis, clocks: Clocks, just_now: bool) {
        self.last_at = at;
        let now = if just_now { at } else { self.estimate(clocks).map_or(at, |estimate| estimate.max(at)) };
        self.seen = Some((now, clocks.boot));
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
