//! Things that live at a fixed place until they are removed, found by a small typed number.
//!
//! In chunks, so that growing moves nothing. Places are reused; a [`Ref`] is good until its thing is removed,
//! and never leaves the engine.

use std::{
    fmt,
    marker::PhantomData,
    ops::{Index, IndexMut},
};

const CHUNK: usize = 1024;

/// Where a `T` lives.
pub(crate) struct Ref<T> {
    place: u32,
    of: PhantomData<fn() -> T>,
}

impl<T> Ref<T> {
    pub(crate) const MIN: Self = Self::at(0);
    pub(crate) const MAX: Self = Self::at(u32::MAX);

    pub(crate) const fn at(place: u32) -> Self {
        Self { place, of: PhantomData }
    }

    pub(crate) fn place(self) -> u32 {
        self.place
    }
}

impl<T> Clone for Ref<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Ref<T> {}

impl<T> PartialEq for Ref<T> {
    fn eq(&self, other: &Self) -> bool {
        self.place == other.place
    }
}

impl<T> Eq for Ref<T> {}

impl<T> PartialOrd for Ref<T> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> Ord for Ref<T> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.place.cmp(&other.place)
    }
}

impl<T> fmt::Debug for Ref<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "@{}", self.place)
    }
}

#[cfg_attr(feature = "check", derive(Clone))]
pub(crate) struct Slab<T> {
    chunks: Vec<Vec<Option<T>>>,
    free: Vec<u32>,
    len: u32,
}

impl<T> Slab<T> {
    pub(crate) fn new() -> Self {
        Self { chunks: Vec::new(), free: Vec::new(), len: 0 }
    }

    pub(crate) fn len(&self) -> u32 {
        self.len
    }

    pub(crate) fn insert(&mut self, value: T) -> Ref<T> {
        self.len += 1;
        if let Some(place) = self.free.pop() {
            *self.cell(place) = Some(value);
            return Ref::at(place);
        }
        if self.chunks.last().is_none_or(|chunk| chunk.len() == CHUNK) {
            self.chunks.push(Vec::with_capacity(CHUNK));
        }
        let full = (self.chunks.len() - 1) * CHUNK;
        let chunk = self.chunks.last_mut().expect("a chunk with room was just made");
        chunk.push(Some(value));
        Ref::at((full + chunk.len() - 1) as u32)
    }

    pub(crate) fn remove(&mut self, at: Ref<T>) -> T {
        let value = self.cell(at.place).take().expect("a thing is removed once");
        self.len -= 1;
        self.free.push(at.place);
        value
    }

    pub(crate) fn get(&self, at: Ref<T>) -> Option<&T> {
        let place = at.place as usize;
        self.chunks.get(place / CHUNK)?.get(place % CHUNK)?.as_ref()
    }

    fn cell(&mut self, place: u32) -> &mut Option<T> {
        let place = place as usize;
        &mut self.chunks[place / CHUNK][place % CHUNK]
    }

    /// Everything from a place on, in an order without meaning: for listings with a cursor, and to be sorted.
    pub(crate) fn scan(&self, from: u32) -> impl Iterator<Item = (Ref<T>, &T)> {
        let end = self.chunks.last().map_or(0, |last| (self.chunks.len() - 1) * CHUNK + last.len()) as u32;
        (from..end).map(Ref::at).filter_map(|at| Some((at, self.get(at)?)))
    }
}

impl<T> Index<Ref<T>> for Slab<T> {
    type Output = T;
    fn index(&self, at: Ref<T>) -> &T {
        self.get(at).expect("a ref outlives its thing only by mistake")
    }
}

impl<T> IndexMut<Ref<T>> for Slab<T> {
    fn index_mut(&mut self, at: Ref<T>) -> &mut T {
        self.cell(at.place).as_mut().expect("a ref outlives its thing only by mistake")
    }
}
