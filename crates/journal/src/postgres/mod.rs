//! A journal in a PostgreSQL database (15 or later), which any number of processes share.
//!
//! # Worked example
//! Nodes A and B both know record 7, whose seal is `s7`.
//!
//! 1. A appends: *insert record 8, if record 7 is there with the seal `s7`*. It is, and place 8 is free: done, and
//!    durable, since the statement is its own transaction and the commit has been flushed.
//! 2. B had sent the same for place 8 at the same moment. Its insert waited for A's commit at the unique key, and is
//!    refused: a conflict, nothing was written. B reads behind 7, applies A's record, and tries again behind 8.
//! 3. A's connection breaks while it waits for the answer to record 9: not known. A connects anew and reads behind 8.
//!    Nothing there: it sends the same bytes for the same place again. Should the first try land after all, the second
//!    conflicts with it, and A finds its own bytes.
//!
//! # Why it is right
//! - *The order is fixed by the statement itself*: predecessor there, with its seal, and place free. A sequence, or a
//!   unique key alone, would let a gap through. The isolation level is set for each session, and at any other the
//!   statement would only be refused more often.
//! - *No read is of a standby*: sessions are opened for writing only, and [`Journal::meet`](crate::Journal::meet) reads the end in a
//!   statement that also writes: a server that cannot commit as an append does cannot answer it.
//! - *The tail is read, never told*: `NOTIFY` only wakes; a poll comes anyway.
//! - *A server that has lost the end is noticed*, at the latest when it is next read, appended to or met, since
//!   positions are compared together with seals (`seal.rs`).
//!
//! What is not promised: that a standby has what its primary acknowledged. That is what `synchronous_standby_names` is
//! for. What can be seen from here (`fsync`, `full_page_writes`, `synchronous_commit`) is looked at for each connection.

mod address;
mod archive;
mod link;
mod schema;
mod snapshots;
mod tls;
mod writer;

use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard},
    time::Duration,
};

use tokio_postgres::{Row, types::ToSql};

use self::{
    address::Address,
    link::{Failure, Link},
};
use crate::{JournalError, Position, seal::Seal};

pub use writer::PostgresJournal;

/// For how long records are kept behind the snapshots, for nodes that are behind.
const KEPT: Duration = Duration::from_secs(24 * 3_600);

/// How a journal in PostgreSQL is opened.
#[derive(Clone)]
pub struct PostgresOptions {
    /// `postgres://user:password@host:port/database`, with these parameters besides those of PostgreSQL:
    /// `sslmode` (`disable`, `require`, `verify-ca`, `verify-full`; the last unless the host is this machine),
    /// `sslrootcert` (a file of authorities in place of the machine's), `schema` (default `maitred`), `notify` (`on`, or
    /// `off`: this process does not wake the others, they look at the tail every 25 ms).
    pub url: String,
    /// Open it although the server is set up so that it may lose what it acknowledged; it is told among the notes.
    pub accept_weaker_durability: bool,
    /// How long records are kept that no snapshot needs any more.
    pub kept: Duration,
}

/// Passwords stay out of what is printed.
impl fmt::Debug for PostgresOptions {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = Address::parse(&self.url).map(|address| address.place).unwrap_or_default();
        write!(out, "PostgresOptions {{ place: {place:?}, .. }}")
    }
}

impl PostgresOptions {
    pub fn new(url: impl Into<String>) -> Self {
        Self { url: url.into(), accept_weaker_durability: false, kept: KEPT }
    }
}

/// What the handles of one process have in common.
struct Shared {
    options: PostgresOptions,
    address: Address,
    /// The channel for notifications.
    channel: String,
    /// The journal's own name: a database that was made anew has another.
    journal: String,
    known: Mutex<Known>,
}

/// The newest record that this process knows, and what the server is like.
struct Known {
    position: Position,
    seal: Seal,
    weak: Vec<String>,
}

impl Shared {
    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// The seal of the record at this position, where it is the newest known.
    fn seal_at(&self, position: Position) -> Option<Seal> {
        let known = self.known();
        (known.position == position).then_some(known.seal)
    }

    fn learn(&self, position: Position, seal: Seal) {
        let mut known = self.known();
        if position > known.position {
            (known.position, known.seal) = (position, seal);
        }
    }

    fn place(&self) -> String {
        self.address.place.clone()
    }

    fn lost(&self, what: String) -> JournalError {
        JournalError::Lost { place: self.place(), what }
    }

    /// A connection to the same journal: never to one that stands in its place.
    async fn connect(&self) -> Result<Link, JournalError> {
        let place = self.place();
        let connected = Link::connect(&self.address).await;
        let mut link = connected.map_err(|failure| schema::unreachable(&place, &failure))?;
        match schema::look(&mut link, &place).await? {
            None => Err(self.lost("its tables are gone".to_owned())),
            Some(about) if about.journal != self.journal => {
                Err(self.lost("another journal stands in its place".to_owned()))
            }
            Some(about) => {
                check_strength(&self.options, &place, &about.weak)?;
                self.known().weak = about.weak;
                Ok(link)
            }
        }
    }
}

/// A server that may lose what it acknowledges is taken only by somebody who says so.
fn check_strength(options: &PostgresOptions, place: &str, weak: &[String]) -> Result<(), JournalError> {
    if weak.is_empty() || options.accept_weaker_durability {
        return Ok(());
    }
    let what = format!("{}; change that, or start with --accept-weaker-durability", weak.join("; "));
    Err(JournalError::Io { place: place.to_owned(), source: std::io::Error::other(what) })
}

/// A handle's connection: made when it is needed, and anew after it has failed.
struct Connection {
    shared: Arc<Shared>,
    link: Option<Link>,
}

impl Connection {
    fn new(shared: Arc<Shared>) -> Self {
        Self { shared, link: None }
    }

    async fn link(&mut self) -> Result<&mut Link, JournalError> {
        if !self.link.as_ref().is_some_and(Link::is_of_this_runtime) {
            self.link = None;
            self.link = Some(self.shared.connect().await?);
        }
        let place = self.shared.place();
        self.link.as_mut().ok_or(JournalError::Unreachable { place, what: "not connected".to_owned() })
    }

    async fn rows(
        &mut self,
        within: Duration,
        sql: &'static str,
        values: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<Row>, JournalError> {
        let asked = self.link().await?.rows(within, sql, values).await;
        asked.map_err(|failure| self.failed(&failure))
    }

    async fn execute(
        &mut self,
        within: Duration,
        sql: &'static str,
        values: &[&(dyn ToSql + Sync)],
    ) -> Result<u64, JournalError> {
        let asked = self.link().await?.execute(within, sql, values).await;
        asked.map_err(|failure| self.failed(&failure))
    }

    /// What became of it, as an error of the journal; a connection that failed is not used again.
    fn failed(&mut self, failure: &Failure) -> JournalError {
        if matches!(failure, Failure::Lost(_)) {
            self.link = None;
        }
        schema::refused(&self.shared.place(), failure)
    }
}

/// Opens the journal that the URL names, and makes it where there is none.
///
/// The handle connects anew whenever it has to; only errors other than [`JournalError::Unreachable`] are final.
pub async fn open(options: PostgresOptions) -> Result<PostgresJournal, JournalError> {
    let wrong = |what: String| JournalError::Io {
        place: "--journal".to_owned(),
        source: std::io::Error::new(std::io::ErrorKind::InvalidInput, what),
    };
    let address = Address::parse(&options.url).map_err(wrong)?;
    let place = address.place.clone();
    let connected = Link::connect(&address).await;
    let mut link = connected.map_err(|failure| schema::unreachable(&place, &failure))?;
    schema::provide(&mut link, &address.schema, &place).await?;
    let about = schema::look(&mut link, &place).await?;
    let about = about.ok_or_else(|| wrong(format!("{place}: the tables are not there")))?;
    check_strength(&options, &place, &about.weak)?;
    let beginning = Seal::of_journal(&about.journal);
    let shared = Arc::new(Shared {
        channel: format!("maitred_{}", address.schema),
        options,
        address,
        journal: about.journal,
        known: Mutex::new(Known { position: 0, seal: beginning, weak: about.weak }),
    });
    PostgresJournal::begin(shared, link).await
}

/// Removes a journal with everything in it, for tests and rehearsals.
pub async fn drop_journal(url: &str) -> Result<(), JournalError> {
    on_schema(url, "DROP SCHEMA IF EXISTS {s} CASCADE").await
}

/// Gives a journal another schema, where whoever has it open does not find it, for tests and rehearsals.
pub async fn move_journal(url: &str, to_schema: &str) -> Result<(), JournalError> {
    on_schema(url, &format!("ALTER SCHEMA {{s}} RENAME TO {to_schema}")).await
}

async fn on_schema(url: &str, sql: &str) -> Result<(), JournalError> {
    let wrong = |what: String| JournalError::Foreign { place: "--journal".to_owned(), what };
    let address = Address::parse(url).map_err(wrong)?;
    let failed = |failure: Failure| schema::refused(&address.place, &failure);
    let mut link = Link::connect(&address).await.map_err(failed)?;
    link.batch(&schema::named(sql, &address.schema)).await.map_err(failed)
}
