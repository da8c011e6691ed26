//! Counts what was published, for Prometheus. Labels are limit names only, and of those at most [`LIMITS_MAX`];
//! the rest shares `other`, so that no caller can make the series grow without end.

use std::{collections::HashSet, time::Duration};

use maitred_engine::{
    event::{EndedSlot, Event, EventKind, Was},
    names::{LimitName, Namespace},
    time::Millis,
};
use prometheus_client::{
    encoding::{EncodeLabelSet, text::encode},
    metrics::{
        counter::Counter,
        family::Family,
        gauge::Gauge,
        histogram::{Histogram, exponential_buckets},
    },
    registry::Registry,
};

use super::{
    history::Progress,
    sequencer::{Published, Sequencer},
    timekeeper::Clocks,
};

/// Limits with series of their own.
pub const LIMITS_MAX: usize = 500;

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct OfLimit {
    namespace: String,
    limit: String,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct OfEnd {
    namespace: String,
    limit: String,
    reason: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct OfOutcome {
    namespace: String,
    limit: String,
    outcome: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct OfState {
    namespace: String,
    limit: String,
    state: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct OfDecision {
    outcome: &'static str,
}

pub struct Counters {
    named: HashSet<(Namespace, LimitName)>,
    grants: Family<OfLimit, Counter>,
    ends: Family<OfEnd, Counter>,
    put_back: Family<OfLimit, Counter>,
    waits: Family<OfOutcome, Histogram, fn() -> Histogram>,
    holds: Family<OfEnd, Histogram, fn() -> Histogram>,
    decisions: Family<OfDecision, Counter>,
    records: Counter,
    commits: Histogram,
}

/// What only the owner of the journal knows.
pub struct Standing {
    pub clocks: Clocks,
    /// Only what gives something back is taken.
    pub is_full: bool,
    pub history: Progress,
}

/// 5 ms to about 11 days, four times as long each.
fn durations() -> Histogram {
    Histogram::new(exponential_buckets(0.005, 4.0, 15))
}

impl Counters {
    pub fn new() -> Self {
        Self {
            named: HashSet::new(),
            grants: Family::default(),
            ends: Family::default(),
            put_back: Family::default(),
            waits: Family::new_with_constructor(durations),
            holds: Family::new_with_constructor(durations),
            decisions: Family::default(),
            records: Counter::default(),
            commits: Histogram::new(exponential_buckets(0.000_1, 4.0, 9)),
        }
    }

    pub fn count(&mut self, published: &Published) {
        self.records.inc();
        for (outcome, number) in [
            ("allowed", published.admitted),
            ("over_rate", published.refused_rate),
            ("over_concurrency", published.refused_concurrency),
        ] {
            if number > 0 {
                self.decisions.get_or_create(&OfDecision { outcome }).inc_by(number);
            }
        }
        published.events.iter().for_each(|event| self.count_event(event));
    }

    /// A record was appended and flushed.
    pub fn committed(&self, took: Duration) {
        self.commits.observe(took.as_secs_f64());
    }

    fn count_event(&mut self, event: &Event) {
        match &event.kind {
            EventKind::SlotGranted { slot, waited_ms, .. } => {
                let of = self.of(&slot.namespace, &slot.limit);
                self.grants.get_or_create(&of).inc();
                self.observe_wait(of, "granted", *waited_ms);
            }
            EventKind::SlotPutBack(slot) => {
                let of = self.of(&slot.namespace, &slot.limit);
                self.put_back.get_or_create(&of).inc();
            }
            EventKind::SlotEnded(ended) => self.count_end(event.at, ended),
            _ => {}
        }
    }

    fn count_end(&mut self, at: Millis, ended: &EndedSlot) {
        let Some((limit, _)) = ended.limits.first() else { return };
        let of = self.of(&ended.namespace, limit);
        let reason = ended.end.as_str();
        let of_end = OfEnd { namespace: of.namespace.clone(), limit: of.limit.clone(), reason };
        match (ended.was, ended.granted_at) {
            (Was::Busy, Some(granted_at)) => {
                self.holds.get_or_create(&of_end).observe(seconds(at.saturating_sub(granted_at)));
            }
            (Was::Queued, _) => self.observe_wait(of, reason, at.saturating_sub(ended.asked_at)),
            _ => {}
        }
        self.ends.get_or_create(&of_end).inc();
    }

    fn observe_wait(&self, of: OfLimit, outcome: &'static str, waited_ms: Millis) {
        let OfLimit { namespace, limit } = of;
        self.waits.get_or_create(&OfOutcome { namespace, limit, outcome }).observe(seconds(waited_ms));
    }

    fn of(&mut self, namespace: &Namespace, limit: &LimitName) -> OfLimit {
        let name = (namespace.clone(), limit.clone());
        let known = self.named.contains(&name) || (self.named.len() < LIMITS_MAX && self.named.insert(name));
        if known {
            OfLimit { namespace: namespace.to_string(), limit: limit.to_string() }
        } else {
            OfLimit { namespace: "other".to_owned(), limit: "other".to_owned() }
        }
    }

    /// Prometheus text, without the closing mark, so that more can follow.
    pub fn text<R>(&self, sequencer: &Sequencer<R>, standing: &Standing) -> String {
        let mut registry = Registry::with_prefix("maitred");
        registry.register("grants", "Slots granted", self.grants.clone());
        registry.register("slot_ends", "Slots ended, by reason", self.ends.clone());
        registry.register(
            "reservations_lapsed",
            "Slots put back to the end of their queues",
            self.put_back.clone(),
        );
        registry.register(
            "acquire_wait_seconds",
            "From joining the queue to the grant or the end",
            self.waits.clone(),
        );
        registry.register("hold_seconds", "From the grant of a busy slot to its end", self.holds.clone());
        registry.register("rate_decisions", "Admissions by outcome", self.decisions.clone());
        registry.register("journal_records", "Records applied", self.records.clone());
        registry.register(
            "journal_commit_seconds",
            "From the append of a record to its flush",
            self.commits.clone(),
        );
        register_gauges(&mut registry, sequencer, standing);
        let mut text = String::new();
        if encode(&mut text, &registry).is_err() {
            return String::new();
        }
        text.truncate(text.trim_end().trim_end_matches("# EOF").len());
        debug_assert!(text.ends_with('\n'));
        text
    }
}

fn seconds(ms: Millis) -> f64 {
    ms as f64 / 1_000.0
}

fn register_gauges<R>(registry: &mut Registry, sequencer: &Sequencer<R>, standing: &Standing) {
    let Some(engine) = sequencer.engine() else { return };
    let stats = engine.stats();
    let follower = sequencer.follower();
    let now = sequencer.now(standing.clocks);
    let late = engine.next_due().map_or(0, |due| now.saturating_sub(due));
    let single = [
        ("revision", "Position of the last record", follower.head()),
        ("slots", "Slots that have not ended", u64::from(stats.slots)),
        ("limits", "Limits", u64::from(stats.limits)),
        ("runs", "Runs that hold or wait for something", u64::from(stats.runs)),
        ("rate_windows", "Running rate windows", u64::from(stats.counters)),
        ("places_in_flight", "Places in flight", u64::from(stats.places)),
        ("remembered_timed_ids", "Remembered ids that carry a time", u64::from(stats.remembered_timed)),
        ("remembered_other_ids", "Remembered ids that carry none", u64::from(stats.remembered_other)),
        ("horizon_timestamp_seconds", "Ids older than this are refused", stats.horizon / 1_000),
        ("rules", "Version of the rules in force", u64::from(engine.rules())),
        ("void_records", "Records that did not follow the head", follower.voids),
        ("clock_leaps", "Stamps of the store that were not believed", follower.leaps),
        ("overdue_seconds", "How late the next thing due is", late / 1_000),
        ("journal_full", "1 while only what gives something back is taken", u64::from(standing.is_full)),
        (
            "history_lag_records",
            "Records that the history does not have yet",
            follower.head().saturating_sub(standing.history.filled_to),
        ),
        (
            "history_in_trouble",
            "1 while the history cannot be filled",
            u64::from(standing.history.trouble.is_some()),
        ),
        ("waiting_callers", "Callers on the line", sequencer.waiting_callers() as u64),
        (
            "journal_peers",
            "Other nodes that show themselves on the same journal",
            sequencer.live_peers() as u64,
        ),
        (
            "journal_silence_seconds",
            "For how long the journal has not answered, once that is too long",
            sequencer.cut_off_ms(standing.clocks).unwrap_or(0) / 1_000,
        ),
    ];
    for (name, help, value) in single {
        let gauge: Gauge = Gauge::default();
        gauge.set(value as i64);
        registry.register(name, help, gauge);
    }
    register_limit_gauges(registry, engine, now);
}

fn register_limit_gauges(registry: &mut Registry, engine: &maitred_engine::Engine, now: Millis) {
    let family = || Family::<OfLimit, Gauge>::default();
    let (capacity, waiting, oldest_wait, oldest_hold, paused) =
        (family(), family(), family(), family(), family());
    let slots = Family::<OfState, Gauge>::default();
    let mut left = LIMITS_MAX;
    for namespace in engine.namespaces() {
        for view in engine.limits(namespace.as_str(), None, left) {
            left -= 1;
            let of = OfLimit { namespace: namespace.to_string(), limit: view.limit.to_string() };
            let age = |since: Option<Millis>| since.map_or(0, |at| now.saturating_sub(at) / 1_000) as i64;
            capacity.get_or_create(&of).set(i64::from(view.capacity));
            waiting.get_or_create(&of).set(i64::from(view.waiting));
            oldest_wait.get_or_create(&of).set(age(view.oldest_queued_at));
            oldest_hold.get_or_create(&of).set(age(view.oldest_granted_at));
            paused.get_or_create(&of).set(i64::from(view.paused));
            for (state, used) in [("busy", view.busy), ("reserved", view.reserved)] {
                let of = OfState { namespace: of.namespace.clone(), limit: of.limit.clone(), state };
                slots.get_or_create(&of).set(used as i64);
            }
        }
        if left == 0 {
            break;
        }
    }
    registry.register("limit_capacity", "Capacity in force", capacity);
    registry.register("limit_slots", "Weights of granted slots, by state", slots);
    registry.register("limit_waiting", "Slots in the queue", waiting);
    registry.register("limit_oldest_wait_seconds", "Age of the first in the queue", oldest_wait);
    registry.register("limit_oldest_hold_seconds", "Age of the longest holder", oldest_hold);
    registry.register("limit_paused", "1 while paused", paused);
}
