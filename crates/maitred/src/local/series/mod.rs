//! What each limit did in the last hour (steps of 10 s) and the last day (of a minute): what charts show, and what a
//! verdict about a limit is made from.
//!
//! The second engine fills it from the same records as the history, so it costs the writer nothing and is the same on
//! every node. An example: `voice` has 3 places, all free. At 12.0 s two slots are granted, at 15.0 s one comes back:
//!
//! ```text
//! step of 10 s      available_min  grants  released
//! 0                 3              0       0          nothing happened: takes no room
//! 10                1              2       1          the lowest of 3 (carried over), 1 and 2
//! 20                2              0       0
//! ```
//!
//! A step knows the lowest number of available places after any record in it, so a dip between two looks is not missed,
//! and a floor that never rises again is a leak. It is kept beside the history with each snapshot and at the end
//! (`keep.rs`), so that a restart goes on with it.

mod keep;
mod spread;
mod track;
pub mod verdict;

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard},
    time::{Duration, Instant},
};

use maitred_engine::{
    Engine,
    event::{EndedSlot, Event, EventKind, SlotEvent, Was},
    names::{LimitName, Namespace, RunId, SlotId},
    outcome::End,
    time::{DAY_MS, HOUR_MS, MINUTE_MS, Millis, SECOND_MS},
};

pub use track::{Flow, Level, Step, Track};

pub const FINE_MS: Millis = 10 * SECOND_MS;
pub const COARSE_MS: Millis = MINUTE_MS;
const FINE_KEPT_MS: Millis = HOUR_MS;
const COARSE_KEPT_MS: Millis = DAY_MS;
/// Steps kept in all, of about 150 bytes each. When more would be needed, all limits remember less far back.
const ROWS_MAX: usize = 400_000;
/// How long the second engine may be at work on what is there before what it has told is too old.
const STALE_AFTER: Duration = Duration::from_secs(20);

/// One limit's two tracks.
#[derive(Clone, Debug)]
pub struct Tracks {
    pub fine: Track,
    pub coarse: Track,
    /// From when on it is known.
    pub since: Millis,
    /// When a slot was last granted, if that was since then.
    pub granted_at: Option<Millis>,
}

impl Tracks {
    fn new(level: Level, since: Millis) -> Self {
        let (fine, coarse) = (Track::new(FINE_MS, level), Track::new(COARSE_MS, level));
        Self { fine, coarse, since, granted_at: None }
    }

    fn rows(&self) -> usize {
        self.fine.len() + self.coarse.len()
    }
}

/// What one namespace did.
#[derive(Debug, Default)]
pub struct Space {
    pub limits: HashMap<LimitName, Tracks>,
    /// Busy slots whose run has ended.
    pub orphans: HashMap<SlotId, Orphan>,
}

/// A slot that outlives its run.
#[derive(Debug)]
pub struct Orphan {
    /// When the run did.
    pub ended_at: Millis,
    pub limits: Vec<LimitName>,
}

#[derive(Debug)]
pub struct Book {
    pub spaces: HashMap<Namespace, Space>,
    /// Since when the second engine has been at work on something; none while it has taken all.
    at_work_since: Option<Instant>,
    rows: usize,
    fine_kept_ms: Millis,
    coarse_kept_ms: Millis,
}

/// Shared between the second engine, which fills it, and those who ask.
#[derive(Debug)]
pub struct Series(Mutex<Book>);

/// What one record did, by limit.
#[derive(Debug, Default)]
pub struct Gathered {
    flows: HashMap<(Namespace, LimitName), Flow>,
    ended_runs: Vec<(Namespace, RunId, Millis)>,
    ended_slots: Vec<(Namespace, SlotId)>,
}

impl Series {
    pub fn new() -> Self {
        Self(Mutex::new(Book {
            spaces: HashMap::new(),
            at_work_since: None,
            rows: 0,
            fine_kept_ms: FINE_KEPT_MS,
            coarse_kept_ms: COARSE_KEPT_MS,
        }))
    }

    pub fn book(&self) -> MutexGuard<'_, Book> {
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Begins with how every limit stands.
    pub fn begin(&self, engine: &Engine) {
        let mut book = self.book();
        for namespace in engine.namespaces() {
            let space = book.spaces.entry(namespace.clone()).or_default();
            for view in engine.limits(namespace.as_str(), None, usize::MAX) {
                space.limits.insert(view.limit.clone(), Tracks::new(Level::of(&view), engine.now()));
            }
        }
    }

    /// The second engine sees that there is something to take, or has taken all there was.
    pub fn at_work(&self, is_at_work: bool) {
        let mut book = self.book();
        book.at_work_since = is_at_work.then(|| book.at_work_since.unwrap_or_else(Instant::now));
    }

    /// As if the second engine had been at work for so long.
    #[cfg(test)]
    pub fn has_been_at_work_for(&self, span: Duration) {
        self.book().at_work_since = Instant::now().checked_sub(span);
    }

    /// Takes in what a record did; the engine stands behind it.
    pub fn record(&self, engine: &Engine, gathered: Gathered) {
        self.book().record(engine, gathered);
    }
}

impl Book {
    /// Whether what is here is too old to claim anything from it.
    pub fn is_stale(&self) -> bool {
        self.at_work_since.is_some_and(|since| since.elapsed() > STALE_AFTER)
    }

    pub fn space(&self, namespace: &str) -> Option<&Space> {
        self.spaces.get(namespace)
    }

    /// From when on a track of this step length is complete.
    pub fn kept_since(&self, now: Millis, step_ms: Millis) -> Millis {
        let kept = if step_ms == FINE_MS { self.fine_kept_ms } else { self.coarse_kept_ms };
        now.saturating_sub(kept)
    }

    fn record(&mut self, engine: &Engine, gathered: Gathered) {
        let now = engine.now();
        for ((namespace, limit), flow) in gathered.flows {
            let space = self.spaces.entry(namespace.clone()).or_default();
            let Some(view) = engine.limit(namespace.as_str(), limit.as_str()) else {
                self.rows -= space.limits.remove(&limit).map_or(0, |tracks| tracks.rows());
                continue;
            };
            let level = Level::of(&view);
            let tracks = space.limits.entry(limit).or_insert_with(|| Tracks::new(level, now));
            let before = tracks.rows();
            if flow.grants > 0 {
                tracks.granted_at = Some(now);
            }
            tracks.fine.record(now, level, &flow);
            tracks.coarse.record(now, level, &flow);
            tracks.fine.forget_before(now.saturating_sub(self.fine_kept_ms));
            tracks.coarse.forget_before(now.saturating_sub(self.coarse_kept_ms));
            self.rows = self.rows + tracks.rows() - before;
        }
        self.mark_orphans(engine, gathered.ended_runs);
        for (namespace, slot) in gathered.ended_slots {
            if let Some(space) = self.spaces.get_mut(&namespace) {
                space.orphans.remove(&slot);
            }
        }
        if self.rows > ROWS_MAX {
            self.keep_less(now);
        }
    }

    fn mark_orphans(&mut self, engine: &Engine, ended_runs: Vec<(Namespace, RunId, Millis)>) {
        for (namespace, run, at) in ended_runs {
            let Some(run) = engine.run(namespace.as_str(), run.as_str()) else { continue };
            let orphans = &mut self.spaces.entry(namespace).or_default().orphans;
            // One that was taken since belongs to a new run of that name.
            for slot in run.slots.into_iter().filter(|slot| slot.asked_at <= at) {
                let limits = slot.limits.into_iter().map(|(limit, _)| limit).collect();
                orphans.entry(slot.slot).or_insert(Orphan { ended_at: at, limits });
            }
        }
    }

    /// Many limits are busy at once: all of them remember a quarter less far back.
    fn keep_less(&mut self, now: Millis) {
        self.fine_kept_ms = self.fine_kept_ms / 4 * 3;
        self.coarse_kept_ms = self.coarse_kept_ms / 4 * 3;
        let all = self.spaces.values_mut().flat_map(|space| space.limits.values_mut());
        let left = all.map(|tracks| {
            tracks.fine.forget_before(now.saturating_sub(self.fine_kept_ms));
            tracks.coarse.forget_before(now.saturating_sub(self.coarse_kept_ms));
            tracks.rows()
        });
        self.rows = left.sum();
    }
}

impl Gathered {
    /// What one command did; the engine stands behind it.
    pub fn add(&mut self, engine: &Engine, events: &[Event]) {
        events.iter().for_each(|event| self.add_event(engine, event));
    }

    fn add_event(&mut self, engine: &Engine, event: &Event) {
        match &event.kind {
            EventKind::LimitDeclared { namespace, limit, .. }
            | EventKind::LimitRetired { namespace, limit }
            | EventKind::LimitGone { namespace, limit }
            | EventKind::CapacityOverridden { namespace, limit, .. } => {
                self.of(namespace, limit);
            }
            EventKind::SlotQueued(slot) => self.each(engine, slot, |_| {}),
            EventKind::SlotPutBack(slot) => self.each(engine, slot, |flow| flow.lapsed += 1),
            EventKind::SlotGranted { slot, waited_ms, .. } => self.each(engine, slot, |flow| {
                flow.grants += 1;
                flow.waits.add(*waited_ms);
            }),
            EventKind::SlotEnded(ended) => self.add_end(event.at, ended),
            EventKind::RunEnded { namespace, run, .. } => {
                self.ended_runs.push((namespace.clone(), run.clone(), event.at));
            }
            EventKind::SlotConfirmed { .. }
            | EventKind::MaxHoldOverridden { .. }
            | EventKind::LimitPaused { .. }
            | EventKind::LimitResumed { .. }
            | EventKind::RateReset { .. } => {}
        }
    }

    fn add_end(&mut self, at: Millis, ended: &EndedSlot) {
        for (limit, _) in &ended.limits {
            let flow = self.of(&ended.namespace, limit);
            match ended.end {
                End::Released => flow.released += 1,
                End::Expired => flow.expired += 1,
                End::TimedOut => flow.timed_out += 1,
                End::Left => flow.left += 1,
                End::RunEnded => flow.run_ended += 1,
            }
            if let (Was::Busy, Some(granted_at)) = (ended.was, ended.granted_at) {
                flow.holds.add(at.saturating_sub(granted_at));
            }
        }
        self.ended_slots.push((ended.namespace.clone(), ended.id.clone()));
    }

    /// In every limit that the slot names; in its first, if it has ended since.
    fn each(&mut self, engine: &Engine, slot: &SlotEvent, mut count: impl FnMut(&mut Flow)) {
        match engine.slot(slot.namespace.as_str(), slot.id.as_str()) {
            Some(view) => {
                view.limits.iter().for_each(|(limit, _)| count(self.of(&slot.namespace, limit)));
            }
            None => count(self.of(&slot.namespace, &slot.limit)),
        }
    }

    fn of(&mut self, namespace: &Namespace, limit: &LimitName) -> &mut Flow {
        self.flows.entry((namespace.clone(), limit.clone())).or_default()
    }
}
