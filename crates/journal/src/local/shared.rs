//! What the writer, the archives and the maker of segments know together.

use std::{
    collections::VecDeque,
    io,
    sync::{Arc, Mutex, MutexGuard},
};

use super::{
    format::{JournalId, SegmentHeader},
    names,
};
use crate::{Disk, DiskFile, JournalError, Position};

/// A segment that is part of the journal.
#[derive(Clone)]
pub(crate) struct Segment {
    pub header: SegmentHeader,
    pub file: Arc<dyn DiskFile>,
}

pub(crate) struct Shared {
    pub disk: Arc<dyn Disk>,
    pub id: JournalId,
    /// The seed of the checksums of entries.
    pub seed: u32,
    state: Mutex<State>,
}

pub(crate) struct State {
    /// Oldest first, without a gap; the last one is being written.
    pub segments: VecDeque<Segment>,
    /// The last record known to be flushed.
    pub durable: Position,
    /// Snapshots known to be whole and durable, oldest first.
    pub snapshots: Vec<Position>,
    /// Files that can become segments at once.
    pub spares: Vec<String>,
    pub next_spare: u64,
    /// Why the last try to make a spare failed, until one succeeds.
    pub no_spare: Option<io::ErrorKind>,
    pub warnings: Vec<String>,
}

impl Shared {
    pub(crate) fn new(disk: Arc<dyn Disk>, id: JournalId, state: State) -> Self {
        Self { disk, id, seed: crc32c::crc32c(&id), state: Mutex::new(state) }
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        // Nothing that can panic runs under the lock, so a poisoned one still holds a whole state.
        self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Turns an error of the disk into one that names the file.
    pub(crate) fn io(&self, name: &str) -> impl FnOnce(io::Error) -> JournalError {
        let place = self.disk.place(name);
        move |source| JournalError::Io { place, source }
    }
}

impl State {
    /// Whether this segment is still part of the journal: one that is not may be overwritten at any time.
    pub(crate) fn keeps(&self, number: u64) -> bool {
        self.segments.iter().any(|segment| segment.header.number == number)
    }

    pub(crate) fn oldest(&self) -> Position {
        self.segments.front().map_or(1, |segment| segment.header.first_position)
    }

    /// The segment that holds this position, and the last position that is in it.
    pub(crate) fn segment_of(&self, position: Position) -> Option<(Segment, Position)> {
        let behind = self.segments.partition_point(|segment| segment.header.first_position <= position);
        let segment = self.segments.get(behind.checked_sub(1)?)?;
        let next = self.segments.get(behind);
        let last = next.map_or(self.durable, |next| next.header.first_position - 1);
        Some((segment.clone(), last))
    }

    /// Whether nothing is left to go on with once the current segment is full.
    pub(crate) fn is_last_reserve(&self) -> bool {
        self.spares.is_empty() && self.no_spare.is_some()
    }
}

/// How a message names a byte of a segment.
pub(crate) fn place_in(disk: &dyn Disk, segment: u64, offset: u64) -> String {
    format!("{}, byte {offset}", disk.place(&names::segment(segment)))
}
