//! What a run met, and whether that was enough.

use std::{collections::BTreeMap, fmt, time::Duration};

use maitred_engine::time::{Millis, format_duration};

use crate::{
    faults::{Branch, Fault},
    store::{Kind, Wanted},
};

/// How often each fault and each branch was met.
#[derive(Clone, Debug)]
pub struct Counts {
    faults: Vec<u64>,
    branches: Vec<u64>,
    /// In how many worlds each fault was switched on.
    enabled: Vec<u64>,
    /// How many worlds of each kind there were.
    kinds: BTreeMap<Kind, u64>,
}

impl Default for Counts {
    fn default() -> Self {
        let nothing = || vec![0; Fault::ALL.len()];
        let branches = vec![0; Branch::ALL.len()];
        Self { faults: nothing(), enabled: nothing(), branches, kinds: BTreeMap::new() }
    }
}

impl Counts {
    pub(crate) fn begin(&mut self, kind: Kind, faults: &[Fault]) {
        self.kinds.insert(kind, 1);
        faults.iter().for_each(|fault| self.enabled[*fault as usize] += 1);
    }

    pub(crate) fn met(&mut self, fault: Fault) {
        self.faults[fault as usize] += 1;
    }

    pub(crate) fn took(&mut self, branch: Branch) {
        self.branches[branch as usize] += 1;
    }

    /// Each fault with how often it was met, and in how many worlds it might have been.
    pub fn faults(&self) -> impl Iterator<Item = (Fault, u64, u64)> {
        Fault::ALL.iter().map(|it| (*it, self.faults[*it as usize], self.enabled[*it as usize]))
    }

    /// Each rare branch with how often it was taken.
    pub fn branches(&self) -> impl Iterator<Item = (Branch, u64)> {
        Branch::ALL.iter().map(|it| (*it, self.branches[*it as usize]))
    }

    /// How many worlds of each kind there were.
    pub fn kinds(&self) -> impl Iterator<Item = (Kind, u64)> {
        self.kinds.iter().map(|(kind, worlds)| (*kind, *worlds))
    }

    fn add(&mut self, other: &Counts) {
        let add = |into: &mut Vec<u64>, from: &Vec<u64>| into.iter_mut().zip(from).for_each(|(a, b)| *a += b);
        add(&mut self.faults, &other.faults);
        add(&mut self.branches, &other.branches);
        add(&mut self.enabled, &other.enabled);
        other.kinds.iter().for_each(|(kind, worlds)| *self.kinds.entry(*kind).or_default() += worlds);
    }
}

/// What was broken, where, and what came before.
#[derive(Clone, Debug)]
pub struct Failure {
    pub seed: u64,
    pub what: String,
    /// The last things that happened, oldest first.
    pub last: Vec<String>,
}

/// One world, or several together.
#[derive(Clone, Debug, Default)]
pub struct Report {
    pub worlds: u64,
    /// Of the faulty phases, without outages.
    pub simulated_ms: Millis,
    pub took: Duration,
    pub records: u64,
    pub calls: u64,
    /// Commands whose outcome the model confirmed.
    pub judged: u64,
    /// Of everything that happened, in order: equal for equal seeds.
    pub trace: u64,
    pub counts: Counts,
    pub failures: Vec<Failure>,
}

impl Report {
    pub fn add(&mut self, other: Report) {
        self.worlds += other.worlds;
        self.simulated_ms += other.simulated_ms;
        self.took += other.took;
        self.records += other.records;
        self.calls += other.calls;
        self.judged += other.judged;
        self.trace = self.trace.rotate_left(7) ^ other.trace;
        self.counts.add(&other.counts);
        self.failures.extend(other.failures);
    }

    /// What worlds such as these should meet and these never did: journals, numbers of nodes, faults, rare branches.
    pub fn not_covered(&self, wanted: Wanted) -> Vec<String> {
        let kinds: Vec<Kind> = wanted.kinds().collect();
        let met = |fits: &dyn Fn(&Kind) -> bool| self.counts.kinds.keys().any(fits);
        let mut worlds: Vec<String> = Vec::new();
        for kind in &kinds {
            if !met(&|it| it.journal == kind.journal) {
                worlds.push(format!("a world with the journal {}", kind.journal.name()));
            }
            if !met(&|it| it.nodes == kind.nodes) {
                worlds.push(format!("a world of {} nodes", kind.nodes));
            }
        }
        worlds.dedup();
        let is_wanted = |concerns: &dyn Fn(Kind) -> bool| kinds.iter().any(|kind| concerns(*kind));
        let faults = self
            .counts
            .faults()
            .filter(|(fault, met, _)| *met == 0 && is_wanted(&|kind| fault.concerns(kind)));
        let branches = self
            .counts
            .branches()
            .filter(|(branch, taken)| *taken == 0 && is_wanted(&|kind| branch.concerns(kind)));
        let faults = faults.map(|(fault, ..)| fault.name().to_owned());
        worlds.into_iter().chain(faults).chain(branches.map(|(branch, _)| branch.name().to_owned())).collect()
    }

    /// How much faster than life the worlds went by.
    pub fn speed(&self) -> f64 {
        self.simulated_ms as f64 / (self.took.as_secs_f64() * 1_000.0).max(0.001)
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{} worlds, {} simulated in {:.1} s of a core: {:.0} times as fast as life; {} calls, {} records, {} outcomes judged; \
             digest {:016x}",
            self.worlds,
            format_duration(self.simulated_ms),
            self.took.as_secs_f64(),
            self.speed(),
            self.calls,
            self.records,
            self.judged,
            self.trace,
        )?;
        for (Kind { journal, nodes }, worlds) in self.counts.kinds() {
            writeln!(f, "  {:32} {worlds:8}", format!("{} with {nodes} nodes", journal.name()))?;
        }
        for (fault, met, enabled) in self.counts.faults() {
            writeln!(f, "  {:32} {met:8}   in {enabled} worlds", fault.name())?;
        }
        for (branch, taken) in self.counts.branches() {
            writeln!(f, "  {:32} {taken:8}", branch.name())?;
        }
        for failure in &self.failures {
            writeln!(f, "{failure}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "seed {}: {}", self.seed, self.what)?;
        self.last.iter().try_for_each(|line| writeln!(f, "    {line}"))
    }
}
