//! A full disk: what frees places still fits, and nothing is half-written.

use bytes::Bytes;

use super::run::{now, open};
use crate::{AppendError, Archive, Journal, Local, Room, SimDisk, Snapshot};

const SEGMENT_BYTES: u64 = 8192;

/// A disk for three segments and a little, and a journal that has filled it up to the reserve.
fn filled() -> (SimDisk, Local) {
    let disk = SimDisk::new(1);
    disk.set_capacity(3 * SEGMENT_BYTES + 6000);
    let mut journal = open(&disk).expect("a journal that opens");
    while journal.room() == Room::Ample {
        append(&mut journal, 200).expect("there is ample room");
    }
    (disk, journal)
}

fn append(journal: &mut Local, size: usize) -> Result<(), AppendError> {
    let head = journal.head();
    now(journal.append(head, Bytes::from(vec![1; size])))?;
    now(journal.sync()).expect("a sync of what has been appended");
    Ok(())
}

/// Appends until nothing fits; returns how many did.
fn use_up(journal: &mut Local) -> u64 {
    let head = journal.head();
    loop {
        match append(journal, 100) {
            Ok(()) => {}
            Err(AppendError::Full { bytes: 100 }) => return journal.head() - head,
            Err(error) => panic!("{error}"),
        }
    }
}

fn save_snapshots_and_trim(archive: &mut dyn Archive, head: u64) {
    for position in [head - 1, head] {
        let snapshot = Snapshot { position, bytes: Bytes::from_static(b"state") };
        now(archive.save_snapshot(snapshot)).expect("a small snapshot still fits");
    }
    now(archive.trim(head)).expect("a trim");
}

#[test]
fn releases_fit_into_the_reserve() {
    let (disk, mut journal) = filled();
    let releases = use_up(&mut journal);
    assert!(releases >= SEGMENT_BYTES / 200, "only {releases} records fit into the reserve");
    assert_eq!(journal.room(), Room::Reserve);
    let head = journal.head();
    let calls = disk.calls();
    append(&mut journal, 100).expect_err("still full");
    assert_eq!(disk.calls(), calls, "a full journal does not touch the disk at every append");
    drop(journal);
    let journal = open(&disk.kill()).expect("a full journal opens");
    assert_eq!(journal.head(), head, "a refused append left something");
    assert_eq!(journal.room(), Room::Reserve);
}

#[test]
fn a_trim_makes_room_again() {
    let (_disk, mut journal) = filled();
    use_up(&mut journal);
    save_snapshots_and_trim(&mut *journal.archive(), journal.head());
    assert_eq!(journal.room(), Room::Ample, "old segments have come back");
    assert!(use_up(&mut journal) > 0);
}

#[test]
fn room_on_the_disk_makes_room_again() {
    let (disk, mut journal) = filled();
    use_up(&mut journal);
    journal.make_ahead().expect_err("there is no room for a segment");
    disk.set_capacity(u64::MAX);
    journal.make_ahead().expect("there is room now");
    assert_eq!(journal.room(), Room::Ample);
    append(&mut journal, 1000).expect("there is room");
}

#[test]
fn a_snapshot_that_does_not_fit_leaves_nothing() {
    let (disk, mut journal) = filled();
    let used = disk.used();
    let snapshot = Snapshot { position: journal.durable(), bytes: Bytes::from(vec![1; 100_000]) };
    let mut archive = journal.archive();
    now(archive.save_snapshot(snapshot)).expect_err("it does not fit");
    assert_eq!(disk.used(), used, "a half-made snapshot takes the last room");
    assert_eq!(now(archive.snapshot()).expect("no snapshot is no error"), None);
    append(&mut journal, 100).expect("the writer is not concerned");
}

#[test]
fn a_full_disk_cannot_bear_a_journal() {
    let disk = SimDisk::new(1);
    disk.set_capacity(SEGMENT_BYTES / 2);
    assert!(open(&disk).is_err());
    disk.set_capacity(u64::MAX);
    let mut journal = open(&disk.kill()).expect("the birth is begun again");
    append(&mut journal, 100).expect("an append");
}
