//! What a run holds and waits for, and what its end frees (S9, S11, R5, K1).
//!
//! A run is known only while something is its own. When the last of it is gone, so is the run; an id that comes
//! back is a new one.

use std::collections::BTreeSet;

use maitred_planted::{Defect, has};

use crate::{
    command::{Hold, RunStatus},
    digest::{HashKey, Named},
    engine::{Cause, Engine},
    event::{Event, EventKind},
    index::{Hashed, NameHash, Table},
    limits::Space,
    names::{Namespace, RunId},
    outcome::{End, Outcome},
    slab::Ref,
    slots::{Slot, Stage},
};

#[cfg_attr(feature = "check", derive(Clone))]
pub(crate) struct Run {
    hash: NameHash,
    pub(crate) space: Ref<Space>,
    pub(crate) id: RunId,
    /// How many slots, places and hits are its own.
    pub(crate) holds: u32,
}

impl Hashed for Run {
    fn hash(&self) -> NameHash {
        self.hash
    }
}

#[cfg_attr(feature = "check", derive(Clone))]
pub(crate) struct Runs {
    pub(crate) table: Table<Run>,
    slots: BTreeSet<(Ref<Run>, Ref<Slot>)>,
}

impl Runs {
    pub(crate) fn new() -> Self {
        Self { table: Table::new(), slots: BTreeSet::new() }
    }

    pub(crate) fn find(&self, key: HashKey, namespace: &str, run: &str) -> Option<Ref<Run>> {
        self.table.find(key.name(Named::Run, [namespace, run]))
    }

    /// The run, of which one thing more is its own.
    pub(crate) fn hold(
        &mut self,
        key: HashKey,
        namespace: &Namespace,
        space: Ref<Space>,
        run: &RunId,
    ) -> Ref<Run> {
        let hash = key.name(Named::Run, [namespace.as_str(), run.as_str()]);
        let found = self.table.find(hash);
        let at = found.unwrap_or_else(|| self.table.insert(Run { hash, space, id: run.clone(), holds: 0 }));
        self.table[at].holds += 1;
        at
    }

    /// One thing less.
    pub(crate) fn let_go(&mut self, at: Ref<Run>) {
        self.table[at].holds -= 1;
        if self.table[at].holds == 0 {
            self.table.remove(at);
        }
    }

    pub(crate) fn id(&self, at: Ref<Run>) -> &RunId {
        &self.table[at].id
    }

    /// After [`Runs::hold`].
    pub(crate) fn add_slot(&mut self, at: Ref<Run>, slot: Ref<Slot>) {
        self.slots.insert((at, slot));
    }

    pub(crate) fn remove_slot(&mut self, at: Ref<Run>, slot: Ref<Slot>) {
        self.slots.remove(&(at, slot));
        self.let_go(at);
    }

    pub(crate) fn slots_of(&self, at: Ref<Run>) -> impl Iterator<Item = Ref<Slot>> {
        self.slots.range((at, Ref::MIN)..=(at, Ref::MAX)).map(|(_, slot)| *slot)
    }

    pub(crate) fn slot_count(&self) -> usize {
        self.slots.len()
    }
}

impl Engine {
    pub(crate) fn find_run(&self, namespace: &str, run: &str) -> Option<Ref<Run>> {
        self.runs.find(self.hash_key, namespace, run)
    }

    /// A run is at its end: all that ends with it ends first, in order of arrival; grants follow when the command
    /// is done, so that none goes to the dead run (S9).
    pub(crate) fn end_run(
        &mut self,
        namespace: &Namespace,
        run: &RunId,
        status: RunStatus,
        cause: Cause<'_>,
        events: &mut Vec<Event>,
    ) -> Outcome {
        self.emit(events, EventKind::RunEnded { namespace: namespace.clone(), run: run.clone(), status });
        let Some(at) = self.find_run(namespace.as_str(), run.as_str()) else { return Outcome::Done };
        let hits = self.rates.counters_hit_by(at);
        let places = self.places.keys_held_by(at);
        for slot in self.slots_that_end_with(at) {
            self.end(slot, End::RunEnded, cause, events);
            if has(Defect::GrantsToTheDying) {
                self.settle(events);
            }
        }
        // Each of these is something that the run holds, so it lives until the last is let go.
        for counter in hits {
            self.settle_hits(counter, at, status);
        }
        for key in places {
            self.free_place(key, at);
        }
        Outcome::Done
    }

    /// What is queued and reserved, and what is busy for as long as the run only (S11).
    fn slots_that_end_with(&self, at: Ref<Run>) -> Vec<Ref<Slot>> {
        let ends = |slot: &Slot| !matches!(slot.stage, Stage::Busy(_)) || slot.hold == Hold::Run;
        let mut ending: Vec<Ref<Slot>> =
            self.runs.slots_of(at).filter(|&slot| ends(&self.slots[slot])).collect();
        ending.sort_unstable_by_key(|&slot| self.slots[slot].arrival);
        ending
    }
}
