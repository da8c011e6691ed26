//! Starting a node: the journal and the history opened, the two engines put to work.

use std::{
    path::PathBuf,
    sync::{Arc, Mutex, atomic::AtomicU64},
    thread::JoinHandle,
};

use maitred_engine::names::Namespace;
use maitred_journal::{Journal, Memory};
use tokio::sync::{mpsc, watch};

use super::{
    Node,
    clock::boot_ms,
    history::{Filler, History, Keep},
    metrics::Counters,
    open::{self, Opened},
    sequencer::Sequencer,
    series::Series,
    shadow::{SNAPSHOT_EVERY, SNAPSHOT_EVERY_BYTES, Shadow},
    shell::{Desk, Shell},
    stream::Stream,
    timekeeper::Clocks,
};

/// How a node is started.
#[derive(Clone, Default)]
pub struct NodeOptions {
    /// The data folder: `journal/` and `history.sqlite` in it. None keeps everything in memory, for tests and throw-away servers.
    pub folder: Option<PathBuf>,
    /// The journal in a database or a stream that several nodes share, as a URL (`postgres://…`, `nats://…`); the folder then only holds the
    /// history.
    pub journal: Option<String>,
    /// No other node is on that journal, now or later: whoever wrote before this one is gone. For rehearsals.
    pub is_alone: bool,
    /// Take a shared journal although its store is set up so that it may lose what it acknowledged.
    pub accept_weaker_durability: bool,
    /// Go on with what a shared journal has, although this node's folder tells that it had more.
    pub accept_lost_end: bool,
    /// Without a folder: this journal in memory, so that a node started later finds what one before it left.
    pub memory: Option<Memory>,
    /// Time stands still until [`Node::advance_to`] moves it. For rehearsals and scenario files.
    pub manual_clock: bool,
    /// Take the machine's clock even after a gap of more than a day or a step back.
    pub accept_clock: bool,
    /// Namespaces whose rates and places are answered when written: a killed process loses none of them, a power
    /// loss may forget the last moments. Slots are always synced.
    pub rates_when_written: Vec<String>,
}

/// Why a node did not start. The message names the place and the way out.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct StartError(pub String);

impl Node {
    /// Opens the journal, replays it and starts the sequencer's thread.
    pub async fn start(options: NodeOptions) -> Result<Node, StartError> {
        Self::start_on(open::journal(&options).await?, options).await
    }

    /// The same on a journal of the caller's; the options' folder then only holds the history.
    pub async fn start_on(journal: Box<dyn Journal>, options: NodeOptions) -> Result<Node, StartError> {
        let written = options.rates_when_written.iter().map(|name| Namespace::parse(name));
        let written = written.collect::<Result<_, _>>().map_err(|error| StartError(error.to_string()))?;
        let Opened { journal, follower, writer, clock } = open::bring_up(journal, &options).await?;
        let seen = open::seen(&options, &*journal, &follower).await?;
        let awake = open::awake(&options, &*journal, &*clock);
        let (head, head_seen) = watch::channel(follower.head());
        let filler = Filler::open(options.folder.as_deref(), Keep::default(), follower.head());
        let history = History { shelf: filler.shelf(), progress: filler.progress() };
        let series = Arc::new(Series::new());
        let shadow = Shadow {
            series: Arc::clone(&series),
            archive: journal.archive(),
            head: head_seen,
            seen,
            awake,
            history: filler,
            snapshot_every: SNAPSHOT_EVERY,
            snapshot_every_bytes: SNAPSHOT_EVERY_BYTES,
        };
        let mut sequencer = Sequencer::new(follower, writer, options.manual_clock);
        sequencer.answer_when_written(written);
        let is_shared = journal.is_shared();
        if is_shared {
            sequencer.share(Clocks { boot: boot_ms(), store: None });
        }
        if !is_shared || options.is_alone {
            sequencer.take_over();
        }
        let (inbox, messages) = mpsc::unbounded_channel();
        let (failed, failed_seen) = watch::channel(None);
        let stream = Arc::new(Stream::new());
        let archive = journal.archive();
        let heard_at = Arc::new(AtomicU64::new(u64::MAX));
        let desk = Desk {
            sequencer,
            // A store that others share has a clock of its own.
            store_clock: (!is_shared).then_some(clock),
            inbox: messages,
            failed: failed.clone(),
            counters: Counters::new(),
            head,
            stream: Arc::clone(&stream),
            heard_at: Arc::clone(&heard_at),
            room: journal.room(),
            notes: journal.notes(),
            is_closed: false,
            is_stopping: false,
            history: history.clone(),
        };
        let shell = Shell { desk, journal, archive, appended_at: None, attest_at: None };
        let shadow = spawn("maitred-shadow", async move {
            if let Err(halt) = shadow.run().await {
                failed.send_replace(Some(halt.to_string()));
            }
        })?;
        let sequencer = spawn("maitred-sequencer", shell.run())?;
        Ok(Node {
            inbox,
            lines: Arc::new(AtomicU64::new(1)),
            failed: failed_seen,
            stream,
            heard_at,
            history,
            series,
            threads: Arc::new(Mutex::new(vec![sequencer, shadow])),
        })
    }
}

/// A thread with a small runtime of its own: what it does may block, and nobody else waits for it.
fn spawn(name: &str, work: impl Future<Output = ()> + Send + 'static) -> Result<JoinHandle<()>, StartError> {
    let cannot = |error: std::io::Error| StartError(format!("the thread {name} cannot be started: {error}"));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(cannot)?;
    std::thread::Builder::new().name(name.to_owned()).spawn(move || runtime.block_on(work)).map_err(cannot)
}
