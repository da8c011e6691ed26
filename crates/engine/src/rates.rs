//! Rates: fixed windows that start at the first hit (R).
//!
//! A counter *is* a running window: it is made by the first hit and gone when the window ends or its count is back
//! at zero (R6), and with it every hit that could still be given back. So a hit is given back into the window it
//! was counted in and no other, without any window having a number.
//!
//! A window that has ended counts as none from that very millisecond, wherever it is looked at; that it is taken
//! out of memory a little later, in passing, cannot be seen.

use std::collections::{BTreeMap, BTreeSet};

use maitred_planted::{Defect, has};

use crate::{
    command::RunStatus,
    digest::Named,
    engine::Engine,
    event::{Event, EventKind},
    index::{Hashed, NameHash, Table},
    names::{Key, Namespace, RunId, TaskId},
    outcome::Outcome,
    runs::Run,
    slab::Ref,
    tasks::Task,
    time::Millis,
};

/// How many ended windows, and as many outdated places, are taken out of memory at most with each command.
pub(crate) const COLLECTED_AT_ONCE: usize = 64;

#[cfg_attr(feature = "check", derive(Clone))]
pub(crate) struct Counter {
    pub(crate) hash: NameHash,
    pub(crate) task: Ref<Task>,
    pub(crate) key: Key,
    pub(crate) used: u64,
    pub(crate) started_at: Millis,
    pub(crate) ends_at: Millis,
}

impl Hashed for Counter {
    fn hash(&self) -> NameHash {
        self.hash
    }
}

impl Counter {
    pub(crate) fn runs_at(&self, now: Millis) -> bool {
        self.ends_at > now || has(Defect::WindowEndsLate) && self.ends_at == now
    }
}

/// What a run has hit a counter with and gets back if it does not succeed (R5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Hits {
    pub(crate) count: u64,
    pub(crate) cost: u64,
}

#[cfg_attr(feature = "check", derive(Clone))]
pub(crate) struct Rates {
    pub(crate) counters: Table<Counter>,
    ends: BTreeSet<(Millis, Ref<Counter>)>,
    hits: BTreeMap<(Ref<Counter>, Ref<Run>), Hits>,
    hits_by_run: BTreeSet<(Ref<Run>, Ref<Counter>)>,
}

impl Rates {
    pub(crate) fn new() -> Self {
        Self {
            counters: Table::new(),
            ends: BTreeSet::new(),
            hits: BTreeMap::new(),
            hits_by_run: BTreeSet::new(),
        }
    }

    pub(crate) fn insert(&mut self, counter: Counter) -> Ref<Counter> {
        let ends_at = counter.ends_at;
        let at = self.counters.insert(counter);
        self.ends.insert((ends_at, at));
        at
    }

    fn first_ended(&self, now: Millis) -> Option<Ref<Counter>> {
        self.ends.first().filter(|(ends_at, _)| *ends_at <= now).map(|(_, at)| *at)
    }

    pub(crate) fn counters_hit_by(&self, run: Ref<Run>) -> Vec<Ref<Counter>> {
        self.hits_by_run.range((run, Ref::MIN)..=(run, Ref::MAX)).map(|(_, counter)| *counter).collect()
    }

    pub(crate) fn hits_of(&self, counter: Ref<Counter>) -> impl Iterator<Item = (Ref<Run>, Hits)> {
        self.hits.range((counter, Ref::MIN)..=(counter, Ref::MAX)).map(|((_, run), hits)| (*run, *hits))
    }

    pub(crate) fn hits_of_run(&self, counter: Ref<Counter>, run: Ref<Run>) -> Hits {
        self.hits.get(&(counter, run)).copied().unwrap_or_default()
    }

    /// True if the run had no hits there before.
    fn add_hits(&mut self, counter: Ref<Counter>, run: Ref<Run>, hits: Hits) -> bool {
        let sum = self.hits.entry((counter, run)).or_default();
        sum.count += hits.count;
        sum.cost += hits.cost;
        self.hits_by_run.insert((run, counter))
    }

    fn remove_hits(&mut self, counter: Ref<Counter>, run: Ref<Run>) -> Hits {
        self.hits_by_run.remove(&(run, counter));
        self.hits.remove(&(counter, run)).unwrap_or_default()
    }

    /// How many pairs of counter and run there are, and that both directions have the same.
    pub(crate) fn is_sound(&self) -> bool {
        let mirrored =
            |(counter, run): &(Ref<Counter>, Ref<Run>)| self.hits_by_run.contains(&(*run, *counter));
        self.counters.is_sound()
            && self.ends.len() == self.counters.len() as usize
            && self.counters.scan(0).all(|(at, counter)| self.ends.contains(&(counter.ends_at, at)))
            && self.hits.len() == self.hits_by_run.len()
            && self.hits.keys().all(mirrored)
    }
}

impl Engine {
    pub(crate) fn counter_hash(&self, namespace: &str, task: &str, key: &str) -> NameHash {
        self.hash_key.name(Named::Counter, [namespace, task, key])
    }

    /// Notes what the run gets back if it does not succeed. True if that is its first hit on this window.
    pub(crate) fn note_hits(
        &mut self,
        at: Ref<Counter>,
        namespace: &Namespace,
        run: &RunId,
        hits: Hits,
    ) -> bool {
        let space = self.tasks[self.rates.counters[at].task].space;
        let run = self.runs.hold(self.hash_key, namespace, space, run);
        let is_first = self.rates.add_hits(at, run, hits);
        if !is_first {
            self.runs.let_go(run);
        }
        is_first
    }

    /// The window is over: it and all that could be given back into it are gone.
    pub(crate) fn remove_counter(&mut self, at: Ref<Counter>) {
        let runs: Vec<Ref<Run>> = self.rates.hits_of(at).map(|(run, _)| run).collect();
        for run in runs {
            self.rates.remove_hits(at, run);
            self.runs.let_go(run);
        }
        let counter = self.rates.counters.remove(at);
        self.rates.ends.remove(&(counter.ends_at, at));
        self.unuse_task(counter.task);
    }

    /// A run that ended: its hits on this counter stay for good, or are given back (R5).
    pub(crate) fn settle_hits(&mut self, at: Ref<Counter>, run: Ref<Run>, status: RunStatus) {
        let hits = self.rates.remove_hits(at, run);
        self.runs.let_go(run);
        if status != RunStatus::Succeeded || has(Defect::GivesBackSuccess) {
            let counter = &mut self.rates.counters[at];
            let times = if has(Defect::GivesBackTwice) { 2 } else { 1 };
            counter.used = counter.used.saturating_sub(hits.cost * times);
            if counter.used == 0 {
                self.remove_counter(at);
            }
        }
    }

    pub(crate) fn reset_rate(
        &mut self,
        namespace: &Namespace,
        task: &TaskId,
        key: &Key,
        events: &mut Vec<Event>,
    ) -> Outcome {
        let hash = self.counter_hash(namespace.as_str(), task.as_str(), key.as_str());
        if let Some(at) = self.rates.counters.find(hash) {
            let was_running = self.rates.counters[at].runs_at(self.now);
            self.remove_counter(at);
            if was_running {
                let (namespace, task, key) = (namespace.clone(), task.clone(), key.clone());
                self.emit(events, EventKind::RateReset { namespace, task, key });
            }
        }
        Outcome::Done
    }

    /// Takes some of what has ended out of memory: more than a command can add, so that it never piles up.
    pub(crate) fn collect_some(&mut self) {
        self.collect(COLLECTED_AT_ONCE);
    }

    pub(crate) fn collect(&mut self, most: usize) {
        for _ in 0..most {
            let Some(ended) = self.rates.first_ended(self.now) else { break };
            self.remove_counter(ended);
        }
        for _ in 0..most {
            let Some((key, run)) = self.places.first_expired(self.now) else { break };
            self.free_place(key, run);
        }
    }
}
