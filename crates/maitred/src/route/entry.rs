//! One request at the door: in, with what it holds, or out, with its answer.

use axum::{
    body::Body,
    http::{Response, StatusCode, request::Parts},
};
use maitred_api::RunStatus;

use super::{
    extract::{Admitted, HeldSlot},
    layer::{Degraded, LimitLayer, What},
    refusal,
};
use crate::{AcquireError, AdmitError, Maitred, Slot, Spec, error::RateLimitExceeded};

pub(super) enum Entry {
    In(Box<Entered>),
    Out(Response<Body>),
}

impl Entry {
    fn goes_in(pass: Pass, degraded: bool) -> Entry {
        Entry::In(Box::new(Entered { pass, degraded }))
    }
}

pub(super) struct Entered {
    pub pass: Pass,
    /// It goes on without having been checked.
    pub degraded: bool,
}

impl LimitLayer {
    /// What is asked belongs to the trace that the request belongs to.
    pub(super) async fn enter(&self, parts: &mut Parts) -> Entry {
        let Some(trace) = parts.headers.get("traceparent").and_then(|trace| trace.to_str().ok()) else {
            return self.let_in(parts).await;
        };
        let mut traced = self.clone();
        traced.maitred = traced.maitred.traceparent(trace);
        traced.let_in(parts).await
    }

    async fn let_in(&self, parts: &mut Parts) -> Entry {
        match &self.what {
            What::Keys { task, specs } => {
                let specs = specs(parts);
                self.enter_by_key(task, specs, parts).await
            }
            What::Named { limit, timeout, label } => {
                match self.maitred.acquire(limit).timeout(*timeout).await {
                    Ok(slot) => Entry::goes_in(Pass::slot(slot, parts), false),
                    Err(AcquireError::Timeout { .. }) => {
                        Entry::Out(refusal::no_slot(self, limit, label.as_deref()).await)
                    }
                    Err(error) => Entry::Out(refusal::no_answer_of_a_limit(&error)),
                }
            }
        }
    }

    async fn enter_by_key(&self, task: &str, specs: Vec<Spec>, parts: &mut Parts) -> Entry {
        if specs.is_empty() {
            return Entry::goes_in(Pass::default(), false);
        }
        // Made before anything is asked: whatever becomes of the answer, its run is ended.
        let run = specs.iter().any(Spec::belongs_to_a_run).then(|| OpenRun::new(&self.maitred));
        let mut asked = self.maitred.admit(task).specs(specs).enforce(false);
        if let Some(run) = &run {
            asked = asked.run(&run.id);
        }
        match asked.await {
            Ok(decision) if decision.degraded && self.degraded == Degraded::Closed => {
                Entry::Out(refusal::unavailable())
            }
            Ok(decision) if decision.over_limit => {
                run.into_iter().for_each(OpenRun::nothing_to_end);
                let exceeded = RateLimitExceeded { kind: decision.kind, decision };
                Entry::Out(refusal::exceeded(self.dialect, &exceeded))
            }
            Ok(decision) => {
                let degraded = decision.degraded;
                let admitted = Admitted::of(parts);
                admitted.run = run.as_ref().map(|run| run.id.clone());
                admitted.decision = Some(decision);
                Entry::goes_in(Pass { run, _slot: None }, degraded)
            }
            Err(AdmitError::Refused(problem)) => {
                run.into_iter().for_each(OpenRun::nothing_to_end);
                Entry::Out(refusal::misfit(&problem))
            }
            Err(AdmitError::Exceeded(exceeded)) => Entry::Out(refusal::exceeded(self.dialect, &exceeded)),
        }
    }
}

/// What a request holds. Dropping it gives everything back.
#[derive(Default)]
pub(super) struct Pass {
    _slot: Option<Slot>,
    run: Option<OpenRun>,
}

impl Pass {
    fn slot(slot: Slot, parts: &mut Parts) -> Pass {
        Admitted::of(parts).slot =
            Some(HeldSlot { id: slot.id().clone(), fence: slot.fence(), expires_at: slot.expires_at() });
        Pass { _slot: Some(slot), run: None }
    }

    /// The headers of the answer are there: how the run ends, if the body comes to its end.
    pub fn answered(&mut self, status: StatusCode) {
        if let Some(run) = &mut self.run {
            let failed = status.is_client_error() || status.is_server_error();
            run.at_the_end = if failed { RunStatus::Failed } else { RunStatus::Succeeded };
        }
    }

    /// The answer came to its end.
    pub fn end(mut self) {
        if let Some(run) = &mut self.run {
            run.status = run.at_the_end;
        }
    }

    /// The answer broke.
    pub fn fail(mut self) {
        if let Some(run) = &mut self.run {
            run.status = RunStatus::Failed;
        }
    }
}

/// A request as a run, which ends when this is dropped: cancelled, unless something better is known.
struct OpenRun {
    maitred: Maitred,
    id: String,
    status: RunStatus,
    at_the_end: RunStatus,
    ends: bool,
}

impl OpenRun {
    fn new(maitred: &Maitred) -> OpenRun {
        OpenRun {
            maitred: maitred.clone(),
            id: uuid::Uuid::now_v7().to_string(),
            status: RunStatus::Cancelled,
            at_the_end: RunStatus::Failed,
            ends: true,
        }
    }

    /// It was refused, so nothing was counted and nothing taken.
    fn nothing_to_end(mut self) {
        self.ends = false;
    }
}

impl Drop for OpenRun {
    fn drop(&mut self) {
        if self.ends {
            self.maitred.end_run_in_background(&self.id, self.status);
        }
    }
}
