//! Who holds one limit. What is occupied is the set of these slots; no count is kept that they do not make.

use std::collections::BTreeMap;

use maitred_planted::{Defect, has};

use crate::{slab::Ref, slots::Slot};

/// Slots by fence, which is the order of their grants, and the sum of their weights.
#[derive(Default)]
#[cfg_attr(feature = "check", derive(Clone))]
pub(crate) struct Held {
    by_fence: BTreeMap<u64, Ref<Slot>>,
    weight: u64,
}

impl Held {
    pub(crate) fn insert(&mut self, fence: u64, slot: Ref<Slot>, weight: u32) {
        let before = self.by_fence.insert(fence, slot);
        debug_assert!(before.is_none());
        self.weight += u64::from(weight);
    }

    pub(crate) fn remove(&mut self, fence: u64, weight: u32) {
        self.by_fence.remove(&fence).expect("who gives back holds");
        self.weight -= u64::from(weight);
    }

    pub(crate) fn get(&self, fence: u64) -> Option<Ref<Slot>> {
        self.by_fence.get(&fence).copied()
    }

    pub(crate) fn weight(&self) -> u64 {
        self.weight
    }

    pub(crate) fn len(&self) -> usize {
        self.by_fence.len()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = Ref<Slot>> {
        self.by_fence.values().copied()
    }
}

#[derive(Default)]
#[cfg_attr(feature = "check", derive(Clone))]
pub(crate) struct Holders {
    pub(crate) busy: Held,
    pub(crate) reserved: Held,
}

impl Holders {
    /// What counts against the capacity (L5).
    pub(crate) fn used(&self) -> u64 {
        if has(Defect::WeightsIgnored) {
            return self.len() as u64;
        }
        let reserved = if has(Defect::ReservedTakesNoRoom) { 0 } else { self.reserved.weight() };
        self.busy.weight() + reserved
    }

    pub(crate) fn len(&self) -> usize {
        self.busy.len() + self.reserved.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Busy by grant, then reserved by grant.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Ref<Slot>> {
        self.busy.iter().chain(self.reserved.iter())
    }
}
