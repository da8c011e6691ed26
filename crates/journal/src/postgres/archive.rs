//! Reads records back, and compares what it reads with what this process knows.

use std::sync::Arc;

use bytes::Bytes;
use tokio_postgres::Row;

use super::{
    Connection, Shared,
    link::{BULK_WITHIN, READ_WITHIN, WITHIN},
};
use crate::{Answer, Archive, JournalError, Position, Record, Snapshot, seal::Seal};

/// At most so many records at once, however small.
const ROWS_MAX: i64 = 8_192;
/// So many records are let go in one statement.
const TRIM_ROWS: i64 = 10_000;

/// The record before those wanted comes along without its bytes, to be compared.
const READ: &str = "
    SELECT position, at, seal, CASE WHEN position > $1::bigint THEN bytes END
    FROM (
        SELECT position, at, seal, bytes,
               sum(CASE WHEN position > $1::bigint THEN octet_length(bytes) ELSE 0 END) OVER (ORDER BY position) AS total
        FROM {s}.records WHERE position >= $1::bigint AND position <= $1::bigint + $2::bigint
    ) tail
    WHERE position <= $1::bigint + 1 OR total <= $3::bigint
    ORDER BY position";
const ENDS: &str = "SELECT min(position), max(position) FROM {s}.records";
/// The newest record stays whatever happens: the next one is appended behind it. So does what the older snapshot needs.
const TRIM: &str = "
    DELETE FROM {s}.records
    WHERE position IN (SELECT position FROM {s}.records WHERE position <= $1::bigint ORDER BY position LIMIT $2::bigint)
      AND position <= (SELECT min(position) FROM {s}.snapshots)
      AND position < (SELECT max(position) FROM {s}.records)
      AND at <= floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint - $3::bigint";

pub(super) struct PostgresArchive {
    pub(super) connection: Connection,
    /// The last record read, or that of the snapshot read.
    pub(super) last: Option<(Position, Seal)>,
}

struct Tail {
    anchor: Option<Seal>,
    rows: Vec<(Record, Seal)>,
}

impl PostgresArchive {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        Self { connection: Connection::new(shared), last: None }
    }

    pub(super) fn shared(&self) -> &Shared {
        &self.connection.shared
    }

    async fn read_now(&mut self, after: Position, bytes_max: usize) -> Result<Vec<Record>, JournalError> {
        let tail = self.tail(after, bytes_max).await?;
        let shared = Arc::clone(&self.connection.shared);
        let own = self.last.filter(|(position, _)| *position == after).map(|(_, seal)| seal);
        let known = own.or_else(|| shared.seal_at(after));
        if let (Some(known), Some(found)) = (known, tail.anchor)
            && known != found
        {
            return Err(shared.lost(format!("record {after} was there and is another one")));
        }
        let is_next = tail.rows.first().is_some_and(|(record, _)| record.position == after + 1);
        if !is_next && (tail.anchor.is_none() && after > 0 || !tail.rows.is_empty() || after == 0) {
            self.check_ends(after).await?;
        }
        let mut before = known.or(tail.anchor);
        let mut records = Vec::with_capacity(tail.rows.len());
        for (record, seal) in tail.rows {
            self.check(&record, after + 1 + records.len() as Position, before, seal)?;
            before = Some(seal);
            records.push(record);
        }
        if let (Some(last), Some(seal)) = (records.last(), before) {
            self.last = Some((last.position, seal));
            shared.learn(last.position, seal);
        }
        Ok(records)
    }

    fn check(
        &self,
        record: &Record,
        at: Position,
        before: Option<Seal>,
        seal: Seal,
    ) -> Result<(), JournalError> {
        let damaged = |what: String| JournalError::Damaged { place: self.shared().place(), what };
        if record.position != at {
            return Err(damaged(format!("record {at} is missing, and {} is there", record.position)));
        }
        match before {
            Some(before) if Seal::of_record(before, at, &record.bytes) != seal => {
                Err(damaged(format!("record {at} does not have its seal: its bytes are not those appended")))
            }
            _ => Ok(()),
        }
    }

    /// Nothing follows where something should: is it older than what is kept, or is the end gone?
    async fn check_ends(&mut self, after: Position) -> Result<(), JournalError> {
        let rows = self.connection.rows(WITHIN, ENDS, &[]).await?;
        let end = |index: usize| {
            let position = rows.first().and_then(|row| row.get::<_, Option<i64>>(index));
            position.map(|position| position as Position)
        };
        match (end(0), end(1)) {
            (None, _) if after == 0 => Ok(()),
            (Some(oldest), _) if oldest > after + 1 => Err(JournalError::Trimmed { after, oldest }),
            (_, Some(newest)) if newest >= after => Ok(()),
            (_, newest) => {
                let newest = newest.unwrap_or(0);
                Err(self.shared().lost(format!("it ends at {newest}, and record {after} was there")))
            }
        }
    }

    async fn tail(&mut self, after: Position, bytes_max: usize) -> Result<Tail, JournalError> {
        let (first, bytes_max) = (after as i64, bytes_max.min(i64::MAX as usize) as i64);
        let rows = self.connection.rows(READ_WITHIN, READ, &[&first, &ROWS_MAX, &bytes_max]).await?;
        let mut tail = Tail { anchor: None, rows: Vec::with_capacity(rows.len()) };
        for row in &rows {
            let (position, seal) = (row.get::<_, i64>(0) as Position, self.seal(row)?);
            if position == after {
                tail.anchor = Some(seal);
            } else {
                let bytes = Bytes::copy_from_slice(row.get::<_, &[u8]>(3));
                tail.rows.push((Record { position, at: row.get::<_, i64>(1) as u64, bytes }, seal));
            }
        }
        Ok(tail)
    }

    fn seal(&self, row: &Row) -> Result<Seal, JournalError> {
        Seal::read(row.get(2)).ok_or_else(|| {
            let what = format!("the seal of record {} has another length", row.get::<_, i64>(0));
            JournalError::Damaged { place: self.shared().place(), what }
        })
    }

    async fn trim_now(&mut self, upto: Position) -> Result<(), JournalError> {
        let kept = self.shared().options.kept.as_millis() as i64;
        let upto = upto as i64;
        loop {
            let gone = self.connection.execute(BULK_WITHIN, TRIM, &[&upto, &TRIM_ROWS, &kept]).await?;
            if gone < TRIM_ROWS as u64 {
                return Ok(());
            }
        }
    }
}

impl Archive for PostgresArchive {
    fn read(&mut self, after: Position, bytes_max: usize) -> Answer<'_, Result<Vec<Record>, JournalError>> {
        Box::pin(self.read_now(after, bytes_max))
    }

    fn snapshot(&mut self) -> Answer<'_, Result<Option<Snapshot>, JournalError>> {
        Box::pin(self.snapshot_now())
    }

    fn claim_snapshot(&mut self, position: Position, every: u64) -> Answer<'_, Result<bool, JournalError>> {
        Box::pin(self.claim_now(position, every))
    }

    fn save_snapshot(&mut self, snapshot: Snapshot) -> Answer<'_, Result<(), JournalError>> {
        Box::pin(self.save_now(snapshot))
    }

    fn trim(&mut self, upto: Position) -> Answer<'_, Result<(), JournalError>> {
        Box::pin(self.trim_now(upto))
    }
}
