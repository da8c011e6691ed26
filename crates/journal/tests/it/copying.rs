//! Copies of a journal that is being written to, while its segments are reused behind the copier's back.

use std::{
    fs,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use bytes::Bytes;
use maitred_journal::{Journal, JournalError, Local, Options, Position, Snapshot, copy, verify};

const COPIES: usize = 25;

fn open(folder: &Path) -> Local {
    let options = Options { segment_bytes: 64 << 10, ..Options::new([5; 16]) };
    Local::open(folder, options).unwrap_or_else(|error| panic!("{error}"))
}

fn record(position: Position) -> Bytes {
    Bytes::from(format!("record {position}; ").repeat(1 + (position * 31 % 97) as usize))
}

/// Appends, flushes and makes snapshots until it is told to stop; says up to where it has promised.
async fn write(folder: &Path, promised: &AtomicU64, stop: &AtomicBool) {
    let mut journal = open(folder);
    let mut archive = journal.archive();
    for group in 1.. {
        for _ in 0..1 + group % 4 {
            let head = journal.head();
            journal.append(head, record(head + 1)).await.expect("an append");
        }
        let durable = journal.sync().await.expect("a sync");
        promised.store(durable, Ordering::SeqCst);
        if group % 200 == 0 {
            let bytes = Bytes::from(format!("state {durable}; ").repeat(200));
            archive.save_snapshot(Snapshot { position: durable, bytes }).await.expect("a snapshot");
            archive.trim(durable).await.expect("a trim");
        }
        if stop.load(Ordering::SeqCst) {
            return;
        }
    }
}

/// The records behind the newest snapshot are those that were written, and none is missing.
async fn check(folder: &Path, from: Position, upto: Position) {
    let journal = open(folder);
    let mut archive = journal.archive();
    let snapshot = archive.snapshot().await.unwrap().map_or(0, |snapshot| snapshot.position);
    assert!(snapshot <= journal.head() && journal.head() == upto, "{snapshot} {upto}");
    let mut position = snapshot.max(from - 1);
    while position < upto {
        for found in archive.read(position, 1 << 20).await.unwrap() {
            position += 1;
            assert_eq!((found.position, &found.bytes), (position, &record(position)));
        }
    }
}

#[test]
fn a_copy_of_a_journal_in_use_has_all_that_was_promised() {
    let runtime = || tokio::runtime::Builder::new_current_thread().build().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("journal");
    let (promised, stop) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
    let writer = {
        let (source, promised, stop) = (source.clone(), Arc::clone(&promised), Arc::clone(&stop));
        std::thread::spawn(move || runtime().block_on(write(&source, &promised, &stop)))
    };
    while promised.load(Ordering::SeqCst) < 1_000 {
        std::thread::yield_now();
    }
    let mut grew = 0;
    for number in 0..COPIES {
        let to = folder.path().join(format!("copy-{number}"));
        let before = promised.load(Ordering::SeqCst);
        let copied = copy(&source, &to).unwrap();
        assert!(copied.head >= before, "{before} was promised, {} is there", copied.head);
        assert_eq!(verify(&to).unwrap(), copied);
        runtime().block_on(check(&to, copied.first, copied.head));
        grew += u64::from(promised.load(Ordering::SeqCst) > before);
        fs::remove_dir_all(&to).unwrap();
    }
    stop.store(true, Ordering::SeqCst);
    writer.join().unwrap();
    assert!(grew > 0, "nothing was written meanwhile");
}

#[test]
fn damage_is_no_end() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("journal");
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let mut journal = open(&source);
        for _ in 0..30 {
            journal.append(journal.head(), record(journal.head() + 1)).await.unwrap();
            journal.sync().await.unwrap();
        }
    });
    let segment = source.join("segment-0000000000000001.log");
    let mut bytes = fs::read(&segment).unwrap();
    bytes[2_000] ^= 1;
    fs::write(&segment, bytes).unwrap();
    let to = folder.path().join("copy");
    let damaged = copy(&source, &to).unwrap_err();
    assert!(
        matches!(&damaged, JournalError::Damaged { place, .. } if place.contains("segment-")),
        "{damaged}"
    );
    assert!(matches!(copy(&folder.path().join("nowhere"), &to), Err(JournalError::Io { .. })));
}
