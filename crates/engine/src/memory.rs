//! What is remembered of ids that were used: of requests, the first answer; of slots, how they ended (B1).
//!
//! Ids come in two kinds, each with a share of the budget.
//!
//! - *Timed* ids say when they were made (UUIDv7). When their share is full, or an entry is over a day old, the
//!   oldest is forgotten, and the *horizon* moves behind the time in it. An id from before the horizon that is not
//!   remembered is refused: it may have been used. So forgetting never lets an id act twice.
//! - *Other* ids say nothing, so none may be forgotten within a day. When their share is full, new ones are
//!   refused. A slot with such an id takes its place in the share when it is asked for, so that its end can always
//!   be remembered.
//!
//! An id is kept as its keyed hash of 128 bits. With its answer, times and its share of the index that is at most
//! 64 bytes, whatever the length of the id.

use std::collections::VecDeque;

use crate::{
    bounds::{Bounds, MEMORY_MS},
    index::{Index, NameHash},
    time::{MINUTE_MS, Millis},
};

/// How far ahead of ours a client's clock may be for the time in its ids to count.
const AHEAD_MS: Millis = MINUTE_MS;
const CHUNK: usize = 4096;
/// How many outdated entries are dropped at most with each that is added: enough to catch up, too few to stall.
const DROPPED_AT_ONCE: usize = 4;
/// How many entries from clocks that are ahead are spared at most to find an honest one.
const SPARED_AT_ONCE: usize = 64;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) id: NameHash,
    pub(crate) content: u64,
    /// See [`crate::requests::Answer`].
    pub(crate) answer: u64,
    pub(crate) at: Millis,
    /// See [`after_id`].
    pub(crate) after_id: Millis,
}

/// Which share an id belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Share {
    Timed,
    Other,
}

/// How an id stands that is not remembered. `after_id` is as in [`Entry`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    New {
        share: Share,
        after_id: Millis,
    },
    /// From before the horizon, and not remembered.
    TooOld,
}

#[cfg_attr(feature = "check", derive(Clone))]
pub(crate) struct Memory {
    pub(crate) timed: Ring,
    pub(crate) other: Ring,
    pub(crate) horizon: Millis,
    /// Live slots that will be remembered among the other ids.
    promised: u32,
    bounds: [usize; 2],
}

impl Memory {
    pub(crate) fn new(bounds: &Bounds) -> Self {
        let bounds = [bounds.remembered_timed.max(1) as usize, bounds.remembered_other as usize];
        Self { timed: Ring::new(), other: Ring::new(), horizon: 0, promised: 0, bounds }
    }

    pub(crate) fn get(&self, id: NameHash) -> Option<&Entry> {
        self.timed.get(id).or_else(|| self.other.get(id))
    }

    pub(crate) fn standing(&self, now: Millis, id: &str) -> Standing {
        let after_id = after_id(id);
        match after_id {
            0 => Standing::New { share: Share::Other, after_id },
            _ if after_id <= self.horizon => Standing::TooOld,
            _ if after_id <= now + AHEAD_MS + 1 => Standing::New { share: Share::Timed, after_id },
            _ => Standing::New { share: Share::Other, after_id },
        }
    }

    /// Whether one more id can be remembered. What is over a day old makes room.
    pub(crate) fn has_room(&mut self, now: Millis, share: Share) -> bool {
        let is_full = |memory: &Self| memory.other.len() + memory.promised as usize >= memory.bounds[1];
        while share == Share::Other
            && is_full(self)
            && self.other.oldest().is_some_and(|oldest| is_old(now, oldest))
        {
            self.forget_oldest(now, Share::Other);
        }
        share == Share::Timed || !is_full(self)
    }

    /// A slot will be remembered when it ends.
    pub(crate) fn promise(&mut self, share: Share) {
        self.promised += u32::from(share == Share::Other);
    }

    pub(crate) fn keep_promise(&mut self, share: Share) {
        self.promised -= u32::from(share == Share::Other);
    }

    pub(crate) fn promised(&self) -> u32 {
        self.promised
    }

    pub(crate) fn remember(&mut self, share: Share, entry: Entry) {
        let now = entry.at;
        for _ in 0..DROPPED_AT_ONCE {
            if self.ring(share).oldest().is_some_and(|oldest| is_old(now, oldest)) {
                self.forget_oldest(now, share);
            }
        }
        if share == Share::Timed && self.timed.len() >= self.bounds[0] {
            self.spare_those_from_ahead(now);
            self.forget_oldest(now, share);
        }
        self.ring(share).push(entry);
    }

    /// A client whose clock is ahead must not move the horizon past everybody else's: its entries get a second
    /// turn, so that the share forgets those with an honest time first.
    fn spare_those_from_ahead(&mut self, now: Millis) {
        for _ in 0..SPARED_AT_ONCE {
            if self.timed.oldest().is_none_or(|oldest| oldest.after_id <= now) {
                return;
            }
            let spared = self.timed.pop();
            self.timed.push(spared);
        }
    }

    fn forget_oldest(&mut self, now: Millis, share: Share) {
        let forgotten = self.ring(share).pop();
        if forgotten.after_id <= now + AHEAD_MS {
            self.horizon = self.horizon.max(forgotten.after_id);
        }
    }

    /// As a snapshot has it. False if there is no room for it.
    pub(crate) fn restore(&mut self, share: Share, entry: Entry) -> bool {
        let most = match share {
            Share::Timed => self.bounds[0],
            Share::Other => self.bounds[1],
        };
        let has_room = self.ring(share).len() < most;
        if has_room {
            self.ring(share).push(entry);
        }
        has_room
    }

    fn ring(&mut self, share: Share) -> &mut Ring {
        match share {
            Share::Timed => &mut self.timed,
            Share::Other => &mut self.other,
        }
    }
}

/// A minute more than a day, since the time of a timed id may be that much ahead.
fn is_old(now: Millis, entry: &Entry) -> bool {
    entry.at + MEMORY_MS + AHEAD_MS <= now
}

/// Entries in the order they were remembered, in chunks so that growing moves nothing, found by id.
#[cfg_attr(feature = "check", derive(Clone))]
pub(crate) struct Ring {
    chunks: VecDeque<Vec<Entry>>,
    /// How many of the first chunk are gone.
    gone: usize,
    /// The number of the oldest entry; each further one has the next, wrapping around.
    first: u32,
    index: Index,
}

impl Ring {
    fn new() -> Self {
        Self { chunks: VecDeque::new(), gone: 0, first: 0, index: Index::new() }
    }

    pub(crate) fn len(&self) -> usize {
        self.index.len()
    }

    fn get(&self, id: NameHash) -> Option<&Entry> {
        self.index.get(id, |number| self.at(number).id).map(|number| self.at(number))
    }

    fn at(&self, number: u32) -> &Entry {
        let place = number.wrapping_sub(self.first) as usize + self.gone;
        &self.chunks[place / CHUNK][place % CHUNK]
    }

    fn oldest(&self) -> Option<&Entry> {
        self.chunks.front()?.get(self.gone)
    }

    pub(crate) fn push(&mut self, entry: Entry) {
        if self.chunks.back().is_none_or(|chunk| chunk.len() == CHUNK) {
            self.chunks.push_back(Vec::with_capacity(CHUNK));
        }
        let number = self.first.wrapping_add(self.len() as u32);
        self.chunks.back_mut().expect("a chunk with room was just made").push(entry);
        let Self { chunks, gone, first, index } = self;
        index.insert(entry.id, number, |number| {
            let place = number.wrapping_sub(*first) as usize + *gone;
            chunks[place / CHUNK][place % CHUNK].id
        });
    }

    /// Takes out the oldest, which exists.
    fn pop(&mut self) -> Entry {
        let entry = *self.oldest().expect("only what is there is forgotten");
        self.index.remove(entry.id, self.first);
        self.first = self.first.wrapping_add(1);
        self.gone += 1;
        if self.gone == CHUNK {
            self.chunks.pop_front();
            self.gone = 0;
        }
        entry
    }

    /// Oldest first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Entry> {
        self.chunks.iter().flatten().skip(self.gone)
    }
}

/// The first moment after the time in an id; 0 if there is none in it.
pub(crate) fn after_id(id: &str) -> Millis {
    uuid_v7_time(id).map_or(0, |time| time + 1)
}

/// The time in a UUID of version 7, in its usual form of 36 characters.
fn uuid_v7_time(id: &str) -> Option<Millis> {
    let bytes: &[u8; 36] = id.as_bytes().try_into().ok()?;
    let is_v7 = bytes[14] == b'7' && matches!(bytes[19] | 0x20, b'8' | b'9' | b'a' | b'b');
    if !is_v7 || [8, 13, 18, 23].iter().any(|&index| bytes[index] != b'-') {
        return None;
    }
    let mut seen = 0;
    for group in [&bytes[14..18], &bytes[19..23], &bytes[24..]] {
        group.iter().for_each(|digit| seen |= HEX[usize::from(*digit)]);
    }
    let time = bytes[..8].iter().chain(&bytes[9..13]).fold(0, |time, digit| {
        let value = HEX[usize::from(*digit)];
        seen |= value;
        (time << 4) | Millis::from(value)
    });
    (seen < 16).then_some(time)
}

/// The value of each hexadecimal digit; more than 15 for every other byte.
const HEX: [u8; 256] = {
    let mut table = [0xff; 256];
    let mut value = 0;
    while value < 16 {
        let digit = b"0123456789abcdef"[value as usize];
        table[digit as usize] = value;
        table[digit.to_ascii_uppercase() as usize] = value;
        value += 1;
    }
    table
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::DAY_MS;

    const NOW: Millis = 1_800_000_000_000;

    fn memory(timed: u32, other: u32) -> Memory {
        Memory::new(&Bounds { remembered_timed: timed, remembered_other: other, ..Bounds::default() })
    }

    fn entry(id: u128, at: Millis, id_time: Option<Millis>) -> Entry {
        Entry { id, content: 1, answer: 2, at, after_id: id_time.map_or(0, |time| time + 1) }
    }

    fn uuid(time: Millis) -> String {
        format!("{:08x}-{:04x}-7abc-8def-0123456789ab", time >> 16, time & 0xffff)
    }

    #[test]
    fn reads_the_time_of_version_7_only() {
        assert_eq!(uuid_v7_time(&uuid(NOW)), Some(NOW));
        assert_eq!(uuid_v7_time(&uuid(NOW).to_uppercase()), Some(NOW));
        assert_eq!(uuid_v7_time(&uuid(NOW).replace("-7abc", "-4abc")), None);
        assert_eq!(uuid_v7_time(&uuid(NOW).replace("-8def", "-cdef")), None);
        assert_eq!(uuid_v7_time(&uuid(NOW).replace('-', "_")), None);
        assert_eq!(uuid_v7_time(&format!("{}0", uuid(NOW))), None);
        assert_eq!(uuid_v7_time("order-17"), None);
    }

    #[test]
    fn a_full_timed_share_forgets_the_oldest_and_refuses_what_it_may_have_forgotten() {
        let mut memory = memory(3, 0);
        for i in 0..5 {
            memory.remember(Share::Timed, entry(i.into(), NOW + i, Some(NOW + i)));
        }
        assert_eq!((memory.timed.len(), memory.horizon), (3, NOW + 2));
        assert!(memory.get(1).is_none() && memory.get(2).is_some());
        assert_eq!(memory.standing(NOW + 9, &uuid(NOW + 1)), Standing::TooOld);
        assert_eq!(
            memory.standing(NOW + 9, &uuid(NOW + 2)),
            Standing::New { share: Share::Timed, after_id: NOW + 3 }
        );
    }

    #[test]
    fn a_time_too_far_ahead_does_not_count() {
        let memory = memory(3, 3);
        let share_of = |id: &str| match memory.standing(NOW, id) {
            Standing::New { share, .. } => share,
            Standing::TooOld => panic!("{id} is not old"),
        };
        assert_eq!(share_of(&uuid(NOW + AHEAD_MS)), Share::Timed);
        assert_eq!(share_of(&uuid(NOW + AHEAD_MS + 1)), Share::Other);
        assert_eq!(share_of("order-17"), Share::Other);
    }

    /// The share turns over once a minute; the clock of one client in twenty is a minute ahead.
    #[test]
    fn a_clock_that_is_ahead_shuts_nobody_out() {
        let mut memory = memory(1_000, 0);
        for i in 0..20_000u64 {
            let now = NOW + i * 60;
            let ahead = if i.is_multiple_of(20) { AHEAD_MS } else { 0 };
            memory.remember(Share::Timed, entry(i.into(), now, Some(now + ahead)));
            assert!(memory.horizon <= now, "horizon {} ms ahead", memory.horizon - now);
        }
    }

    #[test]
    fn other_ids_are_kept_a_day_and_new_ones_refused_meanwhile() {
        let mut memory = memory(1, 3);
        memory.remember(Share::Other, entry(1, NOW, None));
        memory.promise(Share::Other);
        assert!(memory.has_room(NOW, Share::Other));
        memory.remember(Share::Other, entry(2, NOW, None));
        assert!(!memory.has_room(NOW + DAY_MS, Share::Other));
        memory.keep_promise(Share::Other);
        memory.remember(Share::Other, entry(3, NOW + 1, None));
        assert!(memory.get(1).is_some() && memory.get(3).is_some());
        assert!(memory.has_room(NOW + DAY_MS + AHEAD_MS, Share::Other));
        assert!(memory.get(1).is_none() && memory.get(2).is_some());
    }

    #[test]
    fn an_id_from_the_far_future_moves_no_horizon() {
        let mut memory = memory(1, 1);
        memory.remember(Share::Other, entry(1, NOW, Some(NOW + 400 * DAY_MS)));
        assert!(memory.has_room(NOW + 2 * DAY_MS, Share::Other));
        assert_eq!((memory.other.len(), memory.horizon), (0, 0));
    }

    #[test]
    fn goes_round_without_losing_its_place() {
        let mut memory = memory(5_000, 0);
        for i in 0..30_000u64 {
            memory.remember(Share::Timed, entry(i.into(), NOW + i, Some(NOW + i)));
            assert_eq!(memory.get(i.into()).map(|entry| entry.at), Some(NOW + i));
            assert!(memory.get(u128::from(i.saturating_sub(4_999))).is_some());
        }
        let kept: Vec<u128> = memory.timed.iter().map(|entry| entry.id).collect();
        assert_eq!(kept, (25_000..30_000).collect::<Vec<u128>>());
    }
}
