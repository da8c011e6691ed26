//! One limit's queue: who waits, in order of arrival.
//!
//! # How slots over several limits are granted
//!
//! Every slot that joins gets the next arrival number of the whole engine and stands with it in the queue of
//! every limit it names. It is granted when it is first in all of them and all have room, at one instant.
//!
//! ```text
//! gpu (capacity 1, free)   queue: m(2) y(3)
//! api (capacity 1, held by x)   queue: m(2) n(4)
//! ```
//!
//! `m` names both and is first in both, but `api` has no room: it waits, and so do `y` and `n` behind it,
//! though `gpu` is free: whoever may pass a heavy or a wide slot once may pass it for ever. When `x` is released,
//! `m` is granted, both queues get a new head at that same instant, `y` and `n` are looked at, lowest arrival
//! first, and wait, since `m` now holds both.
//!
//! - **Nobody overtakes.** Within one limit the queue is ordered by arrival, and only its first is granted. A slot
//!   whose reservation lapsed gets a new arrival number: it stands at the end of all its queues.
//! - **Nothing deadlocks.** Of all that wait, the one with the lowest arrival number is first in every queue
//!   it stands in. It waits for room only, which holders give back by their expiry at the latest, never for
//!   somebody who waits for it. After it, the same holds of the next.
//! - **Nobody is forgotten.** A slot can become grantable only when the room of one of its limits grows or when
//!   it becomes first in one of its queues. Both name a limit; the head of that limit is then looked at
//!   (`granting.rs`). A slot knows in how many of its queues it is first, so that a look costs O(1) until it may go.
//!
//! # How it is kept
//!
//! Entries are appended and never move: since arrivals only grow, the list is sorted, and a slot is found in it
//! by its arrival. Leaving clears a bit. The place of a slot is the number of bits before it: bits are counted in
//! blocks, blocks in a Fenwick tree. When more than half of the entries are holes they are squeezed out, which
//! costs O(1) a leave on average.

use crate::{fenwick::Fenwick, slab::Ref, slots::Slot};

const WORD: usize = 64;
const BLOCK: usize = 8 * WORD;
/// Below this many entries, holes are not worth squeezing out.
const SMALL: usize = 64;

#[derive(Clone, Copy)]
struct Entry {
    arrival: u64,
    slot: Ref<Slot>,
}

#[derive(Default)]
#[cfg_attr(feature = "check", derive(Clone))]
pub(crate) struct Queue {
    entries: Vec<Entry>,
    /// A bit for each entry: whether it still waits.
    waits: Vec<u64>,
    /// How many wait in each block of entries.
    blocks: Fenwick,
    /// The first entry that waits; the number of entries if none does.
    head: usize,
    len: usize,
}

impl Queue {
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub(crate) fn first(&self) -> Option<Ref<Slot>> {
        self.entries.get(self.head).map(|entry| entry.slot)
    }

    /// Joins at the end. `arrival` is higher than any before.
    pub(crate) fn push(&mut self, arrival: u64, slot: Ref<Slot>) {
        debug_assert!(self.entries.last().is_none_or(|last| last.arrival < arrival));
        let index = self.entries.len();
        self.entries.push(Entry { arrival, slot });
        if index.is_multiple_of(WORD) {
            self.waits.push(0);
        }
        if index.is_multiple_of(BLOCK) {
            self.blocks.push_zero();
        }
        self.waits[index / WORD] |= 1 << (index % WORD);
        self.blocks.add(index / BLOCK, 1);
        self.len += 1;
    }

    /// Leaves, from wherever it stands.
    pub(crate) fn remove(&mut self, arrival: u64) {
        let index = self.find(arrival);
        debug_assert!(self.waits_at(index));
        self.waits[index / WORD] &= !(1 << (index % WORD));
        self.blocks.add(index / BLOCK, -1);
        self.len -= 1;
        if self.len == 0 {
            self.clear();
        } else if self.entries.len() > SMALL && self.len < self.entries.len() / 2 {
            self.squeeze();
        } else if index == self.head {
            self.head = self.next_waiting(index);
        }
    }

    /// The place of a slot that waits, counted from 1.
    pub(crate) fn place(&self, arrival: u64) -> u64 {
        let index = self.find(arrival);
        let word = index / WORD;
        let block = index / BLOCK;
        let in_words =
            self.waits[block * (BLOCK / WORD)..word].iter().map(|bits| bits.count_ones()).sum::<u32>();
        let up_to_it = self.waits[word] & (u64::MAX >> (WORD - 1 - index % WORD));
        self.blocks.before(block) + u64::from(in_words + up_to_it.count_ones())
    }

    /// In order, from the one with `skip` before it.
    pub(crate) fn iter(&self, skip: usize) -> impl Iterator<Item = Ref<Slot>> {
        let from = if skip < self.len { self.nth_waiting(skip) } else { self.entries.len() };
        (from..self.entries.len()).filter(|&index| self.waits_at(index)).map(|index| self.entries[index].slot)
    }

    fn waits_at(&self, index: usize) -> bool {
        self.waits[index / WORD] & (1 << (index % WORD)) != 0
    }

    fn find(&self, arrival: u64) -> usize {
        let is_at = |index: usize| self.entries.get(index).is_some_and(|entry| entry.arrival == arrival);
        let last = self.entries.len().wrapping_sub(1);
        if is_at(self.head) {
            self.head
        } else if is_at(last) {
            last
        } else {
            self.search(arrival).expect("a slot that waits stands in its queues")
        }
    }

    /// Starts where the entry would be if arrivals were spread evenly, which in a long queue they nearly are, and
    /// widens from there.
    fn search(&self, arrival: u64) -> Option<usize> {
        let (first, last) = (self.entries.first()?.arrival, self.entries.last()?.arrival);
        let span = last.checked_sub(first)?.max(1);
        let ahead = u128::from(arrival.checked_sub(first)?);
        let guess = (ahead * self.entries.len() as u128 / u128::from(span)) as usize;
        let (mut from, mut to) = (guess.min(self.entries.len() - 1), guess.min(self.entries.len() - 1) + 1);
        let mut step = 8;
        while from > 0 && self.entries[from].arrival > arrival {
            from = from.saturating_sub(step);
            step *= 4;
        }
        while to < self.entries.len() && self.entries[to - 1].arrival < arrival {
            to = (to + step).min(self.entries.len());
            step *= 4;
        }
        let found = self.entries[from..to].binary_search_by_key(&arrival, |entry| entry.arrival);
        found.ok().map(|index| from + index)
    }

    fn next_waiting(&self, index: usize) -> usize {
        let mut word = index / WORD;
        let mut bits = self.waits[word] & (u64::MAX << (index % WORD));
        while bits == 0 {
            word += 1;
            bits = self.waits[word];
        }
        word * WORD + bits.trailing_zeros() as usize
    }

    /// The index of the one with `skip` before it, which exists.
    fn nth_waiting(&self, skip: usize) -> usize {
        let (block, mut skip) = self.blocks.find(skip as u64);
        let mut word = block * (BLOCK / WORD);
        while skip >= u64::from(self.waits[word].count_ones()) {
            skip -= u64::from(self.waits[word].count_ones());
            word += 1;
        }
        let mut bits = self.waits[word];
        (0..skip).for_each(|_| bits &= bits - 1);
        word * WORD + bits.trailing_zeros() as usize
    }

    fn clear(&mut self) {
        // A queue that was long once does not keep its memory.
        if self.entries.capacity() > BLOCK {
            *self = Self::default();
        } else {
            self.entries.clear();
            self.waits.clear();
            self.blocks.clear();
            self.head = 0;
        }
    }

    fn squeeze(&mut self) {
        let mut squeezed = Self::default();
        squeezed.entries.reserve(self.len * 3 / 2);
        for index in (0..self.entries.len()).filter(|&index| self.waits_at(index)) {
            squeezed.push(self.entries[index].arrival, self.entries[index].slot);
        }
        *self = squeezed;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A plain list that answers the same questions.
    #[derive(Default)]
    struct Plain(Vec<(u64, u32)>);

    fn assert_same(queue: &Queue, plain: &Plain, context: &str) {
        assert_eq!(queue.len(), plain.0.len(), "{context}");
        assert_eq!(queue.first().map(Ref::place), plain.0.first().map(|entry| entry.1), "{context}");
        for skip in [0, 1, plain.0.len() / 2, plain.0.len()] {
            let listed: Vec<u32> = queue.iter(skip).take(5).map(Ref::place).collect();
            let wanted: Vec<u32> = plain.0.iter().skip(skip).take(5).map(|entry| entry.1).collect();
            assert_eq!(listed, wanted, "{context}, skipping {skip}");
        }
    }

    /// Joins and leaves at random, `length` of them waiting for most of the time.
    fn play(seed: u64, length: usize, steps: u64) {
        let mut chance = crate::testing::Chance::new(seed);
        let (mut queue, mut plain) = (Queue::default(), Plain::default());
        for step in 0..steps {
            if plain.0.is_empty() || (plain.0.len() < length && chance.below(5) > 1) {
                queue.push(step, Ref::at(step as u32));
                plain.0.push((step, step as u32));
            } else {
                let from_the_head = chance.below(3) == 0;
                let index = if from_the_head { 0 } else { chance.below(plain.0.len() as u64) as usize };
                queue.remove(plain.0.remove(index).0);
            }
            if !plain.0.is_empty() {
                let index = chance.below(plain.0.len() as u64) as usize;
                assert_eq!(queue.place(plain.0[index].0), index as u64 + 1, "seed {seed}, step {step}");
            }
            if step % 50 == 0 {
                assert_same(&queue, &plain, &format!("seed {seed}, step {step}"));
            }
        }
    }

    #[test]
    fn answers_as_a_plain_list_does() {
        for seed in 0..20 {
            play(seed, 5, 500);
            play(seed, 300, 3_000);
            play(seed, 2_000, 8_000);
        }
    }

    #[test]
    fn holes_are_squeezed_out_and_an_empty_queue_keeps_little() {
        let mut queue = Queue::default();
        (0..100_000).for_each(|arrival| queue.push(arrival, Ref::at(arrival as u32)));
        (1..99_999).for_each(|arrival| queue.remove(arrival));
        assert!(queue.entries.len() <= SMALL, "{} entries for 2 that wait", queue.entries.len());
        assert_eq!((queue.place(0), queue.place(99_999)), (1, 2));
        queue.remove(0);
        queue.remove(99_999);
        assert!(queue.entries.capacity() <= BLOCK);
    }
}
