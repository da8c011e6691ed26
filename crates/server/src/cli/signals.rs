//! The signals that end a command, or that it passes on.

use std::{io, process::ExitStatus};

use rustix::process::Signal;
use tokio::signal::unix::{SignalKind, signal};

/// Signals that are caught from the moment this exists: what would kill the process must not keep it from giving
/// back what it holds.
pub struct Signals {
    caught: Vec<(Signal, tokio::signal::unix::Signal)>,
}

const ENDING: [(Signal, SignalKind); 4] = [
    (Signal::INT, SignalKind::interrupt()),
    (Signal::TERM, SignalKind::terminate()),
    (Signal::HUP, SignalKind::hangup()),
    (Signal::QUIT, SignalKind::quit()),
];

const OTHER: [(Signal, SignalKind); 2] =
    [(Signal::USR1, SignalKind::user_defined1()), (Signal::USR2, SignalKind::user_defined2())];

impl Signals {
    /// Those that ask a process to end.
    pub fn ending() -> io::Result<Signals> {
        Self::catch(&ENDING)
    }

    /// Those, and those that mean whatever the program says.
    pub fn all() -> io::Result<Signals> {
        Self::catch(&[ENDING.as_slice(), OTHER.as_slice()].concat())
    }

    fn catch(kinds: &[(Signal, SignalKind)]) -> io::Result<Signals> {
        let caught = kinds.iter().map(|(name, kind)| Ok((*name, signal(*kind)?)));
        Ok(Signals { caught: caught.collect::<io::Result<_>>()? })
    }

    /// The next one. Cancel safe.
    pub async fn next(&mut self) -> Signal {
        std::future::poll_fn(|context| {
            for (name, caught) in &mut self.caught {
                if caught.poll_recv(context).is_ready() {
                    return std::task::Poll::Ready(*name);
                }
            }
            std::task::Poll::Pending
        })
        .await
    }
}

pub fn is_ending(signal: Signal) -> bool {
    ENDING.iter().any(|(name, _)| *name == signal)
}

/// The status of a process that this signal ended.
pub fn exit_of(signal: Signal) -> u8 {
    super::exit::SIGNAL.saturating_add(u8::try_from(signal.as_raw()).unwrap_or(0))
}

/// The child's status as our own.
pub fn passed_on(status: ExitStatus) -> u8 {
    use std::os::unix::process::ExitStatusExt;
    let ended_by = status.signal().and_then(|raw| u8::try_from(raw).ok());
    match (status.code(), ended_by) {
        (Some(code), _) => u8::try_from(code & 0xff).unwrap_or(super::exit::FAILED),
        (None, Some(raw)) => super::exit::SIGNAL.saturating_add(raw),
        (None, None) => super::exit::FAILED,
    }
}
