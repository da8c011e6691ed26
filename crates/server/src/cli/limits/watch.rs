//! `maitred limits watch`: what happens, as it happens, over every lost connection.

use std::time::Duration;

use maitred::{
    Client,
    far::{FarEvents, Told},
};
use maitred_api::{LimitInfo, LiveEvent, LiveSnapshot, Problem, Reason};
use serde_json::json;

use crate::cli::{exit, failure::Failure, limits::show, output, session::Session, text};

const AGAIN_AFTER: Duration = Duration::from_millis(500);
const AGAIN_AFTER_MOST: Duration = Duration::from_secs(10);

pub async fn run(session: &Session, limit: Option<&str>) -> Result<u8, Failure> {
    let mut events = match open(session, limit, None).await {
        Ok(events) => events,
        Err(problem) => return Err(session.explain(problem, limit).await),
    };
    loop {
        let why = follow(session, &mut events).await?;
        output::note(&format!("{why}; connecting again"));
        events = again(session, limit, events.last_id()).await?;
        output::note("connected again");
    }
}

async fn open(session: &Session, limit: Option<&str>, after: Option<u64>) -> Result<FarEvents, Problem> {
    match &session.client {
        Client::Far(far) => far.events(&session.context, limit, after).await,
        Client::Near(_) => Err(Problem::new(Reason::InvalidArgument, "watch needs a server")),
    }
}

/// Prints until the stream ends, and says why it did.
async fn follow(session: &Session, events: &mut FarEvents) -> Result<String, Failure> {
    loop {
        match events.next().await {
            Ok(Some(Told::Snapshot(snapshot))) => print_snapshot(session, &snapshot),
            Ok(Some(Told::Events(_, list))) => list.iter().for_each(|event| print_event(session, event)),
            Ok(Some(Told::Reset(why))) => output::note(&why),
            Ok(Some(Told::Bye(why))) => return Ok(why),
            Ok(None) => return Ok("the server closed the stream".to_owned()),
            Err(problem) => return Ok(problem.message),
        }
    }
}

/// Until the server is there again; what it will never allow ends the watch.
async fn again(session: &Session, limit: Option<&str>, after: Option<u64>) -> Result<FarEvents, Failure> {
    let mut pause = AGAIN_AFTER;
    loop {
        tokio::time::sleep(pause).await;
        match open(session, limit, after).await {
            Ok(events) => return Ok(events),
            Err(problem) if exit::of(problem.reason) == exit::UNREACHABLE => {
                pause = (pause * 2).min(AGAIN_AFTER_MOST);
            }
            Err(problem) => return Err(session.explain(problem, limit).await),
        }
    }
}

fn print_snapshot(session: &Session, snapshot: &LiveSnapshot) {
    let (limits, as_of) = match snapshot {
        LiveSnapshot::Limit(slots) => (std::slice::from_ref(&slots.limit), slots.as_of),
        LiveSnapshot::Limits(limits) => (limits.limits.as_slice(), limits.as_of),
    };
    if session.out.json {
        session.out.json(&json!({ "kind": "snapshot", "snapshot": snapshot }));
    } else if session.out.for_people() {
        limits.iter().for_each(|limit| session.out.line(&standing(limit, as_of)));
    }
}

fn standing(limit: &LimitInfo, as_of: u64) -> String {
    let (time, name, usage) = (text::moment(as_of), &limit.limit, show::usage(limit));
    format!("{time}  {name}  {usage}, {} waiting", limit.waiting)
}

fn print_event(session: &Session, event: &LiveEvent) {
    if session.out.json {
        session.out.json(event);
    } else if session.out.for_people() {
        session.out.line(&sentence(event));
    } else {
        session.out.row(row(event));
    }
}

fn sentence(event: &LiveEvent) -> String {
    let part = |lead: &str, part: &Option<String>| {
        part.as_ref().map(|part| format!("{lead}{part}")).unwrap_or_default()
    };
    let waited = event.waited_ms.map(|ms| format!(", waited {}", text::span(ms))).unwrap_or_default();
    let state =
        event.state.as_ref().map(|state| format!(": {}", state.replace('_', " "))).unwrap_or_default();
    format!(
        "{}{}  {}{state}{}{}{}{waited}{}",
        text::moment(event.at),
        part("  ", &event.limit),
        event.kind.replace('_', " "),
        part("  ", &event.slot),
        part(", run ", &event.run),
        part(", label ", &event.label),
        part(", by ", &event.by),
    )
}

fn row(event: &LiveEvent) -> Vec<String> {
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    let number = |number: Option<u64>| number.map(|number| number.to_string()).unwrap_or_default();
    vec![
        event.at.to_string(),
        event.revision.to_string(),
        event.kind.clone(),
        text(&event.limit),
        text(&event.slot),
        text(&event.state),
        text(&event.run),
        text(&event.label),
        number(event.fence),
        number(event.waited_ms),
        text(&event.by),
    ]
}
