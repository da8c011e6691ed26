//! Places in flight: one a key and run, never queued, freed when the run ends and after an hour at the latest (K).
//!
//! How many are in flight is the number of places of the key that have not expired at the time it is asked for.
//! Those that have are taken out of memory in passing, like ended windows.

use std::collections::{BTreeMap, BTreeSet};

use maitred_planted::{Defect, has};

use crate::{
    bounds::PLACE_MAX_MS,
    digest::Named,
    engine::Engine,
    index::{Hashed, NameHash, Table},
    names::{Key, Namespace, RunId, TaskId},
    runs::Run,
    slab::Ref,
    tasks::Task,
    time::Millis,
};

/// A key of a task of which at least one place is taken.
#[cfg_attr(feature = "check", derive(Clone))]
pub(crate) struct PlaceKey {
    pub(crate) hash: NameHash,
    pub(crate) task: Ref<Task>,
    pub(crate) key: Key,
    /// The number of its places, expired ones that are still in memory among them.
    pub(crate) taken: u32,
}

impl Hashed for PlaceKey {
    fn hash(&self) -> NameHash {
        self.hash
    }
}

#[cfg_attr(feature = "check", derive(Clone))]
pub(crate) struct Places {
    pub(crate) keys: Table<PlaceKey>,
    by_key: BTreeSet<(Ref<PlaceKey>, Millis, Ref<Run>)>,
    by_run: BTreeMap<(Ref<Run>, Ref<PlaceKey>), Millis>,
    by_end: BTreeSet<(Millis, Ref<PlaceKey>, Ref<Run>)>,
}

impl Places {
    pub(crate) fn new() -> Self {
        Self { keys: Table::new(), by_key: BTreeSet::new(), by_run: BTreeMap::new(), by_end: BTreeSet::new() }
    }

    pub(crate) fn len(&self) -> usize {
        self.by_run.len()
    }

    /// K1: how many of the key's places are taken.
    pub(crate) fn in_flight(&self, key: Ref<PlaceKey>, now: Millis) -> u64 {
        let until = now - u64::from(has(Defect::PlaceEndsLate));
        let expired = self.by_key.range((key, 0, Ref::MIN)..=(key, until, Ref::MAX)).count();
        u64::from(self.keys[key].taken) - expired as u64
    }

    /// K2: whether the run holds a place of the key.
    pub(crate) fn holds(&self, run: Ref<Run>, key: Ref<PlaceKey>, now: Millis) -> bool {
        self.by_run.get(&(run, key)).is_some_and(|expires_at| *expires_at > now)
    }

    pub(crate) fn keys_held_by(&self, run: Ref<Run>) -> Vec<Ref<PlaceKey>> {
        self.held_by(run).map(|(key, _)| key).collect()
    }

    pub(crate) fn held_by(&self, run: Ref<Run>) -> impl Iterator<Item = (Ref<PlaceKey>, Millis)> {
        self.by_run.range((run, Ref::MIN)..=(run, Ref::MAX)).map(|((_, key), expires_at)| (*key, *expires_at))
    }

    /// The runs that hold a place of the key, by expiry.
    pub(crate) fn holders_of(&self, key: Ref<PlaceKey>) -> impl Iterator<Item = (Ref<Run>, Millis)> {
        let of_key = self.by_key.range((key, 0, Ref::MIN)..=(key, Millis::MAX, Ref::MAX));
        of_key.map(|(_, expires_at, run)| (*run, *expires_at))
    }

    pub(crate) fn first_expired(&self, now: Millis) -> Option<(Ref<PlaceKey>, Ref<Run>)> {
        self.by_end.first().filter(|(expires_at, ..)| *expires_at <= now).map(|(_, key, run)| (*key, *run))
    }

    pub(crate) fn insert(&mut self, key: Ref<PlaceKey>, run: Ref<Run>, expires_at: Millis) {
        self.keys[key].taken += 1;
        self.by_key.insert((key, expires_at, run));
        self.by_run.insert((run, key), expires_at);
        self.by_end.insert((expires_at, key, run));
    }

    /// False if there was none.
    fn remove(&mut self, key: Ref<PlaceKey>, run: Ref<Run>) -> bool {
        let Some(expires_at) = self.by_run.remove(&(run, key)) else { return false };
        self.keys[key].taken -= 1;
        self.by_key.remove(&(key, expires_at, run));
        self.by_end.remove(&(expires_at, key, run));
        true
    }

    pub(crate) fn is_sound(&self) -> bool {
        let mirrored = |(&(run, key), &expires_at): (&(Ref<Run>, Ref<PlaceKey>), &Millis)| {
            self.by_key.contains(&(key, expires_at, run)) && self.by_end.contains(&(expires_at, key, run))
        };
        let taken = |(at, key): (Ref<PlaceKey>, &PlaceKey)| {
            key.taken > 0 && self.holders_of(at).count() == key.taken as usize
        };
        self.keys.is_sound()
            && self.by_key.len() == self.by_run.len()
            && self.by_end.len() == self.by_run.len()
            && self.by_run.iter().all(mirrored)
            && self.keys.scan(0).all(taken)
    }
}

impl Engine {
    pub(crate) fn place_hash(&self, namespace: &str, task: &str, key: &str) -> NameHash {
        self.hash_key.name(Named::PlaceKey, [namespace, task, key])
    }

    /// Takes a place, which the run does not hold yet, for an hour.
    pub(crate) fn take_place(
        &mut self,
        hash: NameHash,
        namespace: &Namespace,
        task: &TaskId,
        key: &Key,
        run: &RunId,
    ) {
        let space = self.space_of(namespace);
        let run = self.runs.hold(self.hash_key, namespace, space, run);
        let found = self.places.keys.find(hash);
        if let Some(at) = found {
            // What the run held before has expired, or it would hold it still.
            self.free_place(at, run);
        }
        let found = self.places.keys.find(hash);
        let at = found.unwrap_or_else(|| {
            let task = self.use_task(namespace, space, task);
            self.places.keys.insert(PlaceKey { hash, task, key: key.clone(), taken: 0 })
        });
        self.places.insert(at, run, self.now + PLACE_MAX_MS);
    }

    /// Frees the run's place of the key, if it has one.
    pub(crate) fn free_place(&mut self, key: Ref<PlaceKey>, run: Ref<Run>) {
        if !self.places.remove(key, run) {
            return;
        }
        self.runs.let_go(run);
        if self.places.keys[key].taken == 0 {
            let key = self.places.keys.remove(key);
            self.unuse_task(key.task);
        }
    }
}
