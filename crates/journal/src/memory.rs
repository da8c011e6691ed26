//! A journal in memory: for tests, for simulations, and for data that nobody wants to keep.
//!
//! [`Memory`] is the store. It outlives its handles, so dropping a handle and taking a new one is a restart. It
//! comes in two kinds, which differ in when a record is durable: [`Memory::local`] as on a disk, after a sync;
//! [`Memory::shared`] at once, as on a database that several nodes write to.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard},
};

use bytes::Bytes;
use tokio::sync::watch;

use crate::{
    Answer, AppendError, Archive, Clock, Journal, JournalError, Position, RECORD_BYTES_MAX, Record, Room,
    Snapshot, Stamp,
};

/// The store behind the handles. Clones are the same store.
#[derive(Clone)]
pub struct Memory {
    store: Arc<Store>,
}

struct Store {
    clock: Arc<dyn Clock>,
    durable_at_once: bool,
    state: Mutex<State>,
    /// The last durable position, for those who wait for another's record.
    durable: watch::Sender<Position>,
}

#[derive(Default)]
struct State {
    records: VecDeque<Record>,
    /// Of the last record; also when it has been trimmed away.
    head: Position,
    durable: Position,
    /// Oldest first.
    snapshots: VecDeque<Snapshot>,
    /// Counts losses: a handle from before one is broken.
    losses: u64,
    /// So many bytes of records fit; the last tenth is the reserve.
    bytes_max: Option<usize>,
}

impl Memory {
    /// A store for one writer: what it appends is durable after a sync.
    pub fn local(clock: Arc<dyn Clock>) -> Self {
        Self::new(clock, false)
    }

    /// A store for several writers that compete: what is appended is durable at once.
    pub fn shared(clock: Arc<dyn Clock>) -> Self {
        Self::new(clock, true)
    }

    fn new(clock: Arc<dyn Clock>, durable_at_once: bool) -> Self {
        let (state, durable) = (Mutex::default(), watch::Sender::new(0));
        Self { store: Arc::new(Store { clock, durable_at_once, state, durable }) }
    }

    /// A writer's handle.
    pub fn journal(&self) -> MemoryJournal {
        let state = self.store.state();
        let (head, losses) = (state.head, state.losses);
        drop(state);
        MemoryJournal {
            store: Arc::clone(&self.store),
            head,
            losses,
            durable: self.store.durable.subscribe(),
            told: 0,
        }
    }

    /// Loses what has not been synced, as a crash of the machine does. Handles from before are broken.
    pub fn lose_unsynced(&self) {
        let mut state = self.store.state();
        let durable = state.durable;
        state.records.retain(|record| record.position <= durable);
        state.head = durable;
        state.losses += 1;
    }

    /// Limits the bytes of records: the last tenth is the reserve.
    pub fn set_room(&self, bytes_max: usize) {
        self.store.state().bytes_max = Some(bytes_max);
    }
}

impl Store {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

impl State {
    fn bytes(&self) -> usize {
        self.records.iter().map(|record| record.bytes.len()).sum()
    }

    fn has_room_for(&self, bytes: usize) -> bool {
        self.bytes_max.is_none_or(|bytes_max| self.bytes() + bytes <= bytes_max)
    }
}

/// A writer's handle of a [`Memory`].
pub struct MemoryJournal {
    store: Arc<Store>,
    head: Position,
    losses: u64,
    durable: watch::Receiver<Position>,
    /// Up to where its owner has been told that there are records of others.
    told: Position,
}

impl MemoryJournal {
    fn append_now(&mut self, after: Position, bytes: Bytes) -> Result<Stamp, AppendError> {
        let length = bytes.len();
        assert!(length <= RECORD_BYTES_MAX, "a record of {length} bytes, and {RECORD_BYTES_MAX} is the most");
        let mut state = self.store.state();
        if state.losses != self.losses {
            return Err(AppendError::Broken(LOST.to_owned()));
        }
        if state.head != after {
            return Err(AppendError::Conflict { expected: after });
        }
        if !state.has_room_for(length) {
            return Err(AppendError::Full { bytes: length });
        }
        let stamp = Stamp { position: after + 1, at: self.store.clock.now() };
        state.records.push_back(Record { position: stamp.position, at: stamp.at, bytes });
        state.head = stamp.position;
        self.head = stamp.position;
        if self.store.durable_at_once {
            state.durable = stamp.position;
            self.store.durable.send_replace(stamp.position);
        }
        Ok(stamp)
    }

    fn sync_now(&mut self) -> Result<Position, JournalError> {
        let mut state = self.store.state();
        if state.losses != self.losses {
            let source = std::io::Error::other(LOST);
            return Err(JournalError::Io { place: "memory".to_owned(), source });
        }
        if !self.store.durable_at_once {
            state.durable = state.head;
            self.store.durable.send_replace(state.head);
        }
        self.head = state.durable;
        Ok(state.durable)
    }
}

const LOST: &str = "what was not synced has been lost since this handle was made";

impl Journal for MemoryJournal {
    fn append(&mut self, after: Position, bytes: Bytes) -> Answer<'_, Result<Stamp, AppendError>> {
        Box::pin(async move { self.append_now(after, bytes) })
    }

    fn sync(&mut self) -> Answer<'_, Result<Position, JournalError>> {
        Box::pin(async move { self.sync_now() })
    }

    fn head(&self) -> Position {
        self.head
    }

    fn is_shared(&self) -> bool {
        self.store.durable_at_once
    }

    fn room(&self) -> Room {
        let state = self.store.state();
        let reserve = state.bytes_max.unwrap_or(0) / 10;
        if state.has_room_for(reserve) { Room::Ample } else { Room::Reserve }
    }

    fn changed(&mut self) -> Answer<'_, ()> {
        Box::pin(async move {
            if !self.store.durable_at_once {
                return std::future::pending().await;
            }
            let known = self.head.max(self.told);
            // The sender lives in the store that this handle holds, so it is never gone.
            if let Ok(durable) = self.durable.wait_for(|durable| *durable > known).await {
                self.told = *durable;
            }
        })
    }

    fn archive(&self) -> Box<dyn Archive> {
        Box::new(MemoryArchive { store: Arc::clone(&self.store) })
    }
}

/// Reads a [`Memory`].
struct MemoryArchive {
    store: Arc<Store>,
}

impl MemoryArchive {
    fn read_now(&self, after: Position, bytes_max: usize) -> Result<Vec<Record>, JournalError> {
        let state = self.store.state();
        let oldest = state.records.front().map_or(state.head + 1, |record| record.position);
        if after + 1 < oldest {
            return Err(JournalError::Trimmed { after, oldest });
        }
        let mut records: Vec<Record> = Vec::new();
        let mut bytes = 0;
        for record in state.records.iter().skip((after + 1 - oldest) as usize) {
            bytes += record.bytes.len();
            if record.position > state.durable || (!records.is_empty() && bytes > bytes_max) {
                break;
            }
            records.push(record.clone());
        }
        Ok(records)
    }

    fn save_now(&self, snapshot: Snapshot) {
        let mut state = self.store.state();
        let (position, durable) = (snapshot.position, state.durable);
        assert!(position <= durable, "a snapshot of {position} while only {durable} is durable");
        state.snapshots.retain(|kept| kept.position != position);
        let place = state.snapshots.partition_point(|kept| kept.position < position);
        state.snapshots.insert(place, snapshot);
        if state.snapshots.len() > 2 {
            state.snapshots.pop_front();
        }
    }

    fn trim_now(&self, upto: Position) {
        let mut state = self.store.state();
        let older = if state.snapshots.len() < 2 { 0 } else { state.snapshots[0].position };
        let upto = upto.min(older);
        while state.records.front().is_some_and(|record| record.position <= upto) {
            state.records.pop_front();
        }
    }
}

impl Archive for MemoryArchive {
    fn read(&mut self, after: Position, bytes_max: usize) -> Answer<'_, Result<Vec<Record>, JournalError>> {
        Box::pin(async move { self.read_now(after, bytes_max) })
    }

    fn snapshot(&mut self) -> Answer<'_, Result<Option<Snapshot>, JournalError>> {
        Box::pin(async move { Ok(self.store.state().snapshots.back().cloned()) })
    }

    fn save_snapshot(&mut self, snapshot: Snapshot) -> Answer<'_, Result<(), JournalError>> {
        Box::pin(async move {
            self.save_now(snapshot);
            Ok(())
        })
    }

    fn trim(&mut self, upto: Position) -> Answer<'_, Result<(), JournalError>> {
        Box::pin(async move {
            self.trim_now(upto);
            Ok(())
        })
    }
}
