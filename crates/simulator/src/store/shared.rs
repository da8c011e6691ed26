//! A store that several nodes append to, in the manner of a database: compare-and-append, durable at once.

use std::collections::BTreeMap;

use bytes::Bytes;
use maitred_engine::time::Millis;
use maitred_journal::{AppendError, Meeting, Peer, Position, Record, Snapshot, Stamp};

#[derive(Default)]
pub(crate) struct SharedStore {
    records: Vec<Record>,
    snapshot: Option<Snapshot>,
    peers: BTreeMap<u64, Peer>,
    /// How many records have been handed out as newly durable.
    told: usize,
}

impl SharedStore {
    pub(crate) fn head(&self) -> Position {
        self.records.len() as Position
    }

    pub(crate) fn append(&mut self, at: Millis, after: Position, bytes: Bytes) -> Result<Stamp, AppendError> {
        if after != self.head() {
            return Err(AppendError::Conflict { expected: after });
        }
        Ok(self.append_anyway(at, bytes))
    }

    /// What a store does whose comparison is broken.
    pub(crate) fn append_anyway(&mut self, at: Millis, bytes: Bytes) -> Stamp {
        let stamp = Stamp { position: self.head() + 1, at };
        self.records.push(Record { position: stamp.position, at, bytes });
        stamp
    }

    pub(crate) fn meet(&mut self, me: Peer) -> Meeting {
        self.peers.insert(me.process, me);
        let others = self.peers.values().filter(|peer| peer.process != me.process);
        Meeting { head: self.head(), peers: others.copied().collect() }
    }

    pub(crate) fn read(&self, after: Position) -> Vec<Record> {
        self.records[(after as usize).min(self.records.len())..].to_vec()
    }

    pub(crate) fn newly_durable(&mut self) -> Vec<Record> {
        let new = self.records[self.told..].to_vec();
        self.told = self.records.len();
        new
    }

    pub(crate) fn snapshot(&self) -> Option<Snapshot> {
        self.snapshot.clone()
    }

    pub(crate) fn save_snapshot(&mut self, snapshot: Snapshot) {
        self.snapshot = Some(snapshot);
    }
}
