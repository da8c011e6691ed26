//! R and K: rates over a fixed window, places in flight, and the one verdict over both (A2, A3).

use crate::{Answer, Blocking, Kind, Model, Namespace, Spec, SpecResult, Verdict};

const PLACE_MS: u64 = 60 * 60 * 1000;

/// A running window of one task and key (R2). Task and key are kept apart (R1).
#[derive(Clone, Debug)]
pub(crate) struct Counter {
    pub task: String,
    pub key: String,
    pub window: u64,
    pub used: u64,
    pub ends_at_ms: u64,
}

/// R5: what a run counted with `countSuccessesOnly`, and in which window.
#[derive(Clone, Debug)]
pub(crate) struct Hit {
    pub run: String,
    pub window: u64,
    pub cost: u64,
}

/// K1: a run's place in flight.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub task: String,
    pub key: String,
    pub run: String,
    pub until_ms: u64,
}

/// How one spec stands before the call.
struct Standing {
    used: u64,
    /// What the call would add: the cost of a rate, 1 for a place, 0 for a place already held (K2).
    adds: u64,
    over: bool,
    /// The rest of the running window, if one runs.
    rest_ms: Option<u64>,
    /// How long to wait if over: the rest of the window, or a whole one (R7).
    wait_ms: u64,
}

impl Namespace {
    pub(crate) fn counter(&self, task: &str, key: &str) -> Option<&Counter> {
        self.counters.iter().find(|counter| counter.task == task && counter.key == key)
    }

    pub(crate) fn places_of(&self, task: &str, key: &str) -> u64 {
        self.places.iter().filter(|place| place.task == task && place.key == key).count() as u64
    }

    fn holds_place(&self, task: &str, key: &str, run: &str) -> bool {
        self.places.iter().any(|place| place.task == task && place.key == key && place.run == run)
    }

    fn standing(&self, task: &str, run: Option<&str>, spec: &Spec, now_ms: u64) -> Standing {
        match spec.window_ms {
            Some(window_ms) => self.rate_standing(task, spec, window_ms, now_ms),
            None => self.place_standing(task, run, spec),
        }
    }

    /// R3: the limit is the one the call brings; the window is the running one.
    fn rate_standing(&self, task: &str, spec: &Spec, window_ms: u64, now_ms: u64) -> Standing {
        let running = self.counter(task, &spec.key);
        let used = running.map_or(0, |counter| counter.used);
        let rest_ms = running.map(|counter| counter.ends_at_ms - now_ms);
        let over = used + spec.cost > spec.limit;
        Standing { used, adds: spec.cost, over, rest_ms, wait_ms: rest_ms.unwrap_or(window_ms) }
    }

    /// K2: a run that already holds the place is allowed, whatever the limit now is.
    fn place_standing(&self, task: &str, run: Option<&str>, spec: &Spec) -> Standing {
        let used = self.places_of(task, &spec.key);
        let held = run.is_some_and(|run| self.holds_place(task, &spec.key, run));
        let over = !held && used >= spec.limit;
        Standing { used, adds: if held { 0 } else { 1 }, over, rest_ms: None, wait_ms: 0 }
    }

    /// K3: the one function that decides `admit` and `check`. All or none over both kinds.
    pub(crate) fn verdict(&self, task: &str, run: Option<&str>, specs: &[Spec], now_ms: u64) -> Verdict {
        let standings: Vec<Standing> =
            specs.iter().map(|spec| self.standing(task, run, spec, now_ms)).collect();
        let allowed = standings.iter().all(|standing| !standing.over);
        let results = specs.iter().zip(&standings).map(|(spec, standing)| result(spec, standing, allowed));
        Verdict { allowed, blocking: blocking(specs, &standings), results: results.collect() }
    }

    /// R5: once the run has ended its hits are settled, kept or given back into the window they were counted in. R6: a
    /// window whose count is back at zero is over.
    pub(crate) fn settle_hits(&mut self, run: &str, keep: bool) {
        for hit in self.hits.iter().filter(|hit| hit.run == run && !keep) {
            if let Some(counter) = self.counters.iter_mut().find(|counter| counter.window == hit.window) {
                counter.used = counter.used.saturating_sub(hit.cost);
            }
        }
        self.counters.retain(|counter| counter.used > 0);
        self.hits.retain(|hit| hit.run != run);
    }
}

/// A2: used and remaining as after the call.
fn result(spec: &Spec, standing: &Standing, allowed: bool) -> SpecResult {
    let used = standing.used + if allowed { standing.adds } else { 0 };
    let counts_here = allowed || standing.over;
    SpecResult {
        used,
        remaining: spec.limit.saturating_sub(used),
        over: standing.over,
        resets_in_ms: standing.rest_ms.unwrap_or(if counts_here { standing.wait_ms } else { 0 }),
    }
}

/// A3: the first concurrency spec that is over, else the rate with the longest wait, by exact end; on a tie the first in
/// the call (R4).
fn blocking(specs: &[Spec], standings: &[Standing]) -> Option<Blocking> {
    let over = |kind: Kind| (0..specs.len()).filter(move |i| standings[*i].over && specs[*i].kind() == kind);
    if let Some(spec) = over(Kind::Concurrency).next() {
        return Some(Blocking { spec, kind: Kind::Concurrency, retry_after_seconds: None });
    }
    let mut longest: Option<usize> = None;
    for i in over(Kind::Rate) {
        if longest.is_none_or(|best| standings[i].wait_ms > standings[best].wait_ms) {
            longest = Some(i);
        }
    }
    let spec = longest?;
    let retry_after_seconds = Some(standings[spec].wait_ms.div_ceil(1000));
    Some(Blocking { spec, kind: Kind::Rate, retry_after_seconds })
}

impl Model {
    /// R1, K1, K3: counts and takes all of it, or nothing.
    pub(crate) fn admit(&mut self, n: usize, task: &str, run: Option<&str>, specs: &[Spec]) -> Answer {
        let verdict = self.namespaces[n].verdict(task, run, specs, self.now_ms);
        if verdict.allowed {
            for spec in specs {
                match spec.window_ms {
                    Some(window_ms) => self.count(n, task, run, spec, window_ms),
                    None => self.take_place(n, task, run.expect("checked by form"), spec),
                }
            }
        }
        Answer::Verdict(verdict)
    }

    /// R2: the first hit starts the window. R5: a hit that may be given back remembers its window.
    fn count(&mut self, n: usize, task: &str, run: Option<&str>, spec: &Spec, window_ms: u64) {
        let window = self.running_window(n, task, &spec.key, window_ms);
        let namespace = &mut self.namespaces[n];
        let counter = namespace.counters.iter_mut().find(|counter| counter.window == window);
        counter.expect("it runs").used += spec.cost;
        if let (true, Some(run)) = (spec.successes_only, run) {
            namespace.hits.push(Hit { run: run.into(), window, cost: spec.cost });
        }
    }

    fn running_window(&mut self, n: usize, task: &str, key: &str, window_ms: u64) -> u64 {
        if let Some(counter) = self.namespaces[n].counter(task, key) {
            return counter.window;
        }
        self.last_window += 1;
        self.namespaces[n].counters.push(Counter {
            task: task.into(),
            key: key.into(),
            window: self.last_window,
            used: 0,
            ends_at_ms: self.now_ms + window_ms,
        });
        self.last_window
    }

    /// K1: one place for this run. K2: taken once, the hour is not renewed.
    fn take_place(&mut self, n: usize, task: &str, run: &str, spec: &Spec) {
        if !self.namespaces[n].holds_place(task, &spec.key, run) {
            let until_ms = self.now_ms + PLACE_MS;
            let place = Place { task: task.into(), key: spec.key.clone(), run: run.into(), until_ms };
            self.namespaces[n].places.push(place);
        }
    }
}
