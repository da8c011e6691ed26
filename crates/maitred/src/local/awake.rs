//! Until when a process was there to see time pass, written down beside a local journal.
//!
//! # Worked example
//! 1. A record is written on Monday. Nobody asks for anything until Wednesday, when the server is updated.
//! 2. The last record is two days old. Is that a quiet time, or a clock that has leapt by two days and would free every
//!    slot? The journal cannot tell, since an idle server writes no record.
//! 3. The process that ended a second ago wrote down that it was there until then: the gap is a second.
//!
//! # Why it is right
//! The time is the process's own: the clock as it was believed at its start, carried on by the boot clock, which nobody
//! can set. A clock that leaps while the process runs does not get in, and is found at the next start.

use std::{
    fs, io,
    path::{Path, PathBuf},
    time::Duration,
};

use maitred_engine::time::Millis;
use tokio::time::{Interval, MissedTickBehavior, interval};

use super::{clock::boot_ms, seen::replace};

const FILE: &str = "awake-until";
const EVERY: Duration = Duration::from_secs(600);

pub struct Awake {
    file: PathBuf,
    /// The time at the start, and what the boot clock said then.
    began: (Millis, Millis),
    due: Interval,
}

impl Awake {
    /// What the last process wrote down. What cannot be read is as good as nothing.
    pub fn last(folder: &Path) -> Option<Millis> {
        fs::read_to_string(folder.join(FILE)).ok()?.strip_suffix('\n')?.parse().ok()
    }

    /// Of a process that begins at `now`. Within a runtime.
    pub fn begin(folder: &Path, now: Millis) -> Awake {
        let mut due = interval(EVERY);
        due.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Awake { file: folder.join(FILE), began: (now, boot_ms()), due }
    }

    /// Until it is to be written down again.
    pub async fn is_due(&mut self) {
        self.due.tick().await;
    }

    /// A process that ends without it is taken to have been away for longer than it was.
    pub fn note(&self) {
        if let Err(error) = self.write() {
            tracing::warn!(%error, file = %self.file.display(), "how long this server was there is not written down");
        }
    }

    fn write(&self) -> io::Result<()> {
        let (at, boot) = self.began;
        replace(&self.file, &format!("{}\n", at + boot_ms().saturating_sub(boot)))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::Awake;

    #[tokio::test]
    async fn it_tells_the_start_and_what_passed_since() {
        let folder = tempfile::tempdir().expect("a folder");
        assert_eq!(Awake::last(folder.path()), None);
        let mut awake = Awake::begin(folder.path(), 1_000_000);
        awake.began.1 -= 50;
        awake.note();
        let last = Awake::last(folder.path()).expect("it is written");
        assert!((1_000_050..1_060_000).contains(&last), "{last}");
        fs::write(folder.path().join("awake-until"), "10000").expect("half of it");
        assert_eq!(Awake::last(folder.path()), None);
    }
}
