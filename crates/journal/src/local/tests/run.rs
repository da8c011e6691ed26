//! A run of a journal from a seed, and the judge of what is found afterwards.
//!
//! The *truth* is what the run knows: every record it has appended, and up to where the journal has promised that
//! they are durable. A journal found later is right if it holds the records of the truth up to some place, and that
//! place is not before the promise. It may hold records that were not promised, but no others.

use std::{
    future::Future,
    pin::pin,
    sync::{Arc, Mutex, MutexGuard},
    task::{Context, Poll, Waker},
};

use bytes::Bytes;

use crate::{
    AppendError, Archive, Journal, JournalError, Local, Making, ManualClock, Options, Position, SimDisk,
    Snapshot, chance::Chance,
};

/// The answer of a call that never waits.
pub(super) fn now<T>(answer: impl Future<Output = T>) -> T {
    let mut context = Context::from_waker(Waker::noop());
    match pin!(answer).poll(&mut context) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("a local journal does not wait"),
    }
}

pub(super) const SEGMENT_BYTES: u64 = 8192;

pub(super) fn options() -> Options {
    Options {
        segment_bytes: SEGMENT_BYTES,
        making: Making::InForeground,
        clock: Arc::new(ManualClock::new(1_000)),
        ..Options::new([3; 16])
    }
}

pub(super) fn open(disk: &SimDisk) -> Result<Local, JournalError> {
    open_with(disk, SEGMENT_BYTES)
}

fn open_with(disk: &SimDisk, segment_bytes: u64) -> Result<Local, JournalError> {
    Local::open_on(Arc::new(disk.clone()), Options { segment_bytes, ..options() })
}

#[derive(Clone)]
pub(super) struct Truth {
    segment_bytes: u64,
    records: Vec<Bytes>,
    /// The state after each record, from 0 on: a digest of all so far.
    states: Vec<u64>,
    pub promised: Position,
}

impl Truth {
    pub(super) fn open(&self, disk: &SimDisk) -> Result<Local, JournalError> {
        open_with(disk, self.segment_bytes)
    }

    pub(super) fn appended(&self) -> Position {
        self.records.len() as Position
    }

    fn push(&mut self, bytes: Bytes) {
        let state = step(self.state(self.appended()), &bytes);
        self.records.push(bytes);
        self.states.push(state);
    }

    pub(super) fn push_text(&mut self, text: &'static str) -> Bytes {
        let bytes = Bytes::from_static(text.as_bytes());
        self.push(bytes.clone());
        bytes
    }

    fn pop(&mut self) {
        self.records.pop();
        self.states.pop();
    }

    fn state(&self, position: Position) -> u64 {
        position.checked_sub(1).map_or(0, |index| self.states[index as usize])
    }

    fn snapshot(&self, position: Position) -> Snapshot {
        let text = format!("the state after record {position} is {:016x}; ", self.state(position));
        Snapshot { position, bytes: Bytes::from(text.repeat(20)) }
    }

    /// Goes on from a journal that was found to be right up to here.
    pub(super) fn go_on_from(&mut self, head: Position) {
        self.records.truncate(head as usize);
        self.states.truncate(head as usize);
        self.promised = head;
    }

    /// Judges what an archive gives; returns the last record.
    pub(super) fn judge(&self, archive: &mut dyn Archive) -> Result<Position, String> {
        let snapshot = now(archive.snapshot()).map_err(|error| format!("no snapshot: {error}"))?;
        let base = snapshot.as_ref().map_or(0, |snapshot| snapshot.position);
        if snapshot.is_some_and(|snapshot| base > self.appended() || snapshot != self.snapshot(base)) {
            return Err(format!("the snapshot of {base} is another one"));
        }
        let mut head = base;
        loop {
            let records = now(archive.read(head, 4000)).map_err(|error| format!("behind {head}: {error}"))?;
            if records.is_empty() {
                break;
            }
            for record in records {
                head += 1;
                let expected = self.records.get(head as usize - 1);
                if record.position != head || expected != Some(&record.bytes) {
                    return Err(format!("record {head} is another one"));
                }
            }
        }
        if head < self.promised {
            return Err(format!("{} was promised, and the journal ends at {head}", self.promised));
        }
        Ok(head)
    }

    /// Opens what is on the disk and judges it.
    pub(super) fn judge_disk(&self, disk: &SimDisk) -> Result<Position, String> {
        let journal = self.open(disk).map_err(|error| format!("refused: {error}"))?;
        let head = self.judge(&mut *journal.archive())?;
        if journal.head() == head {
            Ok(head)
        } else {
            Err(format!("head {} but {head} read", journal.head()))
        }
    }
}

fn step(state: u64, bytes: &[u8]) -> u64 {
    Chance::new(state ^ u64::from(crc32c::crc32c(bytes))).next()
}

/// How a run appends.
struct Manner {
    syncs_percent: u64,
    marks_percent: u64,
    alike: bool,
}

impl Manner {
    fn by(chance: &mut Chance) -> Self {
        let (syncs_percent, marks_percent) = [(1, 0), (3, 0), (30, 4), (100, 4)][chance.below(4) as usize];
        Self { syncs_percent, marks_percent, alike: chance.happens(70) }
    }

    /// Entries that are alike end where a sector does. So what was cut off often begins where new entries end, and
    /// could be taken for what comes next.
    fn size(&self, journal: &Local, chance: &mut Chance) -> u64 {
        if self.alike {
            let marked = if journal.opening.is_none() { 48 } else { 0 };
            let payload_at = journal.tail.offset + marked + 48;
            payload_at.next_multiple_of(512) - payload_at + 512 * chance.below(2)
        } else {
            [464, 40, chance.below(1500)][chance.below(3) as usize]
        }
    }
}

/// A run that can be watched.
#[derive(Clone)]
pub(super) struct Run {
    truth: Arc<Mutex<Truth>>,
}

impl Run {
    pub(super) fn of_segments(segment_bytes: u64) -> Self {
        let truth = Truth { segment_bytes, records: Vec::new(), states: Vec::new(), promised: 0 };
        Self { truth: Arc::new(Mutex::new(truth)) }
    }

    /// Another run that goes on from the same truth.
    pub(super) fn fork(&self) -> Self {
        Self { truth: Arc::new(Mutex::new(self.truth().clone())) }
    }

    pub(super) fn open(&self, disk: &SimDisk) -> Result<Local, JournalError> {
        // Not under the lock: who watches the disk looks at the truth meanwhile.
        let truth = self.truth().clone();
        truth.open(disk)
    }

    pub(super) fn truth(&self) -> MutexGuard<'_, Truth> {
        self.truth.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Appends so many records, with syncs, snapshots and trims as chance wills, until something fails.
    pub(super) fn play(&self, disk: &SimDisk, chance: &mut Chance, records: u64) -> Result<(), JournalError> {
        let mut journal = self.open(disk)?;
        self.truth().go_on_from(journal.head());
        let mut archive = journal.archive();
        let manner = Manner::by(chance);
        for _ in 0..records {
            let size = manner.size(&journal, chance);
            self.append(&mut journal, size, chance)?;
            if chance.happens(manner.syncs_percent) {
                let promised = now(journal.sync())?;
                self.truth().promised = promised;
            }
            if chance.happens(manner.marks_percent) {
                now(journal.attest())?;
                self.truth().promised = journal.head();
            }
            if chance.happens(6) {
                self.snapshot_and_trim(&journal, &mut *archive)?;
            }
        }
        Ok(())
    }

    fn append(&self, journal: &mut Local, size: u64, chance: &mut Chance) -> Result<(), JournalError> {
        let bytes = Bytes::from(vec![chance.next() as u8; size as usize]);
        // It may be found from the moment of the call on.
        self.truth().push(bytes.clone());
        match now(journal.append(journal.head(), bytes)) {
            Ok(_) => Ok(()),
            Err(AppendError::Full { .. }) => {
                self.truth().pop();
                Ok(())
            }
            Err(error) => {
                check_broken(journal);
                Err(failed(error.to_string()))
            }
        }
    }

    fn snapshot_and_trim(&self, journal: &Local, archive: &mut dyn Archive) -> Result<(), JournalError> {
        let position = journal.durable();
        if position == 0 {
            return Ok(());
        }
        let snapshot = self.truth().snapshot(position);
        // A snapshot that fails does not concern the writer.
        if now(archive.save_snapshot(snapshot)).is_ok() {
            let _ = now(archive.trim(position));
        }
        Ok(())
    }
}

/// A handle that has failed once takes nothing more.
fn check_broken(journal: &mut Local) {
    let head = journal.head();
    let refused = now(journal.append(head, Bytes::from_static(b"more")));
    assert!(matches!(refused, Err(AppendError::Broken(_))), "a broken handle appends: {refused:?}");
    now(journal.sync()).expect_err("a broken handle syncs");
}

fn failed(why: String) -> JournalError {
    JournalError::Io { place: "run".to_owned(), source: std::io::Error::other(why) }
}

/// A number from the environment, for the long forms.
pub(super) fn number(name: &str, otherwise: u64) -> u64 {
    std::env::var(name)
        .map_or(otherwise, |text| text.parse().unwrap_or_else(|_| panic!("{name} is a number")))
}
