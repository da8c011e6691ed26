//! Ends that nobody was told of: a slot ended while no courier listened, since its server was killed just then, or
//! since what happened was more than a courier could follow. Its run would sleep until its own time is up.
//!
//! They stand in the history. So a courier that begins to listen looks back, as far as the limiter knows how a slot
//! ended, and the runs that go on, or of which their app says nothing, are told of what they waited for. Most of them
//! have heard of it long ago; those do not listen any more, and their app says so.

use std::{sync::Arc, time::Duration};

use maitred_api::{Answer, Call, EndedSlot, HistoryAnswer};
use tokio::{
    sync::mpsc,
    time::{Instant, sleep},
};

use super::{
    client::{STATES_MOST, Standing},
    courier::Ways,
    notice::About,
    survey::standings,
};

/// Later the limiter has forgotten how a slot ended.
const LOOK_BACK_MS: u64 = 24 * 3_600_000;
const PAGE: u32 = 1_000;
/// Behind so many ends nobody is told any more: the runs ask by themselves.
const PAGES_MOST: usize = 100;
/// The history is filled behind the journal.
const FILLED_WITHIN: Duration = Duration::from_secs(60);
const LOOKED_AGAIN_AFTER: Duration = Duration::from_millis(100);

/// Finds what ended up to this revision.
pub async fn look_back(ways: Arc<Ways>, revision: u64, found: mpsc::Sender<About>) {
    let since = ways.node.now().await.saturating_sub(LOOK_BACK_MS);
    let mut before = None;
    for _ in 0..PAGES_MOST {
        let Some(page) = page(&ways, before.take(), revision).await else { return };
        // What ended since then is heard as it happens.
        let missed = page.ends.iter().filter(|end| end.revision <= revision);
        let ended: Vec<About> = missed.filter_map(|end| about(&ways, end)).collect();
        for some in ended.chunks(STATES_MOST) {
            for about in going_on(&ways, some).await {
                if found.send(about).await.is_err() {
                    return;
                }
            }
        }
        let is_recent = page.ends.last().is_some_and(|oldest| oldest.ended_at > since);
        match page.next.filter(|_| is_recent) {
            Some(next) => before = Some(next),
            None => return,
        }
    }
}

/// A page of the history, once that is as far as the revision.
async fn page(ways: &Ways, before: Option<String>, revision: u64) -> Option<HistoryAnswer> {
    let until = Instant::now() + FILLED_WITHIN;
    let call = Call::History { limit: None, slot: None, run: None, label: None, before, most: Some(PAGE) };
    loop {
        let why = match ways.node.call(&ways.context, call.clone()).await {
            Ok(Answer::History(page)) if page.reach.filled_to >= revision => return Some(page),
            Ok(Answer::History(page)) => page.reach.trouble,
            Ok(_) => None,
            Err(problem) => Some(problem.to_string()),
        };
        if why.is_some() || Instant::now() >= until {
            tracing::warn!(why, "what ended before is not known; runs that missed it ask by themselves");
            return None;
        }
        sleep(LOOKED_AGAIN_AFTER).await;
    }
}

/// An end that ended a wait, of a run that an app may have.
fn about(ways: &Ways, end: &EndedSlot) -> Option<About> {
    let run = end.run.clone().filter(|run| end.ended_a_wait() && ways.apps_of(run).next().is_some())?;
    Some(About { slot: end.slot.clone(), limit: end.limits.first()?.limit.clone(), run })
}

async fn going_on(ways: &Ways, ended: &[About]) -> Vec<About> {
    let runs: Vec<&str> = ended.iter().map(|about| about.run.as_str()).collect();
    let standings = standings(ways, &runs).await;
    let goes_on = |about: &&About| {
        let said = standings.get(about.run.as_str()).map(Vec::as_slice).unwrap_or_default();
        said.iter().any(|standing| matches!(standing, Standing::Running | Standing::Unknown))
    };
    ended.iter().filter(goes_on).cloned().collect()
}
