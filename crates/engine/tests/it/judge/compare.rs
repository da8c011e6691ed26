//! One sequence on both sides, compared step by step.

use std::collections::BTreeSet;

use maitred_engine::{
    Engine,
    bounds::Bounds,
    command::Command,
    event::{Event, EventKind},
    outcome::{End, Outcome},
};
use maitred_model::{LimitView, Model, State, Step, Verb};

use super::{
    commanded::answers::{Said, engine_slot, model_slot, of_engine, of_model},
    commands::{admit, command},
};

const NAMESPACES: [&str; 2] = ["default", "other"];
const LIMITS: [&str; 4] = ["a", "b", "c", "d"];
const TASKS: [&str; 2] = ["t", "u"];
const KEYS: [&str; 3] = ["k", "j", "i"];

/// What the engine is made to do wrong, to see that it is seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Defect {
    None,
    ForgetsConfirm,
    ForgetsLeave,
    ForgetsRunEnd,
    SkipsTime,
}

impl Defect {
    fn withholds(self, step: &Step) -> bool {
        match self {
            Defect::None => false,
            Defect::ForgetsConfirm => matches!(step.verb, Verb::Confirm { .. }),
            Defect::ForgetsLeave => matches!(step.verb, Verb::Leave { .. }),
            Defect::ForgetsRunEnd => matches!(step.verb, Verb::End { .. }),
            Defect::SkipsTime => matches!(step.verb, Verb::Advance),
        }
    }
}

/// What happened in a case, to know that the cases are worth something.
#[derive(Clone, Copy, Debug, Default)]
pub struct Met {
    pub queued: u32,
    pub granted: u32,
    pub put_back: u32,
    pub ended: [u32; 5],
    pub limits_gone: u32,
    pub over: u32,
    pub refused: u32,
    pub replayed: u32,
    pub snapshots: u32,
}

impl Met {
    pub fn add(&mut self, other: &Met) {
        let Met { queued, granted, put_back, ended, limits_gone, over, refused, replayed, snapshots } = other;
        self.queued += queued;
        self.granted += granted;
        self.put_back += put_back;
        self.ended.iter_mut().zip(ended).for_each(|(sum, count)| *sum += count);
        self.limits_gone += limits_gone;
        self.over += over;
        self.refused += refused;
        self.replayed += replayed;
        self.snapshots += snapshots;
    }

    pub fn is_enough(&self) -> bool {
        let Met { queued, granted, put_back, ended, limits_gone, over, refused, replayed, snapshots } = *self;
        let counts = [queued, granted, put_back, limits_gone, over, refused, replayed, snapshots];
        counts.into_iter().chain(ended).all(|count| count >= 20)
    }

    fn note(&mut self, outcome: &Outcome, events: &[Event]) {
        match of_engine(outcome) {
            Said::Verdict { over, results } => {
                self.over += u32::from(over.is_some());
                self.replayed += u32::from(results.is_none());
            }
            Said::Refused(_) => self.refused += 1,
            _ => {}
        }
        for event in events {
            match &event.kind {
                EventKind::SlotQueued(_) => self.queued += 1,
                EventKind::SlotGranted { .. } => self.granted += 1,
                EventKind::SlotPutBack(_) => self.put_back += 1,
                EventKind::LimitGone { .. } => self.limits_gone += 1,
                EventKind::SlotEnded(slot) => {
                    let ends = [End::Released, End::Expired, End::TimedOut, End::Left, End::RunEnded];
                    let index = ends.iter().position(|end| *end == slot.end);
                    self.ended[index.expect("every end is listed")] += 1;
                }
                _ => {}
            }
        }
    }
}

/// Plays the steps on both sides. `Err` says at which step they differ, and how.
pub fn play(seed: u64, steps: &[Step], defect: Defect) -> Result<Met, String> {
    let mut sides = Sides {
        model: Model::new(),
        engine: Engine::new([seed, !seed], Bounds::default()),
        slots: BTreeSet::new(),
        met: Met::default(),
    };
    for (index, step) in steps.iter().enumerate() {
        let changed = sides.step(step, defect).and_then(|()| sides.look_around(step.at_ms));
        changed.map_err(|difference| format!("step {}: {step}\n{difference}", index + 1))?;
        if (seed + index as u64).is_multiple_of(11) {
            sides.through_a_snapshot()?;
        }
    }
    sides.replay(seed, steps, defect)?;
    Ok(sides.met)
}

struct Sides {
    model: Model,
    engine: Engine,
    /// Every slot that was ever asked for.
    slots: BTreeSet<(String, String)>,
    met: Met,
}

fn same<T: PartialEq + std::fmt::Debug>(what: &str, model: T, engine: T) -> Result<(), String> {
    if model == engine { Ok(()) } else { Err(format!("{what}\n  model:  {model:?}\n  engine: {engine:?}")) }
}

impl Sides {
    fn step(&mut self, step: &Step, defect: Defect) -> Result<(), String> {
        self.preview(step)?;
        let Step { at_ms, namespace, request_id, verb } = step.clone();
        if let Verb::Acquire(ask) = &verb {
            self.slots.insert((namespace.clone(), ask.slot.clone()));
        }
        let answer = self.model.command(at_ms, &namespace, request_id.as_deref(), verb);
        if defect.withholds(step) {
            return Ok(());
        }
        let mut events = Vec::new();
        let outcome = self.engine.apply(at_ms, &command(step), &mut events);
        self.met.note(&outcome, &events);
        let is_replayed = matches!(&outcome, Outcome::Admission(admission) if admission.replayed);
        same("answer", of_model(&answer, !is_replayed), of_engine(&outcome))?;
        let in_order = events.is_sorted_by_key(|event| event.at);
        same("events in order of time", true, in_order)
    }

    /// K3: just before an admit, `check` says what it will say, and changes nothing.
    fn preview(&self, step: &Step) -> Result<(), String> {
        let Verb::Admit { task, run, specs } = &step.verb else { return Ok(()) };
        let before = self.engine.state_digest();
        let expected = self.model.check(step.at_ms, &step.namespace, task, run.as_deref(), specs);
        let asked = admit(task, run.as_deref(), specs);
        let checked = self.engine.check(step.at_ms, &step.namespace, &asked);
        same("check", of_model(&expected, true), of_engine(&checked))?;
        same("state after check", before, self.engine.state_digest())
    }

    fn look_around(&self, at_ms: u64) -> Result<(), String> {
        for namespace in NAMESPACES {
            for limit in LIMITS {
                self.look_at_limit(at_ms, namespace, limit)?;
            }
            for (task, key) in TASKS.iter().flat_map(|task| KEYS.map(|key| (*task, key))) {
                self.look_at_key(at_ms, namespace, task, key)?;
            }
        }
        for (namespace, slot) in &self.slots {
            let expected = model_slot(&self.model.slot(at_ms, namespace, slot));
            same(&format!("slot {slot}"), expected, engine_slot(&self.engine.status(namespace, slot)))?;
        }
        Ok(())
    }

    fn look_at_limit(&self, at_ms: u64, namespace: &str, limit: &str) -> Result<(), String> {
        let view = self.engine.limit(namespace, limit).map(|view| LimitView {
            capacity: view.capacity.into(),
            max_hold_ms: view.max_hold_ms,
            busy: view.busy,
            reserved: view.reserved,
            waiting: view.waiting.into(),
            overridden: view.capacity_override.is_some() || view.max_hold_override_ms.is_some(),
            retired: view.retired,
            paused: view.paused,
        });
        same(&format!("show {namespace}/{limit}"), self.model.limit(at_ms, namespace, limit).ok(), view)?;
        let queue = self.engine.queue(namespace, limit, 0, usize::MAX);
        let ids: Vec<String> = queue.iter().map(|slot| slot.slot.to_string()).collect();
        let expected = self.model.queue(at_ms, namespace, limit).unwrap_or_default();
        same(&format!("queue {namespace}/{limit}"), expected, ids)?;
        self.look_at_holders(namespace, limit)
    }

    /// D4: what is listed is what is counted.
    fn look_at_holders(&self, namespace: &str, limit: &str) -> Result<(), String> {
        let listed = self.engine.holders(namespace, limit, 0, usize::MAX);
        let weight_of = |state: State| {
            let there = listed.iter().filter(|slot| engine_slot(&slot.status).state == state);
            let named = there.flat_map(|slot| &slot.limits).filter(|(name, _)| name.as_str() == limit);
            named.map(|(_, weight)| u64::from(*weight)).sum::<u64>()
        };
        let shown = self.engine.limit(namespace, limit).map_or((0, 0), |view| (view.busy, view.reserved));
        same("holders listed and counted", shown, (weight_of(State::Busy), weight_of(State::Reserved)))
    }

    fn look_at_key(&self, at_ms: u64, namespace: &str, task: &str, key: &str) -> Result<(), String> {
        let now = self.engine.now();
        let counter =
            self.engine.counter(at_ms, namespace, task, key).map(|view| (view.used, view.ends_at - now));
        let expected =
            self.model.counter(at_ms, namespace, task, key).map(|view| (view.used, view.resets_in_ms));
        same(&format!("counter {task}/{key}"), expected, counter)?;
        let in_flight = self.engine.in_flight(at_ms, namespace, task, key);
        same(&format!("in flight {task}/{key}"), self.model.inflight(at_ms, namespace, task, key), in_flight)
    }

    /// The engine goes on as its own snapshot, whose bytes do not depend on how it came about.
    fn through_a_snapshot(&mut self) -> Result<(), String> {
        let bytes = self.engine.snapshot();
        let restored =
            Engine::restore(&bytes).map_err(|error| format!("its own snapshot is refused: {error}"))?;
        same("snapshot of a snapshot", true, bytes == restored.snapshot())?;
        same("next due", self.engine.next_due(), restored.next_due())?;
        same("statistics", self.engine.stats(), restored.stats())?;
        self.engine = restored;
        self.met.snapshots += 1;
        Ok(())
    }

    /// T5: the same commands at the same times, from the beginning and without snapshots.
    fn replay(&self, seed: u64, steps: &[Step], defect: Defect) -> Result<(), String> {
        let mut engine = Engine::new([seed, !seed], Bounds::default());
        let played: Vec<(u64, Command)> = steps
            .iter()
            .filter(|step| !defect.withholds(step))
            .map(|step| (step.at_ms, command(step)))
            .collect();
        for (at_ms, command) in &played {
            engine.apply(*at_ms, command, &mut Vec::new());
        }
        same("digest of outcomes after a replay", self.engine.outcome_digest(), engine.outcome_digest())?;
        same("digest of state after a replay", self.engine.state_digest(), engine.state_digest())
    }
}
