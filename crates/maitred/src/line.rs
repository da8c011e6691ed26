//! How calls travel: straight to the node, or through the client's own runtime to the server.
//!
//! Connections live on the runtime that made them. If they lived on the caller's, then a second runtime of the same
//! program would be handed connections that nobody drives any more, and a guard dropped after its runtime would find
//! none. So a far client's requests run on the one thread that the client owns (see [`crate::releaser`]), and whoever
//! calls only waits for the outcome, on any runtime.

use maitred_api::{Answer, Call, Context, Problem, Reason};
use tokio::{runtime::Handle, task::JoinHandle};

use crate::Client;

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

    /// One call. Dropping the future drops the call: for an auto acquire that is the hang-up.
    pub async fn call(&self, context: &Context, call: Call) -> Result<Answer, Problem> {
        if !self.is_far() {
            return self.client.call(context, call).await;
        }
        let (client, context) = (self.client.clone(), context.clone());
        let asked = self.runtime.spawn(async move { client.call(&context, call).await });
        let mut asked = HangUp(asked);
        (&mut asked.0).await.unwrap_or_else(|_| Err(closed()))
    }
}

/// Ends the task that it is dropped before.
struct HangUp(JoinHandle<Result<Answer, Problem>>);

impl Drop for HangUp {
    fn drop(&mut self) {
        self.0.abort();
    }
}

fn closed() -> Problem {
    Problem::new(Reason::Unknown, "the client was closed meanwhile; it may have been done")
}
