//! How calls travel: straight to the node, or through the client's own runtime to the server.
//!
//! Connections live on the runtime that made them. If they lived on the caller's, then a second runtime of the same
//! program would be handed connections that nobody drives any more, and a guard dropped after its runtime would find
//! none. So a far client's requests run on the one thread that the client owns (see [`crate::releaser`]), and whoever
//! calls only waits for the outcome, on any runtime.

use std::{
    pin::Pin,
    sync::Arc,
    task::{self, Poll},
};

use maitred_api::{Answer, Call, Context, Problem, Reason};
use tokio::{runtime::Handle, task::JoinHandle};

use crate::{Client, local::Answering};

/// The way to a limiter. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Line {
    client: Client,
    runtime: Handle,
}

impl Line {
    pub fn new(client: Client, runtime: Handle) -> Self {
        Self { client, runtime }
    }

    pub fn client(&self) -> &Client {
        &self.client
    }

    /// A call may get lost on the way: only a far one.
    pub fn is_far(&self) -> bool {
        matches!(self.client, Client::Far(_))
    }

    /// The runtime that drives a far client's connections.
    pub fn runtime(&self) -> &Handle {
        &self.runtime
    }

    /// One call. Dropping the future drops the call: for an auto acquire that is the hang-up.
    pub fn call(&self, context: &Arc<Context>, call: Call) -> Asked {
        match &self.client {
            Client::Near(node) => Asked::Near(node.call(context, call)),
            Client::Far(far) => {
                let (far, context) = (far.clone(), Arc::clone(context));
                Asked::Far(self.runtime.spawn(async move { far.call(&context, call).await }))
            }
        }
    }
}

type Answered = Result<Answer, Problem>;

/// A call on its way. Small, since those who wait in a queue keep one each.
pub(crate) enum Asked {
    Near(Answering),
    Far(JoinHandle<Answered>),
}

impl Future for Asked {
    type Output = Answered;

    fn poll(mut self: Pin<&mut Self>, context: &mut task::Context<'_>) -> Poll<Answered> {
        match &mut *self {
            Asked::Near(asked) => Pin::new(asked).poll(context),
            Asked::Far(asked) => {
                Pin::new(asked).poll(context).map(|answered| answered.unwrap_or_else(|_| Err(closed())))
            }
        }
    }
}

impl Drop for Asked {
    fn drop(&mut self) {
        if let Asked::Far(asked) = self {
            asked.abort();
        }
    }
}

pub(crate) fn closed() -> Problem {
    Problem::new(Reason::Unknown, "the client was closed meanwhile; it may have been done")
}
