//! Snapshots as files: written under a temporary name, flushed, read back, renamed, and the name flushed.

use bytes::Bytes;

use super::{
    format::{FileHeader, FileKind, HEADER_BYTES, JournalId},
    names,
    recovery::{at, header_of},
};
use crate::{
    Disk, DiskFile, JournalError, Position, Snapshot,
    disk::{create_anew, read_full, write_all},
};

const PIECE_BYTES: usize = 1 << 20;

/// Whether the snapshot of this position is whole.
pub(crate) fn check(disk: &dyn Disk, position: Position, id: JournalId) -> Result<(), JournalError> {
    let name = names::snapshot(position);
    let file = disk.open(&name).map_err(at(disk, &name))?;
    check_file(disk, &name, &*file, position, id).map(|_| ())
}

pub(crate) fn read(disk: &dyn Disk, position: Position, id: JournalId) -> Result<Snapshot, JournalError> {
    let name = names::snapshot(position);
    let file = disk.open(&name).map_err(at(disk, &name))?;
    let (length, crc) = check_header(disk, &name, &*file, position, id)?;
    let mut bytes = vec![0; length as usize];
    let filled = read_full(&*file, &mut bytes, HEADER_BYTES as u64).map_err(at(disk, &name))?;
    if filled < bytes.len() || crc32c::crc32c(&bytes) != crc {
        return Err(not_whole(disk, &name));
    }
    Ok(Snapshot { position, bytes: Bytes::from(bytes) })
}

/// Writes it whole and durable, or returns an error and leaves at most a half-made file.
pub(crate) fn write(disk: &dyn Disk, snapshot: &Snapshot, id: JournalId) -> Result<(), JournalError> {
    let half_made = names::SNAPSHOT_HALF_MADE;
    let written = fill(disk, half_made, snapshot, id);
    if let Err(error) = written {
        // What is left of it takes room, on a disk that may just be full. The next start removes it otherwise.
        let _ = disk.remove(half_made);
        return Err(error);
    }
    let name = names::snapshot(snapshot.position);
    disk.rename(half_made, &name).map_err(at(disk, &name))?;
    disk.sync_folder().map_err(at(disk, ""))
}

fn fill(disk: &dyn Disk, name: &str, snapshot: &Snapshot, id: JournalId) -> Result<(), JournalError> {
    let file = create_anew(disk, name).map_err(at(disk, name))?;
    let crc = crc32c::crc32c(&snapshot.bytes);
    let fields = [snapshot.position, snapshot.bytes.len() as u64, u64::from(crc), 0];
    let header = FileHeader { kind: FileKind::Snapshot, id, fields }.encode();
    write_all(&*file, &header, 0).map_err(at(disk, name))?;
    write_all(&*file, &snapshot.bytes, HEADER_BYTES as u64).map_err(at(disk, name))?;
    file.sync().map_err(at(disk, name))?;
    // An older snapshot and old segments are given up for this one, so it is read back first.
    check_file(disk, name, &*file, snapshot.position, id)
}

fn check_file(
    disk: &dyn Disk,
    name: &str,
    file: &dyn DiskFile,
    position: Position,
    id: JournalId,
) -> Result<(), JournalError> {
    let (length, expected) = check_header(disk, name, file, position, id)?;
    let mut piece = vec![0; length.min(PIECE_BYTES as u64) as usize];
    let (mut done, mut crc) = (0, 0);
    while done < length {
        let wanted = (length - done).min(PIECE_BYTES as u64) as usize;
        let offset = HEADER_BYTES as u64 + done;
        let filled = read_full(file, &mut piece[..wanted], offset).map_err(at(disk, name))?;
        if filled < wanted {
            return Err(not_whole(disk, name));
        }
        crc = crc32c::crc32c_append(crc, &piece[..wanted]);
        done += wanted as u64;
    }
    if crc == expected { Ok(()) } else { Err(not_whole(disk, name)) }
}

/// The length and checksum of what follows the header.
fn check_header(
    disk: &dyn Disk,
    name: &str,
    file: &dyn DiskFile,
    position: Position,
    id: JournalId,
) -> Result<(u64, u32), JournalError> {
    let header = header_of(disk, name, FileKind::Snapshot, file)?;
    let place = || disk.place(name);
    if header.id != id {
        let what = "it belongs to another journal".to_owned();
        return Err(JournalError::Foreign { place: place(), what });
    }
    let [named, length, crc, _] = header.fields;
    let bytes = file.len().map_err(at(disk, name))?;
    if named != position || bytes.checked_sub(HEADER_BYTES as u64) != Some(length) {
        return Err(not_whole(disk, name));
    }
    Ok((length, crc as u32))
}

fn not_whole(disk: &dyn Disk, name: &str) -> JournalError {
    JournalError::Damaged { place: disk.place(name), what: "the snapshot is not whole".to_owned() }
}
