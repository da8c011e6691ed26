//! The real local journal on a simulated disk.

use std::{
    io::ErrorKind,
    pin::pin,
    sync::Arc,
    task::{Context, Poll, Waker},
};

use bytes::Bytes;
use maitred_engine::time::Millis;
use maitred_journal::{
    AppendError, Archive, Fault, Journal, JournalError, Local, LocalArchive, Making, ManualClock, Options,
    Position, Record, Room, SimDisk, Snapshot, Stamp, Survivors,
};

/// Small, so that segments are begun and given back often.
const SEGMENT_BYTES: u64 = 64 * 1024;
const READ_BYTES: usize = 1 << 20;

pub(crate) struct LocalStore {
    disk: SimDisk,
    clock: ManualClock,
    /// None while no process has it open.
    open: Option<(Local, LocalArchive)>,
    /// Appended by this process, not yet flushed.
    written: Vec<Record>,
    durable: Vec<Record>,
    faults_met: u64,
}

impl LocalStore {
    pub(crate) fn new(seed: u64) -> Self {
        Self {
            disk: SimDisk::new(seed),
            clock: ManualClock::new(0),
            open: None,
            written: Vec::new(),
            durable: Vec::new(),
            faults_met: 0,
        }
    }

    /// A new process opens the folder.
    pub(crate) fn open(&mut self, at: Millis) -> Result<(), JournalError> {
        self.clock.set(at);
        let options = Options {
            segment_bytes: SEGMENT_BYTES,
            making: Making::InForeground,
            clock: Arc::new(self.clock.clone()),
            ..Options::new([7; 16])
        };
        let journal = Local::open_on(Arc::new(self.disk.clone()), options)?;
        let archive = journal.local_archive();
        self.open = Some((journal, archive));
        Ok(())
    }

    /// The process is gone. After a loss of power only what was flushed is sure to be there.
    pub(crate) fn crash(&mut self, power_seed: Option<u64>) {
        self.open = None;
        self.written.clear();
        self.faults_met += self.disk.faults_met();
        self.disk = match power_seed {
            Some(seed) => self.disk.cut(Survivors::Some(seed)),
            None => self.disk.kill(),
        };
    }

    /// An orderly end: what was appended is flushed and attested.
    pub(crate) fn close(&mut self) -> Result<(), JournalError> {
        if let Some((journal, _)) = &mut self.open {
            at_once(journal.attest())?;
        }
        self.durable.append(&mut self.written);
        self.open = None;
        Ok(())
    }

    pub(crate) fn append(&mut self, at: Millis, after: Position, bytes: Bytes) -> Result<Stamp, AppendError> {
        self.clock.set(at);
        let Some((journal, _)) = &mut self.open else { return Err(AppendError::Broken("closed".to_owned())) };
        let stamp = at_once(journal.append(after, bytes.clone()))?;
        self.written.push(Record { position: stamp.position, at: stamp.at, bytes });
        Ok(stamp)
    }

    pub(crate) fn sync(&mut self) -> Result<Position, JournalError> {
        let Some((journal, _)) = &mut self.open else { return Ok(0) };
        let position = at_once(journal.sync())?;
        self.durable.append(&mut self.written);
        Ok(position)
    }

    /// Everything the folder holds behind `after`.
    pub(crate) fn read(&mut self, after: Position) -> Result<Vec<Record>, JournalError> {
        let mut records: Vec<Record> = Vec::new();
        let Some((_, archive)) = &mut self.open else { return Ok(records) };
        loop {
            let from = records.last().map_or(after, |record| record.position);
            let more = at_once(archive.read(from, READ_BYTES))?;
            if more.is_empty() {
                return Ok(records);
            }
            records.extend(more);
        }
    }

    pub(crate) fn newly_durable(&mut self) -> Vec<Record> {
        std::mem::take(&mut self.durable)
    }

    pub(crate) fn snapshot(&mut self) -> Result<Option<Snapshot>, JournalError> {
        match &mut self.open {
            Some((_, archive)) => at_once(archive.snapshot()),
            None => Ok(None),
        }
    }

    pub(crate) fn save_snapshot(
        &mut self,
        snapshot: Snapshot,
        trim_to: Position,
    ) -> Result<bool, JournalError> {
        let Some((_, archive)) = &mut self.open else { return Ok(false) };
        match at_once(archive.save_snapshot(snapshot)) {
            // On a full disk the keeper of snapshots goes on without.
            Err(JournalError::Io { source, .. }) if source.kind() == ErrorKind::StorageFull => {
                return Ok(false);
            }
            saved => saved?,
        }
        at_once(archive.trim(trim_to))?;
        Ok(true)
    }

    pub(crate) fn room(&self) -> Room {
        self.open.as_ref().map_or(Room::Ample, |(journal, _)| journal.room())
    }

    /// One of the next calls of the disk fails.
    pub(crate) fn fail_soon(&mut self, calls: u64) {
        self.disk.fail(self.disk.calls() + 1 + calls, Fault::Io, false);
    }

    /// How many calls have failed by plan, over all processes.
    pub(crate) fn faults_met(&self) -> u64 {
        self.faults_met + self.disk.faults_met()
    }

    /// No more bytes fit than there are; or all do.
    pub(crate) fn fill_up(&mut self, full: bool) {
        let capacity = if full { self.disk.used() } else { u64::MAX };
        self.disk.set_capacity(capacity);
        if !full && let Some((journal, _)) = &mut self.open {
            // What the thread that makes segments would do by itself within a second. A failure shows in `room`.
            let _ = journal.make_ahead();
        }
    }
}

/// The local journal blocks; it never waits.
fn at_once<T>(answer: impl Future<Output = T>) -> T {
    match pin!(answer).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => unreachable!("the local journal never pauses half-way"),
    }
}
