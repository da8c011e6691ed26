//! JSON bodies, from the wire to the engine and back.
//!
//! A body is read as each type that a route takes. What can be read is written as JSON that is read as the same. Each
//! call in it becomes a command whose form the engine accepts, or a problem that says what is allowed. The engine carries the
//! command out, and the answer survives its way over the wire.

use std::{fmt::Debug, sync::OnceLock};

use maitred::local::{
    answer::{self, AsOf},
    check,
};
use maitred_api::{
    AcquireFields, AdmitFields, Answer, AuditFields, BatchBody, BatchFields, BatchItem, BatchResult, Call,
    CapacityFields, ClockFields, Context, DeployFields, EndRunFields, LimitFields, MaxHoldFields,
    OverviewFields, Problem, RunsFields, StartRunFields,
};
use maitred_engine::{
    Engine,
    bytes::{Reader, Writer},
    command::{Command, Request},
};
use serde::{Serialize, de::DeserializeOwned};

use crate::{cast::furnished, sound};

pub fn run(bytes: &[u8]) {
    let items = calls(bytes);
    if !items.is_empty() {
        let mut engine = restored();
        items.into_iter().for_each(|BatchItem { id, call }| ask(&mut engine, id, &call));
        sound::look_at(&mut engine);
    }
    read_only(bytes);
}

/// What the body asks for, as each of those that are whole calls.
fn calls(bytes: &[u8]) -> Vec<BatchItem> {
    let calls = [
        read::<Call>(bytes),
        read::<AcquireFields>(bytes).map(Call::Acquire),
        read::<AdmitFields>(bytes).map(Call::Admit),
        read::<DeployFields>(bytes).map(|DeployFields { limits }| Call::Deploy { limits }),
    ];
    let single = calls.into_iter().flatten().map(|call| BatchItem { id: None, call });
    let batch = read::<BatchFields>(bytes).map(|BatchFields { items }| items);
    single.chain(batch.into_iter().flatten()).collect()
}

/// Those whose routes take the rest from the path.
fn read_only(bytes: &[u8]) {
    read::<LimitFields>(bytes);
    read::<CapacityFields>(bytes);
    read::<MaxHoldFields>(bytes);
    read::<EndRunFields>(bytes);
    read::<StartRunFields>(bytes);
    read::<ClockFields>(bytes);
    read::<RunsFields>(bytes);
    read::<AuditFields>(bytes);
    read::<OverviewFields>(bytes);
}

/// As a route reads it. What is written of it is read as the same.
fn read<T: DeserializeOwned + Serialize + PartialEq + Debug>(bytes: &[u8]) -> Option<T> {
    let fields: T = serde_json::from_slice(bytes).ok()?;
    let written = serde_json::to_string(&fields).unwrap_or_else(|error| panic!("{fields:?}: {error}"));
    match serde_json::from_str::<T>(&written) {
        Ok(again) => assert_eq!(again, fields, "written as {written}"),
        Err(error) => panic!("{fields:?} is written as {written}, which is refused: {error}"),
    }
    Some(fields)
}

fn restored() -> Engine {
    static FURNISHED: OnceLock<Vec<u8>> = OnceLock::new();
    let bytes = FURNISHED.get_or_init(|| furnished().snapshot());
    Engine::restore(bytes).unwrap_or_else(|error| panic!("its own snapshot: {error}"))
}

fn ask(engine: &mut Engine, request_id: Option<String>, call: &Call) {
    let context = Context { request_id, ..Context::default() };
    match check::request(&context, call) {
        Err(problem) => on_the_wire(Err(told(problem))),
        Ok(request) => {
            assert!(call.changes() || matches!(call, Call::Admit(fields) if fields.check), "{call:?}");
            on_the_wire(carry_out(engine, request, call));
        }
    }
}

/// Words that a log can take, and a status of a refusal.
fn told(problem: Problem) -> Problem {
    assert!(!problem.message.is_empty() && !problem.message.contains(char::is_control), "{problem:?}");
    assert!((400..500).contains(&problem.reason.http_status()), "{problem:?}");
    problem
}

fn carry_out(engine: &mut Engine, request: Request, call: &Call) -> Result<Answer, Problem> {
    let fields = match call {
        Call::Admit(fields) => Some(fields),
        _ => None,
    };
    let command = Command::In(Box::new(request));
    assert!(command.check_form(), "{command:?}");
    let mut writer = Writer::new();
    command.encode(&mut writer);
    let read = Command::decode(&mut Reader::new(writer.as_bytes()));
    assert_eq!(read.as_ref(), Ok(&command), "in the journal");
    let outcome = engine.apply(engine.now(), &command, &mut Vec::new());
    let Command::In(request) = &command else { unreachable!("it was just put there") };
    let as_of = AsOf { revision: 1, at: engine.now() };
    answer::change(engine, request, fields, &outcome, as_of)
}

/// A client reads what the server wrote.
fn on_the_wire(outcome: Result<Answer, Problem>) {
    let result = match outcome {
        Ok(answer) => BatchResult { status: 200, body: BatchBody::Answer(Box::new(answer)) },
        Err(problem) => {
            BatchResult { status: problem.reason.http_status(), body: BatchBody::Problem(problem) }
        }
    };
    let written = serde_json::to_string(&result).unwrap_or_else(|error| panic!("{result:?}: {error}"));
    let again: BatchResult =
        serde_json::from_str(&written).unwrap_or_else(|error| panic!("{written}: {error}"));
    // Some fields are for the server alone.
    assert_eq!(serde_json::to_string(&again).ok().as_ref(), Some(&written));
}

pub fn seeds() -> Vec<Vec<u8>> {
    let bodies = [
        r#"{"op":"acquire","slot":"s9","limit":"gpu","weight":2,"timeout":"30m","wait":"30s","confirm":"auto","hold":"run","run":"r1","label":"Ana","workflow":"call"}"#,
        r#"{"slot":"s8","limits":[{"limit":"gpu","weight":"1"},{"limit":"api"}],"timeout":0}"#,
        r#"{"task":"t","run":"r1","specs":[{"key":"user=1","limit":3,"windowSeconds":60,"cost":1,"countSuccessesOnly":true,"label":"free_tries"},{"key":"user=1","limit":1}],"enforce":false}"#,
        r#"{"limits":[{"name":"gpu","capacity":4,"max_hold":"45m"},{"name":"api","capacity":"2","max_hold":60000}]}"#,
        r#"{"items":[{"id":"q1","op":"release","slot":"s1"},{"op":"confirm","slot":"s3"},{"op":"leave","slot":"s2"},{"op":"end_run","run":"r1","status":"failed"}]}"#,
        r#"{"items":[{"op":"declare","name":"db","capacity":1,"max_hold":"1h"},{"op":"set_capacity","limit":"gpu","capacity":9},{"op":"reset_capacity","limit":"gpu"},{"op":"set_max_hold","limit":"gpu","max_hold":"2h"},{"op":"reset_max_hold","limit":"gpu"},{"op":"pause","limit":"gpu"},{"op":"resume","limit":"gpu"}]}"#,
        r#"{"items":[{"op":"reset_rate","task":"t","key":"user=1"},{"op":"start_run","run":"r7","workflow":"w","input":{"a":[1,null]}},{"op":"cancel_run","run":"r7"},{"op":"limits","most":3},{"op":"slot","slot":"s1","wait":"1s"}]}"#,
        r#"{"items":[{"op":"history","limit":"gpu","most":5},{"op":"audit"},{"op":"explain","what":"s1"},{"op":"overview"},{"op":"series","limit":"gpu","range":"1h"},{"op":"preview","limit":"gpu","capacity":"reset"},{"op":"namespaces"},{"op":"nodes"},{"op":"keys","task":"t"}]}"#,
        r#"{"capacity":3,"max_hold":"10m"}"#,
        r#"{"workflow":"w","input":"x"}"#,
        r#"{"status":"succeeded"}"#,
    ];
    bodies.map(|body| body.as_bytes().to_vec()).into()
}
