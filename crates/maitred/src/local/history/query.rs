//! The reading side: pages, newest first. Used from threads that may block.

use std::path::Path;

use maitred_api::{AuditEntry, EndedSlot, LimitShare, SlotState};
use maitred_engine::time::Millis;
use rusqlite::{Connection, OpenFlags, Row, params_from_iter, types::Value};

use super::{HistoryError, Shared};

/// Which ends to show. Without anything but a namespace: all of it.
#[derive(Clone, Debug, Default)]
pub struct EndsQuery {
    pub namespace: String,
    pub limit: Option<String>,
    pub slot: Option<String>,
    pub run: Option<String>,
    pub label: Option<String>,
    /// Rows before this one.
    pub before: Option<i64>,
    pub most: usize,
}

#[derive(Clone, Debug, Default)]
pub struct AuditQuery {
    pub namespace: String,
    pub target: Option<String>,
    pub act: Option<String>,
    /// Part of a name, in any case of letters.
    pub by: Option<String>,
    pub since: Option<Millis>,
    pub until: Option<Millis>,
    pub before: Option<i64>,
    pub most: usize,
}

/// No pattern, so that nothing in it has a meaning.
const HAS_BY: &str = "instr(lower(by), lower(?)) > 0";

/// A page and the row to go on before.
pub type Page<T> = (Vec<T>, Option<i64>);

pub struct Reader {
    connection: Shared,
}

impl Reader {
    /// Reads the file that a [`super::Store`] has begun.
    pub fn open(file: &Path) -> Result<Self, HistoryError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(file, flags)?;
        Ok(Self::new(Shared::new(connection)))
    }

    pub(super) fn new(connection: Shared) -> Self {
        Self { connection }
    }

    fn with<T>(
        &self,
        read: impl FnOnce(&Connection) -> Result<T, rusqlite::Error>,
    ) -> Result<T, HistoryError> {
        Ok(read(&self.connection.lock())?)
    }

    /// What ended at or before this is no longer there.
    pub fn since(&self) -> Result<Millis, HistoryError> {
        self.with(|connection| {
            connection.query_row("SELECT since FROM progress", [], |row| row.get::<_, i64>(0))
        })
        .map(|since| since as Millis)
    }

    pub fn ends(&self, query: &EndsQuery) -> Result<Page<EndedSlot>, HistoryError> {
        let mut wanted = Wanted::new("ends.namespace", &query.namespace);
        let from = match &query.limit {
            Some(limit) => {
                wanted.and("end_limits.limit_name = ?", Value::from(limit.clone()));
                wanted.and("end_limits.namespace = ?", Value::from(query.namespace.clone()));
                "end_limits JOIN ends ON ends.id = end_limits.id"
            }
            None => "ends",
        };
        for (column, value) in [("slot", &query.slot), ("run", &query.run), ("label", &query.label)] {
            if let Some(value) = value {
                wanted.and(&format!("ends.{column} = ?"), Value::from(value.clone()));
            }
        }
        wanted.before("ends.id", query.before);
        let columns =
            "ends.id, slot, state, was, ended_at, limits, run, workflow, label, by, reason, asked_at,
                       granted_at, fence, laps, revision";
        let sql = format!(
            "SELECT {columns} FROM {from} WHERE {} ORDER BY ends.id DESC LIMIT {}",
            wanted.sql, query.most
        );
        self.page(&sql, wanted, query.most, ended_slot)
    }

    pub fn audit(&self, query: &AuditQuery) -> Result<Page<AuditEntry>, HistoryError> {
        let mut wanted = Wanted::new("namespace", &query.namespace);
        let texts = [("target = ?", &query.target), ("act = ?", &query.act), (HAS_BY, &query.by)];
        for (condition, text) in texts {
            text.iter().for_each(|text| wanted.and(condition, Value::from(text.clone())));
        }
        for (condition, at) in [("at >= ?", query.since), ("at < ?", query.until)] {
            let at = at.map(|at| i64::try_from(at).unwrap_or(i64::MAX));
            at.iter().for_each(|at| wanted.and(condition, Value::from(*at)));
        }
        wanted.before("id", query.before);
        let columns = "id, at, act, target, before, after, by, reason, revision";
        let sql =
            format!("SELECT {columns} FROM acts WHERE {} ORDER BY id DESC LIMIT {}", wanted.sql, query.most);
        self.page(&sql, wanted, query.most, audit_entry)
    }

    fn page<T>(
        &self,
        sql: &str,
        wanted: Wanted,
        most: usize,
        read: impl Fn(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Page<T>, HistoryError> {
        self.with(|connection| {
            let mut statement = connection.prepare_cached(sql)?;
            let mut rows = statement.query(params_from_iter(wanted.values))?;
            let (mut page, mut last) = (Vec::new(), None);
            while let Some(row) = rows.next()? {
                last = Some(row.get(0)?);
                page.push(read(row)?);
            }
            let next = if page.len() == most { last } else { None };
            Ok((page, next))
        })
    }
}

/// Conditions and their values, in step.
struct Wanted {
    sql: String,
    values: Vec<Value>,
}

impl Wanted {
    fn new(column: &str, namespace: &str) -> Self {
        Self { sql: format!("{column} = ?"), values: vec![Value::from(namespace.to_owned())] }
    }

    fn and(&mut self, condition: &str, value: Value) {
        self.sql.push_str(" AND ");
        self.sql.push_str(condition);
        self.values.push(value);
    }

    fn before(&mut self, column: &str, row: Option<i64>) {
        if let Some(row) = row {
            self.and(&format!("{column} < ?"), Value::from(row));
        }
    }
}

fn number(row: &Row<'_>, column: usize) -> rusqlite::Result<u64> {
    row.get::<_, i64>(column).map(|value| value as u64)
}

fn optional(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<u64>> {
    row.get::<_, Option<i64>>(column).map(|value| value.map(|value| value as u64))
}

fn ended_slot(row: &Row<'_>) -> rusqlite::Result<EndedSlot> {
    let (ended_at, asked_at, granted_at) = (number(row, 4)?, number(row, 11)?, optional(row, 12)?);
    Ok(EndedSlot {
        slot: row.get(1)?,
        state: state(&row.get::<_, String>(2)?),
        was: row.get(3)?,
        ended_at,
        limits: row.get::<_, String>(5)?.split('+').filter_map(share).collect(),
        run: row.get(6)?,
        workflow: row.get(7)?,
        label: row.get(8)?,
        by: row.get(9)?,
        reason: row.get(10)?,
        asked_at,
        granted_at,
        fence: optional(row, 13)?,
        waited_ms: granted_at.unwrap_or(ended_at).saturating_sub(asked_at),
        held_ms: granted_at.map(|at| ended_at.saturating_sub(at)),
        laps: row.get(14)?,
        revision: number(row, 15)?,
    })
}

/// `name*weight`, as the store wrote it: a limit's name has neither `*` nor `+`.
fn share(text: &str) -> Option<LimitShare> {
    let (limit, weight) = text.split_once('*')?;
    Some(LimitShare { limit: limit.to_owned(), weight: weight.parse().ok()? })
}

fn state(text: &str) -> SlotState {
    let ends =
        [SlotState::Released, SlotState::Expired, SlotState::TimedOut, SlotState::Left, SlotState::RunEnded];
    ends.into_iter().find(|state| state.as_str() == text).unwrap_or(SlotState::Unknown)
}

fn audit_entry(row: &Row<'_>) -> rusqlite::Result<AuditEntry> {
    Ok(AuditEntry {
        at: number(row, 1)?,
        act: row.get(2)?,
        target: row.get(3)?,
        before: row.get(4)?,
        after: row.get(5)?,
        by: row.get(6)?,
        reason: row.get(7)?,
        revision: number(row, 8)?,
    })
}
