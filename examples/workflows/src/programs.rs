//! The workflows, and the steps that they are made of.
//!
//! A call is placed by one workflow and ended by another; the slot that `place_call` takes is given back by
//! `call_ended`, hours later and in another run. A report is exported within one run.

use std::{
    fs::{self, OpenOptions},
    io::Write,
    path::PathBuf,
    time::Duration,
};

use maitred_workflows::{Builder, SlotError, Step, Workflow};
use serde::{Deserialize, Serialize};

const MINUTE: Duration = Duration::from_secs(60);

/// The limits that the workflows share: a name, how many at once, and when a slot that nobody gives back is free again.
pub const LIMITS: [(&str, u32, Duration); 2] =
    [("voice-calls", 20, MINUTE.saturating_mul(45)), ("partner-api", 5, MINUTE.saturating_mul(10))];

/// Declares the workflows. The telephone provider is a folder here: a call is a file in it.
pub fn programs(builder: Builder, calls: PathBuf) -> Builder {
    builder
        .workflow("place_call", place_call)
        .workflow("call_ended", call_ended)
        .workflow("export_report", export_report)
        .step("dial_out", move |_: Step, call: Call| dial_out(calls.clone(), call))
        .step("build_report", build_report)
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PlaceCall {
    pub call_id: String,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Placed {
    pub slot_id: Option<String>,
}

/// Takes a slot and starts a call. The run is over as soon as the call has started; the slot stays busy.
async fn place_call(workflow: Workflow, input: PlaceCall) -> Result<Placed, String> {
    let asked = workflow.acquire_slot("voice-calls").label(&input.call_id).timeout(30 * MINUTE);
    let slot = match asked.await {
        Ok(slot) => slot,
        Err(SlotError::Timeout(_)) => return Ok(Placed { slot_id: None }), // no slot free in 30 minutes
        Err(error) => return Err(error.into()),
    };
    let call = Call { call_id: input.call_id, slot_id: slot.id.clone() };
    workflow.step::<()>("dial_out", &call).await?;
    Ok(Placed { slot_id: Some(slot.id) })
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CallEnded {
    pub slot_id: String,
}

#[derive(Serialize, Deserialize)]
pub struct Released {
    pub released: bool,
}

/// The provider says that a call has ended: its slot is given back.
async fn call_ended(workflow: Workflow, input: CallEnded) -> Result<Released, String> {
    Ok(Released { released: workflow.release_slot(input.slot_id).await? })
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ExportReport {
    pub report_id: String,
}

#[derive(Serialize, Deserialize)]
pub struct Exported {
    pub file: String,
}

/// Holds a slot while the report is built.
async fn export_report(workflow: Workflow, input: ExportReport) -> Result<Exported, String> {
    let asked = workflow.acquire_slot("partner-api").label(&input.report_id);
    let built = asked.with(async |_| workflow.step::<String>("build_report", &input).await);
    Ok(Exported { file: built.await?? })
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Call {
    call_id: String,
    slot_id: String,
}

/// Starts the call and passes the slot's id along, so that the word of its end carries it.
///
/// A step may be done twice, when the process dies in it. So the provider is given an id: a second request with it is
/// no second call. Here that is a second line in the file of the call.
async fn dial_out(calls: PathBuf, call: Call) -> Result<(), String> {
    let dialled = || {
        fs::create_dir_all(&calls)?;
        let mut file = OpenOptions::new().create(true).append(true).open(calls.join(&call.call_id))?;
        writeln!(file, "{}", call.slot_id)
    };
    dialled().map_err(|error| format!("the provider: {error}"))
}

async fn build_report(_: Step, input: ExportReport) -> Result<String, String> {
    tokio::time::sleep(Duration::from_secs(2)).await;
    Ok(format!("{}.pdf", input.report_id))
}
