//! The bytes of the local journal. `FORMAT.md` says the same in words, and why recovery from them is right.
//!
//! All numbers are little-endian. Every file begins with a [`FileHeader`] of 64 bytes whose first 32 bytes keep
//! their meaning in every format to come, so that an old binary can refuse a new journal by name. A segment goes
//! on with entries: records, and marks, which say only that everything before them was flushed.

use super::names::NUMBER_MAX;
use crate::{JournalError, Millis, Position};

/// The format that is written; all from 1 to this one are read.
pub(crate) const FORMAT: u32 = 1;

pub(crate) const HEADER_BYTES: usize = 64;
/// Entries begin in a sector of their own, so the header is never written again.
pub(crate) const ENTRIES_AT: u64 = 512;
pub(crate) const ENTRY_HEADER_BYTES: usize = 48;
/// Entries begin at multiples of this.
pub(crate) const ALIGN: u64 = 8;

/// Random, chosen when the journal is born. It is the seed of every checksum of an entry.
pub(crate) type JournalId = [u8; 16];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FileKind {
    Identity,
    Segment,
    Snapshot,
}

impl FileKind {
    fn magic(self) -> &'static [u8; 8] {
        match self {
            Self::Identity => b"MAITRED!",
            Self::Segment => b"MAITREDs",
            Self::Snapshot => b"MAITREDp",
        }
    }
}

/// The first 64 bytes of every file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FileHeader {
    pub kind: FileKind,
    pub id: JournalId,
    pub fields: [u64; 4],
}

impl FileHeader {
    pub(crate) fn encode(&self) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        bytes[..8].copy_from_slice(self.kind.magic());
        bytes[8..12].copy_from_slice(&FORMAT.to_le_bytes());
        bytes[16..32].copy_from_slice(&self.id);
        for (index, field) in self.fields.iter().enumerate() {
            bytes[32 + index * 8..][..8].copy_from_slice(&field.to_le_bytes());
        }
        let crc = file_header_crc(&bytes);
        bytes[12..16].copy_from_slice(&crc.to_le_bytes());
        bytes
    }

    /// `place` is for the message. Only the identity can be foreign; another file that is not what its name says
    /// has been damaged.
    pub(crate) fn decode(kind: FileKind, bytes: &[u8], place: &str) -> Result<Self, JournalError> {
        let place = place.to_owned();
        if bytes.len() < HEADER_BYTES || &bytes[..8] != kind.magic() {
            let what = "it does not begin as such a file does".to_owned();
            return Err(match kind {
                FileKind::Identity => JournalError::Foreign { place, what },
                _ => JournalError::Damaged { place, what },
            });
        }
        if u32_at(bytes, 12) != file_header_crc(bytes) {
            return Err(JournalError::Damaged {
                place,
                what: "the checksum of its header is wrong".to_owned(),
            });
        }
        let found = u32_at(bytes, 8);
        if found > FORMAT {
            return Err(JournalError::Newer { place, found, known: FORMAT });
        }
        let id = bytes[16..32].try_into().expect("16 bytes");
        Ok(Self { kind, id, fields: [32, 40, 48, 56].map(|at| u64_at(bytes, at)) })
    }
}

fn file_header_crc(bytes: &[u8]) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(&bytes[..12]), &bytes[16..HEADER_BYTES])
}

/// What the header of a segment says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SegmentHeader {
    /// Never used twice, also when the file is.
    pub number: u64,
    /// Everything before this position was flushed before this segment got its name.
    pub first_position: Position,
    /// The checksum of the entry before the first one of this segment.
    pub previous: u32,
    pub opening: u32,
    pub capacity: u64,
}

impl SegmentHeader {
    pub(crate) fn encode(&self, id: JournalId) -> [u8; HEADER_BYTES] {
        let before = u64::from(self.previous) | u64::from(self.opening) << 32;
        let fields = [self.number, self.first_position, before, self.capacity];
        FileHeader { kind: FileKind::Segment, id, fields }.encode()
    }

    pub(crate) fn of(header: &FileHeader) -> Self {
        let [number, first_position, before, capacity] = header.fields;
        Self { number, first_position, previous: before as u32, opening: (before >> 32) as u32, capacity }
    }

    /// Whether a journal can have come to this: nothing that is made of it overflows.
    pub(crate) fn is_possible(&self) -> bool {
        let is_number = |number| (1..=NUMBER_MAX).contains(&number);
        let has_room = self.capacity >= ENTRIES_AT + entry_bytes(0) && self.capacity <= u64::from(u32::MAX);
        is_number(self.number) && is_number(self.first_position) && has_room
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EntryKind {
    Record,
    /// Carries no record and no new position. Flushed before anything is written behind it.
    Mark,
    /// The last entry of a segment, written when the next segment is durable: without that one, something is gone.
    End,
}

/// The first 48 bytes of an entry; the payload follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EntryHeader {
    pub crc: u32,
    pub length: u32,
    pub segment: u64,
    /// Of a mark or an end: the position of the last record before it.
    pub position: Position,
    pub at: Millis,
    /// Everything in this segment before this byte was known to be flushed when the entry was written: the
    /// highest synced position, as a place in the file.
    pub flushed: u32,
    /// Which opening of the journal wrote it. Never falls from one entry to the next.
    pub opening: u32,
    /// The checksum of the entry before: the chain.
    pub previous: u32,
    pub kind: EntryKind,
}

impl EntryHeader {
    /// Puts header and payload behind what is in `bytes` and returns the checksum. `self.crc` is not looked at.
    pub(crate) fn encode(&self, seed: u32, payload: &[u8], bytes: &mut Vec<u8>) -> u32 {
        let start = bytes.len();
        bytes.extend_from_slice(&[0; 4]);
        bytes.extend_from_slice(&self.length.to_le_bytes());
        for number in [self.segment, self.position, self.at] {
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        let kind = match self.kind {
            EntryKind::Record => 1,
            EntryKind::Mark => 2_u32,
            EntryKind::End => 3,
        };
        for number in [self.flushed, self.opening, self.previous, kind] {
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        bytes.extend_from_slice(payload);
        let crc = crc32c::crc32c_append(seed, &bytes[start + 4..]);
        bytes[start..start + 4].copy_from_slice(&crc.to_le_bytes());
        crc
    }

    /// Reads a header; the checksum is not yet compared. None if no entry can begin so.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let kind = match u32_at(bytes, 44) {
            1 => EntryKind::Record,
            2 => EntryKind::Mark,
            3 => EntryKind::End,
            _ => return None,
        };
        Some(Self {
            crc: u32_at(bytes, 0),
            length: u32_at(bytes, 4),
            segment: u64_at(bytes, 8),
            position: u64_at(bytes, 16),
            at: u64_at(bytes, 24),
            flushed: u32_at(bytes, 32),
            opening: u32_at(bytes, 36),
            previous: u32_at(bytes, 40),
            kind,
        })
    }

    /// Whether the checksum fits. `entry` is header and payload.
    pub(crate) fn holds(&self, seed: u32, entry: &[u8]) -> bool {
        self.crc == crc32c::crc32c_append(seed, &entry[4..])
    }
}

/// What an entry with so much payload takes in the file.
pub(crate) fn entry_bytes(payload_bytes: usize) -> u64 {
    ((ENTRY_HEADER_BYTES + payload_bytes) as u64).next_multiple_of(ALIGN)
}

pub(crate) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("4 bytes"))
}

pub(crate) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("8 bytes"))
}
