//! What callers do: hold a slot, count against keys, or operate the limits.

use std::collections::VecDeque;

use maitred_api::{Answer, Call, Problem, Reason, SlotState};
use maitred_engine::{
    command::{Acquire, Admit, Ask, Confirm, Declaration, Hold, RunStatus, Spec, SpecKind, Verb},
    names::{LimitName, Namespace, RequestId, RunId, SlotId},
    time::{MINUTE_MS, Millis, SECOND_MS},
};

use crate::{books::Asked, chance::Chance, client::request};

const NAMESPACES: [&str; 2] = ["default", "other"];
const LIMITS: [&str; 4] = ["a", "b", "c", "d"];
const HOLDS_MS: [Millis; 5] = [5 * SECOND_MS, 40 * SECOND_MS, 2 * MINUTE_MS, 5 * MINUTE_MS, 20 * MINUTE_MS];
const TIMEOUTS_MS: [Millis; 6] =
    [0, 3 * SECOND_MS, 30 * SECOND_MS, 2 * MINUTE_MS, 10 * MINUTE_MS, 30 * MINUTE_MS];
const WORK_MS: [Millis; 4] = [500, 8 * SECOND_MS, 40 * SECOND_MS, 4 * MINUTE_MS];
const WAITS_MS: [Millis; 4] = [200, 5 * SECOND_MS, 20 * SECOND_MS, 90 * SECOND_MS];

#[derive(Debug)]
pub(crate) struct Job {
    namespace: Namespace,
    run: Option<RunId>,
    /// Verbs to be carried out one after the other, each until its answer is definite.
    verbs: VecDeque<(Verb, Option<RequestId>)>,
    slot: Option<Holding>,
}

/// The part of a job that holds a slot.
#[derive(Debug)]
struct Holding {
    acquire: Acquire,
    waits: bool,
    stage: Stage,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Ask,
    Confirm,
    Look,
    Release,
    Leave,
}

pub(crate) enum Next {
    Ask { after_ms: Millis },
    Over,
}

pub(crate) fn name<T: std::str::FromStr>(text: &str) -> T {
    text.parse().ok().unwrap_or_else(|| panic!("{text:?} is not a name"))
}

/// In the form of a UUIDv7, which says when it was made, or one that says nothing.
fn id(chance: &mut Chance, kind: char, client: usize, number: u32, now: Millis) -> String {
    if chance.percent(50) {
        return format!("{kind}-{client}-{number}-{}", chance.below(1 << 40));
    }
    let (high, low) = (now >> 16, now & 0xffff);
    let tail = chance.below(1 << 40);
    format!("{high:08x}-{low:04x}-7{client:03x}-8{:03x}-{tail:012x}", number & 0xfff)
}

impl Job {
    pub(crate) fn new(chance: &mut Chance, client: usize, number: u32, operates: bool, now: Millis) -> Job {
        if operates && number == 1 {
            return Job::declare_all(chance);
        }
        let namespace = name(if chance.percent(85) { NAMESPACES[0] } else { NAMESPACES[1] });
        let run = chance.percent(60).then(|| name(&format!("r{}", chance.below(6))));
        let mut job = Job { namespace, run, verbs: VecDeque::new(), slot: None };
        let fresh = |chance: &mut Chance| name::<RequestId>(&id(chance, 'q', client, number, now));
        if operates {
            job.verbs.push_back((operate(chance), Some(fresh(chance))));
        } else if chance.percent(70) {
            let slot = name(&id(chance, 's', client, number, now));
            job.slot = Some(Holding::new(chance, slot, job.run.clone()));
        } else {
            let with_id = chance.percent(60).then(|| fresh(chance));
            job.verbs.push_back((admit(chance, job.run.clone()), with_id));
        }
        if let Some(run) = job.run.clone().filter(|_| !operates && chance.percent(40)) {
            let status = chance.pick(&[RunStatus::Succeeded, RunStatus::Failed, RunStatus::Cancelled]);
            let with_id =
                chance.percent(50).then(|| name(&format!("{}-end", id(chance, 'e', client, number, now))));
            job.verbs.push_back((Verb::EndRun { run, status }, with_id));
        }
        job
    }

    fn of(namespace: &str, verbs: impl Iterator<Item = Verb>) -> Job {
        let verbs = verbs.map(|verb| (verb, None)).collect();
        Job { namespace: name(namespace), run: None, verbs, slot: None }
    }

    fn declare_all(chance: &mut Chance) -> Job {
        let declared: Vec<Declaration> = LIMITS.iter().map(|limit| declaration(chance, limit)).collect();
        // The other namespace gets its limits by being declared one by one, later.
        Job::of(NAMESPACES[0], std::iter::once(Verb::Deploy(declared)))
    }

    /// The operator lifts every pause and override, so that all can come to an end.
    pub(crate) fn put_right() -> Job {
        let lifted = LIMITS.iter().flat_map(|text| {
            let limit: LimitName = name(text);
            [
                Verb::Resume { limit: limit.clone() },
                Verb::SetCapacity { limit: limit.clone(), capacity: Some(5) },
                Verb::SetMaxHold { limit, max_hold_ms: None },
            ]
        });
        Job::of(NAMESPACES[0], lifted)
    }

    /// What it asks next, and for how long it stays on the line.
    pub(crate) fn ask(&mut self, chance: &mut Chance, seen: u64) -> (Asked, Option<Millis>) {
        let Some(holding) = &self.slot else {
            let (verb, id) = self.verbs.front().expect("a job without a next step is over").clone();
            let mut request = request(&self.namespace, verb);
            request.request = id;
            return (Asked::Change(Box::new(request)), None);
        };
        let change = |verb| Asked::Change(Box::new(request(&self.namespace, verb)));
        let slot = holding.acquire.slot.clone();
        let wait_ms = chance.pick(&WAITS_MS);
        match holding.stage {
            Stage::Ask => (change(Verb::Acquire(holding.acquire.clone())), holding.waits.then_some(wait_ms)),
            Stage::Confirm => (change(Verb::Confirm { slot }), None),
            Stage::Release => (change(Verb::Release { slot }), None),
            Stage::Leave => (change(Verb::Leave { slot }), None),
            Stage::Look if chance.percent(50) => {
                (Asked::Look { namespace: self.namespace.clone(), slot }, Some(wait_ms))
            }
            Stage::Look => {
                let call = if chance.percent(30) {
                    let limit = holding.acquire.asks[0].limit.to_string();
                    Call::LimitSlots { limit, skip: 0, most: Some(1_000) }
                } else {
                    Call::Slot { slot: slot.to_string(), wait: Default::default() }
                };
                let min_revision = chance.percent(50).then_some(seen);
                (Asked::Read { namespace: self.namespace.clone(), call: Box::new(call), min_revision }, None)
            }
        }
    }

    pub(crate) fn told(
        &mut self,
        chance: &mut Chance,
        answer: Option<&Result<Answer, Problem>>,
        healing: bool,
    ) -> Next {
        let again = Next::Ask { after_ms: 100 + chance.below(8 * SECOND_MS) };
        let definite = match answer {
            None => None,
            Some(Ok(answer)) => Some(Ok(answer)),
            Some(Err(problem)) if is_unsure(problem.reason) => None,
            Some(Err(problem)) => Some(Err(problem.reason)),
        };
        let Some(definite) = definite else { return self.unsure(chance, again) };
        if let Some(holding) = &mut self.slot {
            if let Some(after_ms) = holding.told(chance, definite, healing) {
                return Next::Ask { after_ms };
            }
            self.slot = None;
        } else {
            self.verbs.pop_front();
        }
        if self.verbs.is_empty() { Next::Over } else { Next::Ask { after_ms: chance.below(2 * SECOND_MS) } }
    }

    /// Asks again with the same ids; what has no id is left alone.
    fn unsure(&mut self, chance: &mut Chance, again: Next) -> Next {
        if let Some(holding) = &mut self.slot {
            if holding.stage == Stage::Look && chance.percent(50) {
                holding.stage = Stage::Ask;
            }
            return again;
        }
        let counts_twice =
            |(verb, id): &(Verb, Option<RequestId>)| id.is_none() && matches!(verb, Verb::Admit(_));
        if self.verbs.front().is_some_and(counts_twice) {
            self.verbs.pop_front();
        }
        if self.verbs.is_empty() { Next::Over } else { again }
    }
}

/// Whether something may have happened, or the node could not take it just now.
fn is_unsure(reason: Reason) -> bool {
    matches!(reason, Reason::Unknown | Reason::Unavailable | Reason::Overloaded | Reason::StorageFull)
}

impl Holding {
    fn new(chance: &mut Chance, slot: SlotId, run: Option<RunId>) -> Holding {
        let auto = chance.percent(45);
        let count = 1 + chance.weighted(&[70, 25, 5]);
        let mut asks: Vec<Ask> = Vec::new();
        while asks.len() < count {
            let limit = LIMITS[chance.weighted(&[45, 30, 15, 10])];
            if asks.iter().all(|ask| ask.limit.as_str() != limit) {
                asks.push(Ask { limit: name(limit), weight: [1, 2, 4][chance.weighted(&[85, 13, 2])] });
            }
        }
        let acquire = Acquire {
            slot,
            asks,
            run,
            workflow: None,
            label: None,
            timeout_ms: chance.pick(&TIMEOUTS_MS),
            confirm: if auto { Confirm::Auto } else { Confirm::Holder },
            hold: if chance.percent(30) { Hold::Run } else { Hold::Released },
            line: None,
        };
        Holding { acquire, waits: chance.percent(75), stage: Stage::Ask }
    }

    /// When to ask what next; none if it is over.
    fn told(
        &mut self,
        chance: &mut Chance,
        answer: Result<&Answer, Reason>,
        healing: bool,
    ) -> Option<Millis> {
        let Ok(Answer::Slot(told)) = answer else { return self.told_otherwise(chance, answer) };
        let moment_ms = chance.below(300);
        match told.slot.state {
            SlotState::Queued => {
                self.stage = match chance.below(100) {
                    0..6 => Stage::Leave,
                    6..60 => Stage::Ask,
                    _ => Stage::Look,
                };
                Some(moment_ms + chance.below(8 * SECOND_MS))
            }
            SlotState::Reserved if self.stage == Stage::Leave => Some(moment_ms),
            SlotState::Reserved => {
                self.stage = if self.acquire.confirm == Confirm::Auto { Stage::Ask } else { Stage::Confirm };
                // Some are too late.
                Some(if chance.percent(8) && !healing {
                    115 * SECOND_MS + chance.below(10 * SECOND_MS)
                } else {
                    moment_ms
                })
            }
            SlotState::Busy => {
                self.stage = Stage::Release;
                // Some never give back: their slot expires. Some change what they ask for, which is refused.
                if chance.percent(4) && !healing {
                    self.acquire.timeout_ms += 1;
                    self.stage = Stage::Ask;
                }
                Some(chance.pick(&WORK_MS) + moment_ms)
            }
            _ => None,
        }
    }

    /// An answer to a release, a list, or a refusal.
    fn told_otherwise(&mut self, chance: &mut Chance, answer: Result<&Answer, Reason>) -> Option<Millis> {
        match answer {
            Ok(Answer::Release(told)) if told.released && chance.percent(20) => Some(chance.below(SECOND_MS)),
            Ok(Answer::LimitSlots(_)) => Some(chance.below(10 * SECOND_MS)),
            Err(Reason::LimitNotFound) if self.stage == Stage::Look => {
                self.stage = Stage::Ask;
                Some(chance.below(5 * SECOND_MS))
            }
            _ => None,
        }
    }
}

fn declaration(chance: &mut Chance, limit: &str) -> Declaration {
    let capacity = 1 + chance.weighted(&[40, 30, 20, 10]) as u32;
    Declaration { limit: name(limit), capacity, max_hold_ms: chance.pick(&HOLDS_MS) }
}

fn operate(chance: &mut Chance) -> Verb {
    let text = chance.pick(&LIMITS);
    let limit: LimitName = name(text);
    match chance.weighted(&[12, 5, 14, 8, 5, 12, 2]) {
        0 => Verb::Declare(declaration(chance, text)),
        1 => {
            let mut kept = Vec::new();
            for limit in LIMITS {
                if chance.percent(80) {
                    kept.push(declaration(chance, limit));
                }
            }
            Verb::Deploy(kept)
        }
        2 => Verb::SetCapacity { limit, capacity: chance.percent(70).then(|| 1 + chance.below(4) as u32) },
        3 => Verb::SetMaxHold { limit, max_hold_ms: chance.percent(60).then(|| chance.pick(&HOLDS_MS)) },
        4 => Verb::Pause { limit },
        5 => Verb::Resume { limit },
        _ => Verb::ResetRate { task: name("t"), key: name("k") },
    }
}

fn admit(chance: &mut Chance, run: Option<RunId>) -> Verb {
    let count = 1 + chance.weighted(&[55, 30, 15]);
    let mut specs: Vec<Spec> = Vec::new();
    while specs.len() < count {
        let is_place = run.is_some() && chance.percent(35);
        let kind = if is_place {
            SpecKind::Place
        } else {
            let window_ms = chance.pick(&[SECOND_MS, 10 * SECOND_MS, MINUTE_MS, 60 * MINUTE_MS]);
            let successes_only = run.is_some() && chance.percent(40);
            SpecKind::Rate { window_ms, cost: 1 + chance.below(2), successes_only }
        };
        let spec = Spec { key: name(chance.pick(&["k", "j", "i"])), limit: chance.below(7), kind };
        let same = |other: &Spec| other.key == spec.key && (other.kind == SpecKind::Place) == is_place;
        if !specs.iter().any(same) {
            specs.push(spec);
        }
    }
    Verb::Admit(Admit { task: name(chance.pick(&["t", "u"])), run, specs })
}
