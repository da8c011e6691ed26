//! The journals of the simulated world: the real local one on a disk that loses power, and one that several nodes
//! share, as a database is shared.
//!
//! Everything here happens at one instant of the world; how long it takes to get here and back, and whether the
//! answer arrives, is the world's business.

mod local;
mod shared;

use bytes::Bytes;
use maitred_engine::time::Millis;
use maitred_journal::{AppendError, JournalError, Position, Record, Room, Snapshot, Stamp};

pub(crate) use self::{local::LocalStore, shared::SharedStore};

/// How many nodes there are, and over what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// One node on a disk of its own: durable after a sync.
    Local,
    /// Some nodes on one store: durable at once, and whoever is first wins.
    Shared { nodes: usize },
}

impl Kind {
    pub fn nodes(self) -> usize {
        match self {
            Kind::Local => 1,
            Kind::Shared { nodes } => nodes,
        }
    }
}

pub(crate) enum Store {
    Local(Box<LocalStore>),
    Shared(SharedStore),
}

impl Store {
    pub(crate) fn new(kind: Kind, seed: u64) -> Self {
        match kind {
            Kind::Local => Store::Local(Box::new(LocalStore::new(seed))),
            Kind::Shared { .. } => Store::Shared(SharedStore::default()),
        }
    }

    /// `at` is the store's clock.
    pub(crate) fn append(&mut self, at: Millis, after: Position, bytes: Bytes) -> Result<Stamp, AppendError> {
        match self {
            Store::Local(local) => local.append(at, after, bytes),
            Store::Shared(shared) => shared.append(at, after, bytes),
        }
    }

    pub(crate) fn sync(&mut self) -> Result<Position, JournalError> {
        match self {
            Store::Local(local) => local.sync(),
            Store::Shared(shared) => Ok(shared.head()),
        }
    }

    /// The durable records behind `after`.
    pub(crate) fn read(&mut self, after: Position) -> Result<Vec<Record>, JournalError> {
        match self {
            Store::Local(local) => local.read(after),
            Store::Shared(shared) => Ok(shared.read(after)),
        }
    }

    /// Records that have become durable since this was last asked.
    pub(crate) fn newly_durable(&mut self) -> Vec<Record> {
        match self {
            Store::Local(local) => local.newly_durable(),
            Store::Shared(shared) => shared.newly_durable(),
        }
    }

    pub(crate) fn snapshot(&mut self) -> Result<Option<Snapshot>, JournalError> {
        match self {
            Store::Local(local) => local.snapshot(),
            Store::Shared(shared) => Ok(shared.snapshot()),
        }
    }

    /// False if there is no room for it.
    pub(crate) fn save_snapshot(
        &mut self,
        snapshot: Snapshot,
        trim_to: Position,
    ) -> Result<bool, JournalError> {
        match self {
            Store::Local(local) => local.save_snapshot(snapshot, trim_to),
            Store::Shared(shared) => {
                shared.save_snapshot(snapshot);
                Ok(true)
            }
        }
    }

    pub(crate) fn room(&self) -> Room {
        match self {
            Store::Local(local) => local.room(),
            Store::Shared(_) => Room::Ample,
        }
    }

    pub(crate) fn local(&mut self) -> Option<&mut LocalStore> {
        match self {
            Store::Local(local) => Some(local),
            Store::Shared(_) => None,
        }
    }

    pub(crate) fn shared(&mut self) -> Option<&mut SharedStore> {
        match self {
            Store::Local(_) => None,
            Store::Shared(shared) => Some(shared),
        }
    }
}
