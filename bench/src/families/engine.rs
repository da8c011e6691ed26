//! The rules alone, on one core: how many commands a second, and what a million waiting cost.

use std::time::Instant;

use maitred_engine::{
    Engine,
    bounds::Bounds,
    command::{Command, Verb},
};

use super::Family;
use crate::{
    commands::{acquire, admit, declare, leave, numbered_id, plain, release, request_id, with_id},
    figure::{Figure, Target, Trouble, check},
    ids::Chance,
    pairs::{Spread, pairs, quantile},
    report::Report,
    scene::Scene,
};

pub const MIXED: Family = Family {
    name: "engine",
    figures: &[
        Figure {
            name: "engine_mixed_100_per_s",
            unit: "commands/s",
            target: Target::AtLeast(3e6),
            what: "acquire, admit, release, admit in turn: 100 limits, 10,000 keys",
        },
        Figure {
            name: "engine_mixed_10k_1m_per_s",
            unit: "commands/s",
            target: Target::AtLeast(1e6),
            what: "the same over 10,000 limits and a million keys",
        },
    ],
    run: mixed_figures,
};

pub const WAITING: Family = Family {
    name: "engine-waiting",
    figures: &[Figure {
        name: "engine_million_waiting_vs_1k",
        unit: "times",
        target: Target::AtMost(4.0),
        what: "time per command with a million waiting, against a thousand: one joins, one leaves from the middle, one is granted",
    }],
    run: waiting_figure,
};

const START: u64 = 1_800_000_000_000;
/// In small batches, as they come off the journal.
const BATCH: u64 = 250;
const BATCHES: u64 = 500;
const CAPACITY: u32 = 50;

fn mixed_figures(scene: &Scene, report: &mut Report) -> Result<(), Trouble> {
    for (name, limits, keys) in
        [("engine_mixed_100_per_s", 100, 10_000), ("engine_mixed_10k_1m_per_s", 10_000, 1_000_000)]
    {
        let mut house = House::new(limits, keys);
        let mut turns = Vec::new();
        for turn in 0..=scene.repetitions() {
            let per_s = house.turn()?;
            // The first fills what is empty at the start.
            turns.extend((turn > 0).then_some(per_s));
        }
        report.put(name, Spread::of(turns));
    }
    Ok(())
}

struct House {
    engine: Engine,
    chance: Chance,
    limits: u64,
    keys: u64,
    /// How many slots were asked for.
    slots: u64,
}

impl House {
    /// Every key is counted against once, so that all of them are live.
    fn new(limits: u64, keys: u64) -> House {
        let mut engine = with_limits(limits, CAPACITY);
        (0..keys).for_each(|key| drop(engine.apply(START, &plain(admit(key)), &mut Vec::new())));
        House { engine, chance: Chance(1), limits, keys, slots: 0 }
    }

    /// Commands a second, of the median batch: one that another process interrupted does not count.
    fn turn(&mut self) -> Result<f64, Trouble> {
        let before = self.engine.stats();
        let mut nanos: Vec<f64> = (0..BATCHES)
            .map(|_| {
                let batch = self.batch();
                time(&mut self.engine, &batch)
            })
            .collect();
        let after = self.engine.stats();
        let asked = BATCHES * BATCH;
        let remembered = u64::from(after.remembered_timed - before.remembered_timed);
        // Every slot that ended and every request id is remembered; of the first turn some slots are still there.
        check(remembered >= 2 * asked, || {
            format!("{asked} slots were asked for and {remembered} ids are remembered")
        })?;
        check(u64::from(after.counters) == self.keys, || format!("{} keys are counted", after.counters))?;
        nanos.sort_by(f64::total_cmp);
        Ok(1e9 / quantile(&nanos, 0.5))
    }

    /// Acquire, admit, release an older slot, admit: a millisecond for every hundred commands, request ids on half.
    fn batch(&mut self) -> Vec<(u64, Command)> {
        let mut made = Vec::with_capacity(4 * BATCH as usize);
        let time_of = |slot: u64| START + slot / 25;
        for slot in self.slots..self.slots + BATCH {
            let at = time_of(slot);
            let mut add = |number, verb: Verb| {
                let id = (number % 2 == 0).then(|| request_id(4 * slot + number, at));
                made.push((at, with_id(id, verb)));
            };
            let older = slot.saturating_sub(self.limits);
            add(0, Verb::Acquire(acquire(&numbered_id(slot, at), self.chance.below(self.limits))));
            add(1, admit(self.chance.below(self.keys)));
            add(2, admit(self.chance.below(self.keys)));
            add(3, release(&numbered_id(older, time_of(older))));
        }
        self.slots += BATCH;
        made
    }
}

fn with_limits(limits: u64, capacity: u32) -> Engine {
    let mut engine = Engine::new([1, 2], Bounds::default());
    for limit in 0..limits {
        engine.apply(START, &plain(declare(limit, capacity)), &mut Vec::new());
    }
    engine
}

/// Nanoseconds a command.
fn time(engine: &mut Engine, commands: &[(u64, Command)]) -> f64 {
    let mut events = Vec::new();
    let started = Instant::now();
    for (at, command) in commands {
        engine.apply(*at, command, &mut events);
        events.clear();
    }
    started.elapsed().as_nanos() as f64 / commands.len() as f64
}

fn waiting_figure(scene: &Scene, report: &mut Report) -> Result<(), Trouble> {
    let (mut many, mut few) = (Line::with(1_000_000), Line::with(1_000));
    let pairs = pairs(scene.many_repetitions(), || many.turn(), || few.turn())?;
    report.put_pairs("engine_million_waiting_vs_1k", &pairs);
    Ok(())
}

/// One full limit and those who wait for it. As many leave as come, so the queue keeps its length.
struct Line {
    engine: Engine,
    chance: Chance,
    waiting: u64,
    first: u64,
    next: u64,
}

impl Line {
    const ROUNDS: u64 = 100;

    fn with(waiting: u64) -> Line {
        let mut line = Line { engine: with_limits(1, 1), chance: Chance(2), waiting, first: 0, next: 0 };
        (0..=waiting).for_each(|_| {
            let command = line.joins();
            line.engine.apply(START, &command, &mut Vec::new());
        });
        line
    }

    fn joins(&mut self) -> Command {
        self.next += 1;
        plain(Verb::Acquire(acquire(&numbered_id(self.next - 1, START), 0)))
    }

    /// Nanoseconds a command: two join, one leaves from somewhere in the middle, the holder gives back.
    fn turn(&mut self) -> Result<f64, Trouble> {
        let mut made = Vec::new();
        let middle = self.first + self.waiting / 2;
        for round in 0..Self::ROUNDS {
            let leaver = middle
                + round * (self.waiting / 4 / Self::ROUNDS)
                + self.chance.below(self.waiting / 4 / Self::ROUNDS);
            made.extend([(START, self.joins()), (START, self.joins())]);
            made.push((START, plain(leave(&numbered_id(leaver, START)))));
            made.push((START, plain(release(&numbered_id(self.first + round, START)))));
        }
        let nanos = time(&mut self.engine, &made);
        self.first += Self::ROUNDS;
        let waiting = u64::from(self.engine.stats().waiting);
        let is_right = waiting >= self.waiting && waiting <= self.waiting + self.waiting / 100 + 100;
        check(is_right, || format!("{waiting} wait, {} should", self.waiting))?;
        Ok(nanos)
    }
}
