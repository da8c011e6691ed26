//! The naive model of the rules, given the commands of the durable journal at their times, must say what the engine
//! said.

#[path = "answers.rs"]
pub mod answers;

use std::collections::BTreeMap;

use maitred_engine::{
    command::{self, Command, Confirm, Hold, Line, RunStatus, SpecKind, Verb},
    outcome::Outcome,
    time::Millis,
};
use maitred_model::{self as model, Model};

use self::answers::{of_engine, of_model};

/// The model, and what it has to know besides to be given commands of the engine.
#[derive(Clone, Default)]
pub struct Judge {
    pub model: Model,
    /// The model numbers lines over all servers: each with its place.
    lines: BTreeMap<(u64, u64), (u64, String, String)>,
}

/// Says how many outcomes were compared, or where the two differ.
pub fn judge(said: &[(Millis, Command, Outcome)]) -> Result<u64, String> {
    let mut judge = Judge::default();
    for (index, (at, command, outcome)) in said.iter().enumerate() {
        let Some(answer) = judge.command(*at, command) else {
            return Ok(index as u64);
        };
        let replayed = matches!(outcome, Outcome::Admission(admission) if admission.replayed);
        let (model, engine) = (of_model(&answer, !replayed), of_engine(outcome));
        if model != engine {
            return Err(format!(
                "command {index} at {at}, {command:?}\n  model:  {model:?}\n  engine: {engine:?}"
            ));
        }
    }
    Ok(said.len() as u64)
}

impl Judge {
    /// What the model says to the command. None for what the model does not know: from there on it cannot judge.
    pub fn command(&mut self, at: Millis, command: &Command) -> Option<model::Answer> {
        match command {
            Command::Advance => Some(self.model.command(at, "default", None, model::Verb::Advance)),
            Command::SetRules { .. } => None,
            Command::DropLines { writer } => Some(self.drop_lines(at, *writer)),
            Command::In(request) => {
                let ns = request.namespace.as_str();
                let verb = self.verb(ns, &request.verb)?;
                let id = request.request.as_ref().map(|id| id.as_str());
                Some(self.model.command(at, ns, id, verb))
            }
        }
    }

    /// The model's server dies with all its lines; here only one of several does, so its lines end one by one: before
    /// anything falls due, as that of a server does.
    fn drop_lines(&mut self, at: Millis, writer: u64) -> model::Answer {
        let before = self.model.now_ms();
        for (line, ns, slot) in self.lines.range((writer, 0)..=(writer, u64::MAX)).map(|(_, named)| named) {
            self.model.command(before, ns, None, model::Verb::LineEnd { slot: slot.clone(), line: *line });
        }
        self.model.command(at, "default", None, model::Verb::Advance)
    }

    fn line(&mut self, ns: &str, slot: &str, line: Line) -> u64 {
        let next = self.lines.len() as u64;
        let named = (next, ns.to_owned(), slot.to_owned());
        self.lines.entry((line.writer, line.number)).or_insert(named).0
    }

    fn verb(&mut self, ns: &str, verb: &Verb) -> Option<model::Verb> {
        Some(match verb {
            Verb::Declare(declared) => {
                let model::Declared { limit, capacity, max_hold_ms } = declaration(declared);
                model::Verb::Declare { limit, capacity, max_hold_ms }
            }
            Verb::Deploy(limits) => model::Verb::Deploy { limits: limits.iter().map(declaration).collect() },
            Verb::SetCapacity { limit, capacity } => {
                model::Verb::Capacity { limit: limit.to_string(), value: capacity.map(u64::from) }
            }
            Verb::SetMaxHold { limit, max_hold_ms } => {
                model::Verb::MaxHold { limit: limit.to_string(), value_ms: *max_hold_ms }
            }
            Verb::Pause { limit } => model::Verb::Pause { limit: limit.to_string() },
            Verb::Resume { limit } => model::Verb::Resume { limit: limit.to_string() },
            Verb::Acquire(acquire) => {
                let line = acquire.line.map(|line| self.line(ns, acquire.slot.as_str(), line));
                model::Verb::Acquire(ask(acquire, line))
            }
            Verb::Confirm { slot } => model::Verb::Confirm { slot: slot.to_string() },
            Verb::Release { slot } => model::Verb::Release { slot: slot.to_string() },
            Verb::Leave { slot } => model::Verb::Leave { slot: slot.to_string() },
            Verb::HangUp { slot, line } => {
                let line = self.line(ns, slot.as_str(), *line);
                model::Verb::HangUp { slot: slot.to_string(), line }
            }
            Verb::EndLine { slot, line } => {
                let line = self.line(ns, slot.as_str(), *line);
                model::Verb::LineEnd { slot: slot.to_string(), line }
            }
            Verb::EndRun { run, status } => model::Verb::End { run: run.to_string(), status: end(*status) },
            Verb::Admit(admit) => model::Verb::Admit {
                task: admit.task.to_string(),
                run: admit.run.as_ref().map(ToString::to_string),
                specs: admit.specs.iter().map(spec).collect(),
            },
            Verb::ResetRate { .. } => return None,
        })
    }
}

fn declaration(declared: &command::Declaration) -> model::Declared {
    let capacity = u64::from(declared.capacity);
    model::Declared { limit: declared.limit.to_string(), capacity, max_hold_ms: declared.max_hold_ms }
}

fn ask(acquire: &command::Acquire, line: Option<u64>) -> model::Acquire {
    model::Acquire {
        slot: acquire.slot.to_string(),
        limits: acquire.asks.iter().map(|ask| (ask.limit.to_string(), u64::from(ask.weight))).collect(),
        run: acquire.run.as_ref().map(ToString::to_string),
        timeout_ms: acquire.timeout_ms,
        auto: acquire.confirm == Confirm::Auto,
        hold_run: acquire.hold == Hold::Run,
        line,
    }
}

fn end(status: RunStatus) -> model::EndStatus {
    match status {
        RunStatus::Succeeded => model::EndStatus::Succeeded,
        RunStatus::Failed => model::EndStatus::Failed,
        RunStatus::Cancelled => model::EndStatus::Cancelled,
    }
}

fn spec(spec: &command::Spec) -> model::Spec {
    let (window_ms, cost, successes_only) = match spec.kind {
        SpecKind::Rate { window_ms, cost, successes_only } => (Some(window_ms), cost, successes_only),
        SpecKind::Place => (None, 1, false),
    };
    model::Spec { key: spec.key.to_string(), limit: spec.limit, window_ms, cost, successes_only, label: None }
}
