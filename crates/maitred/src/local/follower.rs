//! Takes the journal's records in order and keeps the engine at their head: at the start, behind other writers,
//! in the maker of snapshots and in `verify`, always the same way.

use bytes::Bytes;
use maitred_engine::{
    Engine,
    bounds::Bounds,
    bytes::{Reader, Writer},
    command::Command,
    event::Event,
    outcome::Outcome,
    time::Millis,
};
use maitred_journal::{JournalError, Position, Record, Snapshot};
use maitred_planted::{Defect, has};

use super::record::{self, Body, Entry};

/// Every so many records the writer states its digest of all outcomes, and everyone compares.
pub const DIGEST_EVERY: Position = 10_000;

const SNAPSHOT_FORMAT: u64 = 1;

/// Why a node must not go on. Nothing is ever repaired or skipped by itself.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Halt {
    #[error("record {position}: {what}")]
    Record { position: Position, what: String },
    #[error("record {expected} is missing: the journal goes on at {found}")]
    Gap { expected: Position, found: Position },
    #[error("the journal begins with a record that is not its birth")]
    NoBirth,
    #[error(
        "record {position}: this process came to other outcomes than the writer of the record; \
         do not trust its memory, start it again and report this"
    )]
    Diverged { position: Position },
    #[error("the snapshot at {position} cannot be used: {what}")]
    Snapshot { position: Position, what: String },
    #[error("the journal failed: {0}")]
    Journal(String),
}

/// Of a node that was at work. At a start, `open` says more of it.
impl From<JournalError> for Halt {
    fn from(error: JournalError) -> Halt {
        Halt::Journal(match error {
            JournalError::Trimmed { .. } => format!(
                "{error}. Start it again: it goes on from a snapshot if it only fell behind what is kept; if the \
                 journal has lost records, it refuses and says what to read"
            ),
            error => error.to_string(),
        })
    }
}

/// What a record did.
#[derive(Debug, Default)]
pub struct Applied {
    pub at: Millis,
    /// It did not follow the last record that took effect: nothing happened.
    pub void: bool,
    /// One per command.
    pub outcomes: Vec<Outcome>,
    pub events: Vec<Event>,
}

/// The engine and where in the journal it stands. By default before the birth.
#[derive(Default)]
pub struct Follower {
    /// None until the birth has been read.
    engine: Option<Engine>,
    /// The last record taken, void or not.
    head: Position,
    /// The hash of the last record that took effect.
    hash: u128,
    /// The writer of the last record that took effect.
    last_writer: u64,
    /// Records that did not take effect.
    pub voids: u64,
    /// Stamps that were not believed.
    pub leaps: u64,
}

impl Follower {
    pub fn engine(&self) -> Option<&Engine> {
        self.engine.as_ref()
    }

    pub fn head(&self) -> Position {
        self.head
    }

    /// What the next record must carry as `before`.
    pub fn hash(&self) -> u128 {
        self.hash
    }

    pub fn last_writer(&self) -> u64 {
        self.last_writer
    }

    pub fn now(&self) -> Millis {
        self.engine.as_ref().map_or(0, Engine::now)
    }

    /// The digest that a record at the next position must carry, if that is one of those that do.
    pub fn due_digest(&self) -> Option<u64> {
        let digest = self.engine.as_ref()?.outcome_digest();
        (self.head + 1).is_multiple_of(DIGEST_EVERY).then_some(digest)
    }

    /// Takes the next record. `each` sees every command's outcome with the engine as it then is.
    pub fn take(
        &mut self,
        record: &Record,
        each: impl FnMut(&Engine, usize, &Command, &Outcome, &[Event]),
    ) -> Result<Applied, Halt> {
        if record.position != self.head + 1 {
            return Err(Halt::Gap { expected: self.head + 1, found: record.position });
        }
        let entry = Entry::decode(&record.bytes)
            .map_err(|error| Halt::Record { position: record.position, what: error.to_string() })?;
        self.take_decoded(record, &entry, each)
    }

    /// As [`Follower::take`], for a writer that still has what it wrote.
    pub fn take_decoded(
        &mut self,
        record: &Record,
        entry: &Entry,
        each: impl FnMut(&Engine, usize, &Command, &Outcome, &[Event]),
    ) -> Result<Applied, Halt> {
        self.head = record.position;
        if entry.before != self.hash && !has(Defect::ChainIgnored) {
            if self.engine.is_none() {
                return Err(Halt::NoBirth);
            }
            self.voids += 1;
            return Ok(Applied { at: self.now(), void: true, ..Applied::default() });
        }
        let applied = self.apply(record, &entry.body, each)?;
        self.hash = record::hash(&record.bytes);
        self.last_writer = entry.writer;
        Ok(applied)
    }

    fn apply(
        &mut self,
        record: &Record,
        body: &Body,
        mut each: impl FnMut(&Engine, usize, &Command, &Outcome, &[Event]),
    ) -> Result<Applied, Halt> {
        let wrong = |what: String| Halt::Record { position: record.position, what };
        match (body, &mut self.engine) {
            (Body::Birth { key, rules }, engine @ None) => {
                if *rules > maitred_engine::RULES_MAX {
                    return Err(wrong(format!(
                        "rules {rules} are newer than this binary knows; start the newer binary"
                    )));
                }
                *engine = Some(Engine::new(*key, Bounds::default()));
                Ok(Applied { at: record.at, ..Applied::default() })
            }
            (Body::Birth { .. }, Some(_)) => Err(wrong("a second birth".to_owned())),
            (Body::Batch(_), None) => Err(Halt::NoBirth),
            (Body::Batch(batch), Some(engine)) => {
                if batch.digest.is_some_and(|digest| digest != engine.outcome_digest()) {
                    return Err(Halt::Diverged { position: record.position });
                }
                let (at, believed) = record::effective_at(engine.now(), record.at, batch);
                self.leaps += u64::from(!believed);
                let mut applied = Applied { at, ..Applied::default() };
                for (index, command) in batch.commands.iter().enumerate() {
                    let before = applied.events.len();
                    let outcome = engine.apply(at, command, &mut applied.events);
                    if let Outcome::Refused(maitred_engine::outcome::Refusal::UnsupportedRules { version }) =
                        &outcome
                    {
                        return Err(wrong(format!(
                            "rules {version} are newer than this binary knows; start the newer binary"
                        )));
                    }
                    each(engine, index, command, &outcome, &applied.events[before..]);
                    applied.outcomes.push(outcome);
                }
                Ok(applied)
            }
        }
    }

    /// The state after the head, for the journal to keep.
    pub fn snapshot(&self) -> Option<Snapshot> {
        let engine = self.engine.as_ref()?;
        let mut out = Writer::new();
        out.number(SNAPSHOT_FORMAT);
        out.fixed_wide(self.hash);
        out.fixed(self.last_writer);
        out.number(self.voids);
        out.number(self.leaps);
        out.blob(&engine.snapshot());
        Some(Snapshot { position: self.head, bytes: Bytes::from(out.into_bytes()) })
    }

    pub fn restore(snapshot: &Snapshot) -> Result<Follower, Halt> {
        let wrong = |what: String| Halt::Snapshot { position: snapshot.position, what };
        let mut input = Reader::new(&snapshot.bytes);
        let mut read = || -> Result<_, maitred_engine::bytes::DecodeError> {
            let format = input.number()?;
            if format != SNAPSHOT_FORMAT {
                return Ok(Err(format));
            }
            let parts = (input.fixed_wide()?, input.fixed()?, input.number()?, input.number()?);
            Ok(Ok((parts, input.blob()?)))
        };
        match read().map_err(|error| wrong(error.to_string()))? {
            Err(format) => {
                Err(wrong(format!("format {format} is not known to this binary; start the newer binary")))
            }
            Ok(((hash, last_writer, voids, leaps), state)) => {
                let engine = Engine::restore(state).map_err(|error| wrong(error.to_string()))?;
                Ok(Follower {
                    engine: Some(engine),
                    head: snapshot.position,
                    hash,
                    last_writer,
                    voids,
                    leaps,
                })
            }
        }
    }
}
