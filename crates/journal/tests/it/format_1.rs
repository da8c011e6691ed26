//! The journal of format 1 that is kept under `fixtures/format-1`: every later version reads it, and this one
//! still writes it byte for byte.

use std::{fs, path::PathBuf, sync::Arc};

use bytes::Bytes;
use maitred_journal::{Journal, Local, Making, ManualClock, Options, SimDisk, Snapshot, verify_on};

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/format-1")
}

fn options(clock: &ManualClock) -> Options {
    let (making, clock) = (Making::InForeground, Arc::new(clock.clone()));
    Options { segment_bytes: 4096, making, clock, ..Options::new(*b"journal-format-1") }
}

fn open(disk: &SimDisk, clock: &ManualClock) -> Local {
    Local::open_on(Arc::new(disk.clone()), options(clock)).expect("it opens")
}

fn record(position: u64) -> Bytes {
    Bytes::from(format!("record {position} of format 1; ").repeat((position % 11) as usize))
}

fn snapshot(position: u64) -> Snapshot {
    Snapshot { position, bytes: Bytes::from(format!("the state after record {position}")) }
}

/// Two openings, several segments of which one has been used again, marks, two snapshots.
async fn write() -> SimDisk {
    let (disk, clock) = (SimDisk::new(1), ManualClock::new(1_700_000_000_000));
    for opening in 0..2 {
        let mut journal = open(&disk, &clock);
        let mut archive = journal.archive();
        for after in opening * 25..(opening + 1) * 25 {
            clock.advance(1 + after);
            journal.append(after, record(after + 1)).await.expect("an append");
            if after % 3 == 0 {
                journal.sync().await.expect("a sync");
            }
            if after % 16 == 15 {
                let position = journal.sync().await.expect("a sync");
                archive.save_snapshot(snapshot(position)).await.expect("a snapshot");
                archive.trim(position).await.expect("a trim");
            }
        }
        journal.attest().await.expect("an attestation");
    }
    disk
}

fn kept() -> SimDisk {
    let disk = SimDisk::new(2);
    for entry in fs::read_dir(folder()).expect("the fixture") {
        let entry = entry.expect("an entry");
        disk.put(&entry.file_name().to_string_lossy(), &fs::read(entry.path()).expect("its bytes"));
    }
    disk
}

#[tokio::test]
async fn it_is_still_read() {
    let disk = kept();
    let verified = verify_on(&disk).expect("it is whole");
    assert_eq!((verified.head, verified.snapshots), (50, vec![32, 48]));
    assert!(verified.first > 1 && verified.segments > 1, "it has been trimmed");
    let clock = ManualClock::new(1_800_000_000_000);
    let mut journal = open(&disk, &clock);
    let mut archive = journal.archive();
    assert_eq!(archive.snapshot().await.expect("a snapshot"), Some(snapshot(48)));
    let records = archive.read(32, usize::MAX).await.expect("a read");
    assert_eq!(records.len(), 18);
    for (found, position) in records.into_iter().zip(33..) {
        let at = 1_700_000_000_000 + (1..=position).sum::<u64>();
        assert_eq!((found.position, found.at, found.bytes), (position, at, record(position)));
    }
    journal.append(50, Bytes::from_static(b"by a later version")).await.expect("an append");
    assert_eq!(journal.sync().await.expect("a sync"), 51);
}

#[tokio::test]
async fn it_is_still_written() {
    let (written, kept) = (write().await.files(), kept().files());
    let names = |files: &[(String, Vec<u8>)]| files.iter().map(|file| file.0.clone()).collect::<Vec<_>>();
    assert_eq!(names(&written), names(&kept));
    for ((name, written), (_, kept)) in written.iter().zip(&kept) {
        let differs = written.iter().zip(kept).position(|(written, kept)| written != kept);
        assert_eq!((written.len(), differs), (kept.len(), None), "{name} differs at this byte");
    }
}

/// Only for a new format, under a new name: an old fixture is never written again.
#[tokio::test]
#[ignore = "writes the fixture"]
async fn write_the_fixture() {
    assert!(!folder().exists(), "the fixture is there already");
    fs::create_dir_all(folder()).expect("a folder");
    for (name, bytes) in write().await.files() {
        fs::write(folder().join(name), bytes).expect("a file");
    }
}
