//! Scenario files: stories about the rules, played in virtual time.
//!
//! ```text
//! 0s   declare voice capacity=1 max_hold=45m     => ok
//! 0s   acquire voice slot=a confirm=auto         => busy
//! 1s   acquire voice slot=b                      => queued 1
//! 45m  slot a                                    => expired
//! 45m  slot b                                    => reserved
//! ```
//!
//! Each line says when, what is asked, and what must come. Here nothing is simulated: the calls go to a real node
//! (or over HTTP to a real server) whose clock is moved by hand. The format is described in `scenarios/README.md`.

mod args;
mod expect;
mod parse;
mod play;
pub(crate) mod shared;
mod world;

use std::path::Path;

use serde::Serialize;

pub use expect::{Expected, Reply};
pub use parse::{Command, Line, Wrong, parse};
pub use world::{Stage, World};

use crate::scenario::play::Player;

/// How one file went.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Report {
    pub file: String,
    /// Lines that were played.
    pub lines: usize,
    pub differ: Vec<Difference>,
    /// Why the file was not played, or not to its end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trouble: Option<String>,
}

/// A line whose answer was another one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Difference {
    pub line: usize,
    pub command: String,
    pub expected: String,
    pub came: String,
}

impl Report {
    pub fn passed(&self) -> bool {
        self.differ.is_empty() && self.trouble.is_none()
    }
}

/// Reads and plays one file on a stage of its own.
pub async fn play_file(path: &Path, stage: &Stage) -> Report {
    let file = path.display().to_string();
    match std::fs::read_to_string(path) {
        Ok(text) => play_text(&file, &text, stage).await,
        Err(error) => Report { trouble: Some(format!("{file}: {error}")), file, ..Report::default() },
    }
}

/// Plays the text of a file; `file` is its name for people.
pub async fn play_text(file: &str, text: &str, stage: &Stage) -> Report {
    let mut report = Report { file: file.to_owned(), ..Report::default() };
    let lines = match parse(text) {
        Ok(lines) => lines,
        Err(wrong) => {
            report.trouble = Some(format!("{file}:{wrong}"));
            return report;
        }
    };
    match Player::start(stage).await {
        Ok(mut player) => {
            player.play(&lines, &mut report).await;
            player.end().await;
        }
        Err(trouble) => report.trouble = Some(format!("{file}: {trouble}")),
    }
    report
}
