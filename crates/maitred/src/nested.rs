//! A debug build's warning of a deadlock built from limits: a task that holds a slot and waits for another.
//!
//! Two tasks that take two limits in different orders each hold one and wait for the other, and so do tasks that take
//! the same limit twice, once all of them have one. It works in every test and stands still under load. Seen by the id of
//! the task that was granted the slot, with the limits of that method told in [`maitred_permits::permits`]. Release builds
//! do none of this.

use std::sync::{Mutex, PoisonError};

use maitred_permits::permits::{TaskHolds, current_task};
use tokio::task;

/// The slots that tasks of this process hold.
#[derive(Default)]
pub(crate) struct Held(Mutex<TaskHolds>);

impl Held {
    /// The running task was granted a slot; to be given back with what this answers.
    pub fn took(&self) -> Option<task::Id> {
        let taker = current_task();
        self.with(|holds| holds.took(taker));
        taker
    }

    pub fn gave_back(&self, taker: Option<task::Id>) {
        self.with(|holds| holds.gave_back(taker));
    }

    /// Says so if the running task holds a slot already.
    pub fn warn_if_nested(&self, limit: &str) {
        if self.with(|holds| holds.asks_again(current_task())) == Some(true) {
            tracing::warn!(
                limit,
                "a task that holds a slot waits for another: tasks that do it in different orders wait for each other \
                 for ever; take all limits in one call (`acquire(a).and(b)`), or give the first back. If these are \
                 siblings in one task, spawn them"
            );
        }
    }

    fn with<T>(&self, look: impl FnOnce(&mut TaskHolds) -> T) -> Option<T> {
        cfg!(debug_assertions).then(|| look(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner)))
    }
}
