//! Who asks again while holding: a debug build's warning of a deadlock built from a limiter.
//!
//! A call that holds a permit and waits for another of the same [`Permits`](super::Permits) works until every holder
//! does it at once; then all wait for each other. Two ways to notice it:
//!
//! * **By scope**, for [`with_permit`](super::Permits::with_permit) and [`fan_out`](super::fan_out): their bodies run
//!   inside a task-local scope. Exact: what runs inside the body is seen, siblings in the same task are not mistaken
//!   for it. Not seen: what the body spawns as another task and then waits for.
//! * **By task**, for guards: the id of the task that took a guard is remembered while it is held. Not seen: guards
//!   taken outside a task (in `block_on`, so in `main`), and chains over several tasks. Mistaken: siblings joined
//!   in one task, and a guard moved into another task. Once a guard has come back from a task other than the one that
//!   took it, ids prove nothing for these permits and this half stays silent; and it warns once until the task holds
//!   none again.
//!
//! Release builds do none of this.

use std::collections::HashMap;
use std::iter;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use tokio::task;

/// Which bodies the running code is inside of, innermost first.
struct Inside {
    permits: u64,
    warned: AtomicBool,
    outer: Option<Arc<Inside>>,
}

tokio::task_local! {
    static INSIDE: Arc<Inside>;
}

/// Runs `body` as a body of the permits with this id.
pub(crate) async fn scope<F: Future>(permits: u64, body: F) -> F::Output {
    if !cfg!(debug_assertions) {
        return body.await;
    }
    let outer = INSIDE.try_with(Arc::clone).ok();
    INSIDE.scope(Arc::new(Inside { permits, warned: AtomicBool::new(false), outer }), body).await
}

/// Whether to warn that code inside a body of the permits with this id asks for more: it does, and was not warned yet.
pub(crate) fn asks_inside_body(permits: u64) -> bool {
    let asks = |innermost: &Arc<Inside>| {
        let mut bodies = iter::successors(Some(innermost), |inside| inside.outer.as_ref());
        bodies
            .find(|inside| inside.permits == permits)
            .is_some_and(|inside| !inside.warned.swap(true, Relaxed))
    };
    cfg!(debug_assertions) && INSIDE.try_with(asks).unwrap_or(false)
}

/// The task that runs now, where that is looked at.
pub fn current_task() -> Option<task::Id> {
    if cfg!(debug_assertions) { task::try_id() } else { None }
}

/// Guards that are held, by the task that took them. Empty in release builds.
#[derive(Default)]
pub struct TaskHolds {
    held: HashMap<task::Id, Held>,
    moved: bool,
}

#[derive(Default)]
struct Held {
    guards: u32,
    warned: bool,
}

impl TaskHolds {
    /// This task took a guard.
    pub fn took(&mut self, task: Option<task::Id>) {
        if let Some(task) = task {
            self.held.entry(task).or_default().guards += 1;
        }
    }

    /// A guard that `taker` took came back from the task that runs now.
    pub fn gave_back(&mut self, taker: Option<task::Id>) {
        let Some(taker) = taker else { return };
        self.moved |= current_task() != Some(taker);
        if let Some(held) = self.held.get_mut(&taker) {
            held.guards -= 1;
            if held.guards == 0 {
                self.held.remove(&taker);
            }
        }
    }

    /// Whether to warn that this task asks again: it holds, and has not been warned since it held none.
    pub fn asks_again(&mut self, task: Option<task::Id>) -> bool {
        let Some(held) = task.filter(|_| !self.moved).and_then(|task| self.held.get_mut(&task)) else {
            return false;
        };
        !std::mem::replace(&mut held.warned, true)
    }
}

/// Says it. Never under a lock: a subscriber is not our code.
pub(crate) fn warn(name: &str) {
    tracing::warn!(
        permits = name,
        "a holder asks the same permits again: if this is one call chain it can wait for itself; take all it needs \
         with one acquire_many(n), or give the first back. If these are siblings in one task, use with_permit or fan_out"
    );
}
