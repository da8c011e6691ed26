//! Keeps the history filled, also when that fails for a while.
//!
//! An example: the disk is full from record 100 on. What record 100 ended cannot be written; its rows are kept, and it is
//! tried again after a quarter of a second, then half a second, … at most every half minute. At record 250 somebody makes
//! room; the next try opens the file anew and writes the rows of 100 to 250 at once. Nothing is missing, and nobody has
//! waited: all of this happens on the second engine's thread.
//!
//! Rows are kept up to [`WAITING_MAX`]. Beyond that the older half is let go, and the history then says that it reaches
//! back only to the end of what was let go. What is not written when the process ends is read from the journal again at
//! the next start, as far as no snapshot has come between.

use std::{
    fs::DirBuilder,
    os::unix::fs::DirBuilderExt,
    path::{Path, PathBuf},
    sync::{Arc, PoisonError, RwLock},
    time::Duration,
};

use maitred_engine::time::Millis;
use maitred_journal::Position;
use tokio::{sync::watch, time::Instant};

use super::{HistoryError, Keep, Progress, Reader, Rows, Store};

/// Rows that wait for a history that cannot be written, of about 300 bytes each.
const WAITING_MAX: usize = 100_000;
const PAUSE: Duration = Duration::from_millis(250);
const PAUSE_MAX: Duration = Duration::from_secs(30);

/// Where those who read find the reader: a new one each time the file is opened anew, none before it could be.
pub type Shelf = Arc<RwLock<Option<Arc<Reader>>>>;

pub struct Filler {
    /// None keeps it in memory: then there is nothing to open anew.
    file: Option<PathBuf>,
    keep: Keep,
    /// Where the journal stood at the start: a file that is ahead of it is of another journal.
    journal_head: Position,
    store: Option<Store>,
    shelf: Shelf,
    waiting: Rows,
    /// The record up to which everything is in the file or in `waiting`, and its time.
    head: (Position, Millis),
    /// What could be kept nowhere ends here.
    lost: Option<(Position, Millis)>,
    trouble: Option<Trouble>,
    progress: watch::Sender<Progress>,
}

struct Trouble {
    what: String,
    pause: Duration,
    again_at: Instant,
}

impl Filler {
    /// Opens the history of a journal that stands at `head`, in the folder or in memory. One that cannot be opened now is
    /// tried again later.
    pub fn open(folder: Option<&Path>, keep: Keep, head: Position) -> Filler {
        let file = folder.map(|folder| {
            // Beside a shared journal nobody else makes it. What cannot be made cannot be opened either.
            let _ = DirBuilder::new().recursive(true).mode(0o700).create(folder);
            folder.join("history.sqlite")
        });
        let mut filler = Filler {
            file,
            keep,
            journal_head: head,
            store: None,
            shelf: Shelf::default(),
            waiting: Rows::default(),
            head: (head, 0),
            lost: None,
            trouble: None,
            progress: watch::Sender::new(Progress::default()),
        };
        let opened = filler.open_store();
        filler.note(opened);
        filler
    }

    pub fn shelf(&self) -> Shelf {
        Arc::clone(&self.shelf)
    }

    pub fn progress(&self) -> watch::Receiver<Progress> {
        self.progress.subscribe()
    }

    /// Rows of records up to this one need not be filled in again, as far as is known.
    pub fn filled_to(&self) -> Position {
        self.store.as_ref().map_or(0, Store::filled_to)
    }

    /// The series that were kept last, and the record up to which they reach.
    pub fn kept_series(&self) -> Option<(Position, Vec<u8>)> {
        self.store.as_ref()?.kept_series().ok().flatten()
    }

    /// Keeps the series as they are behind the record at `head`. Without them a restart only knows less.
    pub fn keep_series(&mut self, head: Position, series: impl FnOnce() -> Vec<u8>) {
        let is_kept = self.file.is_some() && self.trouble.is_none();
        let Some(store) = self.store.as_mut().filter(|_| is_kept) else { return };
        if let Err(error) = store.keep_series(head, &series()) {
            tracing::warn!(%error, "what the charts are made from was not kept");
        }
    }

    /// The second engine begins behind `head`: what the history lacks of the records before is gone.
    pub fn begin_at(&mut self, head: Position, now: Millis) {
        self.head = (head, now);
        self.lost = Some(self.head);
        self.write();
    }

    /// Takes the rows of the records behind the last, up to `head`.
    pub fn fill(&mut self, head: Position, now: Millis, rows: Rows) {
        self.head = (head, now);
        self.waiting.append(rows);
        if self.waiting.len() > WAITING_MAX {
            self.lost = self.waiting.forget_half().or(self.lost);
        }
        if self.trouble.as_ref().is_none_or(|trouble| trouble.again_at <= Instant::now()) {
            self.write();
        }
    }

    /// Resolves when a failed write is to be tried again; never while all is well. Cancel safe.
    pub async fn is_due(&self) {
        match &self.trouble {
            Some(trouble) => tokio::time::sleep_until(trouble.again_at).await,
            None => std::future::pending().await,
        }
    }

    /// Writes what there is, now.
    pub fn write(&mut self) {
        let written = self.try_write();
        self.note(written);
    }

    fn try_write(&mut self) -> Result<(), HistoryError> {
        // After a failure the file is opened anew: it may be another, and SQLite may not trust the old one any more.
        if self.store.is_none() || self.trouble.is_some() && self.file.is_some() {
            self.open_store()?;
        }
        let Some(store) = &mut self.store else { return Ok(()) };
        if let Some((head, now)) = self.lost {
            store.begin_at(head, now)?;
            self.lost = None;
        }
        let (head, now) = self.head;
        if head > store.filled_to() {
            self.waiting.forget_up_to(store.filled_to());
            store.write(head, now, &self.waiting)?;
        }
        self.waiting = Rows::default();
        Ok(())
    }

    fn open_store(&mut self) -> Result<(), HistoryError> {
        self.store = None;
        let head = self.journal_head.max(self.head.0);
        let (store, reader) = match &self.file {
            Some(file) => (Store::open(file, self.keep, head)?, Reader::open(file)?),
            None => {
                let store = Store::memory(self.keep)?;
                let reader = store.reader();
                (store, reader)
            }
        };
        self.store = Some(store);
        *self.shelf.write().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(reader));
        Ok(())
    }

    /// Tells how it went, and when it is tried again if it failed.
    fn note(&mut self, written: Result<(), HistoryError>) {
        match (written, self.trouble.take()) {
            (Ok(()), Some(_)) => tracing::info!("the history is filled again"),
            (Ok(()), None) => {}
            (Err(error), before) => {
                let pause = before.as_ref().map_or(PAUSE, |before| (before.pause * 2).min(PAUSE_MAX));
                if before.is_none() {
                    tracing::error!(%error, "the history cannot be filled; it is tried again");
                }
                let what = error.to_string();
                self.trouble = Some(Trouble { what, pause, again_at: Instant::now() + pause });
            }
        }
        let filled_to = self.store.as_ref().map(Store::filled_to);
        self.progress.send_modify(|progress| {
            progress.filled_to = filled_to.unwrap_or(progress.filled_to);
            progress.trouble = self.trouble.as_ref().map(|trouble| trouble.what.clone());
        });
    }
}

#[cfg(test)]
mod tests {
    use maitred_engine::{
        command::Command,
        event::{Event, EventKind},
        names::{LimitName, Namespace},
    };

    use super::*;
    use crate::local::history::{AuditQuery, History};

    fn act(revision: Position) -> Rows {
        let kind = EventKind::LimitPaused {
            namespace: Namespace::default(),
            limit: LimitName::parse("voice").expect("a name"),
        };
        let mut rows = Rows::default();
        rows.add(revision, &Command::Advance, &[Event { at: revision, kind }]);
        rows
    }

    /// The file is in the way of itself: a folder. What more than can be kept is let go is let go oldest first, and told.
    #[test]
    fn what_waits_is_bounded_and_what_is_let_go_is_told() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("history.sqlite");
        std::fs::create_dir(&file).expect("a folder");
        let mut filler = Filler::open(Some(folder.path()), Keep::default(), 0);
        let history = History { shelf: filler.shelf(), progress: filler.progress() };
        assert!(history.reader().is_none() && history.trouble().is_some());
        filler.begin_at(0, 0);
        let last = WAITING_MAX as Position + 10;
        (1..=last).for_each(|revision| filler.fill(revision, revision, act(revision)));
        assert!(filler.waiting.len() <= WAITING_MAX);
        std::fs::remove_dir(&file).expect("it is empty");
        filler.write();
        assert_eq!(history.trouble(), None);
        let reader = history.reader().expect("it is open");
        let reach = history.reach(&reader, last).expect("it is read");
        assert_eq!((reach.lag, reach.filled_to), (0, last));
        let query =
            AuditQuery { namespace: "default".to_owned(), most: WAITING_MAX, ..AuditQuery::default() };
        let (acts, _) = reader.audit(&query).expect("it is read");
        let oldest = acts.last().map(|act| act.revision);
        assert_eq!((acts.first().map(|act| act.revision), oldest), (Some(last), Some(reach.since + 1)));
        assert!(reach.since > 0 && acts.len() as u64 == last - reach.since);
    }
}
