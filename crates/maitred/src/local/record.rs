//! The bytes of a journal record, as this library writes them.
//!
//! ```text
//! format   varint 1
//! kind     byte    1 birth, 2 batch
//! writer   u64    the process that wrote it, chosen by chance at its start
//! before   u128   the hash of the record before it that took effect; 0 at the birth
//! birth:   the key of the engine's hashes (2 x u64), the first rules (varint)
//! batch:   marks byte (1 estimate, 2 manual clock, 4 digest), each marked field as u64,
//!          the commands (`maitred_engine::Command`), up to the end of the record
//! ```
//!
//! A record takes effect only if `before` names the last record that did. So a journal whose compare-and-append
//! let two writers through at one place still makes one history: the second of them is void for everyone.

use bytes::Bytes;
use maitred_engine::{
    bytes::{DecodeError, Reader, Writer},
    command::Command,
    time::{MINUTE_MS, Millis},
};
use maitred_planted::{Defect, has};
use siphasher::sip128::{Hasher128, SipHasher24};
use std::hash::Hasher;

/// The newest record format that this binary reads and the one it writes.
pub const FORMAT: u16 = 1;

/// How far a stamp of the journal's store may lie beyond its writer's own estimate and still be believed.
pub const STAMP_LEAP_MS: Millis = MINUTE_MS;

const BIRTH: u8 = 1;
const BATCH: u8 = 2;
const ESTIMATE: u8 = 1;
const MANUAL: u8 = 2;
const DIGEST: u8 = 4;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub writer: u64,
    /// The hash of the record before it.
    pub before: u128,
    pub body: Body,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Body {
    Birth { key: [u64; 2], rules: u32 },
    Batch(Batch),
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Batch {
    /// What the writer took the time to be: its last record's time and its own boot clock since.
    pub estimate: Option<Millis>,
    /// The time, under a manual clock; the store's stamp is then not used.
    pub manual_at: Option<Millis>,
    /// The writer's digest of all outcomes before this record.
    pub digest: Option<u64>,
    pub commands: Vec<Command>,
}

/// Why a record could not be read. An unknown format stops the node: skipping it would make another history.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    #[error("record format {found} is newer than this binary reads (up to {FORMAT}); start the newer binary")]
    Newer { found: u64 },
    #[error("not a record of maitred: {0}")]
    Garbled(String),
}

impl From<DecodeError> for RecordError {
    fn from(error: DecodeError) -> Self {
        RecordError::Garbled(error.to_string())
    }
}

/// The hash by which the next record names this one.
pub fn hash(bytes: &[u8]) -> u128 {
    let mut hasher = SipHasher24::new();
    hasher.write(bytes);
    hasher.finish128().as_u128()
}

impl Entry {
    pub fn encode(&self) -> Bytes {
        match &self.body {
            Body::Birth { key, rules } => {
                let mut out = header(BIRTH, self.writer, self.before);
                out.fixed(key[0]);
                out.fixed(key[1]);
                out.number(u64::from(*rules));
                Bytes::from(out.into_bytes())
            }
            Body::Batch(batch) => {
                let mut out = batch.start(self.writer, self.before);
                batch.commands.iter().for_each(|command| command.encode(&mut out));
                Bytes::from(out.into_bytes())
            }
        }
    }

    pub fn decode(bytes: &[u8]) -> Result<Entry, RecordError> {
        let mut input = Reader::new(bytes);
        let format = input.number()?;
        if format > u64::from(FORMAT) {
            return Err(RecordError::Newer { found: format });
        }
        if format == 0 {
            return Err(RecordError::Garbled("a format that there never was".to_owned()));
        }
        let kind = input.byte()?;
        let (writer, before) = (input.fixed()?, input.fixed_wide()?);
        let body = match kind {
            BIRTH => {
                let key = [input.fixed()?, input.fixed()?];
                let rules =
                    u32::try_from(input.number()?).map_err(|_| RecordError::Garbled("rules".to_owned()))?;
                Body::Birth { key, rules }
            }
            BATCH => Body::Batch(Batch::decode(&mut input)?),
            other => return Err(RecordError::Garbled(format!("record kind {other}"))),
        };
        input.finish()?;
        Ok(Entry { writer, before, body })
    }
}

fn header(kind: u8, writer: u64, before: u128) -> Writer {
    let mut out = Writer::new();
    out.number(u64::from(FORMAT));
    out.byte(kind);
    out.fixed(writer);
    out.fixed_wide(before);
    out
}

impl Batch {
    /// The bytes of the record up to its commands, which follow as they are encoded.
    pub fn start(&self, writer: u64, before: u128) -> Writer {
        let mut out = header(BATCH, writer, before);
        let fields = [(ESTIMATE, self.estimate), (MANUAL, self.manual_at), (DIGEST, self.digest)];
        out.byte(fields.iter().filter(|(_, field)| field.is_some()).map(|(mark, _)| mark).sum());
        fields.iter().filter_map(|(_, field)| *field).for_each(|value| out.fixed(value));
        out
    }

    fn decode(input: &mut Reader<'_>) -> Result<Batch, RecordError> {
        let marks = input.byte()?;
        if marks & !(ESTIMATE | MANUAL | DIGEST) != 0 {
            return Err(RecordError::Garbled(format!("marks {marks:#x}")));
        }
        let mut marked = |mark: u8| if marks & mark == 0 { Ok(None) } else { input.fixed().map(Some) };
        let (estimate, manual_at, digest) = (marked(ESTIMATE)?, marked(MANUAL)?, marked(DIGEST)?);
        let mut commands = Vec::new();
        while input.remaining() > 0 {
            commands.push(Command::decode(input)?);
        }
        Ok(Batch { estimate, manual_at, digest, commands })
    }
}

/// The time at which a record takes effect, and whether its stamp was believed.
///
/// A stamp is believed unless it lies behind the last record (a clock that was set back: time goes on at the
/// writer's pace) or more than a minute beyond what the writer itself took the time to be (one clock that leaps
/// must not free every slot).
pub fn effective_at(last_at: Millis, stamp: Millis, batch: &Batch) -> (Millis, bool) {
    if let Some(manual) = batch.manual_at {
        return (manual.max(last_at), true);
    }
    match batch.estimate {
        _ if has(Defect::StampsBelieved) => (stamp.max(last_at), true),
        Some(estimate) if stamp < last_at || stamp > estimate.saturating_add(STAMP_LEAP_MS) => {
            (estimate.max(last_at), false)
        }
        _ => (stamp.max(last_at), true),
    }
}

#[cfg(test)]
mod tests {
    use super::{Body, Entry, RecordError};

    #[test]
    fn only_formats_that_there_were_are_read() {
        let entry = Entry { writer: 1, before: 2, body: Body::Birth { key: [3, 4], rules: 1 } };
        let mut bytes = entry.encode().to_vec();
        assert!(Entry::decode(&bytes).is_ok_and(|read| read == entry));
        bytes[0] = 0;
        assert!(matches!(Entry::decode(&bytes), Err(RecordError::Garbled(_))));
        bytes[0] = 2;
        assert!(matches!(Entry::decode(&bytes), Err(RecordError::Newer { found: 2 })));
    }
}
