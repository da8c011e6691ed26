//! The folder of a local journal to which anything may have happened (`folder_edits.rs`).
//!
//! The bytes are a script of what happens to a small journal of some segments, two snapshots and a spare. Then the journal
//! answers, or refuses and says why, and in that case has changed nothing. What it answers:
//!
//! - After accidents every record is the one that was appended there, and every snapshot the one that was saved. Nobody is
//!   promised that checksums find somebody who forges them.
//! - As long as the last entry is there, everything before it is, or the refusal says so: nothing is lost in
//!   silence.
//! - What `verify` takes for whole can be opened and read to its end.
//! - It goes on: what is appended and flushed now is there when it is opened again, forged files or not.

use std::{
    future::Future,
    pin::pin,
    sync::{Arc, OnceLock},
    task::{Context, Poll, Waker},
};

use bytes::Bytes;
use maitred_journal::{
    Archive, Journal, JournalError, Local, Making, ManualClock, Options, Position, SimDisk, Snapshot,
    verify_on,
};

use crate::{
    chance,
    folder_edits::{Files, edit},
};

const SEGMENT_BYTES: u64 = 4096;
const RECORDS: Position = 40;

/// The journal before anything happens to it.
struct Before {
    files: Files,
    /// The segment in which it ends, and where its last entry is.
    newest: String,
    last_entry: usize,
}

pub fn run(bytes: &[u8]) {
    let before = before();
    let mut files = before.files.clone();
    let forges = edit(&mut files, bytes);
    let disk = disk_of(&files);
    let verified = verify_on(&disk).map_err(refused);
    assert_eq!(files_of(&disk), files, "to verify changes nothing");
    let opened = open(&disk).map_err(refused);
    let Ok(mut journal) = opened else {
        assert_eq!(files_of(&disk), files, "a refused start changes nothing");
        assert!(forges || verified.is_err(), "verified as whole, and then refused: {verified:?}");
        return;
    };
    let read = read_all(&mut *journal.archive(), forges);
    if !forges {
        assert!(verified.is_err() || read.is_ok(), "verified as whole, and then: {read:?}");
        assert!(
            journal.head() == RECORDS || !is_attested(before, &files),
            "lost in silence: {}",
            journal.head()
        );
    }
    go_on(&disk, &mut journal);
}

/// A named reason, and none of the disk: that does not fail here.
fn refused(error: JournalError) -> String {
    let is_named = !matches!(
        error,
        JournalError::Io { .. } | JournalError::Unreachable { .. } | JournalError::Lost { .. }
    );
    assert!(is_named, "refused without a reason of its own: {error}");
    error.to_string()
}

/// Whether the last entry is still there, in a segment that nothing claims to follow.
fn is_attested(before: &Before, files: &Files) -> bool {
    let was = &before.files[&before.newest];
    let is_kept = |bytes: &Vec<u8>| {
        let same = |from: usize, to: usize| bytes.get(from..to) == was.get(from..to);
        same(0, 64) && same(before.last_entry, before.last_entry + 48)
    };
    let follows = |name: &String| name.starts_with("segment-") && *name > before.newest;
    files.get(&before.newest).is_some_and(is_kept) && !files.keys().any(follows)
}

/// Every record that is kept. After accidents each is the one that was appended.
fn read_all(archive: &mut dyn Archive, forges: bool) -> Result<Position, String> {
    let snapshot = now(archive.snapshot()).map_err(refused)?;
    if let Some(snapshot) = snapshot.filter(|_| !forges) {
        assert_eq!(snapshot, snapshot_at(snapshot.position));
    }
    let mut head = match now(archive.read(0, 1)) {
        Err(JournalError::Trimmed { oldest, .. }) => oldest - 1,
        Err(error) => return Err(refused(error)),
        Ok(_) => 0,
    };
    loop {
        let records = now(archive.read(head, 1_000)).map_err(refused)?;
        if records.is_empty() {
            return Ok(head);
        }
        for record in records {
            head += 1;
            assert_eq!(record.position, head, "a gap");
            assert!(forges || record.bytes == record_at(head), "record {head} is another one");
        }
    }
}

/// One more record, which is there after the next start.
fn go_on(disk: &SimDisk, journal: &mut Local) {
    let head = journal.head();
    let more = Bytes::from_static(b"one more");
    now(journal.append(head, more.clone())).unwrap_or_else(|error| panic!("behind {head}: {error}"));
    assert_eq!(now(journal.sync()).map_err(refused), Ok(head + 1));
    // As after a kill: the lock is the disk's, and is gone.
    let again =
        open(&disk.kill()).unwrap_or_else(|error| panic!("opened, appended to, and refused: {error}"));
    assert_eq!(again.head(), head + 1);
    let found = now(again.archive().read(head, 1_000)).map_err(refused);
    let found: Vec<Bytes> = found.into_iter().flatten().map(|record| record.bytes).collect();
    assert_eq!(found, [more]);
}

fn before() -> &'static Before {
    static BEFORE: OnceLock<Before> = OnceLock::new();
    BEFORE.get_or_init(|| make().unwrap_or_else(|error| panic!("nothing has happened to it yet: {error}")))
}

/// Snapshots at 12 and 22, the segments before them given back, opened three times, closed in order.
fn make() -> Result<Before, JournalError> {
    let disk = SimDisk::new(1);
    for upto in [15, 30, RECORDS] {
        let mut journal = open(&disk)?;
        let mut archive = journal.archive();
        for position in journal.head() + 1..=upto {
            now(journal.append(position - 1, record_at(position))).unwrap_or_else(|error| panic!("{error}"));
            now(journal.sync())?;
            if [12, 22].contains(&position) {
                now(archive.save_snapshot(snapshot_at(position)))?;
                now(archive.trim(position))?;
            }
        }
        now(journal.attest())?;
    }
    let files = files_of(&disk);
    let newest = files.keys().rfind(|name| name.starts_with("segment-")).cloned().unwrap_or_default();
    // The mark that closes it: its kind is the last byte that is not zero.
    let last = files[&newest].iter().rposition(|byte| *byte != 0).unwrap_or_default();
    Ok(Before { files, newest, last_entry: last - 44 })
}

fn record_at(position: Position) -> Bytes {
    Bytes::from(vec![position as u8; 20 + (position as usize * 97) % 600])
}

fn snapshot_at(position: Position) -> Snapshot {
    Snapshot { position, bytes: Bytes::from(format!("the state after record {position}; ").repeat(9)) }
}

fn open(disk: &SimDisk) -> Result<Local, JournalError> {
    let options = Options {
        segment_bytes: SEGMENT_BYTES,
        making: Making::InForeground,
        clock: Arc::new(ManualClock::new(1_000)),
        ..Options::new([3; 16])
    };
    Local::open_on(Arc::new(disk.clone()), options)
}

fn disk_of(files: &Files) -> SimDisk {
    let disk = SimDisk::new(1);
    files.iter().for_each(|(name, bytes)| disk.put(name, bytes));
    disk
}

fn files_of(disk: &SimDisk) -> Files {
    disk.files().into_iter().collect()
}

/// The answer of a call that never waits.
fn now<T>(answer: impl Future<Output = T>) -> T {
    match pin!(answer).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("a local journal does not wait"),
    }
}

pub fn seeds() -> Vec<Vec<u8>> {
    let accidents = (1..=4).map(|seed| [&[0], &chance::bytes(seed, 24)[..]].concat());
    let forgeries = (5..=8).map(|seed| [&[1], &chance::bytes(seed, 40)[..]].concat());
    accidents.chain(forgeries).chain([Vec::new()]).collect()
}
