//! What this node has seen of a shared journal, written down in its own folder: a journal that loses its end while the
//! node is not there to see it is noticed at the next start.
//!
//! # Worked example
//! 1. The node has read record 900 and writes down the journal's key, 900, and the hash of that record.
//! 2. It is stopped. The database fails over to a standby that was sent 880 records.
//! 3. It is started. The journal ends at 880: it refuses, and names both numbers. Had others written 40 more meanwhile,
//!    record 900 would be there with another hash: it refuses too.
//! 4. The operator has read what that means, and starts it once with `--accept-lost-end`. What was written down is
//!    forgotten, and the node goes on with what is there.
//!
//! # Why it is right
//! Only what was read back from the journal is written down, so it is never ahead of what was acknowledged: a refusal is
//! never false. It may be behind (the last moments, or after a loss of power more): then less is noticed.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

use maitred_journal::{Archive, JournalError, Position};

use super::{follower::Follower, record};

const FILE: &str = "journal-seen";

/// A record that was there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Mark {
    /// Of the journal's birth: another journal has another.
    key: [u64; 2],
    position: Position,
    hash: u128,
}

/// The file, and what stands in it.
#[derive(Debug)]
pub struct Seen {
    file: PathBuf,
    mark: Option<Mark>,
}

impl Seen {
    /// A file that cannot be read as such is as good as none: it was being written when the machine died.
    pub fn open(folder: &Path) -> Seen {
        let file = folder.join(FILE);
        let mark = fs::read_to_string(&file).ok().and_then(|text| read(&text));
        Seen { file, mark }
    }

    /// From here on whatever the journal has counts.
    pub fn forget(&mut self) {
        self.mark = None;
    }

    /// Whether the journal, at whose end `follower` stands, still has what was seen. The error says what is wrong, and
    /// the way out.
    pub async fn check(&self, archive: &mut dyn Archive, follower: &Follower) -> Result<(), String> {
        let Some(mark) = self.mark else { return Ok(()) };
        if follower.engine().is_some_and(|engine| engine.key() != mark.key) {
            return Err(self.refusal("it is another journal than the one this server was on"));
        }
        let (head, position) = (follower.head(), mark.position);
        if head < position {
            return Err(self.refusal(&format!("it ends at {head}, and record {position} was there")));
        }
        let records = match archive.read(position - 1, 1).await {
            Ok(records) => records,
            Err(JournalError::Trimmed { .. }) => return Ok(()),
            Err(error) => return Err(error.to_string()),
        };
        match records.first() {
            Some(found) if record::hash(&found.bytes) != mark.hash => {
                Err(self.refusal(&format!("record {position} was there and is another one")))
            }
            _ => Ok(()),
        }
    }

    fn refusal(&self, what: &str) -> String {
        format!(
            "the journal has lost records that were acknowledged, as {} tells: {what}. Read `A lost end` in the \
             operator's pages first; then start once with --accept-lost-end",
            self.file.display()
        )
    }

    /// Writes down the record at which `follower` stands, which it has read and which took effect. Never goes back: at
    /// the start a follower comes from a snapshot. What cannot be written is noticed less, and does no other harm.
    pub fn note(&mut self, follower: &Follower) {
        let Some(engine) = follower.engine() else { return };
        let mark = Mark { key: engine.key(), position: follower.head(), hash: follower.hash() };
        if self.mark.is_some_and(|known| known.position >= mark.position) {
            return;
        }
        self.mark = Some(mark);
        if let Err(error) = self.write(mark) {
            tracing::warn!(%error, file = %self.file.display(), "what was seen of the journal is not written down");
        }
    }

    fn write(&self, mark: Mark) -> io::Result<()> {
        let Mark { key: [high, low], position, hash } = mark;
        replace(&self.file, &format!("{high:016x}{low:016x} {position} {hash:032x}\n"))
    }
}

/// Whole or not at all, as far as this process goes.
pub(super) fn replace(file: &Path, text: &str) -> io::Result<()> {
    let next = file.with_extension("next");
    let mut written: File =
        OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&next)?;
    written.write_all(text.as_bytes())?;
    fs::rename(next, file)
}

fn read(text: &str) -> Option<Mark> {
    let mut words = text.strip_suffix('\n')?.split(' ');
    let (key, position, hash) = (words.next()?, words.next()?, words.next()?);
    let half = |range| u64::from_str_radix(key.get(range)?, 16).ok();
    let key = [half(0..16)?, half(16..32)?];
    let position = position.parse().ok().filter(|position| *position > 0)?;
    Some(Mark { key, position, hash: u128::from_str_radix(hash, 16).ok()? })
}

#[cfg(test)]
mod tests {
    use super::{Mark, Seen, read};

    #[test]
    fn what_is_written_is_read() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut seen = Seen::open(folder.path());
        assert_eq!(seen.mark, None);
        let mark = Mark { key: [7, u64::MAX], position: 900, hash: 1 << 100 };
        seen.write(mark).expect("written");
        seen = Seen::open(folder.path());
        assert_eq!(seen.mark, Some(mark));
    }

    #[test]
    fn half_a_file_is_none() {
        let whole = "00000000000000070000000000000008 900 00000000000000000000000000000009\n";
        assert_eq!(read(whole), Some(Mark { key: [7, 8], position: 900, hash: 9 }));
        for length in 0..whole.len() {
            assert_eq!(read(&whole[..length]), None, "{length}");
        }
        assert_eq!(read("x 900 9\n"), None);
    }
}
