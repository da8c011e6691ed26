//! What ended, who and why; what was changed about limits, by whom. A SQLite file beside the journal (or in memory with it), filled by
//! the second engine (`shadow.rs`) behind the writer's back, bounded by age and by rows.
//!
//! It holds nothing that a decision needs: it may lag, be deleted, or fail to fill for a while (`filler.rs`), and the
//! limiter goes on. How far it reaches stands in every answer.

mod copy;
mod filler;
mod query;
mod rows;
mod store;

pub use copy::copy;
pub use filler::{Filler, Shelf};
pub use query::{AuditQuery, EndsQuery, Reader};
pub use rows::Rows;
pub use store::Store;

use maitred_api::Reach;
use maitred_engine::time::{DAY_MS, Millis};
use rusqlite::Connection;
use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::sync::watch;

/// What is kept at the most.
#[derive(Clone, Copy, Debug)]
pub struct Keep {
    pub age_ms: Millis,
    pub rows: u64,
}

impl Default for Keep {
    fn default() -> Self {
        Self { age_ms: 30 * DAY_MS, rows: 1_000_000 }
    }
}

/// How long a write waits for a file that somebody else holds. What fails is tried again.
const HELD_WITHIN: Duration = Duration::from_millis(250);

/// Why the history did not take or give something.
#[derive(Debug, thiserror::Error)]
#[error("the history: {0}")]
pub struct HistoryError(#[from] rusqlite::Error);

/// A connection that several threads use. Of a file, writer and reader have one each and never wait for each other; in
/// memory there is only one.
#[derive(Clone)]
struct Shared(Arc<Mutex<Connection>>);

impl Shared {
    fn new(connection: Connection) -> Self {
        Self(Arc::new(Mutex::new(connection)))
    }

    fn lock(&self) -> MutexGuard<'_, Connection> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How far the history is, for those who read it.
#[derive(Clone, Debug, Default)]
pub struct Progress {
    pub filled_to: u64,
    pub trouble: Option<String>,
}

/// The reading side, shared by all handles of a node.
#[derive(Clone)]
pub struct History {
    pub shelf: Shelf,
    pub progress: watch::Receiver<Progress>,
}

impl History {
    /// None while the file could not be opened.
    pub fn reader(&self) -> Option<Arc<Reader>> {
        self.shelf.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub fn trouble(&self) -> Option<String> {
        self.progress.borrow().trouble.clone()
    }

    /// How far it reaches when the journal stands at `head`.
    pub fn reach(&self, reader: &Reader, head: u64) -> Result<Reach, HistoryError> {
        let progress = self.progress.borrow().clone();
        Ok(Reach {
            filled_to: progress.filled_to,
            lag: head.saturating_sub(progress.filled_to),
            since: reader.since()?,
            trouble: progress.trouble,
        })
    }
}
