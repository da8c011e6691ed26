//! The connection that the handles of one journal share, with a thread of its own: whoever waits for an answer may
//! block, and is not what the connection needs to live.
//!
//! # Is it still the same stream?
//! An expected last sequence compares numbers. A stream that lost its end and grew again has the same numbers with
//! other records behind them. So this side remembers the last record it wrote or read, and whenever it may be talking
//! to somebody else (connected anew, or the stream has another leader) it reads that one again before anything goes on.

use std::{
    io::{Error, ErrorKind},
    sync::{Arc, Mutex, MutexGuard, atomic::Ordering},
    time::{Duration, Instant},
};

use async_nats::jetstream::{
    Context,
    stream::{Info, RawMessageErrorKind, Stream},
};
use tokio::sync::{oneshot, watch};

use super::{
    Settings, streams,
    tail::{self, Heard, millis},
};
use crate::{JournalError, Millis, Position, Record, Room};

/// How long one answer of the servers may take.
pub(super) const ANSWER_MAX: Duration = Duration::from_secs(3);
/// How long a new leader may lack records that it must have, before they are called lost.
const LOST_AFTER: Duration = Duration::from_secs(10);
/// How long the tail is waited for when it is to tell a record's time.
const HEARD_MAX: Duration = Duration::from_millis(50);

pub(super) struct Link {
    pub settings: Settings,
    pub context: Context,
    pub records: Stream<()>,
    pub heard: Arc<watch::Sender<Heard>>,
    /// What the operator has to know for as long as the journal is open.
    pub notes: Vec<String>,
    /// When the stream was made: another one with its name is another journal.
    born: Millis,
    /// Counts the connections.
    statistics: Arc<async_nats::Statistics>,
    seen: Mutex<Seen>,
    /// Ends the thread when it is dropped.
    _stop: oneshot::Sender<()>,
}

#[derive(Default)]
struct Seen {
    /// The last record that was written or read.
    last: Option<Print>,
    verified: Epoch,
    leader: Option<String>,
    /// How often the stream was seen to have another leader.
    leaders: u64,
    /// Since when the stream has been shorter than it was.
    short_since: Option<Instant>,
    reserve: bool,
    is_replicated: bool,
}

/// Grows whenever somebody else may be answering.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct Epoch {
    connects: u64,
    leaders: u64,
}

/// Enough of a record to know it again.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Print {
    position: Position,
    at: Millis,
    length: usize,
    crc: u32,
}

impl From<&Record> for Print {
    fn from(record: &Record) -> Self {
        let Record { position, at, bytes } = record;
        Self { position: *position, at: *at, length: bytes.len(), crc: crc32c::crc32c(bytes) }
    }
}

/// What the stream is like just now, by the word of its leader.
#[derive(Clone, Copy, Debug)]
pub(super) struct State {
    /// The oldest record that is kept, or the next position if there is none.
    pub first: Position,
    pub last: Position,
    /// Of an average record.
    pub record_bytes: u64,
    /// Of the last record.
    pub last_at: Millis,
}

impl Link {
    /// Connects, makes or checks the streams, and begins to listen.
    pub async fn open(settings: Settings) -> Result<Arc<Link>, JournalError> {
        let (ready, opened) = oneshot::channel();
        let (stop, stopped) = oneshot::channel();
        let place = settings.place();
        let thread = std::thread::Builder::new().name("maitred-nats".to_owned());
        let started = thread.spawn(move || keep(settings, stop, ready, stopped));
        started.map_err(|source| JournalError::Io { place: place.clone(), source })?;
        opened.await.unwrap_or_else(|_| Err(failed(&place, ErrorKind::Other, "its thread ended")))
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    pub fn room(&self) -> Room {
        if self.seen().reserve { Room::Reserve } else { Room::Ample }
    }

    /// Whether more than one server has to agree.
    pub fn is_replicated(&self) -> bool {
        self.seen().is_replicated
    }

    /// What the stream's leader says of it, once it is sure that this is still the stream we know.
    pub async fn state(&self) -> Result<State, JournalError> {
        let info = self.info().await?;
        self.check_born(&info)?;
        self.note(&info);
        self.verify().await?;
        let state = info.state;
        let empty = state.messages == 0;
        Ok(State {
            first: if empty { state.last_sequence + 1 } else { state.first_sequence },
            last: state.last_sequence,
            record_bytes: state.bytes.checked_div(state.messages).unwrap_or(0),
            last_at: millis(state.last_timestamp.into()),
        })
    }

    pub async fn info(&self) -> Result<Info, JournalError> {
        let info = self.records.get_info().await;
        info.map_err(|error| unreachable(&self.settings.place(), &error.to_string()))
    }

    fn check_born(&self, info: &Info) -> Result<(), JournalError> {
        if millis(info.created.into()) == self.born {
            return Ok(());
        }
        Err(self.lost("the stream was deleted and made anew".to_owned()))
    }

    fn note(&self, info: &Info) {
        let leader = info.cluster.as_ref().and_then(|cluster| cluster.leader.clone());
        let mut seen = self.seen();
        if leader.is_some() && leader != seen.leader {
            seen.leader = leader;
            seen.leaders += 1;
        }
        let max = u64::try_from(info.config.max_bytes).unwrap_or(0);
        seen.is_replicated = info.config.num_replicas > 1;
        seen.reserve = max > 0 && info.state.bytes > max - max / 10;
    }

    /// Remembers the last record that was written or read.
    pub fn knows(&self, record: &Record) {
        let mut seen = self.seen();
        if seen.last.is_none_or(|last| last.position < record.position) {
            seen.last = Some(record.into());
        }
    }

    /// If somebody else may be answering by now: whether they have the last record as we know it. Once before
    /// something is sent and once behind its answer, it says that all of it was with whom we know.
    pub async fn verify(&self) -> Result<(), JournalError> {
        let (epoch, known) = {
            let seen = self.seen();
            let epoch =
                Epoch { connects: self.statistics.connects.load(Ordering::SeqCst), leaders: seen.leaders };
            (epoch, seen.last.filter(|_| seen.verified != epoch))
        };
        let Some(known) = known else { return Ok(()) };
        match self.get(known.position).await? {
            Some(record) if Print::from(&record) == known => {
                let mut seen = self.seen();
                seen.verified = epoch;
                seen.short_since = None;
                Ok(())
            }
            Some(_) => Err(self.lost(format!("record {} was there and is another one", known.position))),
            None => self.is_short(known.position).await,
        }
    }

    /// The record is not there. It may have been let go by another node, or a new leader is only catching up.
    pub async fn is_short(&self, position: Position) -> Result<(), JournalError> {
        if self.info().await?.state.first_sequence > position {
            return Ok(());
        }
        let since = *self.seen().short_since.get_or_insert_with(Instant::now);
        if since.elapsed() < LOST_AFTER {
            let what = format!("the record at {position} is not there (yet)");
            return Err(unreachable(&self.settings.place(), &what));
        }
        Err(self.lost(format!("it ends before record {position}, which was there")))
    }

    /// Everything is there that was: whatever lacked before was only on its way.
    pub fn is_long_enough(&self) {
        self.seen().short_since = None;
    }

    pub fn place_of(&self, position: Position) -> String {
        format!("{}, record {position}", self.settings.place())
    }

    /// One record, from the leader; none if it has none there.
    pub async fn get(&self, position: Position) -> Result<Option<Record>, JournalError> {
        match self.records.raw_message_builder().sequence(position).send().await {
            Ok(message) => {
                let at = millis(message.time.into());
                Ok(Some(Record { position: message.sequence, at, bytes: message.payload }))
            }
            Err(error) if error.kind() == RawMessageErrorKind::NoMessageFound => Ok(None),
            Err(error) => Err(unreachable(&self.settings.place(), &error.to_string())),
        }
    }

    /// When the record was written that was acknowledged just now: the acknowledgement does not tell.
    pub async fn time_of(&self, position: Position) -> Result<Millis, JournalError> {
        let mut heard = self.heard.subscribe();
        let comes = heard.wait_for(|heard| !heard.live || heard.newest >= position);
        if let Ok(Ok(heard)) = tokio::time::timeout(HEARD_MAX, comes).await
            && let Some(at) = heard.at(position)
        {
            return Ok(at);
        }
        self.doubt();
        let record = self.get(position).await?;
        let missing =
            || unreachable(&self.settings.place(), &format!("record {position} is not there (yet)"));
        record.map(|record| record.at).ok_or_else(missing)
    }

    /// The tail did not tell what it should have.
    pub fn doubt(&self) {
        self.heard.send_if_modified(|heard| std::mem::replace(&mut heard.live, false));
    }

    fn lost(&self, what: String) -> JournalError {
        JournalError::Lost { place: self.settings.place(), what }
    }
}

pub(super) fn unreachable(place: &str, what: &str) -> JournalError {
    JournalError::Unreachable { place: place.to_owned(), what: what.to_owned() }
}

pub(super) fn failed(place: &str, kind: ErrorKind, what: &str) -> JournalError {
    JournalError::Io { place: place.to_owned(), source: Error::new(kind, what) }
}

type Ready = oneshot::Sender<Result<Arc<Link>, JournalError>>;

/// The thread: keeps the connection and listens until the last handle is gone.
fn keep(settings: Settings, stop: oneshot::Sender<()>, ready: Ready, stopped: oneshot::Receiver<()>) {
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(source) => {
            let _ = ready.send(Err(JournalError::Io { place: settings.place(), source }));
            return;
        }
    };
    runtime.block_on(async move {
        let link = match begin(settings, stop).await {
            Ok(link) => Arc::new(link),
            Err(error) => {
                let _ = ready.send(Err(error));
                return;
            }
        };
        let client = link.context.client();
        let listen = tail::run(client, link.records.clone(), Arc::clone(&link.heard));
        if ready.send(Ok(link)).is_ok() {
            // The sender is dropped with the last handle.
            tokio::select! { () = listen => {}, _ = stopped => {} }
        }
    });
}

async fn begin(settings: Settings, stop: oneshot::Sender<()>) -> Result<Link, JournalError> {
    let context = streams::connect(&settings).await?;
    let (info, notes) = streams::prepare(&context, &settings).await?;
    let records = context
        .get_stream_no_info(&settings.stream)
        .await
        .map_err(|error| unreachable(&settings.place(), &error.to_string()))?;
    let heard = Heard::from(info.state.last_sequence);
    Ok(Link {
        records,
        heard: Arc::new(watch::Sender::new(heard)),
        notes,
        born: millis(info.created.into()),
        statistics: context.client().statistics(),
        context,
        seen: Mutex::default(),
        _stop: stop,
        settings,
    })
}
