//! Reads that answer "why does it wait?": where a slot stands everywhere, and who carries a label.

use crate::{engine::Engine, slots::Stage, view::SlotView};

impl Engine {
    /// The place of a slot in the queue of each limit it names, from 1, in the order named. Empty unless it waits.
    pub fn places(&self, namespace: &str, slot: &str) -> Vec<u64> {
        let waits = self.find_slot(namespace, slot).map(|at| &self.slots[at]);
        let waits = waits.filter(|slot| matches!(slot.stage, Stage::Queued { .. }));
        let place = |slot: &crate::slots::Slot| {
            slot.asks.iter().map(|ask| self.limits[ask.limit].queue.place(slot.arrival)).collect()
        };
        waits.map(place).unwrap_or_default()
    }

    /// Slots that have not ended and carry this label, in no order that means anything. Looks at every slot.
    pub fn labelled(&self, namespace: &str, label: &str, most: usize) -> Vec<SlotView> {
        let Some(space) = self.find_space(namespace) else { return Vec::new() };
        let carries = |slot: &crate::slots::Slot| {
            slot.space == space && slot.label.as_ref().is_some_and(|own| own.as_str() == label)
        };
        let found = self.slots.scan(0).filter(|(_, slot)| carries(slot));
        found.take(most).filter_map(|(_, slot)| self.slot(namespace, slot.id.as_str())).collect()
    }
}
