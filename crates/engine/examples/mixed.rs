//! How many commands a second one core applies. `cargo run --release -p maitred-engine --example mixed`
//!
//! Three figures: acquire, release and admit in turn over a hundred limits; the same over ten thousand limits and a
//! million keys; and the time per command with a million waiting, against that with a thousand waiting.

use std::{ops::Range, time::Instant};

use maitred_engine::{
    Engine,
    bounds::Bounds,
    command::{Acquire, Admit, Ask, Command, Confirm, Declaration, Hold, Request, Spec, SpecKind, Verb},
};

/// SplitMix64: the same numbers every time.
struct Chance(u64);

impl Chance {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % bound
    }
}

fn of(verb: Verb) -> Command {
    let namespace = Default::default();
    Command::In(Box::new(Request { namespace, request: None, by: None, reason: None, verb }))
}

fn name<T: std::str::FromStr>(text: &str) -> T {
    text.parse().ok().expect("a valid name")
}

/// As our clients make them: time-ordered, 36 characters.
fn slot_id(number: u64, at: u64) -> String {
    format!("{:08x}-{:04x}-7{:03x}-8000-{:012x}", at >> 16, at & 0xffff, number & 0xfff, number)
}

fn acquire(slot: &str, limit: &str) -> Command {
    of(Verb::Acquire(Acquire {
        slot: name(slot),
        asks: vec![Ask { limit: name(limit), weight: 1 }],
        run: None,
        workflow: None,
        label: None,
        timeout_ms: 86_400_000,
        confirm: Confirm::Auto,
        hold: Hold::Released,
        line: None,
    }))
}

fn release(slot: &str) -> Command {
    of(Verb::Release { slot: name(slot) })
}

fn admit(key: &str) -> Command {
    let kind = SpecKind::Rate { window_ms: 3_600_000, cost: 1, successes_only: false };
    let spec = Spec { key: name(key), limit: 1_000_000, kind };
    of(Verb::Admit(Admit { task: name("task"), run: None, specs: vec![spec] }))
}

fn with_limits(limits: u64, capacity: u32) -> Engine {
    let mut engine = Engine::new([1, 2], Bounds::default());
    for limit in 0..limits {
        let declaration = Declaration { limit: name(&limit_name(limit)), capacity, max_hold_ms: 3_600_000 };
        engine.apply(START, &of(Verb::Declare(declaration)), &mut Vec::new());
    }
    engine
}

fn limit_name(limit: u64) -> String {
    format!("limit-{limit:05}")
}

fn key_name(key: u64) -> String {
    format!("user=0123456789-0123456-{key:08}")
}

const BATCH: usize = 250;
const START: u64 = 1_800_000_000_000;

/// Acquire, admit, release an older slot, admit, for these acquires: a millisecond for every hundred commands.
fn mixed(chance: &mut Chance, limits: u64, keys: u64, numbers: Range<u64>) -> Vec<(u64, Command)> {
    let mut made = Vec::new();
    for number in numbers {
        let at = START + number / 25;
        made.push((at, acquire(&slot_id(number, at), &limit_name(chance.below(limits)))));
        made.push((at, admit(&key_name(chance.below(keys)))));
        let older = number.saturating_sub(limits);
        made.push((at, release(&slot_id(older, START + older / 25))));
        made.push((at, admit(&key_name(chance.below(keys)))));
    }
    made
}

/// Nanoseconds per command.
fn time(engine: &mut Engine, commands: &[(u64, Command)]) -> f64 {
    let mut events = Vec::new();
    let started = Instant::now();
    for (at, command) in commands {
        engine.apply(*at, command, &mut events);
        events.clear();
    }
    started.elapsed().as_nanos() as f64 / commands.len() as f64
}

fn throughput(limits: u64, keys: u64, commands: u64) -> f64 {
    let mut engine = with_limits(limits, 50);
    for key in (0..keys).filter(|_| keys > 10_000) {
        engine.apply(START, &admit(&key_name(key)), &mut Vec::new());
    }
    let mut chance = Chance(1);
    // In small batches, as they come off the journal.
    let batches = (0..commands / 4).step_by(BATCH).map(|first| {
        let batch = mixed(&mut chance, limits, keys, first..first + BATCH as u64);
        time(&mut engine, &batch)
    });
    1e9 / median(batches.collect())
}

/// One limit is full and `waiting` are queued for it; then one joins, one leaves from the middle, one is granted.
fn with_waiting(waiting: u64) -> f64 {
    let mut engine = with_limits(1, 1);
    let limit = limit_name(0);
    for number in 0..=waiting {
        engine.apply(START, &acquire(&slot_id(number, START), &limit), &mut Vec::new());
    }
    let mut chance = Chance(2);
    let mut made = Vec::new();
    for round in 0..200.min(waiting / 4) {
        made.push((START, acquire(&slot_id(waiting + 1 + round, START), &limit)));
        let left = waiting / 2 + chance.below(waiting / 4) + round;
        made.push((START, of(Verb::Leave { slot: name(&slot_id(left, START)) })));
        made.push((START, release(&slot_id(round, START))));
    }
    time(&mut engine, &made)
}

/// Over batches: those that another process interrupted do not count.
fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_unstable_by(f64::total_cmp);
    figures[figures.len() / 2]
}

fn best(figures: impl Iterator<Item = f64>) -> f64 {
    figures.fold(f64::NAN, f64::max)
}

fn main() {
    let small = best((0..5).map(|_| throughput(100, 10_000, 1_000_000)));
    println!("100 limits, 10,000 keys: {:.2} M commands/s", small / 1e6);
    let large = best((0..3).map(|_| throughput(10_000, 1_000_000, 1_000_000)));
    println!("10,000 limits, 1,000,000 keys: {:.2} M commands/s", large / 1e6);
    let few = -best((0..20).map(|_| -with_waiting(1_000)));
    let many = -best((0..3).map(|_| -with_waiting(1_000_000)));
    println!(
        "1,000 waiting: {few:.0} ns a command; 1,000,000 waiting: {many:.0} ns ({:.1} times)",
        many / few
    );
}
