//! Commands of every kind, for the targets to begin with.

use maitred_engine::{
    Engine,
    bounds::Bounds,
    command::{
        Acquire, Admit, Ask, Command, Confirm, Declaration, Hold, Line, Request, RunStatus, Spec, SpecKind,
        Verb,
    },
};

pub(crate) const STAMP: u64 = 1_800_000_000_000;

fn name<T: std::str::FromStr>(text: &str) -> T {
    text.parse().ok().unwrap_or_else(|| panic!("{text} is a name"))
}

fn of(verb: Verb) -> Command {
    let (request, by) = (Some(name("req-1")), Some(name("Ana")));
    Command::In(Box::new(Request { namespace: name("default"), request, by, reason: None, verb }))
}

/// In an order in which most of them have something to do.
pub(crate) fn one_of_each() -> Vec<Command> {
    let (limit, slot, run) = (|| name("gpu"), || name("s1"), || name("r1"));
    let declared = |limit: &str| Declaration { limit: name(limit), capacity: 4, max_hold_ms: 60_000 };
    let line = Line { writer: 9, number: 300 };
    vec![
        of(Verb::Deploy(vec![declared("gpu"), declared("api")])),
        of(Verb::Declare(declared("db"))),
        of(Verb::SetCapacity { limit: limit(), capacity: Some(3) }),
        of(Verb::SetMaxHold { limit: limit(), max_hold_ms: Some(30_000) }),
        of(Verb::Acquire(acquire(line))),
        of(Verb::Confirm { slot: slot() }),
        of(Verb::Admit(admit())),
        of(Verb::Pause { limit: limit() }),
        of(Verb::Resume { limit: limit() }),
        of(Verb::EndLine { slot: slot(), line }),
        of(Verb::HangUp { slot: slot(), line }),
        of(Verb::Leave { slot: slot() }),
        of(Verb::Release { slot: slot() }),
        of(Verb::EndRun { run: run(), status: RunStatus::Failed }),
        of(Verb::ResetRate { task: name("t"), key: name("user=1") }),
        Command::DropLines { writer: 9 },
        Command::SetRules { version: 1 },
        Command::Advance,
    ]
}

fn acquire(line: Line) -> Acquire {
    Acquire {
        slot: name("s1"),
        asks: vec![Ask { limit: name("gpu"), weight: 3 }, Ask { limit: name("api"), weight: 1 }],
        run: Some(name("r1")),
        workflow: Some(name("call")),
        label: None,
        timeout_ms: 86_400_000,
        confirm: Confirm::Auto,
        hold: Hold::Run,
        line: Some(line),
    }
}

fn admit() -> Admit {
    let rate = SpecKind::Rate { window_ms: 60_000, cost: 2, successes_only: true };
    let specs = vec![
        Spec { key: name("user=1"), limit: 5, kind: rate },
        Spec { key: name("user=1"), limit: 1, kind: SpecKind::Place },
    ];
    Admit { task: name("t"), run: Some(name("r1")), specs }
}

/// An engine in which all of these have been carried out, but for those that give something back.
pub(crate) fn furnished() -> Engine {
    let mut engine = Engine::new([3, 4], Bounds::default());
    let line = Line { writer: 9, number: 301 };
    let ask = |slot: &str, line| {
        of(Verb::Acquire(Acquire { slot: name(slot), line, ..acquire(Line { writer: 9, number: 302 }) }))
    };
    let more = [ask("s1", None), ask("s2", Some(line)), ask("s3", None), of(Verb::Admit(admit()))];
    let before = one_of_each().into_iter().take(4);
    for command in before.chain(more) {
        engine.apply(STAMP, &command, &mut Vec::new());
    }
    engine
}
