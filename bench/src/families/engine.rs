//! The rules alone, on one core: how many commands a second, and what a million waiting cost.

use std::{collections::VecDeque, time::Instant};

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
        // Slots that ended, and the request ids of admissions; of the first turn some slots are still held.
        let least = 2 * asked - self.limits;
        check(remembered >= least, || {
            format!("{remembered} ids are remembered; at least {least} were used")
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

/// One full limit and those who wait for it, in order. As many leave as come, so the queue keeps its length.
struct Line {
    engine: Engine,
    chance: Chance,
    holder: u64,
    waiting: VecDeque<u64>,
    next: u64,
}

impl Line {
    const ROUNDS: u64 = 100;

    fn with(waiting: u64) -> Line {
        let mut line = Line {
            engine: with_limits(1, 1),
            chance: Chance(2),
            holder: 0,
            waiting: VecDeque::new(),
            next: 1,
        };
        line.engine.apply(START, &joins(0), &mut Vec::new());
        for _ in 0..waiting {
            let command = line.one_more();
            line.engine.apply(START, &command, &mut Vec::new());
        }
        line
    }

    fn one_more(&mut self) -> Command {
        self.waiting.push_back(self.next);
        self.next += 1;
        joins(self.next - 1)
    }

    /// Nanoseconds a command: one leaves from somewhere in the middle, the holder gives back, two join.
    fn turn(&mut self) -> Result<f64, Trouble> {
        let mut made = Vec::new();
        let length = self.waiting.len();
        for _ in 0..Self::ROUNDS {
            let place = length / 4 + self.chance.below(length as u64 / 2) as usize;
            let leaver = self.waiting.remove(place).expect("a place in the queue");
            made.push((START, plain(leave(&numbered_id(leaver, START)))));
            made.push((START, plain(release(&numbered_id(self.holder, START)))));
            self.holder = self.waiting.pop_front().expect("somebody waits");
            made.extend([(START, self.one_more()), (START, self.one_more())]);
        }
        let nanos = time(&mut self.engine, &made);
        let (waiting, slots) = (self.engine.stats().waiting as usize, self.engine.stats().slots as usize);
        let is_right = waiting == length && slots == length + 1;
        check(is_right, || format!("{waiting} wait of {slots} slots; {length} should, and one hold"))?;
        Ok(nanos)
    }
}

fn joins(slot: u64) -> Command {
    plain(Verb::Acquire(acquire(&numbered_id(slot, START), 0)))
}
