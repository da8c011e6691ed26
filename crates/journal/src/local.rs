//! The local journal: a segmented log in one folder, for one process.
//!
//! # Worked example
//! ```text
//! journal/                             the folder, 0700
//!   journal                            the identity: format, random id
//!   lock                               who has it open
//!   segment-0000000000000007.log       records 3,001 to 4,200
//!   segment-0000000000000008.log       records 4,201 to 5,350, the current one
//!   spare-0000000000000009.log         zeroes, or an old segment: the next one
//!   snapshot-00000000000000003000.snap
//!   snapshot-00000000000000004000.snap
//! ```
//! An append writes one entry behind the last one; a sync flushes the file once. When the current segment is
//! full it is flushed, a spare gets a header of number 9 and is flushed, then renamed, and the folder is flushed;
//! only then is anything appended to it. After a snapshot of 5,000 is durable, the one of 3,000 goes, and
//! `trim` renames segment 7 to a spare as soon as the older snapshot, 4,000, needs none of its records.
//!
//! Reusing segments is where the speed comes from: blocks that are there already are flushed about 1.5 times
//! faster than a growing file. `FORMAT.md` has the bytes, and says why recovery from them is right.

mod archive;
mod copy;
mod entries;
mod format;
#[cfg(test)]
pub(crate) mod met;
mod names;
mod open;
mod recovery;
mod shared;
mod snapshots;
mod supply;
#[cfg(test)]
mod tests;
mod verify;

use std::{io, sync::Arc};

use bytes::Bytes;
use maitred_planted::{Defect, has};

pub use self::{
    archive::LocalArchive,
    copy::copy,
    open::{Making, Options},
    verify::{Verified, verify, verify_on},
};
use self::{
    entries::Cursor,
    format::{ENTRIES_AT, ENTRY_HEADER_BYTES, EntryHeader, EntryKind, SegmentHeader, entry_bytes},
    shared::{Segment, Shared},
    supply::{Maker, Supply},
};
use crate::{
    Answer, AppendError, Archive, Clock, DiskFile, Journal, JournalError, Position, RECORD_BYTES_MAX, Room,
    Stamp, disk::write_all,
};

/// Writes end at a multiple of this, filled up with zeroes: a whole page need not be read before it is written.
const PAGE_BYTES: u64 = 4096;

/// The writer's handle of a local journal.
///
/// The calls of [`Journal`] block the thread while the disk works: give the handle a thread of its own. Dropping
/// one of their futures before it is first polled does nothing; they never pause half-way.
pub struct Local {
    shared: Arc<Shared>,
    supply: Arc<Supply>,
    clock: Arc<dyn Clock>,
    file: Arc<dyn DiskFile>,
    capacity: u64,
    /// Behind the last entry.
    tail: Cursor,
    /// Everything in the current segment before this byte is flushed.
    flushed: u64,
    /// The last entry is a mark, or there is none: nothing needs to be attested.
    attested: bool,
    /// The number of this opening, once it is durable.
    opening: Option<u32>,
    broken: Option<String>,
    entry: Vec<u8>,
    _maker: Option<Maker>,
    _lock: Box<dyn Send>,
}

impl Local {
    /// What was doubtful at the start or since, in words for whoever runs it. Each is told once.
    pub fn warnings(&mut self) -> Vec<String> {
        std::mem::take(&mut self.shared.state().warnings)
    }

    /// The last position that is durable.
    pub fn durable(&self) -> Position {
        self.shared.state().durable
    }

    /// Makes the spare segment now, if there is none. For [`Making::InForeground`]; the thread does it otherwise.
    pub fn make_ahead(&mut self) -> Result<(), JournalError> {
        self.supply.make_ahead()
    }

    fn append_now(&mut self, after: Position, bytes: &[u8]) -> Result<Stamp, AppendError> {
        let length = bytes.len();
        assert!(length <= RECORD_BYTES_MAX, "a record of {length} bytes, and {RECORD_BYTES_MAX} is the most");
        if let Some(why) = &self.broken {
            return Err(AppendError::Broken(why.clone()));
        }
        let after = if has(Defect::AppendAnywhere) { self.tail.position } else { after };
        if after != self.tail.position {
            return Err(AppendError::Conflict { expected: after });
        }
        self.make_room(length)?;
        let at = self.clock.now();
        let stamp = Stamp { position: after + 1, at };
        self.write(EntryKind::Record, stamp, bytes).map_err(|error| self.broken_by(&error))?;
        self.attested = false;
        Ok(stamp)
    }

    /// Sees to it that the entry and an end fit into the current segment, and that this opening has its number.
    fn make_room(&mut self, payload_bytes: usize) -> Result<(), AppendError> {
        let bytes = entry_bytes(payload_bytes) + entry_bytes(0);
        assert!(
            ENTRIES_AT + bytes <= self.capacity.max(self.supply.segment_bytes()),
            "a record of {payload_bytes} bytes does not fit into a segment; choose larger segments"
        );
        let mark = if self.opening.is_none() { entry_bytes(0) } else { 0 };
        if self.tail.offset + mark + bytes > self.capacity {
            return self.begin_segment(payload_bytes);
        }
        if self.opening.is_none() {
            self.mark().map_err(|error| self.broken_by(&error))?;
        }
        Ok(())
    }

    /// Goes on in the next segment. Nothing of it is used before all of it is durable: what is before it, its
    /// header, and its name.
    fn begin_segment(&mut self, payload_bytes: usize) -> Result<(), AppendError> {
        self.flush().map_err(|error| self.broken_by(&error))?;
        let spare = self.supply.take().map_err(|error| self.broken_by(&error))?;
        let Some(spare) = spare else { return Err(AppendError::Full { bytes: payload_bytes }) };
        let header = self.next_header();
        let begun = open::begin_segment(&self.shared, &spare, header);
        let file = begun.map_err(|error| self.broken_by(&error))?;
        self.end_segment(header.opening).map_err(|error| self.broken_by(&error))?;
        self.file = file;
        self.capacity = header.capacity;
        self.tail = Cursor::at_start(&header);
        self.flushed = self.tail.offset;
        self.attested = true;
        self.shared.state().segments.push_back(Segment { header, file: Arc::clone(&self.file) });
        self.supply.look_after();
        Ok(())
    }

    /// Writes down that there is a next segment, so that it will be missed if it is ever gone.
    fn end_segment(&mut self, opening: u32) -> Result<(), JournalError> {
        self.opening = Some(opening);
        let stamp = Stamp { position: self.tail.position, at: self.clock.now() };
        self.write(EntryKind::End, stamp, &[])?;
        self.file.sync().map_err(self.io())
    }

    fn next_header(&self) -> SegmentHeader {
        SegmentHeader {
            number: self.tail.segment + 1,
            first_position: self.tail.position + 1,
            previous: self.tail.previous,
            opening: self.opening.unwrap_or(self.tail.opening + 1),
            capacity: self.supply.segment_bytes(),
        }
    }

    /// Writes a mark and flushes it: it numbers this opening, and testifies that all before it was flushed.
    fn mark(&mut self) -> Result<(), JournalError> {
        let opening = self.opening.unwrap_or(self.tail.opening + 1);
        self.flush()?;
        self.opening = Some(opening);
        let stamp = Stamp { position: self.tail.position, at: self.clock.now() };
        self.write(EntryKind::Mark, stamp, &[])?;
        self.flush()?;
        self.attested = true;
        Ok(())
    }

    fn write(&mut self, kind: EntryKind, stamp: Stamp, payload: &[u8]) -> Result<(), JournalError> {
        let mut header = EntryHeader {
            crc: 0,
            length: payload.len() as u32,
            segment: self.tail.segment,
            position: stamp.position,
            at: stamp.at,
            flushed: self.flushed as u32,
            opening: self.opening.expect("an opening has its number before it writes"),
            previous: self.tail.previous,
            kind,
        };
        self.entry.clear();
        header.crc = header.encode(self.shared.seed, payload, &mut self.entry);
        debug_assert!(self.entry.len() >= ENTRY_HEADER_BYTES);
        let end =
            (self.tail.offset + self.entry.len() as u64).next_multiple_of(PAGE_BYTES).min(self.capacity);
        self.entry.resize((end - self.tail.offset) as usize, 0);
        write_all(&*self.file, &self.entry, self.tail.offset).map_err(self.io())?;
        self.tail.step(&header);
        Ok(())
    }

    fn flush(&mut self) -> Result<(), JournalError> {
        if self.flushed == self.tail.offset {
            return Ok(());
        }
        self.flush_file().map_err(self.io())?;
        self.flushed = self.tail.offset;
        self.shared.state().durable = self.tail.position;
        Ok(())
    }

    fn flush_file(&self) -> io::Result<()> {
        if has(Defect::NoSync) {
            return Ok(());
        }
        let flushed = self.file.sync();
        match flushed {
            Err(_) if has(Defect::SyncErrorIgnored) => Ok(()),
            Err(_) if has(Defect::SyncRetried) => self.file.sync(),
            flushed => flushed,
        }
    }

    fn sync_now(&mut self) -> Result<Position, JournalError> {
        self.check_whole()?;
        let flushed = self.flush();
        self.or_break(flushed)?;
        Ok(self.tail.position)
    }

    fn attest_now(&mut self) -> Result<(), JournalError> {
        self.check_whole()?;
        let flushed = self.flush();
        self.or_break(flushed)?;
        if self.attested || self.tail.offset + 2 * entry_bytes(0) > self.capacity {
            return Ok(());
        }
        let marked = self.mark();
        self.or_break(marked)
    }

    fn check_whole(&self) -> Result<(), JournalError> {
        let Some(why) = &self.broken else { return Ok(()) };
        Err(self.io()(io::Error::other(why.clone())))
    }

    fn or_break(&mut self, result: Result<(), JournalError>) -> Result<(), JournalError> {
        result.inspect_err(|error| self.broken = Some(error.to_string()))
    }

    fn broken_by(&mut self, error: &JournalError) -> AppendError {
        self.broken = Some(error.to_string());
        AppendError::Broken(error.to_string())
    }

    fn io(&self) -> impl FnOnce(io::Error) -> JournalError + use<> {
        let place = self.shared.disk.place(&names::segment(self.tail.segment));
        move |source| JournalError::Io { place, source }
    }
}

impl Journal for Local {
    fn append(&mut self, after: Position, bytes: Bytes) -> Answer<'_, Result<Stamp, AppendError>> {
        Box::pin(async move { self.append_now(after, &bytes) })
    }

    fn sync(&mut self) -> Answer<'_, Result<Position, JournalError>> {
        Box::pin(async move { self.sync_now() })
    }

    fn attest(&mut self) -> Answer<'_, Result<(), JournalError>> {
        Box::pin(async move { self.attest_now() })
    }

    fn head(&self) -> Position {
        self.tail.position
    }

    fn room(&self) -> Room {
        if self.shared.state().is_last_reserve() { Room::Reserve } else { Room::Ample }
    }

    fn changed(&mut self) -> Answer<'_, ()> {
        Box::pin(std::future::pending())
    }

    fn archive(&self) -> Box<dyn Archive> {
        Box::new(LocalArchive::new(Arc::clone(&self.shared), Arc::clone(&self.supply)))
    }
}
