//! A look at everything that apps have to do with: reservations that nobody may have heard of, and runs that may be
//! over. One at a time, page by page, so that it costs the limiter little however many runs there are.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use maitred_api::{Answer, Call, HoldMode, RunInfo, RunStatus, RunsFields, SlotInfo, SlotState};
use tokio::sync::mpsc;

use super::{
    client::{STATES_MOST, Standing},
    courier::Ways,
    notice::About,
};

/// A run that its app does not know is over only if it asked for its slot longer ago than this: the app may be just
/// about to write it down.
const KNOWN_AFTER_MS: u64 = 60_000;

/// A run that is watched.
struct Watched {
    run: String,
    /// When it first asked for something that it has or waits for.
    asked_at: u64,
}

pub async fn look(ways: Arc<Ways>, found: mpsc::Sender<About>) {
    let mut after = None;
    loop {
        let call = Call::Runs(RunsFields { after: after.take(), ..RunsFields::default() });
        let Ok(Answer::Runs(page)) = ways.node.call(&ways.context, call).await else { return };
        let mut watched = Vec::new();
        for run in page.runs.iter().filter(|run| ways.apps_of(&run.run).next().is_some()) {
            for about in reservations(run) {
                if found.send(about).await.is_err() {
                    return;
                }
            }
            watched.extend(watch(run));
        }
        for some in watched.chunks(STATES_MOST) {
            settle(&ways, some, page.as_of).await;
        }
        match page.next {
            Some(next) => after = Some(next),
            None => return,
        }
    }
}

fn reservations(run: &RunInfo) -> impl Iterator<Item = About> {
    run.slots.iter().filter(|slot| slot.state == SlotState::Reserved).filter_map(About::of)
}

/// What its end would free: what it waits for, what is reserved for it, and what it holds for as long as it runs.
fn watch(run: &RunInfo) -> Option<Watched> {
    let is_freed = |slot: &&SlotInfo| match slot.state {
        SlotState::Queued | SlotState::Reserved => true,
        SlotState::Busy => slot.hold == Some(HoldMode::Run),
        _ => false,
    };
    let asked = run.slots.iter().filter(is_freed).map(|slot| slot.asked_at.unwrap_or_default());
    asked.min().map(|asked_at| Watched { run: run.run.clone(), asked_at })
}

async fn settle(ways: &Ways, watched: &[Watched], now: u64) {
    let runs: Vec<&str> = watched.iter().map(|watched| watched.run.as_str()).collect();
    let standings = standings(ways, &runs).await;
    for Watched { run, asked_at } in watched {
        let said = standings.get(run.as_str()).map(Vec::as_slice).unwrap_or_default();
        let is_old = now.saturating_sub(*asked_at) > KNOWN_AFTER_MS;
        if let Some(status) = over(said, is_old) {
            ways.end(run, status).await;
        }
    }
}

/// How these runs stand, in the word of every app that may have them. No more than [`STATES_MOST`].
pub async fn standings<'a>(ways: &Ways, runs: &[&'a str]) -> BTreeMap<&'a str, Vec<Standing>> {
    let mut standings: BTreeMap<&str, Vec<Standing>> = BTreeMap::new();
    for app in &ways.apps {
        let own: BTreeSet<&str> = runs.iter().copied().filter(|run| app.has(run)).collect();
        if own.is_empty() {
            continue;
        }
        let said = app.states(&own.iter().map(|run| (*run).to_owned()).collect::<Vec<_>>()).await;
        for run in own {
            standings.entry(run).or_default().push(said.get(run).copied().unwrap_or(Standing::Unknown));
        }
    }
    standings
}

/// Over, if every app that may have the run says that it has ended, or does not know it.
fn over(standings: &[Standing], is_old: bool) -> Option<RunStatus> {
    let mut ended = None;
    for &standing in standings {
        match standing.ended() {
            Some(status) => ended = Some(status),
            None if standing == Standing::NotFound && is_old => ended = ended.or(Some(RunStatus::Cancelled)),
            None => return None,
        }
    }
    ended
}

#[cfg(test)]
mod tests {
    use maitred_api::RunStatus;

    use super::{
        Standing::{Completed, Failed, NotFound, Running, Unknown},
        over,
    };

    #[test]
    fn only_word_of_every_app_ends_a_run() {
        assert_eq!(over(&[Completed], false), Some(RunStatus::Succeeded));
        assert_eq!(over(&[NotFound, Failed], true), Some(RunStatus::Failed));
        assert_eq!(over(&[Failed, NotFound], true), Some(RunStatus::Failed));
        assert_eq!(over(&[NotFound, NotFound], true), Some(RunStatus::Cancelled));
        for (standings, is_old) in [
            (&[NotFound][..], false),
            (&[Running], true),
            (&[Unknown], true),
            (&[Failed, Running], true),
            (&[Failed, Unknown], true),
            (&[], true),
        ] {
            assert_eq!(over(standings, is_old), None, "{standings:?}");
        }
    }
}
