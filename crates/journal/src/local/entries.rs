//! Walking along the entries of one segment.
//!
//! A *cursor* stands behind an entry and knows what must come next: the next position, the checksum of the entry
//! before, an opening that is not older. Whatever does not fit is not part of the journal, however whole it looks.

use std::io;

use bytes::Bytes;
use maitred_planted::{Defect, has};

use super::format::{
    ALIGN, ENTRIES_AT, ENTRY_HEADER_BYTES, EntryHeader, EntryKind, SegmentHeader, entry_bytes, u64_at,
};
use crate::{DiskFile, Position, RECORD_BYTES_MAX, Record, disk::read_full};

const PIECE_BYTES: usize = 1 << 20;
/// The first piece of whoever reads what is new.
const FIRST_PIECE_BYTES: usize = 64 * 1024;
const PAGE_BYTES: usize = 4096;
const ZEROES: [u8; PAGE_BYTES] = [0; PAGE_BYTES];

/// A place behind an entry (or behind the header of a segment), and what must come next there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cursor {
    pub segment: u64,
    pub offset: u64,
    /// Of the last record before this place.
    pub position: Position,
    /// The checksum of the entry before this place.
    pub previous: u32,
    pub opening: u32,
}

impl Cursor {
    pub(crate) fn at_start(header: &SegmentHeader) -> Self {
        Self {
            segment: header.number,
            offset: ENTRIES_AT,
            position: header.first_position - 1,
            previous: header.previous,
            opening: header.opening,
        }
    }

    fn is_continued_by(&self, entry: &EntryHeader) -> bool {
        let position = match entry.kind {
            EntryKind::Record => self.position + 1,
            EntryKind::Mark | EntryKind::End => self.position,
        };
        if has(Defect::OldBytesTaken) {
            return entry.position == position;
        }
        entry.position == position && entry.previous == self.previous && entry.opening >= self.opening
    }

    /// Steps over an entry that has just been read or written here; not over an end, behind which nothing comes.
    pub(crate) fn step(&mut self, entry: &EntryHeader) {
        if entry.kind == EntryKind::End {
            return;
        }
        self.offset += entry_bytes(entry.length as usize);
        self.position = entry.position;
        self.previous = entry.crc;
        self.opening = entry.opening;
    }
}

/// A segment being read, in pieces.
pub(crate) struct Pages<'a> {
    file: &'a dyn DiskFile,
    seed: u32,
    /// Nothing is read behind this.
    end: u64,
    /// So much is read next, unless an entry is longer.
    piece_bytes: usize,
    /// What pieces grow to.
    piece_bytes_most: usize,
    start: u64,
    bytes: Vec<u8>,
}

impl<'a> Pages<'a> {
    pub(crate) fn new(file: &'a dyn DiskFile, seed: u32, end: u64) -> Self {
        let piece_bytes = PIECE_BYTES;
        Self { file, seed, end, piece_bytes, piece_bytes_most: piece_bytes, start: 0, bytes: Vec::new() }
    }

    /// For whoever wants at most so much, and mostly finds far less: begins with small pieces.
    pub(crate) fn in_pieces_for(mut self, bytes_wanted: usize) -> Self {
        self.piece_bytes_most = bytes_wanted.clamp(PAGE_BYTES, PIECE_BYTES);
        self.piece_bytes = FIRST_PIECE_BYTES.min(self.piece_bytes_most);
        self
    }

    /// The bytes at this place; None if the file does not reach so far.
    fn get(&mut self, offset: u64, length: usize) -> io::Result<Option<&[u8]>> {
        let end = offset.saturating_add(length as u64);
        if end > self.end {
            return Ok(None);
        }
        if offset < self.start || end > self.start + self.bytes.len() as u64 {
            self.load(offset, length)?;
        }
        let from = (offset - self.start) as usize;
        Ok(self.bytes.get(from..from + length))
    }

    fn load(&mut self, offset: u64, length: usize) -> io::Result<()> {
        let wanted = length.max(self.piece_bytes).min((self.end - offset) as usize);
        self.piece_bytes = (2 * self.piece_bytes).min(self.piece_bytes_most);
        self.start = offset;
        self.bytes.resize(wanted, 0);
        let filled = read_full(self.file, &mut self.bytes, offset)?;
        self.bytes.truncate(filled);
        Ok(())
    }

    /// The entry at this place if it is whole and was written to this segment, whether it continues anything or
    /// not.
    fn entry_at(&mut self, offset: u64, segment: u64) -> io::Result<Option<(EntryHeader, &[u8])>> {
        let header = self.get(offset, ENTRY_HEADER_BYTES)?.and_then(EntryHeader::decode);
        let Some(header) = header else { return Ok(None) };
        let length = header.length as usize;
        if header.segment != segment || length > RECORD_BYTES_MAX || u64::from(header.flushed) > offset {
            return Ok(None);
        }
        let seed = self.seed;
        let Some(entry) = self.get(offset, ENTRY_HEADER_BYTES + length)? else { return Ok(None) };
        Ok(header.holds(seed, entry).then(|| (header, &entry[ENTRY_HEADER_BYTES..])))
    }

    /// Whether the segment ends here because the journal goes on in the next one.
    pub(crate) fn is_end(&mut self, cursor: &Cursor) -> io::Result<bool> {
        let entry = self.entry_at(cursor.offset, cursor.segment)?;
        Ok(entry.is_some_and(|(header, _)| header.kind == EntryKind::End && cursor.is_continued_by(&header)))
    }

    /// The record or mark that continues the journal at the cursor, which steps over it. None where it ends, or is
    /// broken.
    pub(crate) fn next(&mut self, cursor: &mut Cursor) -> io::Result<Option<Entry>> {
        let Some((header, payload)) = self.entry_at(cursor.offset, cursor.segment)? else { return Ok(None) };
        if !cursor.is_continued_by(&header) {
            #[cfg(test)]
            super::met::meet_old_entry();
            return Ok(None);
        }
        if header.kind == EntryKind::End {
            return Ok(None);
        }
        let bytes = Bytes::copy_from_slice(payload);
        cursor.step(&header);
        Ok(Some(Entry { header, bytes }))
    }

    /// Looks behind a place where no entry continues the journal for one that was written when that place was
    /// already flushed. If there is one, what was here has been damaged; if none, it may never have been whole.
    pub(crate) fn witness_behind(&mut self, cursor: &Cursor) -> io::Result<Option<u64>> {
        let segment = cursor.segment;
        let mut offset = cursor.offset + ALIGN;
        while let Some(header) = self.get(offset, ENTRY_HEADER_BYTES)? {
            if u64_at(header, 8) == segment
                && let Some((entry, _)) = self.entry_at(offset, segment)?
                && u64::from(entry.flushed) > cursor.offset
            {
                return Ok(Some(offset));
            }
            offset += ALIGN;
            // Most of it has never been written. In a page of zeroes an entry begins in the last eight bytes at most.
            if offset.is_multiple_of(PAGE_BYTES as u64)
                && self.get(offset, PAGE_BYTES)?.is_some_and(|page| page == ZEROES)
            {
                offset += PAGE_BYTES as u64 - ALIGN;
            }
        }
        Ok(None)
    }
}

pub(crate) struct Entry {
    pub header: EntryHeader,
    pub bytes: Bytes,
}

impl Entry {
    /// None if it is a mark.
    pub(crate) fn into_record(self) -> Option<Record> {
        let Self { header, bytes } = self;
        let is_record = header.kind == EntryKind::Record;
        is_record.then_some(Record { position: header.position, at: header.at, bytes })
    }
}
