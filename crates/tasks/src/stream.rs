//! An execution whose response comes in pieces.

use std::{
    fmt,
    future::poll_fn,
    task::{Context, Poll},
};

use serde_json::Value;
use tokio::sync::mpsc;

use crate::{Flow, Output, TaskError, run, task::Boxed};

/// How far a task may be ahead of whoever reads.
const CHUNKS_AHEAD: usize = 16;

/// What a task emits, then its output. The execution advances while it is read; dropping it cancels the run.
pub struct TaskStream {
    chunks: mpsc::Receiver<Value>,
    state: State,
}

enum State {
    Running(Boxed<'static, Result<Output, TaskError>>),
    Ended(Result<Output, TaskError>),
}

impl fmt::Debug for TaskStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_running = matches!(self.state, State::Running(_));
        f.debug_struct("TaskStream").field("is_running", &is_running).finish_non_exhaustive()
    }
}

/// The preflight now, the body as the stream is read.
pub(crate) async fn start(flow: Flow) -> Result<TaskStream, TaskError> {
    let (sender, chunks) = mpsc::channel(CHUNKS_AHEAD);
    let admitted = run::admit(flow.emitting_to(sender)).await?;
    Ok(TaskStream { chunks, state: State::Running(Box::pin(admitted.execute())) })
}

impl TaskStream {
    /// The next piece; none when there is no more. Cancel safe.
    pub async fn next(&mut self) -> Option<Value> {
        poll_fn(|context| self.poll_next(context)).await
    }

    /// Reads to the end and answers what the execution ended with.
    ///
    /// # Errors
    /// What the task ended with.
    pub async fn finish(mut self) -> Result<Output, TaskError> {
        while self.next().await.is_some() {}
        self.ended().unwrap_or(Err(TaskError::Cancelled))
    }

    pub(crate) fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<Value>> {
        if let Poll::Ready(Some(chunk)) = self.chunks.poll_recv(context) {
            return Poll::Ready(Some(chunk));
        }
        if let State::Running(execution) = &mut self.state
            && let Poll::Ready(result) = execution.as_mut().poll(context)
        {
            // With the execution goes its sender, so that the chunks have an end.
            self.state = State::Ended(result);
        }
        self.chunks.poll_recv(context)
    }

    /// What it ended with, if it has.
    pub(crate) fn ended(self) -> Option<Result<Output, TaskError>> {
        match self.state {
            State::Running(_) => None,
            State::Ended(result) => Some(result),
        }
    }
}
