//! Finding things by name. No order ever comes from here: there is no way to iterate.
//!
//! A name is known by its keyed hash of 128 bits, and two names with one hash are taken for one. With a key that nobody
//! outside knows that does not happen: among a hundred million names, with a chance of one in 10^22. In return a
//! look-up touches no text, and an id that is only remembered is known as surely as one that is kept.

use hashbrown::HashTable;

use crate::slab::{Ref, Slab};

/// The keyed hash of a name; see [`crate::digest::HashKey`].
pub(crate) type NameHash = u128;

/// So many tables that the growth of one of them stalls nobody for long.
const SHARDS: usize = 16;

/// Numbers by hash: get, insert, remove. Whoever asks knows the whole hash of each number.
#[cfg_attr(feature = "check", derive(Clone))]
pub(crate) struct Index {
    shards: [HashTable<u32>; SHARDS],
    len: usize,
}

impl Index {
    pub(crate) fn new() -> Self {
        Self { shards: [const { HashTable::new() }; SHARDS], len: 0 }
    }

    /// From bits that the tables do not use.
    fn shard(hash: NameHash) -> usize {
        (hash >> 64) as usize % SHARDS
    }

    pub(crate) fn get(&self, hash: NameHash, hash_of: impl Fn(u32) -> NameHash) -> Option<u32> {
        self.shards[Self::shard(hash)].find(hash as u64, |&value| hash_of(value) == hash).copied()
    }

    pub(crate) fn insert(&mut self, hash: NameHash, value: u32, hash_of: impl Fn(u32) -> NameHash) {
        self.shards[Self::shard(hash)].insert_unique(hash as u64, value, |&value| hash_of(value) as u64);
        self.len += 1;
    }

    pub(crate) fn remove(&mut self, hash: NameHash, value: u32) {
        let found = self.shards[Self::shard(hash)].find_entry(hash as u64, |&other| other == value);
        let Ok(entry) = found else { unreachable!("what is removed was inserted") };
        entry.remove();
        self.len -= 1;
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }
}

/// What lives in a [`Table`] keeps the hash of its name.
pub(crate) trait Hashed {
    fn hash(&self) -> NameHash;
}

/// A slab whose things are also found by name.
#[cfg_attr(feature = "check", derive(Clone))]
pub(crate) struct Table<T> {
    slab: Slab<T>,
    index: Index,
}

impl<T: Hashed> Table<T> {
    pub(crate) fn new() -> Self {
        Self { slab: Slab::new(), index: Index::new() }
    }

    pub(crate) fn find(&self, hash: NameHash) -> Option<Ref<T>> {
        self.index.get(hash, |place| self.slab[Ref::at(place)].hash()).map(Ref::at)
    }

    pub(crate) fn insert(&mut self, value: T) -> Ref<T> {
        let hash = value.hash();
        let at = self.slab.insert(value);
        self.index.insert(hash, at.place(), |place| self.slab[Ref::at(place)].hash());
        at
    }

    pub(crate) fn remove(&mut self, at: Ref<T>) -> T {
        self.index.remove(self.slab[at].hash(), at.place());
        self.slab.remove(at)
    }

    pub(crate) fn get(&self, at: Ref<T>) -> Option<&T> {
        self.slab.get(at)
    }

    pub(crate) fn len(&self) -> u32 {
        self.slab.len()
    }

    pub(crate) fn scan(&self, from: u32) -> impl Iterator<Item = (Ref<T>, &T)> {
        self.slab.scan(from)
    }

    /// That every thing is found under its own hash, and nothing else is.
    pub(crate) fn is_sound(&self) -> bool {
        let found = |(at, value): (Ref<T>, &T)| self.find(value.hash()) == Some(at);
        self.index.len() == self.slab.len() as usize && self.slab.scan(0).all(found)
    }
}

impl<T> std::ops::Index<Ref<T>> for Table<T> {
    type Output = T;
    fn index(&self, at: Ref<T>) -> &T {
        &self.slab[at]
    }
}

impl<T> std::ops::IndexMut<Ref<T>> for Table<T> {
    fn index_mut(&mut self, at: Ref<T>) -> &mut T {
        &mut self.slab[at]
    }
}
