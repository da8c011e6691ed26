//! The order: a durable sequence of opaque records.
//!
//! A journal knows nothing of limits. It keeps records in one total order, lets a writer append only when the
//! head is exactly the record that the writer knows, and says when what was written can no longer be lost.
//! `FORMAT.md` gives the bytes of the local one.
//!
//! Two handles: [`Journal`] is the writer's, [`Archive`] reads what is durable and keeps snapshots, and may be
//! used from another thread while the writer goes on.
//!
//! Whoever opens one chooses: [`Local`] on a disk, `Postgres` (feature `postgres`) in a database and `JetStream`
//! (feature `jetstream`) in a stream of NATS that several processes share, [`Memory`] for tests and for data that nobody wants to keep. What each must do is in
//! [`conformance`], as a suite. For tests, [`Faulty`] makes any journal fail, and [`SimDisk`] is a disk under a local
//! one that loses power.
//!
//! On a shared journal the processes also meet ([`Journal::meet`]): outside of the order, so that an idle hour writes
//! no record. Meeting says who else is at work, and where the journal's end is.
#![forbid(unsafe_code)]

mod chance;
mod clock;
pub mod conformance;
mod disk;
mod faulty;
#[cfg(feature = "jetstream")]
pub mod jetstream;
mod local;
mod memory;
#[cfg(feature = "postgres")]
pub mod postgres;
#[cfg(feature = "postgres")]
mod seal;
mod sim_disk;

use std::{future::Future, pin::Pin};

use bytes::Bytes;

pub use self::{
    clock::{Clock, ManualClock, SystemClock},
    disk::{Disk, DiskFile, FolderDisk, LockError, read_full, write_all},
    faulty::{Faulty, Trouble},
    local::{Local, LocalArchive, Making, Options, Verified, copy, verify, verify_on},
    memory::{Memory, MemoryJournal},
    sim_disk::{Fault, Lie, SimDisk, Survivors},
};

/// A place in the journal. The first record is at 1; 0 is the beginning, before any record.
pub type Position = u64;

/// Milliseconds since 1970-01-01 UTC, by the clock of whoever keeps the journal.
pub type Millis = u64;

/// The largest record that a journal must take.
pub const RECORD_BYTES_MAX: usize = 512 * 1024;

/// What the calls return: a future that borrows the handle.
pub type Answer<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Where a record was put, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    pub position: Position,
    /// The store's clock at the append. The journal does not make it monotonic; the reader of records does.
    pub at: Millis,
}

/// A durable record as it was appended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    pub position: Position,
    pub at: Millis,
    pub bytes: Bytes,
}

/// The state after the record at `position`, as bytes whose meaning the journal does not know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    pub position: Position,
    pub bytes: Bytes,
}

/// Whether there is room for everything, or only for what frees places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Room {
    Ample,
    /// The reserve is being used: append only what gives something back.
    Reserve,
}

/// Why an append was not confirmed. The first two are definite: nothing was written.
#[derive(Debug, thiserror::Error)]
pub enum AppendError {
    #[error("the head of the journal is not the record at {expected}: somebody else appended")]
    Conflict { expected: Position },
    #[error("no room for a record of {bytes} bytes: free space on the disk of the journal")]
    Full { bytes: usize },
    /// The record may be there or not. Read its position before anything else is appended.
    #[error("it is not known whether the append took place: {0}")]
    Unknown(String),
    /// The handle takes nothing more. What was not synced is unproven: stop, and start again from what is durable.
    #[error("the journal takes no more writes: {0}")]
    Broken(String),
}

/// Why a journal could not be opened, read, synced or kept. None of these is repaired by trying again on the
/// same handle.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    #[error("{place}: damaged: {what}")]
    Damaged { place: String, what: String },
    #[error("{place}: not a journal of maitred: {what}")]
    Foreign { place: String, what: String },
    #[error(
        "{place}: written by a newer version (format {found}, this binary reads up to {known}); start the newer binary"
    )]
    Newer { place: String, found: u32, known: u32 },
    #[error("{place}: in use by another process ({owner})")]
    Locked { place: String, owner: String },
    /// The records wanted are older than what is kept.
    #[error("records after {after} are gone; the oldest kept is {oldest}")]
    Trimmed { after: Position, oldest: Position },
    /// Records that were acknowledged are not there any more, or others stand in their places.
    #[error(
        "{place}: the journal has lost records that were acknowledged: {what}; stop every node and read `A lost end` \
         in the operator's pages before one is started again"
    )]
    Lost { place: String, what: String },
    /// The store does not answer now. The only one that is tried again on the same handle.
    #[error("{place}: not reached: {what}")]
    Unreachable { place: String, what: String },
    #[error("{place}: {source}")]
    Io { place: String, source: std::io::Error },
}

/// One process at work on a shared journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peer {
    /// Chosen by chance at its start.
    pub process: u64,
    /// Another number each time it shows itself. Whoever sees the same one again and again takes it for dead.
    pub beat: u64,
    /// What it can do, as a number that grows with its version; whoever reads the records knows the meaning.
    pub supports: u32,
}

/// What a process learns when it shows itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Meeting {
    /// The last record at some moment after the meeting began.
    pub head: Position,
    /// The others that have shown themselves within the last minutes, in the order of their numbers.
    pub peers: Vec<Peer>,
}

/// The writer's handle. One writer at a time uses it; on a shared journal other writers have their own.
pub trait Journal: Send {
    /// Appends one record directly behind `after`, which must be the head (0 on an empty journal).
    ///
    /// When it returns, the order is fixed: no other record can take that place. It is durable only once
    /// [`Journal::sync`] has returned a position that covers it. A record of more than [`RECORD_BYTES_MAX`]
    /// bytes is a mistake of the caller and panics.
    fn append(&mut self, after: Position, bytes: Bytes) -> Answer<'_, Result<Stamp, AppendError>>;

    /// Makes everything appended so far durable and returns the position up to which it is.
    ///
    /// On a journal whose appends are durable at once this only returns the head. After an error the handle is
    /// broken: nothing is retried on top of a failed flush.
    fn sync(&mut self) -> Answer<'_, Result<Position, JournalError>>;

    /// Closes the window in which a damaged last record cannot be told from one that was never whole: writes down,
    /// durably, that everything so far was flushed. Call it once when nothing has been appended for about a second,
    /// and before an orderly end; it does nothing when nothing is new. A journal that can always tell does nothing.
    fn attest(&mut self) -> Answer<'_, Result<(), JournalError>> {
        Box::pin(std::future::ready(Ok(())))
    }

    /// The last position this handle knows to be in the journal, durable or not.
    fn head(&self) -> Position;

    fn room(&self) -> Room;

    /// Whether other writers may be at work on it now. Where only one can be, whoever opens it knows that the one
    /// before is gone.
    fn is_shared(&self) -> bool {
        false
    }

    /// Shows this process to the others on a shared journal, and learns who they are and where the journal's end is.
    ///
    /// The end is as proven as an append is: a store that has been replaced by another without noticing must not be
    /// able to answer. So whoever has read up to it knows everything that was acknowledged before the meeting began.
    fn meet(&mut self, me: Peer) -> Answer<'_, Result<Meeting, JournalError>> {
        let _ = me;
        let head = self.head();
        Box::pin(std::future::ready(Ok(Meeting { head, peers: Vec::new() })))
    }

    /// What an operator should know of this journal although it works.
    fn notes(&self) -> Vec<String> {
        Vec::new()
    }

    /// Waits until there may be records that this handle has not appended itself. For ever, where there is only
    /// one writer. A hint: it may return early. Cancel safe.
    fn changed(&mut self) -> Answer<'_, ()>;

    /// A second handle, for replay at the start, for snapshots and for backups.
    fn archive(&self) -> Box<dyn Archive>;
}

/// Reads what is durable and keeps snapshots.
pub trait Archive: Send {
    /// The durable records behind `after`, in order, without a gap: at least one if there is one, then as many
    /// as fit into `bytes_max`. Empty at the end.
    fn read(&mut self, after: Position, bytes_max: usize) -> Answer<'_, Result<Vec<Record>, JournalError>>;

    /// The newest snapshot that is whole, or none.
    fn snapshot(&mut self) -> Answer<'_, Result<Option<Snapshot>, JournalError>>;

    /// Whether this process is the one to make a snapshot at about this position. On a shared journal the first who
    /// asks is, unless one lies less than `every` records behind; it saves work, nothing depends on it.
    fn claim_snapshot(&mut self, position: Position, every: u64) -> Answer<'_, Result<bool, JournalError>> {
        let _ = (position, every);
        Box::pin(std::future::ready(Ok(true)))
    }

    /// Keeps a snapshot, durably and whole or not at all. At least the two newest are kept.
    fn save_snapshot(&mut self, snapshot: Snapshot) -> Answer<'_, Result<(), JournalError>>;

    /// Records at or before `upto` are no longer needed. The journal may keep them.
    fn trim(&mut self, upto: Position) -> Answer<'_, Result<(), JournalError>>;
}
