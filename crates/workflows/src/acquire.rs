//! Asking for a slot in a workflow body.
//!
//! Everything that is asked is an activity, and everything that was answered stands in the run's history, so a replay
//! goes the same way. A worked example, with a limit that is full, a process that dies and a reservation that lapses:
//!
//! ```text
//! body                                  history                               limiter
//! acquire wf/order-7/1/1                ActivityScheduled, …Completed queued  queued, place 3
//! wait for notice or an hour            TimerCreated, subscribed to inbox
//!    … the process dies …                                                     reserved; notice into the inbox
//!    … three minutes …                                                        lapsed: at the end of the queue
//! (new process) notice                  the inbox's message
//! confirm                               …Completed queued                     still queued
//! wait on, the same timer               subscribed to inbox                   reserved; notice
//! confirm                               …Completed busy                       busy
//! → the slot
//! ```
//!
//! Why it is right: a notice is a hint and only makes the run look; `confirm` alone decides, and it answers the state
//! whatever it is (S5). Whoever dies between any two lines asks again with the same id and gets the same slot (S2).
//! Whether the time is up is the limiter's to say (S6): it ends the wait and sends a notice. Should that get lost, the
//! run's own timer, two seconds later, has it look a last time; what is still queued then is given up. Once an hour
//! the run looks in any case, so that no lost notice costs more.
//!
//! The order of calls in here stands in the history of every run that waits. It must not change: see the test
//! `the_order_of_calls_never_changes`.

use std::{pin::Pin, time::Duration};

use duroxide::Either2;
use maitred::api::{AcquireFields, ConfirmMode, HoldMode, SlotState, WeightedLimit};

use crate::{
    Slot, SlotError, SlotTimeoutError, Workflow,
    desk::{ACQUIRE, CONFIRM, LAST_LOOK, Said},
    names::{self, Ticket},
};

/// How many slots the run has asked for, among the values that the engine keeps for it.
pub const COUNTER: &str = "maitred.slots";
/// How long a run waits without a look of its own.
const LOOK_EVERY: Duration = Duration::from_secs(3_600);
/// The limiter's own word that the time is up comes first, unless it got lost.
const SLACK: Duration = Duration::from_secs(2);

/// A question for a slot; await it. Made by [`Workflow::acquire_slot`].
#[must_use = "nothing is asked until it is awaited"]
pub struct AcquireSlot {
    workflow: Workflow,
    fields: AcquireFields,
    timeout: Duration,
}

/// What is asked for a run, before anything else is said about it.
pub fn question(limit: String, run: String, workflow: String) -> AcquireFields {
    AcquireFields {
        limits: vec![WeightedLimit { limit, ..WeightedLimit::default() }],
        run: Some(run),
        workflow: Some(workflow),
        confirm: ConfirmMode::Holder,
        ..AcquireFields::default()
    }
}

impl AcquireSlot {
    pub(crate) fn new(workflow: Workflow, fields: AcquireFields, timeout: Duration) -> Self {
        Self { workflow, fields, timeout }
    }

    /// A limit more: the slot is granted when it is first in the queue of all and all have room, at one instant.
    /// At most 8.
    pub fn and(mut self, limit: impl Into<String>) -> Self {
        self.fields.limits.push(WeightedLimit { limit: limit.into(), ..WeightedLimit::default() });
        self
    }

    /// How much of the limit named last the slot takes, 1 if not given, at most 100 000.
    pub fn weight(mut self, weight: u32) -> Self {
        if let Some(last) = self.fields.limits.last_mut() {
            last.weight = weight.into();
        }
        self
    }

    /// What people find it by. No personal data.
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.fields.label = Some(label.into());
        self
    }

    /// How long to wait in the queue, 24 h if not given, at most 400 days. Zero does not wait.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Frees the slot also when the run ends.
    pub fn until_run_ends(mut self) -> Self {
        self.fields.hold = HoldMode::Run;
        self
    }

    /// Runs the body while the slot is held, as [`Workflow::with_limit`] does.
    ///
    /// # Errors
    /// There was no slot, and the body did not run.
    pub async fn with<T>(self, body: impl AsyncFnOnce(&Slot) -> T) -> Result<T, SlotError> {
        let workflow = self.workflow.clone();
        let slot = self.await?;
        let outcome = body(&slot).await;
        if let Err(error) = workflow.release_slot(&slot.id).await {
            workflow.trace_warn(format!("{} is not released: {error}", slot.id));
        }
        Ok(outcome)
    }

    async fn settle(mut self) -> Result<Slot, SlotError> {
        self.fields.timeout = whole_ms(self.timeout).into();
        let number = self.next_number();
        let (ticket, mut said) = self.ask(number).await?;
        if said.state == SlotState::Queued {
            said = self.wait(&ticket).await?;
        }
        match said.state {
            SlotState::Busy => Ok(Slot {
                id: ticket.slot(),
                limiter: self.limiter(),
                fence: said.fence,
                expires_at_ms: said.expires_at,
            }),
            SlotState::TimedOut => Err(self.timed_out()),
            state => Err(SlotError::Ended { limiter: self.limiter(), state }),
        }
    }

    async fn ask(&mut self, number: u32) -> Result<(Ticket, Standing), SlotError> {
        let mut ticket = Ticket {
            run: self.workflow.instance_id(),
            execution: self.workflow.execution_id(),
            number: number.to_string(),
        };
        loop {
            self.fields.slot = Some(ticket.slot());
            match self.workflow.said(ACQUIRE, &self.fields).await? {
                Said::UsedBefore { suffix } => ticket.number = format!("{number}-{suffix}"),
                said => return Ok((ticket, self.standing(said)?)),
            }
        }
    }

    /// Until the slot is busy or has ended.
    async fn wait(&self, ticket: &Ticket) -> Result<Standing, SlotError> {
        let (inbox, hook) = (ticket.inbox(&self.limiter()), names::hook(&self.limiter()));
        let mut rounds = rounds(self.timeout);
        let mut round = self.workflow.schedule_timer(rounds.next().unwrap_or(SLACK));
        self.workflow.set_custom_status(&hook);
        let said = loop {
            let look = match self.workflow.select2(self.workflow.dequeue_event(&inbox), &mut round).await {
                Either2::First(_) => CONFIRM,
                Either2::Second(()) => match rounds.next() {
                    Some(next) => {
                        round = self.workflow.schedule_timer(next);
                        CONFIRM
                    }
                    None => LAST_LOOK,
                },
            };
            let said = self.standing(self.workflow.said(look, &ticket.slot()).await?)?;
            match said.state {
                SlotState::Queued | SlotState::Reserved => {}
                // It was still queued when the run's time was up, or is so long over that it is forgotten.
                SlotState::Left | SlotState::Unknown if look == LAST_LOOK => break Err(self.timed_out()),
                _ => break Ok(said),
            }
        };
        if self.workflow.get_custom_status().as_deref() == Some(&hook) {
            self.workflow.reset_custom_status();
        }
        said
    }

    fn standing(&self, said: Said) -> Result<Standing, SlotError> {
        match said {
            Said::Slot { state, fence, expires_at } => Ok(Standing { state, fence, expires_at }),
            Said::Refused(problem) => Err(SlotError::Refused { limiter: self.limiter(), problem }),
            other => Err(SlotError::Engine(format!("a question for a slot was answered {other:?}"))),
        }
    }

    fn next_number(&self) -> u32 {
        let before = self.workflow.get_kv_value(COUNTER).and_then(|count| count.parse().ok()).unwrap_or(0);
        self.workflow.set_kv_value(COUNTER, (before + 1).to_string());
        before + 1
    }

    fn limiter(&self) -> String {
        self.fields.limits.first().map(|first| first.limit.clone()).unwrap_or_default()
    }

    fn timed_out(&self) -> SlotError {
        SlotTimeoutError { limiter: self.limiter(), timeout: self.timeout }.into()
    }
}

impl IntoFuture for AcquireSlot {
    type Output = Result<Slot, SlotError>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.settle())
    }
}

/// How a slot stands.
struct Standing {
    state: SlotState,
    fence: u64,
    expires_at: u64,
}

/// The timeout and the slack in pieces of an hour at the most.
fn rounds(timeout: Duration) -> impl Iterator<Item = Duration> + Send {
    let mut left = timeout + SLACK;
    std::iter::from_fn(move || {
        let round = left.min(LOOK_EVERY);
        left -= round;
        (!round.is_zero()).then_some(round)
    })
}

pub fn whole_ms(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rounds_make_up_the_timeout_and_the_slack() {
        let of =
            |seconds| rounds(Duration::from_secs(seconds)).map(|round| round.as_secs()).collect::<Vec<_>>();
        assert_eq!(of(0), [2]);
        assert_eq!(of(1_800), [1_802]);
        assert_eq!(of(2 * 3_600), [3_600, 3_600, 2]);
        assert_eq!(of(2 * 3_600 - 2), [3_600, 3_600]);
    }
}
