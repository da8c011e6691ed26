//! The tables, and how they come to be.
//!
//! `about` says which journal this is. `records` is the order; a record's `seal` names it and everything before it.
//! `snapshots` holds a state in chunks under a manifest, all of it from one transaction. `nodes` is where the
//! processes meet: what stands there decides nothing but when something is written into the order.

use tokio_postgres::error::SqlState;

use super::link::{Failure, Link, WITHIN};
use crate::JournalError;

/// The newest form of the tables that this binary knows.
pub(super) const FORMAT: u32 = 1;

/// Set for each session, whatever the role or the database say.
pub(super) const SESSION: &str = "
    SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL READ COMMITTED, READ WRITE;
    SET statement_timeout = 0;
    SET lock_timeout = 0;
    SET idle_in_transaction_session_timeout = '60s';
";

/// `{s}` is the schema, whose name needs no quotes.
pub(super) fn named(sql: &str, schema: &str) -> String {
    sql.replace("{s}", schema)
}

const TABLES: &str = "
    CREATE SCHEMA IF NOT EXISTS {s};
    CREATE TABLE {s}.about (
        one boolean PRIMARY KEY DEFAULT true CHECK (one),
        format integer NOT NULL,
        journal text NOT NULL,
        created_at timestamptz NOT NULL DEFAULT clock_timestamp()
    );
    CREATE TABLE {s}.records (
        position bigint PRIMARY KEY,
        at bigint NOT NULL,
        seal bytea NOT NULL,
        bytes bytea NOT NULL
    );
    ALTER TABLE {s}.records ALTER COLUMN bytes SET STORAGE EXTERNAL;
    CREATE TABLE {s}.snapshots (
        position bigint PRIMARY KEY,
        seal bytea,
        chunks integer NOT NULL,
        length bigint NOT NULL,
        sum bytea NOT NULL,
        made_at timestamptz NOT NULL DEFAULT clock_timestamp()
    );
    CREATE TABLE {s}.snapshot_chunks (
        position bigint NOT NULL REFERENCES {s}.snapshots ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED,
        chunk integer NOT NULL,
        bytes bytea NOT NULL,
        PRIMARY KEY (position, chunk)
    );
    ALTER TABLE {s}.snapshot_chunks ALTER COLUMN bytes SET STORAGE EXTERNAL;
    CREATE TABLE {s}.snapshot_claims (
        one boolean PRIMARY KEY DEFAULT true CHECK (one),
        position bigint NOT NULL,
        claimed_at timestamptz NOT NULL
    );
    CREATE TABLE {s}.nodes (
        process bigint PRIMARY KEY,
        beat bigint NOT NULL,
        supports integer NOT NULL,
        seen_at timestamptz NOT NULL
    ) WITH (fillfactor = 50);
    INSERT INTO {s}.about (format, journal)
        VALUES (1, md5(random()::text || clock_timestamp()::text || txid_current()::text));
";

/// Which journal this is.
pub(super) struct About {
    pub journal: String,
    /// Why what was acknowledged may be lost, if the server was set up so.
    pub weak: Vec<String>,
}

/// Makes the tables where there are none.
pub(super) async fn provide(link: &mut Link, schema: &str, place: &str) -> Result<(), JournalError> {
    match is_there(link).await.map_err(|failure| unreachable(place, &failure))? {
        true => Ok(()),
        false => make(link, schema, place).await,
    }
}

/// Looks at the tables; none if there are none.
pub(super) async fn look(link: &mut Link, place: &str) -> Result<Option<About>, JournalError> {
    let trouble = |failure: Failure| unreachable(place, &failure);
    if !is_there(link).await.map_err(trouble)? {
        return Ok(None);
    }
    let rows = link.rows(WITHIN, "SELECT format, journal FROM {s}.about", &[]).await.map_err(trouble)?;
    let foreign = |what: &str| JournalError::Foreign { place: place.to_owned(), what: what.to_owned() };
    let row = rows.first().ok_or_else(|| foreign("its table `about` is empty"))?;
    let found = row.get::<_, i32>(0) as u32;
    if found > FORMAT {
        return Err(JournalError::Newer { place: place.to_owned(), found, known: FORMAT });
    }
    let weak = weaknesses(link).await.map_err(trouble)?;
    Ok(Some(About { journal: row.get(1), weak }))
}

async fn is_there(link: &mut Link) -> Result<bool, Failure> {
    Ok(link.row("SELECT to_regclass('{s}.about') IS NOT NULL").await?.get(0))
}

/// One process makes them; another that wants to at the same moment waits and finds them.
async fn make(link: &mut Link, schema: &str, place: &str) -> Result<(), JournalError> {
    let sql = named(
        &format!(
            "BEGIN; SELECT pg_advisory_xact_lock(hashtext('maitred'), hashtext('{{s}}')); {TABLES} COMMIT;"
        ),
        schema,
    );
    let Err(failure) = link.batch(&sql).await else { return Ok(()) };
    let _ = link.batch("ROLLBACK").await;
    let exists = [SqlState::DUPLICATE_TABLE, SqlState::DUPLICATE_SCHEMA, SqlState::UNIQUE_VIOLATION];
    let again = named("SELECT 1 FROM {s}.about", schema);
    match exists.iter().any(|code| failure.is(code)) {
        true if link.batch(&again).await.is_ok() => Ok(()),
        true => Err(JournalError::Foreign {
            place: place.to_owned(),
            what: format!("the schema holds other tables ({failure}); name another with schema="),
        }),
        false => Err(refused(place, &failure)),
    }
}

/// What of the server's settings lets an acknowledged record be lost, as sentences.
async fn weaknesses(link: &mut Link) -> Result<Vec<String>, Failure> {
    const ASK: &str = "SELECT current_setting('fsync'), current_setting('full_page_writes'),
        current_setting('synchronous_commit'), current_setting('synchronous_standby_names')";
    let row = link.row(ASK).await?;
    let text = |index: usize| row.get::<_, String>(index);
    let mut weak = Vec::new();
    for (index, name) in [(0, "fsync"), (1, "full_page_writes")] {
        if text(index) == "off" {
            weak.push(format!(
                "{name} is off: the server may lose what it acknowledged when its machine dies"
            ));
        }
    }
    let (commit, standbys) = (text(2), text(3));
    if commit == "off" {
        weak.push("synchronous_commit is off: the server acknowledges before it has written".to_owned());
    } else if commit == "local" && !standbys.is_empty() {
        weak.push(
            "synchronous_commit is local: a standby may be promoted without what was acknowledged".to_owned(),
        );
    }
    Ok(weak)
}

/// Where the server answered, and said no.
pub(super) fn refused(place: &str, failure: &Failure) -> JournalError {
    match failure {
        Failure::Lost(_) => unreachable(place, failure),
        Failure::Refused(error) => {
            let source = std::io::Error::other(format!("{} ({})", error.message(), error.code().code()));
            JournalError::Io { place: place.to_owned(), source }
        }
    }
}

pub(super) fn unreachable(place: &str, failure: &Failure) -> JournalError {
    JournalError::Unreachable { place: place.to_owned(), what: failure.to_string() }
}
