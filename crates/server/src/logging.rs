//! What the server says while it runs: text on a terminal, JSON lines otherwise, on stderr.
//!
//! A thread of its own writes it. Whoever reads stderr may stop reading: a collector that hangs, Ctrl-S on a terminal. Then
//! a write stands still, and it must not be that of a thread which serves callers. Lines for which the queue to the
//! writer has no room are lost; how many, is said as soon as lines are taken again.

use std::{
    io::{self, IsTerminal, Write, stderr},
    sync::{
        OnceLock,
        atomic::{AtomicU64, Ordering},
        mpsc::{Receiver, SyncSender, TryRecvError, TrySendError, sync_channel},
    },
    thread,
    time::{Duration, Instant},
};

use tracing_subscriber::{EnvFilter, filter::ParseError};

/// Lines that wait to be written.
const LINES_MOST: usize = 4_096;
/// How long the end of the server waits for what it said last.
const FLUSHED_WITHIN: Duration = Duration::from_secs(1);

static QUEUE: OnceLock<SyncSender<Piece>> = OnceLock::new();
static LOST: AtomicU64 = AtomicU64::new(0);

enum Piece {
    Line(Vec<u8>),
    /// Answered when everything before it is written.
    Mark(SyncSender<()>),
}

/// Starts logging at a level or by a filter such as `info,maitred=debug`. Only the first start counts.
pub fn start(filter: &str) -> Result<(), ParseError> {
    let filter = EnvFilter::builder().parse(filter)?;
    let queue = QUEUE.get_or_init(|| {
        let (queue, pieces) = sync_channel(LINES_MOST);
        thread::spawn(move || write(&pieces));
        queue
    });
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(|| Queued(queue));
    let is_terminal = stderr().is_terminal();
    // Fails where a log runs already, as in tests.
    let _ = match is_terminal {
        true => builder.with_ansi(true).with_target(false).try_init(),
        false => builder.json().flatten_event(true).try_init(),
    };
    Ok(())
}

/// Waits until what was said is written, if it is taken in time. To be called before the process ends.
pub fn flush() {
    let Some(queue) = QUEUE.get() else { return };
    let (written, is_written) = sync_channel(1);
    let began = Instant::now();
    let mut mark = Piece::Mark(written);
    while let Err(TrySendError::Full(again)) = queue.try_send(mark) {
        if began.elapsed() > FLUSHED_WITHIN {
            return;
        }
        mark = again;
        thread::sleep(Duration::from_millis(10));
    }
    let _ = is_written.recv_timeout(FLUSHED_WITHIN);
}

/// A line comes as one write.
struct Queued<'a>(&'a SyncSender<Piece>);

impl Write for Queued<'_> {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        if self.0.try_send(Piece::Line(line.to_vec())).is_err() {
            LOST.fetch_add(1, Ordering::Relaxed);
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Until the process ends.
fn write(pieces: &Receiver<Piece>) {
    loop {
        let piece = match pieces.try_recv() {
            Err(TryRecvError::Empty) => {
                tell_lost();
                pieces.recv()
            }
            other => other.map_err(|_| std::sync::mpsc::RecvError),
        };
        let _ = match piece {
            Ok(Piece::Line(line)) => stderr().write_all(&line), // closed: nobody wants to know
            Ok(Piece::Mark(written)) => written.send(()).map_err(io::Error::other),
            Err(_) => return,
        };
    }
}

fn tell_lost() {
    let lost = LOST.swap(0, Ordering::Relaxed);
    if lost > 0 {
        tracing::warn!(lost, "lines of this log were lost, for nobody took them in time");
    }
}
