//! Single stories, each of a thing that can go wrong.

use bytes::Bytes;

use super::run::{now, open};
use crate::{AppendError, Fault, Journal, JournalError, Local, SimDisk, Snapshot, Survivors, verify_on};

fn append(journal: &mut Local, text: &str) {
    let head = journal.head();
    now(journal.append(head, Bytes::from(text.repeat(30)))).expect("an append");
}

/// A flush that failed leaves bytes that can be read and will never be written. The next start must not promise
/// them because it has read them: it writes them again.
#[test]
fn what_a_failed_flush_left_is_written_again() {
    let mut met = 0;
    for seed in 0..50 {
        let disk = SimDisk::new(seed);
        let mut journal = open(&disk).expect("a journal that opens");
        append(&mut journal, "first");
        now(journal.sync()).expect("a sync");
        append(&mut journal, "second");
        disk.fail(disk.calls() + 1, Fault::Io, false);
        now(journal.sync()).expect_err("the flush fails");
        let head = journal.head();
        let refused = now(journal.append(head, Bytes::from_static(b"third")));
        assert!(matches!(refused, Err(AppendError::Broken(_))));
        let disk = disk.kill();
        let found = open(&disk).expect("a journal that opens").head();
        assert_eq!(found, 2, "the second record can be read");
        met += u64::from(open(&disk.cut(Survivors::None)).expect("it opens after a cut").head() == found);
    }
    println!("{met} of 50 kept what the start had promised");
    assert_eq!(met, 50);
}

/// A file that is not needed any more, under an old name with new bytes in it, does no harm.
#[test]
fn a_snapshot_that_is_damaged_is_passed_over() {
    let disk = SimDisk::new(1);
    let mut journal = open(&disk).expect("a journal that opens");
    let mut archive = journal.archive();
    for position in 1..=2 {
        append(&mut journal, "record");
        now(journal.sync()).expect("a sync");
        let snapshot = Snapshot { position, bytes: Bytes::from(format!("state {position}")) };
        now(archive.save_snapshot(snapshot)).expect("a snapshot");
    }
    drop((journal, archive));
    let name = "snapshot-00000000000000000002.snap";
    let mut bytes = disk.contents(name).expect("it is there");
    *bytes.last_mut().expect("it is not empty") ^= 1;
    disk.put(name, &bytes);
    let mut journal = open(&disk).expect("the older one is whole");
    let snapshot = now(journal.archive().snapshot()).expect("a snapshot").expect("there is one");
    assert_eq!(snapshot.position, 1);
    let warnings = journal.warnings();
    assert!(warnings[0].contains(name), "{warnings:?}");
    assert!(journal.warnings().is_empty(), "each is told once");
}

#[test]
fn segments_are_used_again() {
    let disk = SimDisk::new(1);
    let mut journal = open(&disk).expect("a journal that opens");
    let mut archive = journal.archive();
    for round in 0..400_u64 {
        append(&mut journal, "a record of some length");
        now(journal.sync()).expect("a sync");
        if round % 8 == 7 {
            let snapshot = Snapshot { position: journal.head(), bytes: Bytes::new() };
            now(archive.save_snapshot(snapshot)).expect("a snapshot");
            now(archive.trim(journal.head())).expect("a trim");
        }
    }
    // 400 records of 700 bytes are 280 kB; two snapshots need two segments or three, and two are spare.
    assert!(disk.used() <= 6 * 8192, "{} bytes are used", disk.used());
    assert!(verify_on(&disk.kill()).expect("it is whole").records < 60);
}

#[test]
fn a_reader_of_what_was_trimmed_is_told_so() {
    let disk = SimDisk::new(1);
    let mut journal = open(&disk).expect("a journal that opens");
    let (mut reader, mut keeper) = (journal.archive(), journal.archive());
    for _ in 0..100 {
        append(&mut journal, "a record of some length");
    }
    now(journal.sync()).expect("a sync");
    assert_eq!(now(reader.read(0, 1)).expect("the first record").len(), 1);
    for position in [80, 90] {
        now(keeper.save_snapshot(Snapshot { position, bytes: Bytes::new() })).expect("a snapshot");
    }
    now(keeper.trim(100)).expect("a trim");
    match now(reader.read(1, 1)) {
        Err(JournalError::Trimmed { after: 1, oldest }) => assert!((40..=81).contains(&oldest), "{oldest}"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn verify_counts_and_names_damage() {
    let disk = SimDisk::new(1);
    let mut journal = open(&disk).expect("a journal that opens");
    for _ in 0..30 {
        append(&mut journal, "a record of some length");
    }
    now(journal.sync()).expect("a sync");
    drop(journal);
    let verified = verify_on(&disk).expect("it is whole");
    assert_eq!((verified.first, verified.head, verified.records), (1, 30, 30));
    assert_eq!(verified.record_bytes, 30 * 30 * 23);
    let name = "segment-0000000000000001.log";
    let mut bytes = disk.contents(name).expect("it is there");
    bytes[5000] ^= 1;
    disk.put(name, &bytes);
    let error = verify_on(&disk).expect_err("it is damaged").to_string();
    assert!(error.contains(name) && error.contains("byte"), "{error}");
}
