//! The permits in circulation: taking, giving back, and changing how many there are.
//!
//! Taking and waiting are tokio's fair semaphore. What is ours is shrinking: a smaller size takes nothing back from
//! those who hold permits, so what cannot be removed at once becomes a *debt*, and permits that come free pay the debt
//! before they serve anybody.
//!
//! # Worked example
//!
//! | step | size | debt | available | held | in circulation |
//! |---|---|---|---|---|---|
//! | new(5), three taken | 5 | 0 | 2 | 3 | 5 |
//! | resize(1): two are free and go, two are owed | 1 | 2 | 0 | 3 | 3 |
//! | one given back: it pays | 1 | 1 | 0 | 2 | 2 |
//! | resize(4): one debt is forgiven, two are added | 4 | 0 | 2 | 2 | 4 |
//!
//! # Why it is right
//!
//! In circulation = available + set aside for a waiter + held, and the code keeps it equal to `size + debt`.
//! `size` and `debt` change only under `turn`; only the semaphore counts what is available. Three things put permits
//! back: [`give_back`](Circulation::give_back), growing, and a waiter that leaves with permits already set aside for
//! it (tokio returns those by itself). Waking waiters runs code that is not ours, so it happens outside `turn`. That
//! leaves one gap: a shrink may come between the look at the debt and the return, and would leave a permit available
//! while one is owed. So whoever returned permits looks again afterwards ([`settle`](Circulation::settle)):
//!
//! * the shrinker writes the debt, then passes a sequentially consistent fence, then removes what is available;
//! * the returner adds its permits, then passes such a fence, then reads the debt.
//!
//! Of two such fences one is first. If the returner's, the shrinker sees its permits and removes them. If the
//! shrinker's, the returner sees the debt and removes them itself. Either way, once no call is under way, there is no
//! debt or nothing is available. A release that saw no debt counts as having come before the shrink, so waiters it
//! served were served before the shrink too.
//!
//! A permit that was set aside for a waiter before a shrink counts as given: if that waiter leaves, it may pass to the
//! next in line. Permits in circulation never rise while there is a debt, so in flight never rises above what it was
//! allowed to be before the shrink.

use std::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use std::sync::atomic::{AtomicU32, fence};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::{AcquireError, Semaphore, SemaphorePermit, TryAcquireError};

/// Every `u32` is a size tokio can hold; so sizes need no check and no error.
const _: () = assert!(Semaphore::MAX_PERMITS >= u32::MAX as usize, "maitred-permits needs a 64-bit target");

pub(crate) struct Circulation {
    semaphore: Semaphore,
    /// How many may be in flight. Written only under `turn`.
    size: AtomicU32,
    /// Permits still to be removed as they come free. Written only under `turn`.
    debt: AtomicU32,
    turn: Mutex<()>,
}

impl Circulation {
    pub(crate) fn new(size: u32) -> Self {
        Self {
            semaphore: Semaphore::new(size as usize),
            size: AtomicU32::new(size),
            debt: AtomicU32::new(0),
            turn: Mutex::new(()),
        }
    }

    pub(crate) fn size(&self) -> u32 {
        self.size.load(Acquire)
    }

    pub(crate) fn debt(&self) -> u32 {
        self.debt.load(Acquire)
    }

    pub(crate) fn available(&self) -> u32 {
        u32::try_from(self.semaphore.available_permits()).unwrap_or(u32::MAX)
    }

    /// Takes `wanted` permits if they are free and nobody waits for them. tokio raises its count of free permits only
    /// when its queue is empty, so this never passes a waiter by.
    pub(crate) fn try_take(&self, wanted: u32) -> Result<SemaphorePermit<'_>, TryAcquireError> {
        self.semaphore.try_acquire_many(wanted)
    }

    /// Waits in line for `wanted` permits.
    ///
    /// Cancel safe: dropped, it leaves the line, and permits set aside for it pay the debt or serve the next.
    pub(crate) async fn take(&self, wanted: u32) -> Result<SemaphorePermit<'_>, AcquireError> {
        // Declared before the wait, so dropped after it: the wait has returned its permits by then.
        let mut settle = SettleOnDrop { circulation: self, armed: true };
        let taken = self.semaphore.acquire_many(wanted).await;
        settle.armed = taken.is_err();
        taken
    }

    /// Returns permits that were taken (and whose tokio guard was forgotten). Debt first, then waiters, then the rest.
    pub(crate) fn give_back(&self, permits: u32) {
        let rest = permits - self.pay(permits);
        self.semaphore.add_permits(rest as usize);
        self.settle();
    }

    /// Changes the size. Growing serves waiters at once; shrinking removes what is free and leaves the rest as debt.
    pub(crate) fn resize(&self, size: u32) {
        let added = {
            let _turn = self.turn();
            let before = self.size.swap(size, Release);
            if size >= before { self.forgive(size - before) } else { self.owe(before - size) }
        };
        self.semaphore.add_permits(added as usize);
        self.settle();
    }

    pub(crate) fn close(&self) {
        self.semaphore.close();
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.semaphore.is_closed()
    }

    /// Growing, under `turn`: forgives debt first; the answer is what is left to add.
    fn forgive(&self, growth: u32) -> u32 {
        let debt = self.debt.load(Relaxed);
        let forgiven = debt.min(growth);
        self.debt.store(debt - forgiven, Release);
        growth - forgiven
    }

    /// Shrinking, under `turn`: writes the debt down and pays what can be paid now. Adds nothing, so answers 0.
    fn owe(&self, shrinkage: u32) -> u32 {
        self.debt.store(self.debt.load(Relaxed) + shrinkage, Release);
        fence(SeqCst);
        self.remove_available();
        0
    }

    /// How many of `permits`, which just came free, go to the debt.
    fn pay(&self, permits: u32) -> u32 {
        if self.debt.load(Acquire) == 0 {
            return 0;
        }
        let _turn = self.turn();
        let debt = self.debt.load(Relaxed);
        let paid = debt.min(permits);
        self.debt.store(debt - paid, Release);
        paid
    }

    /// After permits went back: pays a debt that a concurrent shrink wrote down meanwhile.
    fn settle(&self) {
        fence(SeqCst);
        if self.debt.load(Relaxed) > 0 {
            let _turn = self.turn();
            self.remove_available();
        }
    }

    /// Under `turn`: removes free permits up to the debt.
    fn remove_available(&self) {
        let debt = self.debt.load(Relaxed);
        let removed = self.semaphore.forget_permits(debt as usize);
        self.debt.store(debt - removed as u32, Release);
    }

    fn turn(&self) -> MutexGuard<'_, ()> {
        self.turn.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A wait that ends without its permits may have returned some: the debt is looked at again.
struct SettleOnDrop<'a> {
    circulation: &'a Circulation,
    armed: bool,
}

impl Drop for SettleOnDrop<'_> {
    fn drop(&mut self) {
        if self.armed {
            self.circulation.settle();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Takes permits the way the guard does: tokio's own guard is forgotten.
    fn hold(circulation: &Circulation, permits: u32) {
        circulation.try_take(permits).expect("free").forget();
    }

    fn state(circulation: &Circulation) -> (u32, u32, u32) {
        (circulation.size(), circulation.debt(), circulation.available())
    }

    #[test]
    fn the_worked_example() {
        let circulation = Circulation::new(5);
        hold(&circulation, 3);
        assert_eq!(state(&circulation), (5, 0, 2));
        circulation.resize(1);
        assert_eq!(state(&circulation), (1, 2, 0));
        circulation.give_back(1);
        assert_eq!(state(&circulation), (1, 1, 0));
        circulation.resize(4);
        assert_eq!(state(&circulation), (4, 0, 2));
        circulation.give_back(2);
        assert_eq!(state(&circulation), (4, 0, 4));
    }

    #[test]
    fn one_release_pays_debt_and_returns_the_rest() {
        let circulation = Circulation::new(6);
        hold(&circulation, 6);
        circulation.resize(4);
        circulation.give_back(5);
        assert_eq!(state(&circulation), (4, 0, 3));
    }

    #[test]
    fn the_largest_size_is_held_and_resized() {
        let circulation = Circulation::new(u32::MAX);
        hold(&circulation, u32::MAX);
        circulation.resize(0);
        assert_eq!(state(&circulation), (0, u32::MAX, 0));
        circulation.resize(u32::MAX);
        circulation.give_back(u32::MAX);
        assert_eq!(state(&circulation), (u32::MAX, 0, u32::MAX));
    }

    #[tokio::test]
    async fn a_waiter_that_leaves_after_a_shrink_pays_with_what_was_set_aside() {
        let circulation = Circulation::new(2);
        hold(&circulation, 2);
        {
            let mut wait = std::pin::pin!(circulation.take(2));
            let polled =
                std::future::poll_fn(|cx| std::task::Poll::Ready(wait.as_mut().poll(cx).is_ready())).await;
            assert!(!polled);
            circulation.give_back(1); // set aside for the waiter, which needs one more
            circulation.resize(1);
            assert_eq!(state(&circulation), (1, 1, 0));
        }
        assert_eq!(state(&circulation), (1, 0, 0), "the permit that was set aside paid the debt");
        circulation.give_back(1);
        assert_eq!(state(&circulation), (1, 0, 1));
    }
}
