//! Callers on the line: who waits for which slot. They cost nothing while the slot waits, and one grant wakes one
//! slot's callers only.

use std::collections::HashMap;

use maitred_engine::names::{Namespace, SlotId};
use smallvec::SmallVec;

/// One caller that waits for a slot to be granted or to end.
#[derive(Debug)]
pub struct Waiter<R> {
    /// The number of its line, unique in this process.
    pub line: u64,
    pub reply: R,
}

pub type Place = (Namespace, SlotId);

#[derive(Debug)]
pub struct Waiters<R> {
    by_slot: HashMap<Place, SmallVec<[Waiter<R>; 1]>>,
    count: usize,
}

impl<R> Default for Waiters<R> {
    fn default() -> Self {
        Self { by_slot: HashMap::new(), count: 0 }
    }
}

impl<R> Waiters<R> {
    pub fn len(&self) -> usize {
        self.count
    }

    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    pub fn park(&mut self, namespace: Namespace, slot: SlotId, waiter: Waiter<R>) {
        self.count += 1;
        self.by_slot.entry((namespace, slot)).or_default().push(waiter);
    }

    /// Everybody who waits for this slot, in the order they came.
    pub fn wake(&mut self, namespace: &Namespace, slot: &SlotId) -> SmallVec<[Waiter<R>; 1]> {
        if self.is_empty() {
            return SmallVec::new();
        }
        let woken = self.by_slot.remove(&(namespace.clone(), slot.clone())).unwrap_or_default();
        self.count -= woken.len();
        woken
    }

    /// The caller on one line.
    pub fn take(&mut self, namespace: &Namespace, slot: &SlotId, line: u64) -> Option<Waiter<R>> {
        let place = (namespace.clone(), slot.clone());
        let waiting = self.by_slot.get_mut(&place)?;
        let index = waiting.iter().position(|waiter| waiter.line == line)?;
        let waiter = waiting.remove(index);
        if waiting.is_empty() {
            self.by_slot.remove(&place);
        }
        self.count -= 1;
        Some(waiter)
    }

    /// Everybody, with the slot they wait for, in the order they came: for the end of the process.
    pub fn drain(&mut self) -> Vec<(Place, Waiter<R>)> {
        self.count = 0;
        let of_slot = |(place, waiting): (Place, SmallVec<[Waiter<R>; 1]>)| {
            waiting.into_iter().map(move |waiter| (place.clone(), waiter))
        };
        let mut all: Vec<_> = self.by_slot.drain().flat_map(of_slot).collect();
        all.sort_unstable_by_key(|(_, waiter)| waiter.line);
        all
    }
}
