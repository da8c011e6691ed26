//! What a person sees while it runs, on stderr.

use std::{
    io::{IsTerminal, Write, stderr},
    time::{Duration, Instant},
};

pub struct Progress {
    pub records: usize,
    pub done: usize,
    pub server_kills: usize,
    pub worker_kills: usize,
    since: Instant,
    shown: Instant,
    /// A line that is written over, or a line now and then.
    is_live: bool,
}

impl Progress {
    pub fn new(records: usize) -> Self {
        let now = Instant::now();
        let is_live = stderr().is_terminal();
        Self { records, done: 0, server_kills: 0, worker_kills: 0, since: now, shown: now, is_live }
    }

    pub fn show(&mut self, in_flight: usize) {
        let every = if self.is_live { Duration::from_millis(200) } else { Duration::from_secs(5) };
        if self.shown.elapsed() < every {
            return;
        }
        self.shown = Instant::now();
        let line = self.line(in_flight);
        let mut err = stderr().lock();
        let _ = if self.is_live { write!(err, "\r{line}\x1b[K") } else { writeln!(err, "{line}") };
        let _ = err.flush();
    }

    pub fn show_last(&self) {
        let start = if self.is_live { "\r" } else { "" };
        let end = if self.is_live { "\x1b[K" } else { "" };
        let _ = writeln!(stderr(), "{start}{}{end}", self.line(0));
    }

    fn line(&self, in_flight: usize) -> String {
        format!(
            "{:5.1} s  {:6} of {} records done, {in_flight:3} in flight; killed so far: server {}, workers {}",
            self.since.elapsed().as_secs_f64(),
            self.done,
            self.records,
            self.server_kills,
            self.worker_kills
        )
    }

    pub fn took(&self) -> Duration {
        self.since.elapsed()
    }
}
