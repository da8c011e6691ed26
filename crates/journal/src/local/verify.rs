//! Reading everything that a folder holds, to know whether it is whole.

use std::path::Path;

use super::{
    entries::{Cursor, Pages},
    format::ENTRIES_AT,
    names, open,
    recovery::{self, at},
    shared::{Segment, place_in},
};
use crate::{Disk, FolderDisk, JournalError, Position};

/// What a whole journal holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verified {
    /// The oldest record, or the one that comes next if there is none.
    pub first: Position,
    /// The last record.
    pub head: Position,
    pub records: u64,
    /// Of the records, without their headers.
    pub record_bytes: u64,
    pub segments: usize,
    /// The positions of the whole snapshots, oldest first.
    pub snapshots: Vec<Position>,
    pub warnings: Vec<String>,
}

/// Reads the journal in this folder and changes nothing.
///
/// # Errors
/// The first damage, with its place; [`JournalError::Locked`] while a process has the journal open.
pub fn verify(folder: &Path) -> Result<Verified, JournalError> {
    let io = |source| JournalError::Io { place: folder.display().to_string(), source };
    if !folder.is_dir() {
        return Err(io(std::io::ErrorKind::NotFound.into()));
    }
    verify_on(&FolderDisk::new(folder).map_err(io)?)
}

/// The same on any disk.
pub fn verify_on(disk: &dyn Disk) -> Result<Verified, JournalError> {
    let _lock = match open::lock(disk) {
        // A backup may be on a disk that takes no writes.
        Err(JournalError::Io { .. }) => None,
        locked => Some(locked?),
    };
    let found = recovery::find(disk)?.ok_or_else(|| JournalError::Foreign {
        place: disk.place(""),
        what: "there is no journal".to_owned(),
    })?;
    let mut verified = Verified {
        first: found.segments[0].header.first_position,
        head: found.tail.position,
        records: 0,
        record_bytes: 0,
        segments: found.segments.len(),
        snapshots: found.snapshots.clone(),
        warnings: found.warnings.clone(),
    };
    let seed = crc32c::crc32c(&found.id);
    for (index, segment) in found.segments.iter().enumerate() {
        let next = found.segments.get(index + 1);
        verified.read(disk, segment, next, seed)?;
    }
    Ok(verified)
}

impl Verified {
    /// Reads one segment; what comes before the next one must lead up to it.
    fn read(
        &mut self,
        disk: &dyn Disk,
        segment: &Segment,
        next: Option<&Segment>,
        seed: u32,
    ) -> Result<(), JournalError> {
        let name = names::segment(segment.header.number);
        let mut pages = Pages::new(&*segment.file, seed, segment.header.capacity);
        let mut cursor = Cursor::at_start(&segment.header);
        debug_assert_eq!(cursor.offset, ENTRIES_AT);
        while let Some(entry) = pages.next(&mut cursor).map_err(at(disk, &name))? {
            if let Some(record) = entry.into_record() {
                self.records += 1;
                self.record_bytes += record.bytes.len() as u64;
            }
        }
        let leads_on = next.is_none_or(|next| {
            let next = next.header;
            next.first_position == cursor.position + 1 && next.previous == cursor.previous
        });
        if leads_on {
            return Ok(());
        }
        let place = place_in(disk, cursor.segment, cursor.offset);
        let what = format!("no whole record {} here, but later segments go on", cursor.position + 1);
        Err(JournalError::Damaged { place, what })
    }
}
