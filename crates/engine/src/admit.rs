//! Admission: rates and places of one call, all of them or none (R1, K1, K3, A2).
//!
//! [`Engine::decide`] looks at every spec without changing anything; it is the whole of `check`, and the first half of
//! `admit`. Only if it allows is anything counted.

use smallvec::SmallVec;

use crate::{
    command::{Admit, Spec, SpecKind},
    engine::Engine,
    names::Namespace,
    outcome::{Admission, KeyResult, Outcome, Refusal, Verdict},
    rates::Counter,
    runs::Run,
    slab::Ref,
    time::{Millis, seconds_up},
};

/// What was found for one spec.
#[derive(Clone, Copy)]
pub(crate) struct Look {
    hash: u64,
    /// Of the key, before the call; once counted, after it.
    used: u64,
    /// Of the running window.
    ends_at: Option<Millis>,
    over: bool,
    /// How long until the rate lets anything pass again, if it is over.
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

impl Decision {
    /// The state of each key, with what the decision made of it.
    pub(crate) fn results(&self, now: Millis, admit: &Admit) -> Vec<KeyResult> {
        let result = |(look, spec): (&Look, &Spec)| KeyResult {
            used: look.used,
            remaining: spec.limit.saturating_sub(look.used),
            reset_s: look.ends_at.map_or(0, |ends_at| seconds_up(ends_at - now)),
            over: look.over,
        };
        self.looks.iter().zip(&admit.specs).map(result).collect()
    }

    fn admission(&self, now: Millis, admit: &Admit) -> Outcome {
        let results = self.results(now, admit);
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
    /// The verdict that [`Verb::Admit`](crate::command::Verb::Admit) would get at this time. Changes nothing.
    pub fn check(&self, at: Millis, namespace: &str, admit: &Admit) -> Outcome {
        let now = self.now.max(at);
        self.decide(now, namespace, admit).admission(now, admit)
    }

    pub(crate) fn admit(&mut self, namespace: &Namespace, admit: &Admit) -> Outcome {
        self.make_room_for(admit.specs.len());
        let mut decision = self.decide(self.now, namespace.as_str(), admit);
        if decision.verdict == Verdict::Allowed {
            if !self.has_room_for_space(namespace) {
                return Outcome::Refused(Refusal::TooManyNamespaces);
            }
            if self.live_keys() + decision.new_keys() > self.bounds.keys as usize {
                return Outcome::Refused(Refusal::TooManyKeys);
            }
            self.count(namespace, admit, &mut decision);
        }
        decision.admission(self.now, admit)
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
        let found = self.find_counter(hash, namespace, task, spec.key.as_str());
        let running = found.map(|at| &self.rates.counters[at]).filter(|counter| counter.runs_at(now));
        let used = running.map_or(0, |counter| counter.used);
        let ends_at = running.map(|counter| counter.ends_at);
        Look {
            hash,
            used,
            ends_at,
            over: used.saturating_add(cost) > spec.limit,
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
        let key = self.find_place_key(hash, namespace, task, spec.key.as_str());
        let used = key.map_or(0, |key| self.places.in_flight(key, now));
        let is_held = key.zip(run).is_some_and(|(key, run)| self.places.holds(run, key, now));
        let over = !is_held && used >= spec.limit;
        Look { hash, used, ends_at: None, over, wait_ms: 0, found: Found::Place { is_held } }
    }

    fn count(&mut self, namespace: &Namespace, admit: &Admit, decision: &mut Decision) {
        for (look, spec) in decision.looks.iter_mut().zip(&admit.specs) {
            match (spec.kind, look.found) {
                (SpecKind::Rate { .. }, Found::Counter(found)) => {
                    self.count_rate(namespace, admit, spec, found, look)
                }
                (SpecKind::Place, Found::Place { is_held: false }) => {
                    let Some(run) = &admit.run else { continue };
                    self.take_place(look.hash, namespace, &admit.task, &spec.key, run);
                    look.used += 1;
                }
                _ => {}
            }
        }
    }

    fn count_rate(
        &mut self,
        namespace: &Namespace,
        admit: &Admit,
        spec: &Spec,
        found: Option<Ref<Counter>>,
        look: &mut Look,
    ) {
        let SpecKind::Rate { window_ms, cost, successes_only } = spec.kind else { return };
        let at = match (found, look.ends_at) {
            (Some(running), Some(_)) => running,
            (over, _) => {
                over.into_iter().for_each(|over| self.remove_counter(over));
                self.start_window(namespace, admit, spec, window_ms, look.hash)
            }
        };
        self.count_hit(at, cost);
        look.used += cost;
        look.ends_at = Some(self.rates.counters[at].ends_at);
        if let (true, Some(run)) = (successes_only, &admit.run) {
            self.note_hit(at, namespace, run, cost);
        }
    }

    /// R2: the first hit starts the window, whose length is fixed from then on (R3).
    fn start_window(
        &mut self,
        namespace: &Namespace,
        admit: &Admit,
        spec: &Spec,
        window_ms: Millis,
        hash: u64,
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
