//! How many permits are in circulation, and how many too many.
//!
//! Taking and waiting are tokio's fair semaphore. What is ours is shrinking: a smaller size takes nothing back from
//! those who hold permits, so what cannot be removed at once becomes a *debt*, and permits that come free pay the debt
//! before they serve anybody.
//!
//! # Worked example
//!
//! | step | size | debt | free | held | in circulation |
//! |---|---|---|---|---|---|
//! | new(5), three taken | 5 | 0 | 2 | 3 | 5 |
//! | resize(1): two are free and go, two are owed | 1 | 2 | 0 | 3 | 3 |
//! | one given back: it pays | 1 | 1 | 0 | 2 | 2 |
//! | resize(4): one debt is forgiven, two are added | 4 | 0 | 2 | 2 | 4 |
//!
//! # Why it is right
//!
//! In circulation = free in the semaphore + set aside for a waiter + held, and every step keeps it equal to
//! `size + debt`. Size and debt change only under the lock of the [`Ledger`](super::ledger::Ledger). Permits are added
//! to the semaphore outside of it, because that wakes waiters, which runs code that is not ours. So a shrink may come
//! between the look at the debt and the return of permits, and a waiter that leaves returns what was set aside for it
//! without a look at all. Either leaves permits free while some are owed. Hence the debt is looked at on both sides,
//! always under the lock:
//!
//! * when permits come back ([`come_free`](Circulation::come_free)): they pay first, only the rest goes on;
//! * when free permits are taken ([`pay_with`](Circulation::pay_with)): with a debt they pay instead of being given.
//!
//! So nobody takes a free permit while one is owed, and what counts as available is what is free beyond the debt. A
//! permit that was set aside for a waiter counts as given: if that waiter leaves it may pass to the next in line. While
//! there is a debt nothing is added, so in circulation only falls, and with it what can be in flight.

use tokio::sync::Semaphore;

pub(crate) struct Circulation {
    size: u32,
    /// Permits still to be removed as they come free.
    debt: u32,
}

impl Circulation {
    pub(crate) fn new(size: u32) -> Self {
        Self { size, debt: 0 }
    }

    pub(crate) fn size(&self) -> u32 {
        self.size
    }

    /// How many there are to be found: free, set aside or held.
    pub(crate) fn permits(&self) -> u64 {
        u64::from(self.size) + u64::from(self.debt)
    }

    /// What is free for whoever comes.
    pub(crate) fn available(&self, semaphore: &Semaphore) -> u32 {
        let free = u32::try_from(semaphore.available_permits()).unwrap_or(u32::MAX);
        free.saturating_sub(self.debt)
    }

    /// Permits come back. The answer is how many of them to add to the semaphore, after the lock.
    #[must_use]
    pub(crate) fn come_free(&mut self, permits: u32) -> u32 {
        let paid = self.debt.min(permits);
        self.debt -= paid;
        permits - paid
    }

    /// Free permits were taken. With a debt they pay it: the answer is how many are left over, to be added again.
    /// Without one, `None`: they may be given.
    #[must_use]
    pub(crate) fn pay_with(&mut self, permits: u32) -> Option<u32> {
        (self.debt > 0).then(|| self.come_free(permits))
    }

    /// Changes the size. The answer is how many to add to the semaphore, after the lock.
    #[must_use]
    pub(crate) fn resize(&mut self, size: u32, semaphore: &Semaphore) -> u32 {
        let growth = size.saturating_sub(self.size);
        self.debt += self.size.saturating_sub(size);
        self.size = size;
        let removed = semaphore.forget_permits(self.debt as usize) as u32;
        self.debt -= removed;
        self.come_free(growth)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The semaphore beside the books, as `Shared` has them.
    struct Both(Semaphore, Circulation);

    impl Both {
        fn new(size: u32) -> Self {
            Self(Semaphore::new(size as usize), Circulation::new(size))
        }

        fn hold(&self, permits: u32) {
            self.0.try_acquire_many(permits).expect("free").forget();
        }

        fn give_back(&mut self, permits: u32) {
            self.0.add_permits(self.1.come_free(permits) as usize);
        }

        fn resize(&mut self, size: u32) {
            self.0.add_permits(self.1.resize(size, &self.0) as usize);
        }

        /// Size, debt, free.
        fn state(&self) -> (u32, u32, usize) {
            (self.1.size, self.1.debt, self.0.available_permits())
        }
    }

    #[test]
    fn the_worked_example() {
        let mut both = Both::new(5);
        both.hold(3);
        assert_eq!(both.state(), (5, 0, 2));
        both.resize(1);
        assert_eq!(both.state(), (1, 2, 0));
        both.give_back(1);
        assert_eq!(both.state(), (1, 1, 0));
        both.resize(4);
        assert_eq!(both.state(), (4, 0, 2));
        both.give_back(2);
        assert_eq!(both.state(), (4, 0, 4));
    }

    #[test]
    fn one_release_pays_and_returns_the_rest() {
        let mut both = Both::new(6);
        both.hold(6);
        both.resize(4);
        both.give_back(5);
        assert_eq!(both.state(), (4, 0, 3));
    }

    #[test]
    fn what_came_free_unseen_pays_when_it_is_taken() {
        let mut both = Both::new(3);
        both.hold(3);
        both.resize(1);
        both.0.add_permits(2); // by a waiter that left
        assert_eq!((both.1.available(&both.0), both.state()), (0, (1, 2, 2)));
        both.hold(1);
        assert_eq!(both.1.pay_with(1), Some(0));
        both.hold(1);
        assert_eq!(both.1.pay_with(1), Some(0));
        assert_eq!((both.state(), both.1.pay_with(1)), ((1, 0, 0), None));
    }

    #[test]
    fn a_resize_removes_what_came_free_unseen() {
        let mut both = Both::new(3);
        both.hold(3);
        both.resize(1);
        both.0.add_permits(1);
        both.resize(1);
        assert_eq!(both.state(), (1, 1, 0));
    }

    #[test]
    fn the_largest_size_is_held_and_resized() {
        let mut both = Both::new(u32::MAX);
        both.hold(u32::MAX);
        both.resize(0);
        assert_eq!(both.state(), (0, u32::MAX, 0));
        both.resize(u32::MAX);
        both.give_back(u32::MAX);
        assert_eq!(both.state(), (u32::MAX, 0, u32::MAX as usize));
    }
}
