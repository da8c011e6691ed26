//! Runs that this server hosts itself, for the example that `maitred dev` can play.

use std::{future::Future, pin::Pin};

use maitred_api::{Problem, Reason, RunInfo, RunState, RunStep};
use serde_json::Value;

pub type Asked<'a, T> = Pin<Box<dyn Future<Output = Result<T, Problem>> + Send + 'a>>;

/// A durable engine in this process.
pub trait Hosted: Send + Sync {
    fn start<'a>(&'a self, workflow: &'a str, run: &'a str, input: &'a Value) -> Asked<'a, ()>;
    /// False if the run had ended.
    fn cancel<'a>(&'a self, run: &'a str) -> Asked<'a, bool>;
    /// None if it hosts no such run.
    fn run<'a>(&'a self, run: &'a str) -> Asked<'a, Option<HostedRun>>;
    /// The ids of all, the newest first.
    fn runs(&self) -> Asked<'_, Vec<String>>;
}

/// What an engine knows of a run.
pub struct HostedRun {
    pub workflow: String,
    pub status: RunState,
    pub steps: Vec<RunStep>,
    pub output: Option<String>,
}

impl HostedRun {
    /// Beside what the limiter knows of it. The engine knows all steps, so its own stand.
    pub fn onto(self, run: &mut RunInfo) {
        run.workflow = Some(self.workflow);
        run.status = Some(self.status);
        run.steps = self.steps;
        run.output = self.output;
    }
}

/// What is said where nothing is hosted.
pub fn nothing_hosted() -> Problem {
    Problem::new(
        Reason::NotFound,
        "this server hosts no workflows; start one that does: maitred dev --example workflows",
    )
}
