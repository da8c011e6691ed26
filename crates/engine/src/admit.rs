//! Admission: rates and places of one call, all of them or none (R1, K1, K3, A2).
//!
//! [`Engine::decide`] looks at every spec without changing anything; it is the whole of `check`, and the first half of
//! `admit`. Only if it allows is anything counted.

use maitred_planted::{Defect, has};
use smallvec::SmallVec;

use crate::{
    command::{Admit, Spec, SpecKind},
    engine::Engine,
    index::NameHash,
    names::Namespace,
    outcome::{Admission, KeyResult, Outcome, Refusal, Verdict},
    rates::{Counter, Hits},
    runs::Run,
    slab::Ref,
    time::{Millis, seconds_up},
};

/// What was found for one spec.
#[derive(Clone, Copy)]
pub(crate) struct Look {
    hash: NameHash,
    /// Before the call, and what an allowed call adds.
    used: u64,
    adds: u64,
    over: bool,
    /// The end of the running window.
    ends_at: Option<Millis>,
    /// What is left of the running window, or a whole one; 0 for a place.
    wait_ms: Millis,
    found: Found,
}

#[derive(Clone, Copy)]
enum Found {
    /// The counter of the key, its window running or just over.
    Counter(Option<Ref<Counter>>),
    Place {
        is_held: bool,
    },
}

pub(crate) struct Decision {
    pub(crate) verdict: Verdict,
    looks: SmallVec<[Look; 4]>,
}

impl Look {
    fn result(&self, limit: u64, is_counted: bool) -> KeyResult {
        let used = self.used + if is_counted { self.adds } else { 0 };
        let has_window = self.ends_at.is_some() || is_counted || self.over;
        KeyResult {
            used,
            remaining: limit.saturating_sub(used),
            reset_s: if has_window { seconds_up(self.wait_ms) } else { 0 },
            over: self.over,
        }
    }
}

impl Decision {
    /// Each key as it is before the call, or once an allowed call is counted.
    pub(crate) fn results(&self, admit: &Admit, is_counted: bool) -> Vec<KeyResult> {
        self.looks.iter().zip(&admit.specs).map(|(look, spec)| look.result(spec.limit, is_counted)).collect()
    }

    fn admission(&self, admit: &Admit) -> Outcome {
        let results = self.results(admit, self.verdict == Verdict::Allowed);
        Outcome::Admission(Admission { verdict: self.verdict, results, replayed: false })
    }

    /// How many counters and places would be new.
    fn new_keys(&self) -> usize {
        let is_new =
            |look: &&Look| matches!(look.found, Found::Counter(None) | Found::Place { is_held: false });
        self.looks.iter().filter(is_new).count()
    }
}

impl Engine {
    /// What [`Verb::Admit`](crate::command::Verb::Admit) would answer at this time, the results included. Changes
    /// nothing.
    pub fn check(&self, at: Millis, namespace: &str, admit: &Admit) -> Outcome {
        self.decide(self.now.max(at), namespace, admit).admission(admit)
    }

    pub(crate) fn admit(&mut self, namespace: &Namespace, admit: &Admit) -> Outcome {
        self.make_room_for(admit.specs.len());
        let decision = self.decide(self.now, namespace.as_str(), admit);
        if decision.verdict == Verdict::Allowed || has(Defect::CountsRefused) {
            if !self.has_room_for_space(namespace) {
                return Outcome::Refused(Refusal::TooManyNamespaces);
            }
            if self.live_keys() + decision.new_keys() > self.bounds.keys as usize {
                return Outcome::Refused(Refusal::TooManyKeys);
            }
            self.count(namespace, admit, &decision);
        }
        decision.admission(admit)
    }

    /// Rate windows and places in memory.
    pub(crate) fn live_keys(&self) -> usize {
        self.rates.counters.len() as usize + self.places.len()
    }

    /// What has ended does not count against the bound.
    fn make_room_for(&mut self, keys: usize) {
        if self.live_keys() + keys > self.bounds.keys as usize {
            self.collect(usize::MAX);
        }
    }

    pub(crate) fn decide(&self, now: Millis, namespace: &str, admit: &Admit) -> Decision {
        let run = admit.run.as_ref().and_then(|run| self.find_run(namespace, run.as_str()));
        let looks: SmallVec<[Look; 4]> = admit
            .specs
            .iter()
            .map(|spec| self.look(now, namespace, admit.task.as_str(), spec, run))
            .collect();
        Decision { verdict: verdict(&looks, &admit.specs), looks }
    }

    fn look(&self, now: Millis, namespace: &str, task: &str, spec: &Spec, run: Option<Ref<Run>>) -> Look {
        match spec.kind {
            SpecKind::Rate { window_ms, cost, .. } => {
                self.look_at_rate(now, namespace, task, spec, window_ms, cost)
            }
            SpecKind::Place => self.look_at_place(now, namespace, task, spec, run),
        }
    }

    fn look_at_rate(
        &self,
        now: Millis,
        namespace: &str,
        task: &str,
        spec: &Spec,
        window_ms: Millis,
        cost: u64,
    ) -> Look {
        let hash = self.counter_hash(namespace, task, spec.key.as_str());
        let found = self.rates.counters.find(hash);
        let running = found.map(|at| &self.rates.counters[at]).filter(|counter| counter.runs_at(now));
        let used = running.map_or(0, |counter| counter.used);
        let ends_at = running.map(|counter| counter.ends_at);
        Look {
            hash,
            used,
            adds: cost,
            over: used.saturating_add(cost) > spec.limit + u64::from(has(Defect::OneMore)),
            ends_at,
            // What can never pass is told to come back when something else might (R7).
            wait_ms: ends_at.map_or(window_ms, |ends_at| ends_at - now),
            found: Found::Counter(found),
        }
    }

    fn look_at_place(
        &self,
        now: Millis,
        namespace: &str,
        task: &str,
        spec: &Spec,
        run: Option<Ref<Run>>,
    ) -> Look {
        let hash = self.place_hash(namespace, task, spec.key.as_str());
        let key = self.places.keys.find(hash);
        let used = key.map_or(0, |key| self.places.in_flight(key, now));
        let is_held = key.zip(run).is_some_and(|(key, run)| self.places.holds(run, key, now));
        let over = !is_held && used >= spec.limit;
        let adds = u64::from(!is_held);
        Look { hash, used, adds, over, ends_at: None, wait_ms: 0, found: Found::Place { is_held } }
    }

    fn count(&mut self, namespace: &Namespace, admit: &Admit, decision: &Decision) {
        for (look, spec) in decision.looks.iter().zip(&admit.specs) {
            match (look.found, &admit.run) {
                (Found::Counter(found), _) => self.count_rate(namespace, admit, spec, found, look),
                (Found::Place { is_held: false }, Some(run)) => {
                    self.take_place(look.hash, namespace, &admit.task, &spec.key, run);
                }
                (Found::Place { .. }, _) => {}
            }
        }
    }

    fn count_rate(
        &mut self,
        namespace: &Namespace,
        admit: &Admit,
        spec: &Spec,
        found: Option<Ref<Counter>>,
        look: &Look,
    ) {
        let SpecKind::Rate { window_ms, cost, successes_only } = spec.kind else { return };
        let at = match (found, look.ends_at) {
            (Some(running), Some(_)) => running,
            (over, _) => {
                over.into_iter().for_each(|over| self.remove_counter(over));
                self.start_window(namespace, admit, spec, window_ms, look.hash)
            }
        };
        self.rates.counters[at].used += cost;
        if let (true, Some(run)) = (successes_only, &admit.run) {
            self.note_hits(at, namespace, run, Hits { count: 1, cost });
        }
    }

    /// R2: the first hit starts the window, whose length is fixed from then on (R3).
    fn start_window(
        &mut self,
        namespace: &Namespace,
        admit: &Admit,
        spec: &Spec,
        window_ms: Millis,
        hash: NameHash,
    ) -> Ref<Counter> {
        let space = self.space_of(namespace);
        let task = self.use_task(namespace, space, &admit.task);
        self.rates.insert(Counter {
            hash,
            task,
            key: spec.key.clone(),
            used: 0,
            started_at: self.now,
            ends_at: self.now + window_ms,
        })
    }
}

/// The first concurrency spec that is over blocks before any rate; else the rate with the longest wait, compared by
/// its exact end, and on a tie the first in the call (R4).
fn verdict(looks: &[Look], specs: &[Spec]) -> Verdict {
    let is_place = |index: &usize| specs[*index].kind == SpecKind::Place;
    let over = || (0..looks.len()).filter(|&index| looks[index].over);
    if let Some(spec) = over().find(is_place) {
        return Verdict::OverConcurrency { spec };
    }
    let longest =
        over().reduce(|best, next| if looks[next].wait_ms > looks[best].wait_ms { next } else { best });
    longest.map_or(Verdict::Allowed, |spec| Verdict::OverRate {
        spec,
        retry_after_s: seconds_up(looks[spec].wait_ms),
    })
}
