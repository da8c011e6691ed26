//! A second engine behind the writer's back: it takes the same records from the durable journal, fills the history
//! from them, and makes the snapshots. So each snapshot also proves that snapshot plus records is the state, and
//! neither costs the writer anything.
//!
//! The history is written, and the series are kept, before the snapshot that covers the same records. So after a restart
//! from the newest snapshot no record is missing from either, and those that are in them already are passed over. While
//! the history cannot be written (`history/filler.rs`) snapshots are made all the same: the limiter comes first.

use std::{
    future::pending,
    io::ErrorKind,
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};

use maitred_engine::time::Millis;
use maitred_journal::{Archive, JournalError, Position};
use tokio::sync::watch;

use super::{
    awake::Awake,
    follower::{Follower, Halt},
    history::{Filler, Rows},
    open,
    seen::Seen,
    series::{Gathered, Series},
};

/// A snapshot is made when this many records came since the last.
pub const SNAPSHOT_EVERY: Position = 50_000;
/// Or when the records since the last have so many bytes: a start must not read for minutes what came in large records.
pub const SNAPSHOT_EVERY_BYTES: usize = 256 * 1024 * 1024;
/// So long it goes on when the writer is gone. What it has not taken by then is taken by the next start.
const LAST_WITHIN: Duration = Duration::from_secs(3);
/// How long it lets records gather before it takes them.
const GATHER: Duration = Duration::from_millis(50);
const READ_BYTES: usize = 4 * 1024 * 1024;

/// How far it has come.
struct Way {
    /// Up to this record all is in the series.
    counted_to: Position,
    /// Since the last snapshot.
    bytes: usize,
    /// When to leave off; known when the writer is gone.
    until: Option<Instant>,
}

pub struct Shadow {
    pub archive: Box<dyn Archive>,
    /// The durable head, as the writer tells it; closed when the writer is gone.
    pub head: watch::Receiver<Position>,
    /// Of a shared journal.
    pub seen: Option<Seen>,
    /// Of a local one in a folder: where that is, and the time at the start.
    pub awake: Option<(PathBuf, Millis)>,
    pub history: Filler,
    pub series: Arc<Series>,
    pub snapshot_every: Position,
    pub snapshot_every_bytes: usize,
}

impl Shadow {
    /// Runs until the writer is gone and everything it left is taken, or nearly: a stop does not wait for what a start
    /// began.
    pub async fn run(mut self) -> Result<(), Halt> {
        let mut follower = open::newest_snapshot(&mut *self.archive).await?;
        self.history.begin_at(follower.head(), follower.now());
        let mut way = Way { counted_to: self.begin_series(&follower), bytes: 0, until: None };
        let mut kept = follower.head();
        let mut kept_before = None;
        let mut next = kept + self.snapshot_every;
        let mut awake = self.awake.take().map(|(folder, now)| Awake::begin(&folder, now));
        loop {
            let writer_is_gone = tokio::select! {
                changed = self.head.changed() => changed.is_err(),
                () = is_due(&mut awake) => {
                    awake.as_ref().inspect(|awake| awake.note());
                    continue;
                }
                () = self.history.is_due() => {
                    self.history.write();
                    continue;
                }
            };
            self.series.at_work(true);
            if !writer_is_gone {
                tokio::time::sleep(GATHER).await;
            }
            self.follow(&mut follower, &mut way).await?;
            self.series.at_work(false);
            if follower.head() >= next || way.bytes >= self.snapshot_every_bytes {
                way.bytes = 0;
                next = follower.head() + self.snapshot_every;
                self.history.keep_series(follower.head(), || self.series.encode());
                if self.save(&follower, kept_before).await? {
                    kept_before = Some(kept);
                    kept = follower.head();
                }
            }
            if writer_is_gone {
                awake.as_ref().inspect(|awake| awake.note());
                self.history.write();
                self.history.keep_series(follower.head(), || self.series.encode());
                return Ok(());
            }
        }
    }

    /// Goes on with the series that were kept, or begins with how every limit stands. Answers up to which record all is
    /// counted.
    fn begin_series(&self, follower: &Follower) -> Position {
        match self.history.kept_series() {
            Some((counted_to, bytes)) if counted_to >= follower.head() => match self.series.restore(&bytes) {
                Ok(()) => return counted_to,
                Err(error) => tracing::warn!(%error, "the series that were kept cannot be read"),
            },
            _ => {}
        }
        follower.engine().inspect(|engine| self.series.begin(engine));
        follower.head()
    }

    /// Whether the writer is gone, and for too long to go on.
    fn is_late(&self, way: &mut Way) -> bool {
        let is_gone = self.head.has_changed().is_err();
        is_gone && *way.until.get_or_insert_with(|| Instant::now() + LAST_WITHIN) <= Instant::now()
    }

    async fn follow(&mut self, follower: &mut Follower, way: &mut Way) -> Result<(), Halt> {
        loop {
            if self.is_late(way) {
                return Ok(());
            }
            let records = match self.archive.read(follower.head(), READ_BYTES).await {
                Ok(records) => records,
                // It is tried again with the next record, or with the next that this node hears of.
                Err(JournalError::Unreachable { .. }) => return Ok(()),
                Err(error) => return Err(error.into()),
            };
            if records.is_empty() {
                return Ok(());
            }
            let filled_to = self.history.filled_to();
            let mut rows = Rows::default();
            let mut is_void = false;
            for record in &records {
                way.bytes += record.bytes.len();
                let is_counted = record.position <= way.counted_to;
                let mut gathered = Gathered::default();
                let applied = follower.take(record, |engine, _, command, _, events| {
                    if !is_counted {
                        gathered.add(engine, events);
                    }
                    if record.position > filled_to {
                        rows.add(record.position, command, events);
                    }
                })?;
                is_void = applied.void;
                if let (Some(engine), false) = (follower.engine(), is_counted) {
                    way.counted_to = record.position;
                    self.series.record(engine, gathered);
                }
            }
            if let Some(seen) = self.seen.as_mut().filter(|_| !is_void) {
                seen.note(follower);
            }
            self.history.fill(follower.head(), follower.now(), rows);
        }
    }

    /// Keeps the state, then lets go of the records that the snapshot before last already covers. False if there was
    /// no room for it: on a full disk the limiter goes on without, since what gives back must still work.
    async fn save(&mut self, follower: &Follower, before: Option<Position>) -> Result<bool, Halt> {
        match self.archive.claim_snapshot(follower.head(), self.snapshot_every).await {
            Ok(true) => {}
            // Another node makes one, or nobody can now: the next is soon enough.
            Ok(false) | Err(JournalError::Unreachable { .. }) => return Ok(false),
            Err(error) => return Err(error.into()),
        }
        let Some(snapshot) = follower.snapshot() else { return Ok(false) };
        match self.archive.save_snapshot(snapshot).await {
            Ok(()) => {}
            Err(JournalError::Unreachable { place, what }) => {
                tracing::warn!(%place, %what, "no snapshot was made");
                return Ok(false);
            }
            Err(JournalError::Io { source, place }) if source.kind() == ErrorKind::StorageFull => {
                tracing::warn!(%place, "no room for a snapshot; free space on the disk of the journal");
                return Ok(false);
            }
            Err(error) => return Err(error.into()),
        }
        match before {
            Some(position) => match self.archive.trim(position).await {
                Err(JournalError::Unreachable { .. }) | Ok(()) => Ok(true),
                Err(error) => Err(error.into()),
            },
            None => Ok(true),
        }
    }
}

async fn is_due(awake: &mut Option<Awake>) {
    match awake {
        Some(awake) => awake.is_due().await,
        None => pending().await,
    }
}

#[cfg(test)]
mod tests {
    use maitred_api::{Call, Context};
    use maitred_journal::{Journal, Memory, SystemClock};

    use super::*;
    use crate::local::{Node, NodeOptions, history::Keep};

    const RECORDS: u32 = 20;

    /// A journal of some records, and a second engine that has taken none of them.
    async fn written() -> (Memory, Shadow, watch::Sender<Position>) {
        let memory = Memory::local(Arc::new(SystemClock));
        let node = Node::start(NodeOptions { memory: Some(memory.clone()), ..NodeOptions::default() }).await;
        let node = node.expect("it starts");
        for _ in 0..RECORDS {
            let ended = node.call(&Context::default(), Call::Release { slot: "nobody".to_owned() });
            ended.await.expect("it is answered");
        }
        node.stop(Duration::from_secs(5)).await;
        let (head, head_seen) = watch::channel(0);
        let shadow = Shadow {
            archive: memory.journal().archive(),
            head: head_seen,
            seen: None,
            awake: None,
            history: Filler::open(None, Keep::default(), 0),
            series: Arc::new(Series::new()),
            snapshot_every: SNAPSHOT_EVERY,
            snapshot_every_bytes: SNAPSHOT_EVERY_BYTES,
        };
        (memory, shadow, head)
    }

    #[tokio::test]
    async fn large_records_have_a_snapshot_sooner() {
        for (most, is_made) in [(500, true), (SNAPSHOT_EVERY_BYTES, false)] {
            let (memory, mut shadow, head) = written().await;
            shadow.snapshot_every_bytes = most;
            drop(head);
            shadow.run().await.expect("it takes them");
            let snapshot = memory.journal().archive().snapshot().await.expect("it is read");
            assert_eq!(snapshot.is_some(), is_made, "{most}");
        }
    }

    #[tokio::test]
    async fn who_is_far_behind_at_the_stop_leaves_off() {
        let (_memory, mut shadow, head) = written().await;
        let mut follower = Follower::default();
        let mut way = Way { counted_to: 0, bytes: 0, until: Some(Instant::now()) };
        drop(head);
        shadow.follow(&mut follower, &mut way).await.expect("it is told to stop");
        assert_eq!(follower.head(), 0);
        way.until = None;
        shadow.follow(&mut follower, &mut way).await.expect("it has a moment");
        assert!(follower.head() >= Position::from(RECORDS), "{}", follower.head());
    }
}
