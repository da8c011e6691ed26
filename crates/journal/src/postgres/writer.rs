//! The writer's handle.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use tokio::time::{Instant, sleep, sleep_until, timeout_at};
use tokio_postgres::error::SqlState;

use super::{
    Connection, Shared,
    archive::PostgresArchive,
    link::{Failure, Link, WITHIN},
};
use crate::{
    Answer, AppendError, Archive, Journal, JournalError, Meeting, Peer, Position, RECORD_BYTES_MAX, Room,
    Stamp, seal::Seal,
};

/// How often the tail is looked at while others are at work. They also send notifications, which are quicker; but one
/// that is lost must not be missed.
const POLL: Duration = Duration::from_millis(25);
/// How long nothing is listened to after that has failed; who wants to read or append tries on its own.
const PAUSE: Duration = Duration::from_millis(500);
/// How often while nobody else is.
const POLL_ALONE: Duration = Duration::from_secs(1);

/// The time is taken where the order is made: by the server, in the statement that appends.
const APPEND: &str = "
    INSERT INTO {s}.records (position, at, seal, bytes)
    SELECT $1::bigint, floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint, $2::bytea, $3::bytea
    WHERE EXISTS (SELECT 1 FROM {s}.records WHERE position = $1::bigint - 1 AND seal = $4::bytea)
    RETURNING at, CASE WHEN $5::boolean THEN pg_notify($6::text, '') END";
const APPEND_FIRST: &str = "
    INSERT INTO {s}.records (position, at, seal, bytes)
    SELECT $1::bigint, floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint, $2::bytea, $3::bytea
    WHERE NOT EXISTS (SELECT 1 FROM {s}.records)
    RETURNING at, CASE WHEN $4::boolean THEN pg_notify($5::text, '') END";
const LAST: &str = "SELECT position FROM {s}.records ORDER BY position DESC LIMIT 1";
const SEAL: &str = "SELECT seal FROM {s}.records WHERE position = $1";
/// What it reads was there when it began; that it commits proves that the server could still append then.
const MEET: &str = "
    WITH me AS (
        INSERT INTO {s}.nodes (process, beat, supports, seen_at) VALUES ($1::bigint, $2::bigint, $3::integer, clock_timestamp())
        ON CONFLICT (process) DO UPDATE
        SET beat = excluded.beat, supports = excluded.supports, seen_at = excluded.seen_at
    )
    SELECT ends.head, ends.same, n.process, n.beat, n.supports
    FROM (
        SELECT coalesce((SELECT max(position) FROM {s}.records), 0) AS head,
               (SELECT seal = $5::bytea FROM {s}.records WHERE position = $4::bigint) AS same
    ) ends
    LEFT JOIN {s}.nodes n ON n.process <> $1::bigint AND n.seen_at > clock_timestamp() - interval '5 minutes'";
const FORGET_NODES: &str = "DELETE FROM {s}.nodes WHERE seen_at < clock_timestamp() - interval '1 day'";

/// The writer's handle of a journal in PostgreSQL. It holds one connection, its archives one each.
pub struct PostgresJournal {
    connection: Connection,
    head: Position,
    /// Nobody else is at work, as far as is known: nobody needs a notification.
    is_alone: bool,
    is_listening: bool,
    poll_at: Instant,
    /// The server said that a commit was not as durable as it should be.
    doubts: u64,
}

impl PostgresJournal {
    pub(super) async fn begin(shared: Arc<Shared>, link: Link) -> Result<Self, JournalError> {
        let mut connection = Connection { shared, link: Some(link) };
        connection.execute(WITHIN, FORGET_NODES, &[]).await?;
        let rows = connection.rows(WITHIN, LAST, &[]).await?;
        let head = rows.first().map_or(0, |row| row.get::<_, i64>(0) as Position);
        let poll_at = Instant::now();
        Ok(Self { connection, head, is_alone: false, is_listening: false, poll_at, doubts: 0 })
    }

    async fn append_now(&mut self, after: Position, bytes: Bytes) -> Result<Stamp, AppendError> {
        let length = bytes.len();
        assert!(length <= RECORD_BYTES_MAX, "a record of {length} bytes, and {RECORD_BYTES_MAX} is the most");
        let unknown = |error: JournalError| AppendError::Unknown(error.to_string());
        let before = match self.seal_of(after).await.map_err(unknown)? {
            Some(seal) => seal,
            None => return Err(AppendError::Conflict { expected: after }),
        };
        let position = after + 1;
        let seal = Seal::of_record(before, position, &bytes);
        match self.insert(position, before, seal, &bytes).await {
            Ok(Some(at)) => {
                self.head = position;
                self.connection.shared.learn(position, seal);
                Ok(Stamp { position, at })
            }
            Ok(None) => Err(AppendError::Conflict { expected: after }),
            Err(failure) => Err(self.not_appended(after, length, failure)),
        }
    }

    /// None if it cannot be the head: it is not there, or others are known to stand behind it.
    async fn seal_of(&mut self, after: Position) -> Result<Option<Seal>, JournalError> {
        let shared = Arc::clone(&self.connection.shared);
        if let Some(seal) = shared.seal_at(after) {
            return Ok(Some(seal));
        }
        if after < shared.known().position {
            return Ok(None);
        }
        let rows = self.connection.rows(WITHIN, SEAL, &[&(after as i64)]).await?;
        Ok(rows.first().and_then(|row| Seal::read(row.get(0))))
    }

    /// The server's time, if it was inserted.
    async fn insert(
        &mut self,
        position: Position,
        before: Seal,
        seal: Seal,
        bytes: &Bytes,
    ) -> Result<Option<u64>, Failure> {
        let channel = self.connection.shared.channel.clone();
        let tell = !self.is_alone && self.connection.shared.address.notify;
        let link = self.connection.link().await.map_err(|error| Failure::Lost(error.to_string()))?;
        link.warning = None;
        let (number, own, before, bytes) = (position as i64, &seal.0[..], &before.0[..], &bytes[..]);
        let rows = match position {
            1 => link.rows(WITHIN, APPEND_FIRST, &[&number, &own, &bytes, &tell, &channel]).await?,
            _ => link.rows(WITHIN, APPEND, &[&number, &own, &bytes, &before, &tell, &channel]).await?,
        };
        let at = rows.first().map(|row| row.get::<_, i64>(0) as u64);
        match link.warning.take() {
            // Somebody has ended the wait for the standby: it is there, and a standby may not have it.
            Some(warning) if at.is_some() => Err(Failure::Lost(warning)),
            _ => Ok(at),
        }
    }

    fn not_appended(&mut self, after: Position, bytes: usize, failure: Failure) -> AppendError {
        let taken = [SqlState::UNIQUE_VIOLATION, SqlState::T_R_SERIALIZATION_FAILURE];
        if taken.iter().any(|code| failure.is(code)) {
            return AppendError::Conflict { expected: after };
        }
        if failure.is(&SqlState::DISK_FULL) {
            return AppendError::Full { bytes };
        }
        self.doubts += 1;
        // A refusal for another reason is definite, but what it means for the next one is not: read, then try again.
        self.connection.link = None;
        AppendError::Unknown(failure.to_string())
    }

    async fn meet_now(&mut self, me: Peer) -> Result<Meeting, JournalError> {
        let (known, seal) = {
            let known = self.connection.shared.known();
            (known.position, known.seal)
        };
        let (process, beat, supports) = (me.process as i64, me.beat as i64, me.supports as i32);
        let (position, seal) = (known as i64, &seal.0[..]);
        let rows =
            self.connection.rows(WITHIN, MEET, &[&process, &beat, &supports, &position, &seal]).await?;
        let head = rows.first().map_or(0, |row| row.get::<_, i64>(0) as Position);
        let same = rows.first().and_then(|row| row.get::<_, Option<bool>>(1));
        if head < known || same == Some(false) {
            return Err(self.connection.shared.lost(format!(
                "it ends at {head}, and record {known} was there and {}",
                if head < known { "is gone" } else { "is another one" }
            )));
        }
        let peer = |row: &tokio_postgres::Row| {
            let process = row.get::<_, Option<i64>>(2)? as u64;
            Some(Peer { process, beat: row.get::<_, i64>(3) as u64, supports: row.get::<_, i32>(4) as u32 })
        };
        let mut peers: Vec<Peer> = rows.iter().filter_map(peer).collect();
        peers.sort_by_key(|peer| peer.process);
        self.is_alone = peers.is_empty();
        Ok(Meeting { head, peers })
    }

    /// Until a notification comes, or it is time to look anyway.
    async fn changed_now(&mut self) {
        let pause = if self.is_alone { POLL_ALONE } else { POLL };
        self.poll_at = self.poll_at.min(Instant::now() + pause);
        if let Err(_unreached) = self.listen().await {
            // Whoever reads now finds out more.
            return sleep(PAUSE).await;
        }
        let Some(link) = &mut self.connection.link else { return sleep_until(self.poll_at).await };
        match timeout_at(self.poll_at, link.news()).await {
            Ok(Ok(())) => link.has_news = false,
            Ok(Err(_)) => {
                self.connection.link = None;
                sleep(PAUSE).await;
            }
            Err(_) => {}
        }
        self.poll_at = Instant::now() + pause;
    }

    async fn listen(&mut self) -> Result<(), JournalError> {
        let is_new = !self.connection.link.as_ref().is_some_and(Link::is_of_this_runtime);
        let listen = format!("LISTEN {}", self.connection.shared.channel);
        if self.is_listening && !is_new {
            return Ok(());
        }
        self.is_listening = false;
        let link = self.connection.link().await?;
        match link.batch(&listen).await {
            Ok(()) => {
                self.is_listening = true;
                Ok(())
            }
            Err(failure) => Err(self.connection.failed(&failure)),
        }
    }
}

impl Journal for PostgresJournal {
    fn append(&mut self, after: Position, bytes: Bytes) -> Answer<'_, Result<Stamp, AppendError>> {
        Box::pin(self.append_now(after, bytes))
    }

    fn sync(&mut self) -> Answer<'_, Result<Position, JournalError>> {
        // A commit that was acknowledged is durable.
        Box::pin(std::future::ready(Ok(self.head)))
    }

    fn head(&self) -> Position {
        self.head
    }

    fn room(&self) -> Room {
        Room::Ample
    }

    fn is_shared(&self) -> bool {
        true
    }

    fn meet(&mut self, me: Peer) -> Answer<'_, Result<Meeting, JournalError>> {
        Box::pin(self.meet_now(me))
    }

    fn notes(&self) -> Vec<String> {
        let mut notes = self.connection.shared.known().weak.clone();
        if self.doubts > 0 {
            notes.push(format!(
                "{} appends were not answered; what became of them was read back",
                self.doubts
            ));
        }
        notes
    }

    fn changed(&mut self) -> Answer<'_, ()> {
        Box::pin(self.changed_now())
    }

    fn archive(&self) -> Box<dyn Archive> {
        Box::new(PostgresArchive::new(Arc::clone(&self.connection.shared)))
    }
}
