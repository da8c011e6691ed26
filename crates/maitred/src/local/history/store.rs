//! The writing side: rows for one record after another, made durable in batches.

use std::{
    fs::{OpenOptions, Permissions},
    os::unix::fs::{OpenOptionsExt, PermissionsExt},
    path::Path,
};

use maitred_engine::{event::Was, names::Label, time::Millis};
use rusqlite::{Connection, OptionalExtension, Transaction, params};

use super::{HELD_WITHIN, HistoryError, Keep, Reader, Rows, Shared};

/// Changes to the tables raise it; an older file is begun anew, since nothing depends on it.
const SCHEMA_VERSION: i64 = 1;

const SCHEMA: &str = "
CREATE TABLE ends (
    id INTEGER PRIMARY KEY, revision INTEGER NOT NULL, ended_at INTEGER NOT NULL, namespace TEXT NOT NULL,
    slot TEXT NOT NULL, state TEXT NOT NULL, was TEXT NOT NULL, limits TEXT NOT NULL, run TEXT, workflow TEXT,
    label TEXT, by TEXT, reason TEXT, asked_at INTEGER NOT NULL, granted_at INTEGER, fence INTEGER,
    laps INTEGER NOT NULL);
CREATE INDEX ends_slot ON ends (namespace, slot);
CREATE INDEX ends_run ON ends (namespace, run) WHERE run IS NOT NULL;
CREATE INDEX ends_label ON ends (namespace, label) WHERE label IS NOT NULL;
CREATE TABLE end_limits (
    namespace TEXT NOT NULL, limit_name TEXT NOT NULL, id INTEGER NOT NULL,
    PRIMARY KEY (namespace, limit_name, id)) WITHOUT ROWID;
CREATE INDEX end_limits_id ON end_limits (id);
CREATE TABLE acts (
    id INTEGER PRIMARY KEY, revision INTEGER NOT NULL, at INTEGER NOT NULL, namespace TEXT NOT NULL,
    act TEXT NOT NULL, target TEXT NOT NULL, before TEXT, after TEXT, by TEXT, reason TEXT);
CREATE INDEX acts_target ON acts (namespace, target);
CREATE TABLE progress (one INTEGER PRIMARY KEY CHECK (one = 1), filled_to INTEGER NOT NULL, since INTEGER NOT NULL);
INSERT INTO progress VALUES (1, 0, 0);
";

/// What the charts are made from (`local/series`), as it was behind one record.
const SERIES: &str = "CREATE TABLE IF NOT EXISTS series (
    one INTEGER PRIMARY KEY CHECK (one = 1), revision INTEGER NOT NULL, bytes BLOB NOT NULL);";

pub struct Store {
    connection: Shared,
    keep: Keep,
    filled_to: u64,
}

impl Store {
    /// Opens or begins the file, for a journal that stands at `head`. A file of another schema, or one that is
    /// ahead of the journal and so belongs to another, is begun anew: nothing depends on it.
    pub fn open(file: &Path, keep: Keep, head: u64) -> Result<Self, HistoryError> {
        make_private(file);
        let mut connection = Connection::open(file)?;
        if version(&connection)? != 0
            && (version(&connection)? != SCHEMA_VERSION || filled_to(&connection)? > head)
        {
            drop(connection);
            for end in ["", "-wal", "-shm"] {
                let _ = std::fs::remove_file(format!("{}{end}", file.display()));
            }
            make_private(file);
            connection = Connection::open(file)?;
        }
        connection.execute_batch("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;")?;
        connection.busy_timeout(HELD_WITHIN)?;
        if version(&connection)? == 0 {
            begin(&connection)?;
        }
        connection.execute_batch(SERIES)?;
        let filled_to = filled_to(&connection)?;
        Ok(Self { connection: Shared::new(connection), keep, filled_to })
    }

    /// Without a file: it is gone with the process.
    pub fn memory(keep: Keep) -> Result<Self, HistoryError> {
        let connection = Connection::open_in_memory()?;
        begin(&connection)?;
        connection.execute_batch(SERIES)?;
        Ok(Self { connection: Shared::new(connection), keep, filled_to: 0 })
    }

    /// Reads through the store's own connection.
    pub fn reader(&self) -> Reader {
        Reader::new(self.connection.clone())
    }

    /// Records up to this one need not be added again.
    pub fn filled_to(&self) -> u64 {
        self.filled_to
    }

    pub fn kept_series(&self) -> Result<Option<(u64, Vec<u8>)>, HistoryError> {
        let read = |row: &rusqlite::Row<'_>| Ok((row.get::<_, i64>(0)? as u64, row.get(1)?));
        let connection = self.connection.lock();
        Ok(connection.query_row("SELECT revision, bytes FROM series", [], read).optional()?)
    }

    pub fn keep_series(&mut self, revision: u64, bytes: &[u8]) -> Result<(), HistoryError> {
        let sql = "INSERT OR REPLACE INTO series VALUES (1, ?1, ?2)";
        self.connection.lock().execute(sql, params![revision as i64, bytes])?;
        Ok(())
    }

    /// The next rows come from behind `revision`. If that leaves records out, the history reaches back only to
    /// `now`.
    pub fn begin_at(&mut self, revision: u64, now: Millis) -> Result<(), HistoryError> {
        if revision > self.filled_to {
            let sql = "UPDATE progress SET filled_to = ?1, since = max(since, ?2)";
            self.connection.lock().execute(sql, [revision as i64, now as i64])?;
            self.filled_to = revision;
        }
        Ok(())
    }

    /// Writes the rows of the records up to `revision`, and lets go of what is too old or too much.
    pub fn write(&mut self, revision: u64, now: Millis, rows: &Rows) -> Result<(), HistoryError> {
        let mut connection = self.connection.lock();
        let transaction = connection.transaction()?;
        write_ends(&transaction, rows)?;
        write_acts(&transaction, rows)?;
        if !rows.is_empty() {
            prune(&transaction, self.keep, now)?;
        }
        transaction.execute("UPDATE progress SET filled_to = ?1", [revision as i64])?;
        transaction.commit()?;
        drop(connection);
        self.filled_to = revision;
        Ok(())
    }
}

fn begin(connection: &Connection) -> Result<(), HistoryError> {
    let sql = format!("BEGIN; {SCHEMA} PRAGMA user_version = {SCHEMA_VERSION}; COMMIT;");
    Ok(connection.execute_batch(&sql)?)
}

/// Readable by its owner only; SQLite makes the files beside it as private as this one. Where that cannot be done,
/// opening it will say why.
pub fn make_private(file: &Path) {
    let made = OpenOptions::new().create(true).append(true).mode(0o600).open(file);
    let _ = made.and_then(|file| file.set_permissions(Permissions::from_mode(0o600)));
}

fn version(connection: &Connection) -> Result<i64, HistoryError> {
    Ok(connection.query_row("PRAGMA user_version", [], |row| row.get(0))?)
}

fn filled_to(connection: &Connection) -> Result<u64, HistoryError> {
    Ok(connection.query_row("SELECT filled_to FROM progress", [], |row| row.get::<_, i64>(0))? as u64)
}

fn write_ends(transaction: &Transaction<'_>, rows: &Rows) -> Result<(), HistoryError> {
    let mut end = transaction.prepare_cached(
        "INSERT INTO ends (revision, ended_at, namespace, slot, state, was, limits, run, workflow, label, by, reason,
         asked_at, granted_at, fence, laps) VALUES (?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13,?14,?15,?16)",
    )?;
    let mut of_limit = transaction.prepare_cached("INSERT INTO end_limits VALUES (?1, ?2, ?3)")?;
    for (revision, at, ended) in &rows.ends {
        let text = |label: &Option<Label>| label.as_ref().map(ToString::to_string);
        let limits: Vec<String> =
            ended.limits.iter().map(|(limit, weight)| format!("{limit}*{weight}")).collect();
        end.execute(params![
            *revision as i64,
            *at as i64,
            ended.namespace.as_str(),
            ended.id.as_str(),
            ended.end.as_str(),
            was(ended.was),
            limits.join("+"),
            ended.run.as_ref().map(|run| run.as_str()),
            text(&ended.workflow),
            text(&ended.label),
            text(&ended.by),
            text(&ended.reason),
            ended.asked_at as i64,
            ended.granted_at.map(|at| at as i64),
            ended.fence.map(|fence| fence as i64),
            ended.laps,
        ])?;
        let id = transaction.last_insert_rowid();
        for (limit, _) in &ended.limits {
            of_limit.execute(params![ended.namespace.as_str(), limit.as_str(), id])?;
        }
    }
    Ok(())
}

fn was(was: Was) -> &'static str {
    match was {
        Was::New => "new",
        Was::Queued => "queued",
        Was::Reserved => "reserved",
        Was::Busy => "busy",
    }
}

fn write_acts(transaction: &Transaction<'_>, rows: &Rows) -> Result<(), HistoryError> {
    let mut insert = transaction.prepare_cached(
        "INSERT INTO acts (revision, at, namespace, act, target, before, after, by, reason)
         VALUES (?1,?2,?3,?4,?5,?6,?7,?8,?9)",
    )?;
    for act in &rows.acts {
        let text = |label: &Option<Label>| label.as_ref().map(ToString::to_string);
        insert.execute(params![
            act.revision as i64,
            act.at as i64,
            act.namespace,
            act.act,
            act.target,
            act.before,
            act.after,
            text(&act.by),
            text(&act.reason),
        ])?;
    }
    Ok(())
}

/// Rows are deleted oldest first; what the oldest kept one ended at is how far back the history reaches.
fn prune(transaction: &Transaction<'_>, keep: Keep, now: Millis) -> Result<(), HistoryError> {
    let oldest_at = now.saturating_sub(keep.age_ms) as i64;
    let last: i64 = transaction.query_row("SELECT coalesce(max(id), 0) FROM ends", [], |row| row.get(0))?;
    let too_many = last - keep.rows as i64;
    let too_old: i64 = transaction.query_row(
        "SELECT coalesce(max(id), 0) FROM (SELECT id, ended_at FROM ends ORDER BY id LIMIT 10000) WHERE ended_at < ?1",
        [oldest_at],
        |row| row.get(0),
    )?;
    let upto = too_many.max(too_old);
    let since: Option<i64> =
        transaction.query_row("SELECT max(ended_at) FROM ends WHERE id <= ?1", [upto], |row| row.get(0))?;
    if let Some(since) = since {
        transaction.execute("DELETE FROM end_limits WHERE id <= ?1", [upto])?;
        transaction.execute("DELETE FROM ends WHERE id <= ?1", [upto])?;
        transaction.execute("UPDATE progress SET since = max(since, ?1)", [since])?;
    }
    transaction.execute(
        "DELETE FROM acts WHERE at < ?1 OR id <= (SELECT coalesce(max(id), 0) FROM acts) - ?2",
        params![oldest_at, keep.rows as i64],
    )?;
    Ok(())
}
