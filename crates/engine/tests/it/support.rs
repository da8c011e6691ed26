//! An engine with short words for what the tests ask of it.

use std::str::FromStr;

use maitred_engine::{
    Engine,
    bounds::Bounds,
    command::{
        Acquire, Admit, Ask, Command, Confirm, Declaration, Hold, Request, RunStatus, Spec, SpecKind, Verb,
    },
    event::{Event, EventKind},
    outcome::{Outcome, SlotStatus},
};

pub const START: u64 = 1_800_000_000_000;
pub const MINUTE: u64 = 60_000;
pub const HOUR: u64 = 60 * MINUTE;
pub const DAY: u64 = 24 * HOUR;

pub fn name<T: FromStr>(text: &str) -> T {
    text.parse().ok().unwrap_or_else(|| panic!("{text:?} is not a name"))
}

pub struct House {
    pub engine: Engine,
    pub at: u64,
    pub events: Vec<Event>,
}

impl House {
    pub fn new(bounds: Bounds) -> House {
        House { engine: Engine::new([3, 4], bounds), at: START, events: Vec::new() }
    }

    /// With a limit `l` of this capacity and a max hold of ten minutes.
    pub fn with_limit(capacity: u32, bounds: Bounds) -> House {
        let mut house = House::new(bounds);
        assert_eq!(house.declare("l", capacity), Outcome::Done);
        house
    }

    pub fn apply(&mut self, command: &Command) -> Outcome {
        self.engine.apply(self.at, command, &mut self.events)
    }

    pub fn say(&mut self, verb: Verb) -> Outcome {
        self.say_in("default", None, verb)
    }

    pub fn say_once(&mut self, request: &str, verb: Verb) -> Outcome {
        self.say_in("default", Some(request), verb)
    }

    pub fn say_in(&mut self, namespace: &str, request: Option<&str>, verb: Verb) -> Outcome {
        self.apply(&Command::In(Box::new(Request {
            namespace: name(namespace),
            request: request.map(name),
            by: Some(name("tester")),
            reason: None,
            verb,
        })))
    }

    pub fn declare(&mut self, limit: &str, capacity: u32) -> Outcome {
        self.say(Verb::Declare(declaration(limit, capacity)))
    }

    pub fn acquire(&mut self, slot: &str) -> Outcome {
        self.say(Verb::Acquire(ask(slot, "l")))
    }

    pub fn release(&mut self, slot: &str) -> Outcome {
        self.say(Verb::Release { slot: name(slot) })
    }

    pub fn advance(&mut self, ms: u64) -> Outcome {
        self.at += ms;
        self.apply(&Command::Advance)
    }

    pub fn status(&self, slot: &str) -> SlotStatus {
        self.engine.status("default", slot)
    }

    pub fn take_events(&mut self) -> Vec<EventKind> {
        self.events.drain(..).map(|event| event.kind).collect()
    }
}

pub fn declaration(limit: &str, capacity: u32) -> Declaration {
    Declaration { limit: name(limit), capacity, max_hold_ms: 10 * MINUTE }
}

pub fn ask(slot: &str, limit: &str) -> Acquire {
    Acquire {
        slot: name(slot),
        asks: vec![Ask { limit: name(limit), weight: 1 }],
        run: None,
        workflow: None,
        label: None,
        timeout_ms: DAY,
        confirm: Confirm::Holder,
        hold: Hold::Released,
        line: None,
    }
}

pub fn rate(key: &str, limit: u64, window_ms: u64) -> Spec {
    Spec { key: name(key), limit, kind: SpecKind::Rate { window_ms, cost: 1, successes_only: false } }
}

pub fn place(key: &str, limit: u64) -> Spec {
    Spec { key: name(key), limit, kind: SpecKind::Place }
}

pub fn admit(run: Option<&str>, specs: Vec<Spec>) -> Verb {
    Verb::Admit(Admit { task: name("t"), run: run.map(name), specs })
}

pub fn end(run: &str, status: RunStatus) -> Verb {
    Verb::EndRun { run: name(run), status }
}

/// An id with a time in it.
pub fn uuid_v7(at: u64, number: u64) -> String {
    format!("{:08x}-{:04x}-7{:03x}-8000-{:012x}", at >> 16, at & 0xffff, number & 0xfff, number)
}

/// SplitMix64: a seed in, the same numbers out.
pub struct Chance(pub u64);

impl Chance {
    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % bound
    }
}
