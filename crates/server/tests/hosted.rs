//! `maitred dev --example workflows`: runs that the server hosts itself.
#![cfg(feature = "workflows")]

use std::time::{Duration, Instant};

use clap::Parser;
use maitred::{
    Maitred,
    api::{Answer, Call, Problem, Reason, RunInfo, RunState, StepKind, StepState},
};
use maitred_server::serve::{Example, Limiting, Running, ServeOptions, start_hosting};
use serde_json::{Value, json};

#[derive(Parser)]
struct Line {
    #[command(flatten)]
    options: ServeOptions,
}

async fn started(example: Option<Example>) -> (Running, Maitred) {
    let options = Line::parse_from(["dev", "--listen", "127.0.0.1:0"]).options;
    let running = start_hosting(&options, Limiting::FileOrDemo, example).await.unwrap();
    let maitred = Maitred::connect(&format!("http://{}", running.server.addr)).unwrap();
    (running, maitred)
}

async fn begin(maitred: &Maitred, workflow: &str, run: &str, input: Value) -> Result<RunInfo, Problem> {
    let (workflow, run) = (workflow.to_owned(), run.to_owned());
    match maitred.call(Call::StartRun { run, workflow, input }).await? {
        Answer::Run(answer) => Ok(answer.run),
        other => panic!("{other:?}"),
    }
}

async fn until(maitred: &Maitred, run: &str, is_so: impl Fn(&RunInfo) -> bool) -> RunInfo {
    let started = Instant::now();
    loop {
        let now = maitred.run(run).await.unwrap().run;
        if is_so(&now) {
            return now;
        }
        assert!(started.elapsed() < Duration::from_secs(30), "{now:?}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

fn is(status: RunState) -> impl Fn(&RunInfo) -> bool {
    move |run| run.status == Some(status)
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_are_started_seen_and_cancelled_over_http() {
    let (_running, maitred) = started(Some(Example::Workflows)).await;
    maitred.set_capacity("voice-calls", 1).await.unwrap();
    begin(&maitred, "place_call", "call-1", json!({ "callId": "ana" })).await.unwrap();
    let placed = until(&maitred, "call-1", is(RunState::Succeeded)).await;
    assert_eq!((placed.workflow.as_deref(), placed.slots.len()), (Some("place_call"), 1));
    assert_eq!(placed.output.as_deref(), Some(r#"{"slotId":"wf/call-1/1/1"}"#));

    for run in ["call-2", "call-3"] {
        begin(&maitred, "place_call", run, json!({ "callId": run })).await.unwrap();
        let waits = |run: &RunInfo| run.steps.iter().any(|step| step.state == StepState::Open);
        let waiting = until(&maitred, run, waits).await;
        assert_eq!(waiting.status, Some(RunState::Running));
        let step = &waiting.steps[0];
        assert_eq!((step.name.as_str(), step.kind), ("Esperando hueco · voice-calls", StepKind::Hook));
    }
    maitred.call(Call::CancelRun { run: "call-2".to_owned() }).await.unwrap();
    let cancelled = until(&maitred, "call-2", is(RunState::Cancelled)).await;
    assert_eq!(cancelled.steps[0].state, StepState::Cancelled);
    begin(&maitred, "call_ended", "end-1", json!({ "slotId": "wf/call-1/1/1" })).await.unwrap();
    let went_on = until(&maitred, "call-3", is(RunState::Succeeded)).await;
    assert_eq!(went_on.steps[0].state, StepState::Closed);

    begin(&maitred, "export_report", "report", json!({ "reportId": "november" })).await.unwrap();
    let exported = until(&maitred, "report", is(RunState::Succeeded)).await;
    assert_eq!(exported.output.as_deref(), Some(r#"{"file":"november.pdf"}"#));
    let all: Vec<String> = maitred.runs().await.unwrap().into_iter().map(|run| run.run).collect();
    for run in ["call-1", "call-2", "call-3", "end-1", "report"] {
        assert!(all.iter().any(|known| known == run), "{run} is missing in {all:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_hosted_is_said() {
    let (_running, maitred) = started(Some(Example::Workflows)).await;
    let unknown = begin(&maitred, "no_such", "r", json!({})).await.unwrap_err();
    assert_eq!(unknown.reason, Reason::NotFound);
    assert!(unknown.message.contains("no_such") && unknown.message.contains("place_call"), "{unknown}");
    let nobody = maitred.call(Call::CancelRun { run: "nobody".to_owned() }).await.unwrap_err();
    assert_eq!(nobody.reason, Reason::NotFound);
    // Other namespaces have no part in it.
    let other = maitred.clone().namespace("other");
    assert!(begin(&other, "place_call", "r", json!({ "callId": "a" })).await.is_err());

    let (_running, maitred) = started(None).await;
    let nothing = begin(&maitred, "place_call", "r", json!({})).await.unwrap_err();
    assert!(
        nothing.reason == Reason::NotFound && nothing.message.contains("--example workflows"),
        "{nothing}"
    );
}
