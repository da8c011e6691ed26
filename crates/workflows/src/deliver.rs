//! From the limiter's events to the runs' inboxes, and from the runs' ends to the limiter.
//!
//! Both directions are hints that may get lost: a process dies between a grant and its delivery, or between the end of
//! a run and telling it. So every 15 s, and whenever the stream of events begins anew, what is true is compared:
//!
//! ```text
//! limiter says                          engine says        then
//! reserved for run A, not delivered     A runs             A gets its notice
//! queued or reserved for run B          B has ended        B leaves every queue
//! busy until its run ends, run C        C has ended        the slot is free
//! anything for run D                    knows no D         nothing: D runs elsewhere
//! ```
//!
//! A notice that was lost is therefore 15 s late at the most; one that comes twice only makes a run look once more.
//! Waits that ended are not among what is true, so of these the history's last thousand are looked at, when the stream
//! begins; what that does not find, the run finds within the hour, when it looks by itself.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
    time::Duration,
};

use maitred::{
    Maitred,
    api::{Answer, Call, EndedSlot, HoldMode, LiveEvent, Problem, RunInfo, SlotInfo, SlotState},
};
use tokio::{
    task::JoinSet,
    time::{Instant, MissedTickBehavior, interval_at},
};

use crate::{
    host::{Delivery, Notice, RunHost},
    names::Ticket,
};

/// How often what is true is compared.
const COMPARE_EVERY: Duration = Duration::from_secs(15);
/// How long to wait before a limiter that did not answer is asked again.
const AGAIN_AFTER: Duration = Duration::from_millis(500);
/// Ends that are looked at when the stream begins, and how often, since the history is filled behind the journal.
const ENDS: u32 = 1_000;
const LOOKS_MOST: usize = 50;
const LOOK_AGAIN_AFTER: Duration = Duration::from_millis(200);

/// Keeps the limiter and an engine of one mind: grants go into the inboxes of runs, ends of runs to the limiter.
/// [`Workflows`](crate::Workflows) have one; whoever hosts runs on another engine starts one for it.
pub struct Deliverer<H> {
    maitred: Maitred,
    host: Arc<H>,
    /// Slots in a queue. Whose slot was free at once is there to hear it, and needs no notice.
    waiting: HashSet<String>,
    /// Grants that are in an inbox and not confirmed: the slot, and the fence of the grant.
    delivered: HashMap<String, u64>,
}

impl<H: RunHost> Deliverer<H> {
    /// Between a limiter and an engine.
    pub fn new(maitred: Maitred, host: Arc<H>) -> Self {
        Self { maitred, host, waiting: HashSet::new(), delivered: HashMap::new() }
    }

    /// Never ends. Dropping it loses nothing but time.
    pub async fn work(mut self) {
        loop {
            if let Err(problem) = self.follow().await {
                tracing::warn!(%problem, "the limiter cannot be heard; runs go on waiting");
            }
            tokio::time::sleep(AGAIN_AFTER).await;
        }
    }

    /// Until the stream of events ends.
    async fn follow(&mut self) -> Result<(), Problem> {
        let mut events = self.maitred.events().await?;
        let mut due = interval_at(Instant::now(), COMPARE_EVERY);
        due.set_missed_tick_behavior(MissedTickBehavior::Delay);
        // Beside, so that no grant waits for it. It ends with the stream.
        let mut missed = JoinSet::new();
        missed.spawn(tell_missed(self.maitred.clone(), Arc::clone(&self.host)));
        loop {
            tokio::select! {
                biased;
                _ = due.tick() => self.compare().await?,
                told = events.next() => match told {
                    Some(told) => for event in told {
                        self.heard(event).await;
                    },
                    None => return Ok(()),
                },
            }
        }
    }

    async fn heard(&mut self, event: LiveEvent) {
        let (Some(slot), Some(limit)) = (&event.slot, &event.limit) else { return };
        let Some(ticket) = Ticket::of_slot(slot) else { return };
        let notice = notice(&ticket, limit);
        match event.kind.as_str() {
            "slot_queued" | "slot_put_back" => {
                self.delivered.remove(slot);
                self.waiting.insert(slot.clone());
            }
            "slot_granted" if self.waiting.remove(slot) => {
                self.tell_grant(notice, event.fence.unwrap_or_default()).await;
            }
            "slot_confirmed" => {
                self.delivered.remove(slot);
            }
            "slot_ended" => {
                let was_queued = self.waiting.remove(slot);
                if self.delivered.remove(slot).is_some() || was_queued {
                    self.tell(&notice).await;
                }
            }
            _ => {}
        }
    }

    async fn tell_grant(&mut self, notice: Notice, fence: u64) {
        if self.delivered.get(&notice.slot) != Some(&fence) && self.tell(&notice).await == Delivery::Accepted
        {
            self.delivered.insert(notice.slot, fence);
        }
    }

    async fn tell(&self, notice: &Notice) -> Delivery {
        let delivery = self.host.deliver(notice).await;
        if let Delivery::RunEnded(status) = delivery {
            self.maitred.end_run_in_background(&notice.run, status);
        }
        delivery
    }

    async fn compare(&mut self) -> Result<(), Problem> {
        let runs = self.maitred.runs().await?;
        let ours = |run: &RunInfo| run.slots.iter().any(|slot| Ticket::of_slot(&slot.slot).is_some());
        let runs: Vec<RunInfo> = runs.into_iter().filter(ours).collect();
        let wanting = runs.iter().filter(|run| run.slots.iter().any(ends_with_its_run));
        let ended = self.host.ended(wanting.map(|run| run.run.clone()).collect()).await;
        for (run, status) in &ended {
            tracing::info!(run, ?status, "a run has ended, and the limiter had not heard of it");
            self.maitred.end_run_in_background(run, *status);
        }
        self.remember(&runs);
        let goes_on = |run: &&RunInfo| ended.iter().all(|(ended, _)| *ended != run.run);
        for slot in runs.iter().filter(goes_on).flat_map(|run| &run.slots) {
            self.tell_if_reserved(slot).await;
        }
        Ok(())
    }

    async fn tell_if_reserved(&mut self, slot: &SlotInfo) {
        let ticket = Ticket::of_slot(&slot.slot).filter(|_| slot.state == SlotState::Reserved);
        if let (Some(ticket), Some(first)) = (ticket, slot.limits.first()) {
            self.tell_grant(notice(&ticket, &first.limit), slot.fence.unwrap_or_default()).await;
        }
    }

    fn remember(&mut self, runs: &[RunInfo]) {
        let slots = || runs.iter().flat_map(|run| &run.slots);
        let in_state = |state| slots().filter(move |slot| slot.state == state).map(|slot| &slot.slot);
        self.waiting = in_state(SlotState::Queued).cloned().collect();
        let reserved: HashSet<&String> = in_state(SlotState::Reserved).collect();
        self.delivered.retain(|slot, _| reserved.contains(slot));
    }
}

async fn tell_missed(maitred: Maitred, host: Arc<impl RunHost>) {
    for notice in waits_that_ended(maitred).await {
        host.deliver(&notice).await;
    }
}

/// Of the last ends, those that a run may be waiting to hear of.
async fn waits_that_ended(maitred: Maitred) -> Vec<Notice> {
    let mut head = None;
    for _ in 0..LOOKS_MOST {
        let all =
            Call::History { limit: None, slot: None, run: None, label: None, before: None, most: Some(ENDS) };
        let Ok(Answer::History(history)) = maitred.call(all).await else { break };
        let head = *head.get_or_insert(history.reach.filled_to + history.reach.lag);
        if history.reach.filled_to >= head {
            return history.ends.iter().filter_map(ended_wait).collect();
        }
        tokio::time::sleep(LOOK_AGAIN_AFTER).await;
    }
    Vec::new()
}

fn ended_wait(end: &EndedSlot) -> Option<Notice> {
    let ticket = Ticket::of_slot(&end.slot).filter(|_| end.ended_a_wait())?;
    Some(notice(&ticket, &end.limits.first()?.limit))
}

fn ends_with_its_run(slot: &SlotInfo) -> bool {
    match slot.state {
        SlotState::Queued | SlotState::Reserved => true,
        _ => slot.hold == Some(HoldMode::Run),
    }
}

fn notice(ticket: &Ticket, limit: &str) -> Notice {
    Notice { run: ticket.run.clone(), slot: ticket.slot(), inbox: ticket.inbox(limit) }
}
