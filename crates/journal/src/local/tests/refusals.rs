//! What is refused at the start, and in which words. Nothing is changed by a refusal.

use bytes::Bytes;

use super::run::{now, open};
use crate::{Journal, JournalError, SimDisk, Snapshot, local::format::u32_at};

fn small() -> SimDisk {
    let disk = SimDisk::new(1);
    let mut journal = open(&disk).expect("a journal that opens");
    for after in 0..20 {
        now(journal.append(after, Bytes::from(vec![1; 700]))).expect("an append");
    }
    now(journal.sync()).expect("a sync");
    drop(journal);
    disk
}

/// The error of a start, which has changed nothing.
fn refused(disk: &SimDisk) -> JournalError {
    let before = disk.files();
    let error = open(disk).err().expect("it is refused");
    assert_eq!(disk.files(), before, "a refused start has changed something");
    error
}

fn change(disk: &SimDisk, name: &str, change: impl FnOnce(&mut Vec<u8>)) {
    let mut bytes = disk.contents(name).unwrap_or_else(|| panic!("{name} is there"));
    change(&mut bytes);
    disk.put(name, &bytes);
}

/// Raises the format in a header and makes its checksum right, as a newer version would write it.
fn of_format_2(bytes: &mut [u8]) {
    bytes[8] = 2;
    sign(bytes);
    assert_eq!(u32_at(bytes, 8), 2);
}

/// Makes the checksum of a header right.
fn sign(bytes: &mut [u8]) {
    let crc = crc32c::crc32c_append(crc32c::crc32c(&bytes[..12]), &bytes[16..64]);
    bytes[12..16].copy_from_slice(&crc.to_le_bytes());
}

#[test]
fn a_newer_format() {
    for name in ["journal", "segment-0000000000000002.log"] {
        let disk = small();
        change(&disk, name, |bytes| of_format_2(bytes));
        let error = refused(&disk);
        assert!(matches!(error, JournalError::Newer { found: 2, known: 1, .. }), "{name}: {error}");
        assert!(error.to_string().contains("start the newer binary"), "{error}");
    }
}

#[test]
fn a_file_that_is_no_journal() {
    let disk = small();
    change(&disk, "journal", |bytes| *bytes = b"my diary".to_vec());
    assert!(matches!(refused(&disk), JournalError::Foreign { .. }));
}

#[test]
fn a_folder_of_something_else() {
    let disk = SimDisk::new(1);
    disk.put("holiday.jpg", b"...");
    let error = refused(&disk);
    assert!(matches!(error, JournalError::Foreign { .. }));
    assert!(
        error.to_string().contains("holiday.jpg") && error.to_string().contains("empty folder"),
        "{error}"
    );
}

#[test]
fn a_segment_of_another_journal() {
    let disk = small();
    let other = {
        let options = crate::Options { journal_id: [9; 16], ..super::run::options() };
        let disk = SimDisk::new(1);
        let mut journal =
            crate::Local::open_on(std::sync::Arc::new(disk.clone()), options).expect("it opens");
        for after in 0..12 {
            now(journal.append(after, Bytes::from(vec![1; 700]))).expect("an append");
        }
        disk.contents("segment-0000000000000002.log").expect("two segments")
    };
    disk.put("segment-0000000000000002.log", &other);
    assert!(matches!(refused(&disk), JournalError::Foreign { .. }));
}

#[test]
fn an_identity_or_segments_that_are_gone() {
    let disk = small();
    crate::Disk::remove(&disk, "journal").expect("it was there");
    let error = refused(&disk);
    assert!(
        matches!(error, JournalError::Damaged { .. }) && error.to_string().contains("identity"),
        "{error}"
    );

    let disk = small();
    crate::Disk::remove(&disk, "segment-0000000000000001.log").expect("it was there");
    let error = refused(&disk);
    assert!(error.to_string().contains("the records 1 to"), "{error}");

    let disk = small();
    crate::Disk::remove(&disk, "segment-0000000000000002.log").expect("it was there");
    let error = refused(&disk);
    assert!(error.to_string().contains("goes on in segment-0000000000000002.log"), "{error}");

    let disk = small();
    for name in disk.files().into_iter().map(|file| file.0).filter(|name| name.starts_with("segment")) {
        crate::Disk::remove(&disk, &name).expect("it was there");
    }
    assert!(refused(&disk).to_string().contains("there is no segment"));
}

/// A folder in which a journal was only half born is begun anew. One whose first record is damaged is not.
#[test]
fn an_identity_that_is_gone_while_the_first_record_is_damaged() {
    let name = "segment-0000000000000001.log";
    let disk = SimDisk::new(1);
    let mut journal = open(&disk).expect("it opens");
    for after in 0..3 {
        now(journal.append(after, Bytes::from(vec![1; 70]))).expect("an append");
        now(journal.sync()).expect("a sync");
    }
    drop(journal);
    crate::Disk::remove(&disk, "journal").expect("it was there");
    // A mark numbers the opening, and then comes the first record.
    change(&disk, name, |bytes| bytes[512..700].fill(0));
    let error = refused(&disk);
    assert!(error.to_string().contains("identity"), "{error}");
}

#[test]
fn records_that_a_snapshot_proves_to_be_missing() {
    let disk = small();
    let journal = open(&disk).expect("it opens");
    let snapshot = Snapshot { position: 20, bytes: Bytes::from_static(b"state") };
    now(journal.archive().save_snapshot(snapshot)).expect("a snapshot");
    drop(journal);
    // The last record is the only one that no entry attests: the snapshot does.
    change(&disk, "segment-0000000000000002.log", |bytes| {
        let last = bytes.iter().rposition(|&byte| byte == 1).expect("the last record");
        bytes[last] = 0;
    });
    let error = refused(&disk);
    assert!(error.to_string().contains("a snapshot of record 20"), "{error}");
}

#[test]
fn a_record_that_a_later_one_attests() {
    let disk = small();
    change(&disk, "segment-0000000000000002.log", |bytes| bytes[600] ^= 1);
    // Twenty records in one group do not attest each other; a second opening does.
    let mut journal = open(&small()).expect("it opens");
    now(journal.append(20, Bytes::from_static(b"later"))).expect("an append");
    drop(journal);
    assert!(open(&disk).expect("an unattested group is a torn tail").head() < 20);

    let disk = small();
    let mut journal = open(&disk).expect("it opens");
    now(journal.append(20, Bytes::from_static(b"later"))).expect("an append");
    drop(journal);
    change(&disk, "segment-0000000000000002.log", |bytes| bytes[600] ^= 1);
    let error = refused(&disk).to_string();
    assert!(error.contains("segment-0000000000000002.log, byte 512") && error.contains("flushed"), "{error}");
}

#[test]
fn a_folder_that_is_in_use() {
    let disk = small();
    let journal = open(&disk).expect("it opens");
    assert!(matches!(refused(&disk), JournalError::Locked { .. }));
    assert!(matches!(crate::verify_on(&disk), Err(JournalError::Locked { .. })));
    drop(journal);
    open(&disk).expect("it is free again");
}

/// Only the name that a number is given stands for it, and no number of ours comes near the end of numbers.
#[test]
fn files_whose_names_only_look_like_ours_change_nothing() {
    let last = u64::MAX;
    let names = [
        "segment-2.log".to_owned(),
        "spare-3.log".to_owned(),
        "snapshot-20.snap".to_owned(),
        format!("segment-{last}.log"),
        format!("spare-{last}.log"),
        format!("snapshot-{last}.snap"),
    ];
    for name in names {
        let disk = small();
        disk.put(&name, &vec![7; super::run::SEGMENT_BYTES as usize]);
        let mut journal = open(&disk).unwrap_or_else(|error| panic!("{name}: {error}"));
        for after in 20..60 {
            now(journal.append(after, Bytes::from(vec![1; 700]))).expect("an append");
        }
        now(journal.sync()).expect("a sync");
        drop(journal);
        assert_eq!(open(&disk).map(|journal| journal.head()).ok(), Some(60), "{name}");
    }
}

/// Whoever may write to the folder can make checksums right. That is damage like any other, and no end of the process.
#[test]
fn headers_that_no_journal_has_written() {
    let segment = "segment-0000000000000002.log";
    let fields: [(usize, &[u8]); 6] = [
        (32, &[0; 8]),   // its number
        (40, &[0; 8]),   // its first position
        (40, &[255; 8]), // the same
        (52, &[255; 4]), // the opening
        (56, &[0; 8]),   // its size
        (56, &[255, 1, 0, 0, 0, 0, 0, 0]),
    ];
    for (at, value) in fields {
        let disk = small();
        change(&disk, segment, |bytes| {
            bytes[at..at + value.len()].copy_from_slice(value);
            sign(bytes);
        });
        let error = refused(&disk);
        assert!(matches!(error, JournalError::Damaged { .. }), "byte {at}: {error}");
    }
}
