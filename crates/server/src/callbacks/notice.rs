//! One notice: from the reservation, or the end, of a slot until its run has heard of it.

use std::{sync::Arc, time::Duration};

use maitred_api::{Answer, Call, RunStatus, SlotInfo, SlotState};
use tokio::{sync::Notify, time::timeout};

use super::{
    client::{Message, Verdict},
    courier::Ways,
};

/// A run that was woken and does not confirm is woken again after this.
const WOKEN_AGAIN_AFTER: Duration = Duration::from_secs(10);
const FIRST_PAUSE: Duration = Duration::from_millis(250);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);
/// How often the end of a slot is told, over a minute and a half. Nothing is lost if nobody hears of it: it is told
/// again when the server starts anew, and the run asks by itself when its time is up.
const TELL_END_MOST: u32 = 20;

/// What is known of the slot when the notice is opened.
#[derive(Clone, Debug)]
pub struct About {
    pub slot: String,
    pub limit: String,
    pub run: String,
}

pub struct Notice {
    pub about: About,
    pub ways: Arc<Ways>,
    /// Something happened to the slot: look at once.
    pub nudge: Arc<Notify>,
}

impl Notice {
    /// Until the slot is confirmed, back in the queue, or its end was told; then its id.
    pub async fn deliver(self, first_after: Duration) -> String {
        if !first_after.is_zero() {
            self.rest(first_after).await;
        }
        let mut pause = FIRST_PAUSE;
        let mut ends_told = 0;
        while let Some(state) = self.to_tell().await {
            ends_told += u32::from(state != SlotState::Reserved);
            match self.tell(state).await {
                Verdict::Woken if state != SlotState::Reserved => break,
                Verdict::Woken => self.rest(WOKEN_AGAIN_AFTER).await,
                Verdict::Again if ends_told >= TELL_END_MOST => break,
                Verdict::Again => {
                    self.rest(with_chance(pause)).await;
                    pause = (pause * 2).min(LONGEST_PAUSE);
                }
                Verdict::Over(status) => {
                    self.ways.end(&self.about.run, status).await;
                    break;
                }
            }
        }
        self.about.slot
    }

    /// How the slot stands, if that is news to its run.
    async fn to_tell(&self) -> Option<SlotState> {
        let slot = self.ways.slot(&self.about.slot).await?;
        match slot.state {
            // Of a run that was ended nobody waits any more.
            SlotState::Queued | SlotState::Busy | SlotState::RunEnded | SlotState::Unknown => None,
            state => Some(state),
        }
    }

    /// To every app that may have the run. It is over if all of them say so.
    async fn tell(&self, state: SlotState) -> Verdict {
        let About { slot, limit, run } = &self.about;
        let message = Message::Slot { slot, limit, run, state: state.as_str() };
        let mut over: Option<RunStatus> = None;
        let mut is_over = true;
        for app in self.ways.apps_of(run) {
            match app.notify(&message).await {
                Verdict::Woken => return Verdict::Woken,
                Verdict::Again => is_over = false,
                Verdict::Over(status) => over = over.or(Some(status)),
            }
        }
        over.filter(|_| is_over).map_or(Verdict::Again, Verdict::Over)
    }

    async fn rest(&self, pause: Duration) {
        let _ = timeout(pause, self.nudge.notified()).await;
    }
}

impl About {
    /// A slot that somebody may wait for: it has a run and a limit.
    pub fn of(slot: &SlotInfo) -> Option<About> {
        let limit = slot.limits.first()?.limit.clone();
        Some(About { slot: slot.slot.clone(), limit, run: slot.run.clone()? })
    }
}

impl Ways {
    pub async fn slot(&self, slot: &str) -> Option<SlotInfo> {
        let call = Call::Slot { slot: slot.to_owned(), wait: Default::default() };
        match self.node.call(&self.context, call).await {
            Ok(Answer::Slot(answer)) => Some(answer.slot),
            _ => None,
        }
    }
}

/// Up to a half longer, so that many do not come at once.
fn with_chance(pause: Duration) -> Duration {
    let chance = uuid::Uuid::new_v4().as_bytes()[0];
    pause + pause.mul_f64(f64::from(chance) / 512.0)
}
