//! Taking and giving back a slot over a server that may die at any moment.
//!
//! Two habits make it safe. *The slot's id is made before the first try and kept over all tries*: whoever does not
//! know whether a call arrived makes it again, and it has one effect. Only when the limiter itself says that the
//! slot has ended is a new id made. And *a holder never outstays its slot*: the call it guards has a deadline before
//! the slot's expiry, and where nobody knows whether the call is over, the slot is not given back but left to expire.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use maitred::{
    Far,
    api::{AcquireFields, Answer, Call, ConfirmMode, Context, Problem, Reason, SlotInfo, SlotState},
};
use uuid::Uuid;

use super::{LIMIT, partner::SERVICE_MOST, talk::Said, worker::say};

/// How long one call stays on the line.
const WAIT: &str = "5s";
/// How long a slot may stay in the queue.
const TIMEOUT: &str = "60s";
/// What is kept between the end of the guarded call and the slot's expiry.
const MARGIN: Duration = Duration::from_millis(500);
/// Between two tries of the same call.
const PAUSE: Duration = Duration::from_millis(60);

pub struct Guarded {
    pub far: Far,
    /// Who asks, for the record.
    pub name: String,
}

/// A slot that is busy for us.
pub struct Held {
    pub slot: String,
    /// Milliseconds since 1970. Limiter and workers are on one machine here, so they share its clock.
    expires_at: u64,
}

impl Held {
    /// For the planted defect: as if there were a slot.
    pub fn nothing(slot: &str) -> Held {
        Held { slot: slot.to_owned(), expires_at: u64::MAX }
    }

    pub fn time_left(&self) -> Duration {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Duration::from_millis(self.expires_at).saturating_sub(now).saturating_sub(MARGIN)
    }

    /// Enough for any call at the partner. A grant that was heard of late may have too little left.
    pub fn has_time(&self) -> bool {
        self.time_left() > SERVICE_MOST
    }
}

impl Guarded {
    /// Waits for a slot for as long as it takes.
    pub async fn acquire(&self, label: &str) -> Result<Held, String> {
        loop {
            let slot = Uuid::now_v7().to_string();
            say(&Said::Asked { slot: slot.clone() });
            let (info, lost) = self.until_granted_or_ended(&slot, label).await?;
            if info.state == SlotState::Busy {
                let fence = info.fence.unwrap_or(0);
                let has_waited = info.granted_at > info.asked_at;
                say(&Said::Granted { slot: slot.clone(), fence, has_waited });
                return Ok(Held { slot, expires_at: info.expires_at.unwrap_or(0) });
            }
            say(&Said::Ended { slot, state: info.state, by_this_call: false, lost });
        }
    }

    /// The slot as it is when it waits no more, and how many answers were lost on the way.
    async fn until_granted_or_ended(&self, slot: &str, label: &str) -> Result<(SlotInfo, u32), String> {
        let call = Call::Acquire(AcquireFields {
            slot: Some(slot.to_owned()),
            limit: Some(LIMIT.to_owned()),
            label: Some(label.to_owned()),
            timeout: TIMEOUT.into(),
            confirm: ConfirmMode::Auto,
            wait: WAIT.into(),
            ..AcquireFields::default()
        });
        let mut lost = 0;
        loop {
            let (answer, lost_now) = self.until_answered(&call).await?;
            lost += lost_now;
            let Answer::Slot(answer) = answer else { return Err(format!("not about a slot: {answer:?}")) };
            if !matches!(answer.slot.state, SlotState::Queued | SlotState::Reserved) {
                return Ok((answer.slot, lost));
            }
        }
    }

    pub async fn release(&self, held: &Held) -> Result<(), String> {
        let (answer, lost) = self.until_answered(&Call::Release { slot: held.slot.clone() }).await?;
        let Answer::Release(answer) = answer else { return Err(format!("not a release: {answer:?}")) };
        let slot = held.slot.clone();
        say(&Said::Ended { slot, state: answer.state, by_this_call: answer.released, lost });
        Ok(())
    }

    /// The same call again and again, until it is answered. An error is one that no trying again can help.
    async fn until_answered(&self, call: &Call) -> Result<(Answer, u32), String> {
        let context = Context { by: Some(self.name.clone()), ..Context::default() };
        let mut lost = 0;
        loop {
            match self.far.call(&context, call.clone()).await {
                Ok(answer) => return Ok((answer, lost)),
                Err(problem) if may_be_made_again(&problem) => {
                    lost += 1;
                    say(&Said::Lost);
                    tokio::time::sleep(PAUSE).await;
                }
                Err(problem) => return Err(problem.to_string()),
            }
        }
    }
}

fn may_be_made_again(problem: &Problem) -> bool {
    problem.reason.retryable() || matches!(problem.reason, Reason::Internal | Reason::RequestTimeout)
}
