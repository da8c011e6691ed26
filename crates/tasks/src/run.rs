//! A run from its preflight to its end, which comes once.
//!
//! A [`Run`] is a guard. Whatever way an execution takes, it ends with a status: returned, refused and failed runs are
//! ended while their caller waits, so that the next request of the same user finds the place free. If the limiter is
//! slow then, or nobody waits any more (a client hung up, the runtime goes), the guard's drop hands the end to the
//! client's own thread, which asks until it is answered. A deferred run is let go of instead: it has no end here.
//!
//! A deferred run may be completed before its body has come back from telling somebody about it. So the runs of this
//! process that are being executed are known, by id, with what has become of them meanwhile.

use std::{
    collections::{HashMap, hash_map::Entry},
    future::poll_fn,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::pin,
    sync::{Mutex, MutexGuard, PoisonError},
    task::Poll,
};

use maitred::api::RunStatus;

use crate::{Flow, Host, Output, TaskError};

/// Preflight and body.
pub(crate) async fn execute(flow: Flow) -> Result<Output, TaskError> {
    admit(flow).await?.execute().await
}

/// The preflight alone. What it refuses has ended; what it lets through is to be executed.
pub(crate) async fn admit(flow: Flow) -> Result<Admitted, TaskError> {
    let run = flow.begin()?;
    match flow.preflight().await {
        Ok(flow) => Ok(Admitted { run, flow }),
        Err(error) => {
            run.fail(&error).await;
            Err(error)
        }
    }
}

/// Past its limits. Dropped, it is cancelled.
pub(crate) struct Admitted {
    // The run first: it ends before the flow's stream does.
    run: Run,
    flow: Flow,
}

impl Admitted {
    pub async fn execute(self) -> Result<Output, TaskError> {
        let Admitted { run, flow } = self;
        let result = flow.body().await;
        match &result {
            Ok(Output::Deferred { run: deferred }) if *deferred == run.id => run.let_go(),
            Ok(_) => run.end(RunStatus::Succeeded).await,
            Err(error) => run.fail(error).await,
        }
        result
    }
}

/// An execution that has not ended.
pub(crate) struct Run {
    host: Host,
    id: String,
    /// How it ends if it is dropped now; none if it does not.
    ends: Option<RunStatus>,
}

impl Run {
    pub fn begin(host: &Host, id: &str) -> Result<Run, TaskError> {
        host.active().begin(id)?;
        Ok(Run { host: host.clone(), id: id.to_owned(), ends: Some(RunStatus::Cancelled) })
    }

    async fn fail(self, error: &TaskError) {
        if error.is_private() {
            tracing::error!(run = self.id, %error, "a task failed");
        }
        self.end(error.run_status()).await;
    }

    /// Ends it now if the limiter answers, else in the background.
    async fn end(mut self, status: RunStatus) {
        self.ends = Some(status);
        if self.host.active().is_completed(&self.id) {
            return;
        }
        match self.host.end_run(&self.id, status).await {
            Ok(true) => self.ends = None,
            Ok(false) => tracing::warn!(run = self.id, "the limiter does not answer; the run is ended later"),
            Err(problem) => tracing::error!(run = self.id, %problem, "a run can't be ended"),
        }
    }

    /// Somebody else ends it.
    fn let_go(mut self) {
        self.ends = None;
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        let is_completed = self.host.active().forget(&self.id);
        if let Some(status) = self.ends.filter(|_| !is_completed) {
            self.host.limiter().end_run_in_background(&self.id, status);
        }
    }
}

/// The runs that are being executed in this process.
#[derive(Default)]
pub(crate) struct Active(Mutex<HashMap<String, Progress>>);

#[derive(Clone, Copy, PartialEq, Eq)]
enum Progress {
    Running,
    /// Deferred, and the body has not returned yet.
    Deferred,
    /// And already completed by somebody else.
    Completed,
}

impl Active {
    fn begin(&self, run: &str) -> Result<(), TaskError> {
        match self.runs().entry(run.to_owned()) {
            Entry::Vacant(vacant) => _ = vacant.insert(Progress::Running),
            Entry::Occupied(_) => return Err(TaskError::Conflict(run.to_owned())),
        }
        Ok(())
    }

    pub fn defer(&self, run: &str) {
        if let Some(progress) = self.runs().get_mut(run).filter(|progress| **progress == Progress::Running) {
            *progress = Progress::Deferred;
        }
    }

    /// Whether there is still something to end.
    pub fn complete(&self, run: &str) -> Result<bool, TaskError> {
        match self.runs().get_mut(run) {
            None => Ok(true),
            Some(Progress::Running) => Err(TaskError::Conflict(run.to_owned())),
            Some(Progress::Completed) => Ok(false),
            Some(progress) => {
                *progress = Progress::Completed;
                Ok(true)
            }
        }
    }

    fn is_completed(&self, run: &str) -> bool {
        self.runs().get(run) == Some(&Progress::Completed)
    }

    /// Whether it was completed.
    fn forget(&self, run: &str) -> bool {
        self.runs().remove(run) == Some(Progress::Completed)
    }

    fn runs(&self) -> MutexGuard<'_, HashMap<String, Progress>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A panic of a task is an error like any other: it ends the run as failed and leaves the host alone.
pub(crate) async fn caught<T>(task: impl Future<Output = Result<T, TaskError>>) -> Result<T, TaskError> {
    let mut task = pin!(task);
    // Unwind safe: after a panic the future is never polled again, and what it shared with others has locks.
    let polled = poll_fn(|context| match catch_unwind(AssertUnwindSafe(|| task.as_mut().poll(context))) {
        Ok(Poll::Pending) => Poll::Pending,
        Ok(Poll::Ready(result)) => Poll::Ready(result),
        Err(panic) => Poll::Ready(Err(TaskError::Internal(format!("it panicked: {}", said(&*panic))))),
    });
    polled.await
}

fn said(panic: &(dyn std::any::Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("(no message)")
}
