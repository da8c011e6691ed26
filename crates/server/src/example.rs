//! The workflows of `examples/workflows`, hosted here: `maitred dev --example workflows`.

use std::{io, sync::Arc};

use maitred::{
    Client, Maitred,
    local::{Node, StartError},
};
use maitred_api::{Problem, Reason};
use maitred_workflows::{RunError, Workflows, sqlite};
use serde_json::Value;
use tempfile::TempDir;

use crate::hosted::{Asked, Hosted, HostedRun};

#[allow(dead_code, reason = "the project declares limits besides; here the server does")]
#[path = "../../../examples/workflows/src/programs.rs"]
mod programs;

/// Hosts them, with runs that are thrown away at the end.
pub async fn start(node: &Node) -> Result<Arc<dyn Hosted>, StartError> {
    let why = |what: &dyn std::fmt::Display| StartError(format!("the example cannot be hosted: {what}"));
    let folder = tempfile::tempdir().map_err(|error: io::Error| why(&error))?;
    let maitred = Maitred::new(Client::Near(node.clone()))?.by("example workflows");
    let store = sqlite(folder.path().join("runs.db")).await.map_err(|error| why(&error))?;
    let programs = programs::programs(Workflows::builder(maitred), folder.path().join("calls"));
    let workflows = programs.start(store).await.map_err(|error| why(&error))?;
    Ok(Arc::new(Example { workflows, _folder: folder }))
}

struct Example {
    workflows: Workflows,
    _folder: TempDir,
}

impl Hosted for Example {
    fn start<'a>(&'a self, workflow: &'a str, run: &'a str, input: &'a Value) -> Asked<'a, ()> {
        Box::pin(async move { self.workflows.start(workflow, run, input).await.map_err(problem) })
    }

    fn cancel<'a>(&'a self, run: &'a str) -> Asked<'a, bool> {
        Box::pin(async move { self.workflows.cancel(run, "cancelled over the API").await.map_err(problem) })
    }

    fn run<'a>(&'a self, run: &'a str) -> Asked<'a, Option<HostedRun>> {
        Box::pin(async move {
            match self.workflows.run(run).await {
                Ok(run) => Ok(Some(HostedRun {
                    workflow: run.workflow,
                    status: run.status,
                    steps: run.steps,
                    output: run.output,
                })),
                Err(RunError::NoRun(_)) => Ok(None),
                Err(error) => Err(problem(error)),
            }
        })
    }

    fn runs(&self) -> Asked<'_, Vec<String>> {
        Box::pin(async move { self.workflows.runs().await.map_err(problem) })
    }
}

fn problem(error: RunError) -> Problem {
    let reason = match error {
        RunError::NoWorkflow { .. } | RunError::NoRun(_) => Reason::NotFound,
        RunError::BadRun { .. } => Reason::InvalidRun,
        RunError::Input(_) => Reason::InvalidArgument,
        _ => Reason::Unavailable,
    };
    Problem::new(reason, error.to_string())
}
