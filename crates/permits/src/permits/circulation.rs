//! The permits in circulation: where those are that nobody holds, and how many there are too many.
//!
//! The line of those who wait is tokio's fair semaphore. Two things are ours. While nobody is in line, free permits are
//! a plain count, so that taking one costs one lock and no more. And a size can shrink: that takes nothing back from
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
//! In circulation = spare + in the semaphore (free there, or set aside for a waiter) + held, and every step keeps it
//! equal to `size + debt`. Everything here happens under the lock of the [`Ledger`](super::ledger::Ledger), except one
//! thing: permits are *added* to the semaphore after the lock, because that wakes waiters, which runs code that is not
//! ours. Functions that want it done answer with the number to add.
//!
//! **Nobody is passed by.** Whoever joins the line first moves all spare permits into the semaphore, and while anybody is
//! in line, what comes free goes there. tokio counts a permit as free only while its queue is empty. So a newcomer gets
//! a spare permit only if nobody is in line, and a free one of the semaphore only if nobody is queued there.
//!
//! **No permit is stranded.** Permits may reach the semaphore after its last waiter has gone: a release had seen the
//! waiter and adds after the lock, or the waiter itself returns what was set aside for it. They count as available, and
//! [`take`](Circulation::take) fetches them when nobody is in line.
//!
//! **No permit is given while one is owed.** For the same reasons permits may be free in the semaphore although there is
//! a debt: the shrink came between the release's look at the debt and its return. `take` pays with them first, and
//! `available` does not count them. A release that saw no debt counts as having come before the shrink, and a permit
//! that was set aside for a waiter as given: if that waiter leaves, it may pass to the next in line. While there is a
//! debt nothing is added, so in circulation only falls, and with it what can be in flight.

use tokio::sync::Semaphore;

pub(crate) struct Circulation {
    size: u32,
    /// Permits still to be removed as they come free.
    debt: u32,
    /// Free permits while nobody is in line.
    spare: u32,
    /// How many are in line.
    waiting: u32,
    /// How many of them want more than one.
    waiting_for_many: u32,
}

impl Circulation {
    pub(crate) fn new(size: u32) -> Self {
        Self { size, debt: 0, spare: size, waiting: 0, waiting_for_many: 0 }
    }

    pub(crate) fn size(&self) -> u32 {
        self.size
    }

    pub(crate) fn waiting(&self) -> u32 {
        self.waiting
    }

    /// Whether a permit that comes back now is somebody's at once: of those in line, each wants one, and nothing is owed.
    pub(crate) fn serves_at_once(&self) -> bool {
        self.waiting > 0 && self.waiting_for_many == 0 && self.debt == 0
    }

    /// What is free for whoever comes.
    pub(crate) fn available(&self, line: &Semaphore) -> u32 {
        self.free(line).saturating_sub(self.debt)
    }

    /// What is set aside for waiters, given how many are held.
    pub(crate) fn set_aside(&self, line: &Semaphore, held: u32) -> u32 {
        let found = u64::from(self.free(line)) + u64::from(held);
        let in_circulation = u64::from(self.size) + u64::from(self.debt);
        u32::try_from(in_circulation.saturating_sub(found)).unwrap_or(u32::MAX)
    }

    /// Takes permits if they are free and nobody is before us.
    #[must_use]
    pub(crate) fn take(&mut self, wanted: u32, line: &Semaphore) -> bool {
        if self.spare < wanted || self.debt > 0 {
            return self.take_from(line, wanted);
        }
        self.spare -= wanted;
        true
    }

    /// Permits come back. The answer is how many of them to add to the semaphore, after the lock.
    #[must_use]
    pub(crate) fn give_back(&mut self, permits: u32) -> u32 {
        let paid = self.debt.min(permits);
        self.debt -= paid;
        let rest = permits - paid;
        if self.waiting > 0 {
            return rest;
        }
        self.spare += rest;
        0
    }

    /// Somebody joins the line. The answer is how many to add to the semaphore, after the lock and before waiting.
    #[must_use]
    pub(crate) fn join(&mut self, wanted: u32) -> u32 {
        self.waiting += 1;
        self.waiting_for_many += u32::from(wanted > 1);
        std::mem::take(&mut self.spare)
    }

    /// Somebody has left the line, with permits or without.
    pub(crate) fn leave(&mut self, wanted: u32, line: &Semaphore) {
        self.waiting -= 1;
        self.waiting_for_many -= u32::from(wanted > 1);
        self.fetch_spare(line);
    }

    /// Changes the size. The answer is how many to add to the semaphore, after the lock.
    #[must_use]
    pub(crate) fn resize(&mut self, size: u32, line: &Semaphore) -> u32 {
        let growth = size.saturating_sub(self.size);
        self.debt += self.size.saturating_sub(size);
        self.size = size;
        self.pay(line);
        self.give_back(growth)
    }

    #[cfg(test)]
    pub(crate) fn in_circulation(&self) -> u64 {
        u64::from(self.size) + u64::from(self.debt)
    }

    fn free(&self, line: &Semaphore) -> u32 {
        u32::try_from(line.available_permits()).unwrap_or(u32::MAX).saturating_add(self.spare)
    }

    /// The rarer half of [`take`](Self::take): there is a debt, a line, or something to fetch from the semaphore.
    fn take_from(&mut self, line: &Semaphore, wanted: u32) -> bool {
        self.fetch_spare(line);
        self.pay(line);
        if self.waiting > 0 {
            return self.debt == 0 && line.try_acquire_many(wanted).map(|taken| taken.forget()).is_ok();
        }
        let enough = self.spare >= wanted;
        self.spare -= if enough { wanted } else { 0 };
        enough
    }

    /// With nobody in line, what is in the semaphore is spare.
    fn fetch_spare(&mut self, line: &Semaphore) {
        if self.waiting == 0 {
            self.spare += line.forget_permits(Semaphore::MAX_PERMITS) as u32;
        }
    }

    /// Removes free permits up to the debt.
    fn pay(&mut self, line: &Semaphore) {
        let paid = self.debt.min(self.spare);
        self.spare -= paid;
        self.debt -= paid;
        self.debt -= line.forget_permits(self.debt as usize) as u32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The books and their line, as `Shared` has them.
    struct Both(Circulation, Semaphore);

    impl Both {
        fn new(size: u32) -> Self {
            Self(Circulation::new(size), Semaphore::new(0))
        }

        fn take(&mut self, wanted: u32) -> bool {
            self.0.take(wanted, &self.1)
        }

        fn give_back(&mut self, permits: u32) {
            let added = self.0.give_back(permits);
            self.1.add_permits(added as usize);
        }

        fn resize(&mut self, size: u32) {
            let added = self.0.resize(size, &self.1);
            self.1.add_permits(added as usize);
        }

        fn join(&mut self) {
            let added = self.0.join(1);
            self.1.add_permits(added as usize);
        }

        /// Size, debt, free.
        fn state(&self) -> (u32, u32, u32) {
            (self.0.size, self.0.debt, self.0.free(&self.1))
        }
    }

    #[test]
    fn the_worked_example_with_and_without_a_line() {
        for in_line in [false, true] {
            let mut both = Both::new(5);
            if in_line {
                both.join();
            }
            assert!(both.take(3));
            assert_eq!(both.state(), (5, 0, 2));
            both.resize(1);
            assert_eq!(both.state(), (1, 2, 0));
            both.give_back(1);
            assert_eq!(both.state(), (1, 1, 0));
            both.resize(4);
            assert_eq!(both.state(), (4, 0, 2));
            both.give_back(2);
            assert_eq!(both.state(), (4, 0, 4));
            assert_eq!((both.take(5), both.take(4), both.take(1)), (false, true, false));
        }
    }

    #[test]
    fn one_release_pays_and_returns_the_rest() {
        let mut both = Both::new(6);
        assert!(both.take(6));
        both.resize(4);
        both.give_back(5);
        assert_eq!(both.state(), (4, 0, 3));
    }

    #[test]
    fn spare_permits_move_into_the_line_and_back() {
        let mut both = Both::new(3);
        both.join();
        assert_eq!((both.0.spare, both.1.available_permits()), (0, 3));
        both.join();
        both.0.leave(1, &both.1);
        assert_eq!((both.0.spare, both.1.available_permits()), (0, 3));
        both.0.leave(1, &both.1);
        assert_eq!((both.0.spare, both.1.available_permits()), (3, 0));
    }

    #[test]
    fn what_reaches_the_line_when_nobody_is_there_any_more_is_found() {
        let mut both = Both::new(2);
        assert!(both.take(2));
        both.join();
        let late = both.0.give_back(1);
        both.0.leave(1, &both.1);
        both.1.add_permits(late as usize);
        assert_eq!(both.0.available(&both.1), 1);
        assert!(both.take(1));
    }

    #[test]
    fn what_came_free_unseen_pays_before_anybody_takes_it() {
        let mut both = Both::new(3);
        assert!(both.take(3));
        both.resize(1);
        both.1.add_permits(1); // one of the three, by a waiter that left
        assert_eq!((both.0.available(&both.1), both.state()), (0, (1, 2, 1)));
        assert!(!both.take(1));
        assert_eq!(both.state(), (1, 1, 0));
        both.1.add_permits(1);
        both.resize(1);
        assert_eq!(both.state(), (1, 0, 0));
    }

    #[test]
    fn the_largest_size_is_held_and_resized() {
        let mut both = Both::new(u32::MAX);
        assert!(both.take(u32::MAX));
        both.resize(0);
        assert_eq!(both.state(), (0, u32::MAX, 0));
        both.resize(u32::MAX);
        both.give_back(u32::MAX);
        assert_eq!(both.state(), (u32::MAX, 0, u32::MAX));
    }
}
