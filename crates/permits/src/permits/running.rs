//! Futures that run side by side in one task, each polled only when it was woken.
//!
//! Every slot has a waker of its own, which puts the slot's number into a shared list and wakes the task. A slot is
//! used again when its future has ended; a late wake of the old one then costs the new one a poll for nothing.

use std::any::Any;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering::AcqRel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

/// A panic's payload.
pub(crate) type Panic = Box<dyn Any + Send>;

/// Futures `F`, each with a companion `C` that is handed out when the future ends.
pub(crate) struct Running<F, C> {
    slots: Vec<Slot<F, C>>,
    free: Vec<usize>,
    woken: Arc<Woken>,
    /// Kept for its allocation; empty between polls.
    batch: Vec<usize>,
}

struct Slot<F, C> {
    content: Option<(Pin<Box<F>>, C)>,
    signal: Arc<SlotSignal>,
    waker: Waker,
}

impl<F: Future, C> Running<F, C> {
    pub(crate) fn new() -> Self {
        Self { slots: Vec::new(), free: Vec::new(), woken: Arc::default(), batch: Vec::new() }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.free.len() == self.slots.len()
    }

    /// Adds a future. The next [`poll_woken`](Self::poll_woken) polls it.
    pub(crate) fn insert(&mut self, future: F, companion: C) {
        let at = self.free.pop().unwrap_or_else(|| self.add_slot());
        self.slots[at].content = Some((Box::pin(future), companion));
        if !self.slots[at].signal.raised.swap(true, AcqRel) {
            self.woken.lock().slots.push(at);
        }
    }

    /// Polls what has been woken since the last time, once each. `ended` gets each that ended or panicked.
    pub(crate) fn poll_woken(
        &mut self,
        cx: &Context<'_>,
        mut ended: impl FnMut(C, Result<F::Output, Panic>),
    ) {
        self.woken.begin_poll(cx.waker(), &mut self.batch);
        let mut batch = mem::take(&mut self.batch);
        for at in batch.drain(..) {
            let slot = &mut self.slots[at];
            slot.signal.raised.swap(false, AcqRel); // before the poll: a wake during it must count
            let Some((future, companion)) = slot.content.take() else { continue };
            match poll_caught(future, &slot.waker) {
                Polled::Pending(future) => slot.content = Some((future, companion)),
                Polled::Ended(result) => {
                    self.free.push(at);
                    ended(companion, result);
                }
            }
        }
        self.batch = batch;
    }

    fn add_slot(&mut self) -> usize {
        let at = self.slots.len();
        let signal =
            Arc::new(SlotSignal { at, raised: AtomicBool::new(false), woken: Arc::clone(&self.woken) });
        self.slots.push(Slot { content: None, waker: Waker::from(Arc::clone(&signal)), signal });
        at
    }
}

impl<F, C> Drop for Running<F, C> {
    fn drop(&mut self) {
        // Wakers that outlive this must not keep the task alive.
        drop(self.woken.lock().task.take());
    }
}

enum Polled<F: Future> {
    Pending(Pin<Box<F>>),
    Ended(Result<F::Output, Panic>),
}

/// Polls, and drops what has ended; a panic in either is a result.
fn poll_caught<F: Future>(mut future: Pin<Box<F>>, waker: &Waker) -> Polled<F> {
    let polled = catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(&mut Context::from_waker(waker))));
    let result = match polled {
        Ok(Poll::Pending) => return Polled::Pending(future),
        Ok(Poll::Ready(output)) => Ok(output),
        Err(panic) => Err(panic),
    };
    let dropped = catch_unwind(AssertUnwindSafe(|| drop(future)));
    Polled::Ended(result.and_then(|output| dropped.map(|()| output)))
}

/// Which slots were woken, and the task to wake.
#[derive(Default)]
struct Woken {
    list: Mutex<WokenList>,
}

#[derive(Default)]
struct WokenList {
    slots: Vec<usize>,
    /// Taken by the first wake; set again by the next poll.
    task: Option<Waker>,
}

impl Woken {
    fn lock(&self) -> MutexGuard<'_, WokenList> {
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes the task to wake from now on, and moves what was woken so far into the empty `batch`.
    fn begin_poll(&self, task: &Waker, batch: &mut Vec<usize>) {
        let task = Some(task.clone());
        let before = {
            let mut list = self.lock();
            mem::swap(&mut list.slots, batch);
            mem::replace(&mut list.task, task)
        };
        drop(before); // a waker is not our code: never under the lock
    }
}

struct SlotSignal {
    at: usize,
    raised: AtomicBool,
    woken: Arc<Woken>,
}

impl Wake for SlotSignal {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if self.raised.swap(true, AcqRel) {
            return;
        }
        let task = {
            let mut list = self.woken.lock();
            list.slots.push(self.at);
            list.task.take()
        };
        if let Some(task) = task {
            task.wake();
        }
    }
}
