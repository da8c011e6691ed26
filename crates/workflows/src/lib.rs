//! Slots inside durable runs.
//!
//! A workflow is an `async fn` whose progress is kept: it goes on where it was after any crash of its process. In its
//! body it takes a slot of a limit, waits for it as long as it has to without costing a thread or a connection, and
//! gives it back; or another workflow does. The wait survives a restart of the program and of the limiter.
//!
//! ```no_run
//! use std::time::Duration;
//!
//! use maitred::Maitred;
//! use maitred_workflows::{Step, Workflow, Workflows, sqlite};
//!
//! async fn place_call(workflow: Workflow, call: String) -> Result<String, String> {
//!     let slot = workflow.acquire_slot("voice-calls").label(&call).await?;
//!     workflow.step::<()>("dial_out", &(call, &slot.id)).await?;
//!     Ok(slot.id) // it stays busy: the call goes on
//! }
//!
//! async fn call_ended(workflow: Workflow, slot: String) -> Result<bool, String> {
//!     Ok(workflow.release_slot(slot).await?)
//! }
//!
//! async fn export_report(workflow: Workflow, report: String) -> Result<String, String> {
//!     workflow.with_limit("partner-api", async |_| workflow.step("build_report", &report).await).await?
//! }
//!
//! async fn dial_out(_: Step, (call, slot): (String, String)) -> Result<(), String> {
//!     println!("calling {call}; whoever hears that it has ended gives back {slot}");
//!     Ok(())
//! }
//!
//! async fn build_report(_: Step, report: String) -> Result<String, String> {
//!     Ok(format!("{report}.pdf"))
//! }
//!
//! #[tokio::main]
//! async fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     let maitred = Maitred::connect("http://127.0.0.1:7654")?; // or Maitred::open("maitred-data").await?
//!     let workflows = Workflows::builder(maitred)
//!         .limit("voice-calls", 20, Duration::from_secs(45 * 60))
//!         .limit("partner-api", 5, Duration::from_secs(10 * 60))
//!         .workflow("place_call", place_call)
//!         .workflow("call_ended", call_ended)
//!         .workflow("export_report", export_report)
//!         .step("dial_out", dial_out)
//!         .step("build_report", build_report)
//!         .start(sqlite("workflows.db").await?)
//!         .await?;
//!     workflows.start("place_call", "call-81", &"Ana").await?;
//!     let slot: String = workflows.wait("call-81", Duration::from_secs(60)).await??;
//!     workflows.start("call_ended", "call-81-ended", &slot).await?;
//!     Ok(())
//! }
//! ```
//!
//! # What can be relied on
//!
//! * A run waits in the limit's queue, first come, first served, over any crash of any process.
//! * It never takes a second slot for one question, and never goes on without the limiter's answer.
//! * A run that ends, however, leaves every queue: at once, or 15 s later if the word of it was lost.
//! * A slot that a run holds outlives it: the work it started may still go on.
//! * What the body does between two calls is done again after a crash, so it must be the same every time: no clock, no
//!   chance, no files. Whatever is not goes into a step. A step is done at least once.
//!
//! # Changing a workflow
//!
//! A run that waits has a history, and the body must go the way that stands there. So a changed body is a new
//! [`version`](Builder::version): runs that have begun go on with the one they began with.
//!
//! # The engine
//!
//! Runs are kept and driven by [duroxide], in a SQLite file or, with the feature `postgres`, in PostgreSQL. The limiter's
//! side knows it through [`RunHost`] only.
//!
//! # Features
//!
//! * `postgres` (off by default): the function `postgres`, for several programs that share their runs.
#![forbid(unsafe_code)]

mod acquire;
mod builder;
mod deliver;
mod desk;
mod engine;
mod error;
mod host;
mod names;
mod running;
mod steps;
mod watch;
mod workflow;

pub use acquire::AcquireSlot;
pub use builder::Builder;
pub use deliver::Deliverer;
pub use duroxide;
#[cfg(feature = "postgres")]
pub use engine::postgres;
pub use engine::{Store, sqlite};
pub use error::{RunError, SlotError, SlotTimeoutError, StartError};
pub use host::{Delivery, Notice, RunHost};
pub use maitred::api::{RunState, RunStep, StepKind, StepState};
pub use running::{Run, Workflows};
pub use workflow::{Slot, Step, Workflow};
