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
use crate::chance::Chance;

/// What keeps the journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Journal {
    /// A disk of one node's own: durable after a sync.
    Local,
    /// A database that nodes share: durable at once, and whoever is first wins. A commit may be left in the air.
    Postgres,
    /// A stream that nodes share. As a database; and its clients send again what may have been lost, minutes later, and
    /// its comparison of positions can let two writers through.
    Jetstream,
}

impl Journal {
    pub const ALL: [Journal; 3] = [Journal::Local, Journal::Postgres, Journal::Jetstream];

    pub fn name(self) -> &'static str {
        match self {
            Journal::Local => "local",
            Journal::Postgres => "postgres",
            Journal::Jetstream => "jetstream",
        }
    }
}

/// The most nodes of a world.
pub const NODES_MAX: usize = 5;

/// How many nodes there are, and over what.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Kind {
    pub journal: Journal,
    pub nodes: usize,
}

impl Kind {
    pub(crate) fn by_chance(chance: &mut Chance, wanted: Wanted) -> Kind {
        let shared = wanted.nodes.is_some_and(|nodes| nodes > 1);
        let weights = if shared { [0, 50, 50] } else { [40, 28, 32] };
        let journal = wanted.journal.unwrap_or(Journal::ALL[chance.weighted(&weights)]);
        let nodes = wanted.nodes.unwrap_or(1 + chance.weighted(&[12, 30, 30, 14, 14]));
        Kind { journal, nodes: if journal == Journal::Local { 1 } else { nodes } }
    }

    pub(crate) fn is_local(self) -> bool {
        self.journal == Journal::Local
    }
}

/// Which worlds are to be made: any, where nothing is said.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wanted {
    pub journal: Option<Journal>,
    /// 1 to [`NODES_MAX`]. A local journal has one.
    pub nodes: Option<usize>,
}

impl Wanted {
    pub(crate) fn allows(self, kind: Kind) -> bool {
        self.journal.is_none_or(|journal| journal == kind.journal)
            && self.nodes.is_none_or(|nodes| nodes == kind.nodes)
    }

    /// Every kind of world that may come of it.
    pub(crate) fn kinds(self) -> impl Iterator<Item = Kind> {
        let of = |journal| {
            let most = if journal == Journal::Local { 1 } else { NODES_MAX };
            (1..=most).map(move |nodes| Kind { journal, nodes })
        };
        Journal::ALL.into_iter().flat_map(of).filter(move |kind| self.allows(*kind))
    }
}

pub(crate) enum Store {
    Local(Box<LocalStore>),
    Shared(SharedStore),
}

impl Store {
    pub(crate) fn new(kind: Kind, seed: u64) -> Self {
        match kind.journal {
            Journal::Local => Store::Local(Box::new(LocalStore::new(seed))),
            Journal::Postgres | Journal::Jetstream => Store::Shared(SharedStore::default()),
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
