//! What a person sees while a command waits for a slot: on stderr, one line that is redrawn on a terminal, plain
//! lines now and then elsewhere, nothing with `--json`.

use std::{
    io::{self, IsTerminal, Write},
    time::Duration,
};

use maitred_api::{Answer, Call, LimitInfo, SlotAnswer, SlotState};
use tokio::time::Instant;

use crate::cli::{output, session::Session, text};

/// A short wait shows nothing.
const FIRST_AFTER: Duration = Duration::from_millis(500);
const REDRAWN_EVERY: Duration = Duration::from_secs(1);
const TOLD_EVERY: Duration = Duration::from_secs(30);
/// How long the line may take to be looked up.
const LOOK_WITHIN: Duration = Duration::from_secs(2);

pub struct Progress {
    started: Instant,
    next: Instant,
    redrawn: bool,
    silent: bool,
    drawn: bool,
}

impl Progress {
    pub fn new(silent: bool) -> Self {
        let started = Instant::now();
        let redrawn = io::stderr().is_terminal();
        Progress { started, next: started + FIRST_AFTER, redrawn, silent, drawn: false }
    }

    /// Resolves when the next line is due. Cancel safe.
    pub async fn due(&self) {
        match self.silent {
            true => std::future::pending().await,
            false => tokio::time::sleep_until(self.next).await,
        }
    }

    pub fn waited(&self) -> String {
        text::span(u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX))
    }

    pub async fn show(&mut self, session: &Session, slot: &str, limit: &str) {
        self.next = Instant::now() + if self.redrawn { REDRAWN_EVERY } else { TOLD_EVERY };
        let looked = tokio::time::timeout(LOOK_WITHIN, look(session, slot, limit)).await;
        if let Ok(Some((answer, limit))) = looked {
            self.say(&self.sentence(&answer, &limit));
        }
    }

    pub fn say(&mut self, line: &str) {
        if self.silent {
        } else if self.redrawn {
            let _ = write!(anstream::stderr().lock(), "\r\x1b[K{}", text::safe(line));
            self.drawn = true;
        } else {
            output::note(line);
        }
    }

    /// Takes the redrawn line away before anything else is printed.
    pub fn clear(&mut self) {
        if self.drawn {
            let _ = write!(anstream::stderr().lock(), "\r\x1b[K");
            self.drawn = false;
        }
    }

    fn sentence(&self, answer: &SlotAnswer, limit: &LimitInfo) -> String {
        let place = answer.slot.place.unwrap_or(1);
        let elapsed = text::clock(u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX));
        let gives_up = answer.slot.gives_up_at.map(|at| text::span(at.saturating_sub(answer.as_of)));
        let gives_up = gives_up.map(|left| format!(", gives up in {left}")).unwrap_or_default();
        let paused = if limit.paused { ", which is paused" } else { "" };
        let waiting = u64::from(limit.waiting).max(place);
        format!("waiting for `{}`{paused}: position {place} of {waiting}, {elapsed}{gives_up}", limit.limit)
    }
}

async fn look(session: &Session, slot: &str, limit: &str) -> Option<(SlotAnswer, LimitInfo)> {
    let call = Call::Slot { slot: slot.to_owned(), wait: Default::default() };
    let Ok(Answer::Slot(answer)) = session.call(call).await else { return None };
    if answer.slot.state != SlotState::Queued {
        return None;
    }
    let Ok(Answer::Limit(limit)) = session.call(Call::Limit { limit: limit.to_owned() }).await else {
        return None;
    };
    Some((answer, limit.limit))
}
