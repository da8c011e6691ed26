//! Who is there, and every move that can be made.

use std::fmt;

use maitred_engine::{
    Engine,
    bounds::Bounds,
    command::{Acquire, Ask, Command, Confirm, Declaration, Hold, Line, Request, RunStatus, Verb},
    names::SlotId,
    outcome::SlotStatus,
};

pub const START: u64 = 1_800_000_000_000;
const LIMITS: [&str; 2] = ["a", "b"];
/// The second is shorter than a reservation.
const MAX_HOLDS_MS: [u64; 2] = [300_000, 60_000];
const TIMEOUTS_MS: [u64; 3] = [60_000, 180_000, 120_000];
/// Longer than nobody may be there without its being noticed (T2a).
const LATE_MS: u64 = 6_000;
pub const ROLES: usize = 3;

/// What a caller wants: always the same, each time with a new slot.
pub struct Wish {
    /// Limits by number, with weights.
    limits: &'static [(usize, u32)],
    auto: bool,
    hold_run: bool,
    run: Option<&'static str>,
}

pub struct Cast {
    pub name: &'static str,
    wishes: [Wish; ROLES],
}

const fn wish(limits: &'static [(usize, u32)], auto: bool) -> Wish {
    Wish { limits, auto, hold_run: false, run: None }
}

pub const CASTS: [Cast; 3] = [
    Cast {
        name: "one limit",
        wishes: [wish(&[(0, 1)], false), wish(&[(0, 2)], false), wish(&[(0, 1)], true)],
    },
    Cast {
        name: "two limits",
        wishes: [wish(&[(0, 1), (1, 1)], false), wish(&[(0, 1)], false), wish(&[(1, 1)], true)],
    },
    Cast {
        name: "runs",
        wishes: [
            Wish { limits: &[(0, 1)], auto: true, hold_run: true, run: Some("r") },
            Wish { limits: &[(1, 1), (0, 1)], auto: false, hold_run: false, run: Some("r") },
            wish(&[(0, 1)], false),
        ],
    },
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Move {
    /// On the line of this node, or on none.
    Acquire {
        role: usize,
        node: Option<u64>,
    },
    Confirm {
        role: usize,
    },
    Release {
        role: usize,
    },
    Leave {
        role: usize,
    },
    /// With the id of the slot before this one, which has ended.
    ReleaseOld {
        role: usize,
    },
    HangUp {
        role: usize,
        node: u64,
    },
    EndLine {
        role: usize,
        node: u64,
    },
    Capacity {
        limit: usize,
        to: u32,
    },
    Pause {
        limit: usize,
    },
    Resume {
        limit: usize,
    },
    EndRun,
    /// Time goes on to the millisecond before something is due, to that instant, and to long after.
    Before,
    Due,
    Late,
    Crash {
        node: u64,
    },
}

impl Cast {
    /// Those that can change anything here, whatever the state.
    pub fn moves(&self) -> Vec<Move> {
        let mut moves = vec![Move::Due, Move::Before, Move::Late];
        for (role, wish) in self.wishes.iter().enumerate() {
            moves.push(Move::Acquire { role, node: None });
            moves.extend([Move::Confirm { role }, Move::Release { role }, Move::Leave { role }]);
            moves.push(Move::ReleaseOld { role });
            for node in [1, 2].into_iter().filter(|_| wish.auto) {
                moves.push(Move::Acquire { role, node: Some(node) });
                moves.extend([Move::HangUp { role, node }, Move::EndLine { role, node }]);
            }
        }
        for limit in (0..LIMITS.len()).filter(|limit| self.uses(*limit)) {
            moves.extend([1, 2].map(|to| Move::Capacity { limit, to }));
            moves.extend([Move::Pause { limit }, Move::Resume { limit }]);
        }
        if self.wishes.iter().any(|wish| wish.run.is_some()) {
            moves.push(Move::EndRun);
        }
        moves.extend([Move::Crash { node: 1 }, Move::Crash { node: 2 }]);
        moves
    }

    fn uses(&self, limit: usize) -> bool {
        self.wishes.iter().any(|wish| wish.limits.iter().any(|(used, _)| *used == limit))
    }

    pub fn declarations(&self) -> Vec<Command> {
        let declared = |limit: usize| Declaration {
            limit: name(LIMITS[limit]),
            // The one limit has room for a heavy slot.
            capacity: if self.uses(1) { 1 } else { 2 },
            max_hold_ms: MAX_HOLDS_MS[limit],
        };
        let used = (0..LIMITS.len()).filter(|limit| self.uses(*limit));
        used.map(|limit| ask(Verb::Declare(declared(limit)))).collect()
    }

    fn acquire(&self, role: usize, slot: SlotId, line: Option<Line>) -> Acquire {
        let wish = &self.wishes[role];
        Acquire {
            slot,
            asks: wish
                .limits
                .iter()
                .map(|(limit, weight)| Ask { limit: name(LIMITS[*limit]), weight: *weight })
                .collect(),
            run: wish.run.map(name),
            workflow: None,
            label: None,
            timeout_ms: TIMEOUTS_MS[role],
            confirm: if wish.auto { Confirm::Auto } else { Confirm::Holder },
            hold: if wish.hold_run { Hold::Run } else { Hold::Released },
            line,
        }
    }
}

/// The engine with the number of each role's newest slot.
#[derive(Clone)]
pub struct Stage {
    pub engine: Engine,
    numbers: [u32; ROLES],
}

impl Stage {
    pub fn new() -> Stage {
        Stage { engine: Engine::new([1, 2], Bounds::default()), numbers: [0; ROLES] }
    }

    pub fn slot(&self, role: usize) -> SlotId {
        slot(role, self.numbers[role])
    }

    fn line(&self, role: usize, node: u64) -> Line {
        line(node, role, self.numbers[role])
    }

    pub fn shape(&self) -> u128 {
        // `x17`, `y3`: the letter is the role.
        self.engine.shape(|id| u64::from(id.as_str().as_bytes()[0]))
    }

    /// When the move is made, and the command it is; none if it is none here.
    pub fn command(&mut self, cast: &Cast, made: Move) -> Option<(u64, Command)> {
        let now = self.engine.now();
        let due = self.engine.next_due();
        let at = match made {
            Move::Before => due.map(|due| due - 1).filter(|at| *at > now)?,
            Move::Due => due?,
            Move::Late => due? + LATE_MS,
            _ => now,
        };
        let verb = match made {
            Move::Before | Move::Due | Move::Late => return Some((at, Command::Advance)),
            Move::Crash { node } => return Some((at, Command::DropLines { writer: node })),
            Move::Acquire { role, node } => {
                self.begin_anew(role);
                let line = node.map(|node| self.line(role, node));
                Verb::Acquire(cast.acquire(role, self.slot(role), line))
            }
            Move::Confirm { role } => Verb::Confirm { slot: self.slot(role) },
            Move::Release { role } => Verb::Release { slot: self.slot(role) },
            Move::Leave { role } => Verb::Leave { slot: self.slot(role) },
            Move::ReleaseOld { role } => {
                Verb::Release { slot: slot(role, self.numbers[role].checked_sub(1)?) }
            }
            Move::HangUp { role, node } => {
                Verb::HangUp { slot: self.slot(role), line: self.line(role, node) }
            }
            Move::EndLine { role, node } => {
                Verb::EndLine { slot: self.slot(role), line: self.line(role, node) }
            }
            Move::Capacity { limit, to } => {
                Verb::SetCapacity { limit: name(LIMITS[limit]), capacity: Some(to) }
            }
            Move::Pause { limit } => Verb::Pause { limit: name(LIMITS[limit]) },
            Move::Resume { limit } => Verb::Resume { limit: name(LIMITS[limit]) },
            Move::EndRun => Verb::EndRun { run: name("r"), status: RunStatus::Failed },
        };
        Some((at, ask(verb)))
    }

    /// Whoever has lost its slot asks for another.
    fn begin_anew(&mut self, role: usize) {
        let status = self.engine.status("default", self.slot(role).as_str());
        self.numbers[role] += u32::from(matches!(status, SlotStatus::Ended(_)));
    }
}

fn slot(role: usize, number: u32) -> SlotId {
    name(&format!("{}{number}", ["x", "y", "z"][role]))
}

/// Each slot has one line on each node.
fn line(node: u64, role: usize, number: u32) -> Line {
    Line { writer: node, number: u64::from(number) * ROLES as u64 + role as u64 }
}

fn ask(verb: Verb) -> Command {
    Command::In(Box::new(Request {
        namespace: Default::default(),
        request: None,
        by: None,
        reason: None,
        verb,
    }))
}

fn name<T: std::str::FromStr>(text: &str) -> T {
    text.parse().ok().unwrap_or_else(|| panic!("{text:?} is not a name"))
}

impl fmt::Display for Move {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let role = |role: usize| ["x", "y", "z"][role];
        match *self {
            Move::Acquire { role: it, node: None } => write!(f, "{} acquires", role(it)),
            Move::Acquire { role: it, node: Some(node) } => {
                write!(f, "{} acquires on a line of node {node}", role(it))
            }
            Move::Confirm { role: it } => write!(f, "{} confirms", role(it)),
            Move::Release { role: it } => write!(f, "{} releases", role(it)),
            Move::Leave { role: it } => write!(f, "{} leaves", role(it)),
            Move::ReleaseOld { role: it } => write!(f, "{} releases its slot before this one", role(it)),
            Move::HangUp { role: it, node } => write!(f, "{} hangs up on node {node}", role(it)),
            Move::EndLine { role: it, node } => write!(f, "{}'s wait on node {node} runs out", role(it)),
            Move::Capacity { limit, to } => write!(f, "capacity of {} becomes {to}", LIMITS[limit]),
            Move::Pause { limit } => write!(f, "{} is paused", LIMITS[limit]),
            Move::Resume { limit } => write!(f, "{} is resumed", LIMITS[limit]),
            Move::EndRun => write!(f, "run r fails"),
            Move::Before => write!(f, "time goes on to just before what is due"),
            Move::Due => write!(f, "time goes on to what is due"),
            Move::Late => write!(f, "nobody is there until 6 s after something was due"),
            Move::Crash { node } => write!(f, "node {node} dies"),
        }
    }
}
