//! Finding out, without writing a byte, what a folder holds.
//!
//! # Worked example
//! The last segment holds records 7, 8 and 9, each flushed alone, and the power fails while 10 is being written:
//!
//! ```text
//! byte  512        768        1024       1280      1536
//!       7          8          9          1#        (what the file was before)
//!       flushed    flushed    flushed    bad
//!       512        768        1024
//! ```
//! The walk ends at byte 1280. Behind it no entry says "byte 1280 was flushed when I was written", so nothing
//! shows that record 10 was ever whole: it is a torn tail, and is cut. Now let a bit flip in record 8 instead.
//! The walk ends at byte 768, but the entry at 1024 is whole and says that everything before byte 1024 had been
//! flushed. So what was at 768 was whole and no longer is: that is damage, and the start is refused. Records
//! that were in flight together do not testify against each other, since a power cut may keep the later one and
//! lose the earlier. The header of a later segment and a snapshot testify in the same way.
//!
//! Why what lies behind the end can never continue the journal later: see `FORMAT.md`, "Stale bytes".

use std::{io, sync::Arc};

use maitred_planted::{Defect, has};

use super::{
    entries::{Cursor, Pages},
    format::{FileHeader, FileKind, HEADER_BYTES, JournalId, SegmentHeader, entry_bytes},
    names::{self, Names},
    shared::{Segment, place_in},
    snapshots,
};
use crate::{Disk, DiskFile, JournalError, Position, disk::read_full};

/// What a folder holds.
pub(crate) struct Found {
    pub id: JournalId,
    /// Oldest first, without a gap.
    pub segments: Vec<Segment>,
    /// The end of the journal, in the last segment.
    pub tail: Cursor,
    /// Everything in the last segment before this byte is proven to be flushed.
    pub flushed: u64,
    /// Whether the last entry is a mark, so that every record is attested.
    pub attested: bool,
    /// Whole snapshots from which the records go on to the end, oldest first.
    pub snapshots: Vec<Position>,
    /// Files that are no longer needed.
    pub obsolete: Vec<String>,
    pub spares: Vec<(u64, String)>,
    pub warnings: Vec<String>,
}

/// None if the folder holds no journal yet.
pub(crate) fn find(disk: &dyn Disk) -> Result<Option<Found>, JournalError> {
    let names = Names::read(disk).map_err(at(disk, ""))?;
    if !names.identity {
        return no_identity(disk, &names).map(|()| None);
    }
    let id = read_header(disk, names::IDENTITY, FileKind::Identity)?.id;
    let segments = unbroken_segments(disk, &names, id)?;
    let last = segments.last().expect("unbroken_segments returns at least one");
    let (tail, flushed, attested) = walk_last(disk, last, id)?;
    let mut found = Found {
        id,
        tail,
        flushed,
        attested,
        snapshots: Vec::new(),
        obsolete: names.half_made.clone(),
        spares: names.spares.clone().into_iter().collect(),
        warnings: disk.doubts(),
        segments,
    };
    found.take_snapshots(disk, &names)?;
    found.take_obsolete_segments(&names);
    Ok(Some(found))
}

/// The identity is the last file that is made at a birth. Without it there must be nothing that was ever written.
fn no_identity(disk: &dyn Disk, names: &Names) -> Result<(), JournalError> {
    if let Some(other) = names.others.iter().find(|name| *name != "lost+found") {
        let what = format!(
            "the folder holds other files ({other}) and no journal; choose an empty folder, or one that is not there"
        );
        return Err(JournalError::Foreign { place: disk.place(""), what });
    }
    let what =
        || "the identity of the journal is missing, while its records are there; bring the file back".into();
    let missing = || JournalError::Damaged { place: disk.place(names::IDENTITY), what: what() };
    if !names.snapshots.is_empty() || names.segments.len() > 1 {
        return Err(missing());
    }
    for name in names.segments.values() {
        let segment = open_segment(disk, name, None)?;
        if is_written(&segment.0, segment.1).map_err(at(disk, name))? {
            return Err(missing());
        }
    }
    Ok(())
}

/// Whether records were ever kept in this segment or before it: one that can be read, or a later one that shows that there
/// was one.
fn is_written(segment: &Segment, id: JournalId) -> io::Result<bool> {
    let header = segment.header;
    let start = Cursor::at_start(&header);
    let mut pages = Pages::new(&*segment.file, crc32c::crc32c(&id), header.capacity);
    let is_first_there = pages.next(&mut start.clone())?.is_some();
    Ok(header.first_position > 1 || is_first_there || pages.witness_behind(&start)?.is_some())
}

/// The segments from the newest one back to where a number is missing or a header is not whole.
pub(crate) fn unbroken_segments(
    disk: &dyn Disk,
    names: &Names,
    id: JournalId,
) -> Result<Vec<Segment>, JournalError> {
    let mut segments: Vec<Segment> = Vec::new();
    for (&number, name) in names.segments.iter().rev() {
        let newer = segments.last().map(|segment| segment.header);
        if newer.is_some_and(|newer| newer.number != number + 1) {
            break;
        }
        match open_segment(disk, name, Some(id)) {
            Ok((segment, _)) if is_in_place(&segment, number, newer) => segments.push(segment),
            Err(error @ (JournalError::Io { .. } | JournalError::Newer { .. })) => return Err(error),
            Err(error) if newer.is_none() => return Err(error),
            Ok(_) if newer.is_none() => return Err(misplaced(disk, name)),
            // Whether it is needed, the snapshots will tell.
            Ok(_) | Err(_) => break,
        }
    }
    segments.reverse();
    if segments.is_empty() {
        let what = "there is no segment: the records are gone".to_owned();
        return Err(JournalError::Damaged { place: disk.place(""), what });
    }
    Ok(segments)
}

fn is_in_place(segment: &Segment, number: u64, newer: Option<SegmentHeader>) -> bool {
    let header = segment.header;
    header.number == number && newer.is_none_or(|newer| newer.first_position >= header.first_position)
}

fn misplaced(disk: &dyn Disk, name: &str) -> JournalError {
    let what = "its header belongs to a segment of another number".to_owned();
    JournalError::Damaged { place: disk.place(name), what }
}

/// Opens a segment. With an id it must be of that journal.
fn open_segment(
    disk: &dyn Disk,
    name: &str,
    id: Option<JournalId>,
) -> Result<(Segment, JournalId), JournalError> {
    let file: Arc<dyn DiskFile> = disk.open(name).map_err(at(disk, name))?.into();
    let header = header_of(disk, name, FileKind::Segment, &*file)?;
    let place = disk.place(name);
    if id.is_some_and(|id| id != header.id) {
        return Err(JournalError::Foreign { place, what: "it belongs to another journal".to_owned() });
    }
    let segment = Segment { header: SegmentHeader::of(&header), file };
    if !segment.header.is_possible() {
        let what = "its header says what no segment can".to_owned();
        return Err(JournalError::Damaged { place, what });
    }
    let length = segment.file.len().map_err(at(disk, name))?;
    if length < segment.header.capacity {
        let what = format!("it ends at byte {length} of {}", segment.header.capacity);
        return Err(JournalError::Damaged { place, what });
    }
    Ok((segment, header.id))
}

/// Walks to the end of the last segment: where it is, up to where it is proven, and whether a mark closes it.
fn walk_last(disk: &dyn Disk, segment: &Segment, id: JournalId) -> Result<(Cursor, u64, bool), JournalError> {
    let header = segment.header;
    let name = names::segment(header.number);
    let mut pages = Pages::new(&*segment.file, crc32c::crc32c(&id), header.capacity);
    let mut cursor = Cursor::at_start(&header);
    let (mut flushed, mut attested) = (cursor.offset, true);
    while let Some(entry) = pages.next(&mut cursor).map_err(at(disk, &name))? {
        flushed = flushed.max(u64::from(entry.header.flushed));
        attested = entry.into_record().is_none();
    }
    if pages.is_end(&cursor).map_err(at(disk, &name))? {
        let what = format!(
            "the journal goes on in {}, which is gone; bring it back",
            names::segment(header.number + 1)
        );
        return Err(JournalError::Damaged { place: disk.place(&name), what });
    }
    look_ahead(disk, &mut pages, &cursor)?;
    if cursor.offset + entry_bytes(0) > header.capacity || cursor.opening == u32::MAX {
        let what = "its entries leave no room for what must follow them".to_owned();
        return Err(JournalError::Damaged { place: disk.place(&name), what });
    }
    Ok((cursor, flushed, attested))
}

fn look_ahead(disk: &dyn Disk, pages: &mut Pages<'_>, cursor: &Cursor) -> Result<(), JournalError> {
    if has(Defect::NoLookAhead) {
        return Ok(());
    }
    let name = names::segment(cursor.segment);
    match pages.witness_behind(cursor).map_err(at(disk, &name))? {
        None => Ok(()),
        Some(witness) => Err(JournalError::Damaged {
            place: place_in(disk, cursor.segment, cursor.offset),
            what: format!(
                "no whole record {} here, but the entry at byte {witness} shows that it had been flushed; \
                 bring the file back from a backup",
                cursor.position + 1
            ),
        }),
    }
}

impl Found {
    /// Keeps the two newest whole snapshots; the records must go on from the newest.
    fn take_snapshots(&mut self, disk: &dyn Disk, names: &Names) -> Result<(), JournalError> {
        let first = self.segments[0].header.first_position;
        for (&position, name) in names.snapshots.iter().rev() {
            if self.snapshots.len() == 2 {
                self.obsolete.push(name.clone());
                continue;
            }
            match snapshots::check(disk, position, self.id) {
                Ok(()) if position + 1 < first => self.unusable(disk, names, position)?,
                Ok(()) => self.snapshots.push(position),
                Err(error @ (JournalError::Io { .. } | JournalError::Newer { .. })) => return Err(error),
                Err(error) => self.warnings.push(format!("a snapshot is passed over: {error}")),
            }
        }
        self.snapshots.reverse();
        let newest = self.snapshots.last().copied().unwrap_or(0);
        if newest + 1 < first {
            return Err(records_missing(disk, names, newest, first));
        }
        if newest > self.tail.position {
            return Err(self.ends_too_early(disk, newest));
        }
        Ok(())
    }

    fn unusable(&mut self, disk: &dyn Disk, names: &Names, position: Position) -> Result<(), JournalError> {
        let first = self.segments[0].header.first_position;
        let error = records_missing(disk, names, position, first);
        if self.snapshots.is_empty() {
            return Err(error);
        }
        // A newer one is whole; the next snapshot makes the pair complete again.
        self.warnings.push(format!("an older snapshot cannot be used: {error}"));
        Ok(())
    }

    fn ends_too_early(&self, disk: &dyn Disk, newest: Position) -> JournalError {
        let what = format!(
            "the records end at {}, but there is a snapshot of record {newest}; bring the segments back from a backup",
            self.tail.position
        );
        JournalError::Damaged { place: place_in(disk, self.tail.segment, self.tail.offset), what }
    }

    /// Segments that a lost renaming has left behind. While a snapshot is missing they stay, as evidence.
    fn take_obsolete_segments(&mut self, names: &Names) {
        if self.snapshots.len() < 2 {
            return;
        }
        let oldest = self.segments[0].header.number;
        self.obsolete.extend(names.segments.range(..oldest).map(|(_, name)| name.clone()));
    }
}

fn records_missing(disk: &dyn Disk, names: &Names, after: Position, first: Position) -> JournalError {
    let present: Vec<_> = names.segments.keys().collect();
    let what = format!(
        "the records {} to {} are missing or unreadable (segments here: {present:?})",
        after + 1,
        first - 1
    );
    JournalError::Damaged { place: disk.place(""), what }
}

pub(crate) fn read_header(disk: &dyn Disk, name: &str, kind: FileKind) -> Result<FileHeader, JournalError> {
    let file = disk.open(name).map_err(at(disk, name))?;
    header_of(disk, name, kind, &*file)
}

pub(crate) fn header_of(
    disk: &dyn Disk,
    name: &str,
    kind: FileKind,
    file: &dyn DiskFile,
) -> Result<FileHeader, JournalError> {
    let mut bytes = [0; HEADER_BYTES];
    let filled = read_full(file, &mut bytes, 0).map_err(at(disk, name))?;
    FileHeader::decode(kind, &bytes[..filled], &disk.place(name))
}

pub(crate) fn at(disk: &dyn Disk, name: &str) -> impl FnOnce(io::Error) -> JournalError + use<> {
    let place = disk.place(name);
    move |source| JournalError::Io { place, source }
}
