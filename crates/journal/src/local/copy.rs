//! A copy of a journal, also of one that a process is writing to.
//!
//! # Worked example
//! Segment 3 is full, segment 4 is being written, and a writer appends all the time:
//!
//! ```text
//! snapshot 5000   segment 3            segment 4
//! whole           5001 … 8000 end      8001 8002 8003 (8004 half written)
//! copied whole    copied whole         copied up to here ^
//! ```
//! The snapshots come first, so none is ahead of the records. Segments before the last never change. The last one is
//! walked to the place X where no entry goes on, and copied up to X: what lies before X is never written again, and
//! what was flushed before the copy began lies before X. What lies behind is left out, as if it had been torn.
//!
//! X must be an end and no damage. A witness behind X says that X was flushed before the witness was written, so if
//! X is looked at again *after* the witness was seen, a whole entry must be there now. If there is one, the walk goes
//! on; if not, it is damage, as at a start.
//!
//! Behind the copier's back the journal may make a snapshot and take an old segment for other use. Then the copy does
//! not fit together, which the reading of the whole copy shows, and it is begun again.

use std::{
    fs::{self, DirBuilder, File, OpenOptions},
    io,
    os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt},
    path::Path,
};

use super::{
    entries::{Cursor, Pages},
    format::FileKind,
    names::{self, Names},
    recovery::{self, at},
    shared::{Segment, place_in},
    verify::{Verified, verify},
};
use crate::{Disk, DiskFile, FolderDisk, JournalError, disk::read_full};

/// Each try copies everything, and a journal makes a snapshot every few minutes at the most.
const TRIES: usize = 5;
const PIECE_BYTES: usize = 1 << 20;

/// Copies the journal in `from` to the folder `to`, which must not be there, and reads the copy to its end. What was
/// durable when the call began is in it, and perhaps some of what came after.
///
/// # Errors
/// The first damage, with its place; `Io` if `to` is there, or if either cannot be read or written.
pub fn copy(from: &Path, to: &Path) -> Result<Verified, JournalError> {
    let io_at = |path: &Path| {
        let place = path.display().to_string();
        move |source| JournalError::Io { place, source }
    };
    if !from.is_dir() {
        return Err(io_at(from)(io::ErrorKind::NotFound.into()));
    }
    let disk = FolderDisk::new(from).map_err(io_at(from))?;
    for _ in 1..TRIES {
        DirBuilder::new().mode(0o700).create(to).map_err(io_at(to))?;
        if let Ok(verified) = copy_once(&disk, to).and_then(|()| verify(to)) {
            return Ok(verified);
        }
        fs::remove_dir_all(to).map_err(io_at(to))?;
    }
    DirBuilder::new().mode(0o700).create(to).map_err(io_at(to))?;
    copy_once(&disk, to)?;
    verify(to)
}

fn copy_once(disk: &dyn Disk, to: &Path) -> Result<(), JournalError> {
    let names = Names::read(disk).map_err(at(disk, ""))?;
    let id = recovery::read_header(disk, names::IDENTITY, FileKind::Identity)?.id;
    for name in names.snapshots.values().rev().take(2) {
        copy_whole(disk, name, to)?;
    }
    let segments = recovery::unbroken_segments(disk, &names, id)?;
    let last = segments.len() - 1;
    for (index, segment) in segments.iter().enumerate() {
        let name = names::segment(segment.header.number);
        let upto = match index == last {
            true => end_of(disk, segment, crc32c::crc32c(&id))?,
            false => segment.header.capacity,
        };
        copy_file(&*segment.file, to, &name, upto, segment.header.capacity).map_err(at(disk, &name))?;
    }
    // As at a birth, the identity is the last: without it nobody takes the folder for a journal.
    copy_whole(disk, names::IDENTITY, to)?;
    File::open(to).and_then(|folder| folder.sync_all()).map_err(at(disk, ""))
}

fn copy_whole(disk: &dyn Disk, name: &str, to: &Path) -> Result<(), JournalError> {
    let copied = || -> io::Result<()> {
        let file = disk.open(name)?;
        let length = file.len()?;
        copy_file(&*file, to, name, length, length)
    };
    copied().map_err(at(disk, name))
}

/// The first `upto` bytes; the rest, up to `length`, are zeroes.
fn copy_file(from: &dyn DiskFile, to: &Path, name: &str, upto: u64, length: u64) -> io::Result<()> {
    let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(to.join(name))?;
    let mut piece = vec![0; PIECE_BYTES];
    let mut offset = 0;
    while offset < upto {
        let wanted = PIECE_BYTES.min((upto - offset) as usize);
        let filled = read_full(from, &mut piece[..wanted], offset)?;
        if filled == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        file.write_all_at(&piece[..filled], offset)?;
        offset += filled as u64;
    }
    file.set_len(length)?;
    file.sync_all()
}

/// The place behind the last whole entry of a segment that may be growing.
fn end_of(disk: &dyn Disk, segment: &Segment, seed: u32) -> Result<u64, JournalError> {
    let name = names::segment(segment.header.number);
    let mut cursor = Cursor::at_start(&segment.header);
    loop {
        // New pages: the old ones hold what was there before.
        let mut pages = Pages::new(&*segment.file, seed, segment.header.capacity);
        while pages.next(&mut cursor).map_err(at(disk, &name))?.is_some() {}
        let Some(witness) = pages.witness_behind(&cursor).map_err(at(disk, &name))? else {
            return Ok(cursor.offset);
        };
        let mut again = Pages::new(&*segment.file, seed, segment.header.capacity);
        if again.next(&mut cursor).map_err(at(disk, &name))?.is_none() {
            let place = place_in(disk, cursor.segment, cursor.offset);
            let what =
                format!("no whole entry here, but the entry at byte {witness} shows that there was one");
            return Err(JournalError::Damaged { place, what });
        }
    }
}
