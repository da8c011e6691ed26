//! Steps of the model as commands of the engine.

use std::str::FromStr;

use maitred_engine::{
    command::{
        Acquire, Admit, Ask, Command, Confirm, Declaration, Hold, Line, Request, RunStatus, Spec, SpecKind,
        Verb,
    },
    names::{LimitName, RunId},
};
use maitred_model as model;

/// The one server whose lines the model knows.
const WRITER: u64 = 7;

pub fn name<T: FromStr>(text: &str) -> T {
    text.parse().ok().unwrap_or_else(|| panic!("{text:?} is not a name"))
}

pub fn command(step: &model::Step) -> Command {
    let verb = match &step.verb {
        model::Verb::Advance => return Command::Advance,
        model::Verb::DropLines => return Command::DropLines { writer: WRITER },
        verb => engine_verb(verb),
    };
    Command::In(Box::new(Request {
        namespace: name(&step.namespace),
        request: step.request_id.as_deref().map(name),
        by: None,
        reason: None,
        verb,
    }))
}

fn engine_verb(verb: &model::Verb) -> Verb {
    match verb.clone() {
        model::Verb::Declare { limit, capacity, max_hold_ms } => {
            Verb::Declare(declaration(&model::Declared { limit, capacity, max_hold_ms }))
        }
        model::Verb::Deploy { limits } => Verb::Deploy(limits.iter().map(declaration).collect()),
        model::Verb::Capacity { limit, value } => {
            Verb::SetCapacity { limit: name(&limit), capacity: value.map(|value| value as u32) }
        }
        model::Verb::MaxHold { limit, value_ms } => {
            Verb::SetMaxHold { limit: name(&limit), max_hold_ms: value_ms }
        }
        model::Verb::Pause { limit } => Verb::Pause { limit: name(&limit) },
        model::Verb::Resume { limit } => Verb::Resume { limit: name(&limit) },
        model::Verb::Acquire(ask) => Verb::Acquire(acquire(&ask)),
        model::Verb::Confirm { slot } => Verb::Confirm { slot: name(&slot) },
        model::Verb::Leave { slot } => Verb::Leave { slot: name(&slot) },
        model::Verb::Release { slot } => Verb::Release { slot: name(&slot) },
        model::Verb::HangUp { slot, line } => Verb::HangUp { slot: name(&slot), line: line_of(line) },
        model::Verb::LineEnd { slot, line } => Verb::EndLine { slot: name(&slot), line: line_of(line) },
        model::Verb::End { run, status } => Verb::EndRun { run: name(&run), status: status_of(status) },
        model::Verb::Admit { task, run, specs } => Verb::Admit(admit(&task, run.as_deref(), &specs)),
        model::Verb::Advance | model::Verb::DropLines => unreachable!("not within a namespace"),
    }
}

fn declaration(declared: &model::Declared) -> Declaration {
    Declaration {
        limit: name(&declared.limit),
        capacity: declared.capacity as u32,
        max_hold_ms: declared.max_hold_ms,
    }
}

fn acquire(ask: &model::Acquire) -> Acquire {
    let asked =
        |(limit, weight): &(String, u64)| Ask { limit: name::<LimitName>(limit), weight: *weight as u32 };
    Acquire {
        slot: name(&ask.slot),
        asks: ask.limits.iter().map(asked).collect(),
        run: ask.run.as_deref().map(name::<RunId>),
        workflow: None,
        label: None,
        timeout_ms: ask.timeout_ms,
        confirm: if ask.auto { Confirm::Auto } else { Confirm::Holder },
        hold: if ask.hold_run { Hold::Run } else { Hold::Released },
        line: ask.line.map(line_of),
    }
}

fn line_of(number: u64) -> Line {
    Line { writer: WRITER, number }
}

fn status_of(status: model::EndStatus) -> RunStatus {
    match status {
        model::EndStatus::Succeeded => RunStatus::Succeeded,
        model::EndStatus::Failed => RunStatus::Failed,
        model::EndStatus::Cancelled => RunStatus::Cancelled,
    }
}

pub fn admit(task: &str, run: Option<&str>, specs: &[model::Spec]) -> Admit {
    Admit { task: name(task), run: run.map(name), specs: specs.iter().map(spec).collect() }
}

fn spec(spec: &model::Spec) -> Spec {
    let kind = spec.window_ms.map_or(SpecKind::Place, |window_ms| SpecKind::Rate {
        window_ms,
        cost: spec.cost,
        successes_only: spec.successes_only,
    });
    Spec { key: name(&spec.key), limit: spec.limit, kind }
}
