//! The handle that the HTTP server and the near client hold.

use std::{path::PathBuf, time::Duration};

use maitred_api::{Answer, BatchItem, Call, Context, Problem};

/// How a node is started.
#[derive(Clone, Debug)]
pub struct NodeOptions {
    /// The folder of the local journal; none keeps everything in memory, for tests and throw-away servers.
    pub folder: Option<PathBuf>,
    /// Time stands still until [`Node::advance_to`] moves it. For rehearsals and scenario files.
    pub manual_clock: bool,
    /// Take the machine's clock even after a gap of more than a day or a step back.
    pub accept_clock: bool,
}

/// Why a node did not start. The message names the place and the way out.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct StartError(pub String);

/// What `/readyz` tells.
#[derive(Clone, Debug)]
pub struct Health {
    pub ready: bool,
    /// Why it is not ready, or what an operator should know although it is.
    pub notes: Vec<String>,
    pub revision: u64,
    pub as_of: u64,
    /// Ids with a time before this are refused as too old.
    pub horizon: u64,
    /// Fill level of the two shares of remembered ids, 0 to 1.
    pub remembered_timed: f64,
    pub remembered_other: f64,
}

/// Numbers for `/metrics`: see `docs/reference/metrics.md`.
#[derive(Clone, Debug, Default)]
pub struct Metrics {
    /// Prometheus text, without process metrics.
    pub text: String,
}

/// A running limiter. Cheap to clone; the last clone that goes stops it.
#[derive(Clone)]
pub struct Node {}

impl Node {
    /// Opens the journal, replays it and starts the sequencer's thread.
    pub async fn start(_options: NodeOptions) -> Result<Node, StartError> {
        todo!()
    }

    /// One call. Reads answer at once; changes when they are as durable as promised; an acquire or a look at a
    /// slot with `wait` when the slot is granted or ended, or the wait runs out.
    ///
    /// Cancel safe: dropping the future of an auto acquire that waits on the line is a hang-up (the caller has
    /// left); dropping any other changes nothing, though what was asked may still happen.
    pub async fn call(&self, _context: &Context, _call: Call) -> Result<Answer, Problem> {
        todo!()
    }

    /// The items in order, each with its own outcome. Nothing waits, `wait` is refused.
    pub async fn batch(&self, _context: &Context, _items: Vec<BatchItem>) -> Vec<Result<Answer, Problem>> {
        todo!()
    }

    /// Moves a manual clock, stepping through everything due on the way; an earlier time changes nothing.
    /// Answers the time that now is. Refused unless the node was started with a manual clock.
    pub async fn advance_to(&self, _at_ms: u64) -> Result<u64, Problem> {
        todo!()
    }

    /// The node's time in milliseconds since 1970.
    pub async fn now(&self) -> u64 {
        todo!()
    }

    pub async fn health(&self) -> Health {
        todo!()
    }

    pub async fn metrics(&self) -> Metrics {
        todo!()
    }

    /// Ends every waiting call (`unavailable`), writes what was accepted, and closes the journal.
    pub async fn stop(&self, _within: Duration) {
        todo!()
    }

    /// Resolves when the node has stopped by itself: the reason, for the log and the exit status.
    pub async fn failed(&self) -> String {
        todo!()
    }
}
