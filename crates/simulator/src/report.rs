//! What a run met, and whether that was enough.

use std::{fmt, time::Duration};

use maitred_engine::time::{Millis, format_duration};

use crate::faults::{Branch, Fault};

/// How often each fault and each branch was met.
#[derive(Clone, Debug)]
pub struct Counts {
    faults: Vec<u64>,
    branches: Vec<u64>,
    /// In how many worlds each fault was switched on.
    enabled: Vec<u64>,
}

impl Default for Counts {
    fn default() -> Self {
        let nothing = || vec![0; Fault::ALL.len()];
        Self { faults: nothing(), enabled: nothing(), branches: vec![0; Branch::ALL.len()] }
    }
}

impl Counts {
    pub(crate) fn enable(&mut self, faults: &[Fault]) {
        faults.iter().for_each(|fault| self.enabled[*fault as usize] += 1);
    }

    pub(crate) fn met(&mut self, fault: Fault) {
        self.faults[fault as usize] += 1;
    }

    pub(crate) fn took(&mut self, branch: Branch) {
        self.branches[branch as usize] += 1;
    }

    pub fn of(&self, fault: Fault) -> u64 {
        self.faults[fault as usize]
    }

    pub fn of_branch(&self, branch: Branch) -> u64 {
        self.branches[branch as usize]
    }

    fn add(&mut self, other: &Counts) {
        let add = |into: &mut Vec<u64>, from: &Vec<u64>| into.iter_mut().zip(from).for_each(|(a, b)| *a += b);
        add(&mut self.faults, &other.faults);
        add(&mut self.branches, &other.branches);
        add(&mut self.enabled, &other.enabled);
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

    /// What this run should have met and never did.
    pub fn not_covered(&self) -> Vec<&'static str> {
        let faults = Fault::ALL.iter().filter(|fault| {
            self.counts.enabled[**fault as usize] > 0 && self.counts.faults[**fault as usize] == 0
        });
        let branches = Branch::ALL.iter().filter(|branch| self.counts.branches[**branch as usize] == 0);
        faults.map(|fault| fault.name()).chain(branches.map(|branch| branch.name())).collect()
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
            "{} worlds, {} simulated in {:.1} s: {:.0} times as fast as life; {} calls, {} records, {} outcomes judged",
            self.worlds,
            format_duration(self.simulated_ms),
            self.took.as_secs_f64(),
            self.speed(),
            self.calls,
            self.records,
            self.judged,
        )?;
        for fault in Fault::ALL {
            let (met, enabled) = (self.counts.of(*fault), self.counts.enabled[*fault as usize]);
            writeln!(f, "  {:32} {met:8}   in {enabled} worlds", fault.name())?;
        }
        for branch in Branch::ALL {
            writeln!(f, "  {:32} {:8}", branch.name(), self.counts.of_branch(*branch))?;
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
