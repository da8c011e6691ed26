//! One thing to give back, asked for until it is answered.

use std::{sync::Arc, time::Duration};

use maitred_api::{Answer, Call, Context, Problem, Reason, RunStatus, SlotState};
use maitred_engine::names::SlotId;
use tokio::time::Instant;

use super::{BackOff, Tools};
use crate::{error::is_trouble, limiter::no_answer};

/// How long one try may take.
const TRY_WITHIN: Duration = Duration::from_secs(5);
/// A request that was on its way when its caller went may still arrive. So a slot that is not there is looked for
/// again, after these waits.
const LOOK_AGAIN_MS: [u64; 4] = [100, 400, 1_600, 6_400];

#[derive(Clone)]
pub(crate) struct Job {
    pub context: Arc<Context>,
    pub what: What,
    /// There is nothing left to give back after this.
    pub until: Instant,
}

#[derive(Clone, Debug)]
pub(crate) enum What {
    /// A slot that is held.
    Release { slot: SlotId },
    /// A slot whose caller went while it waited: it may be queued, granted, or not there.
    GiveUp { slot: SlotId },
    /// A run whose caller has no time to say so.
    EndRun { run: String, status: RunStatus },
}

enum Tried {
    Answered,
    /// No such slot.
    NotThere,
    Failed(Problem),
}

impl Job {
    /// Asks until there is an answer, or nothing left to ask for.
    pub(super) async fn settle(self, tools: Tools) {
        let mut back_off = BackOff::default();
        let mut look_again = LOOK_AGAIN_MS.into_iter();
        let mut closing = tools.closing.clone();
        loop {
            let wait = match self.try_once(&tools).await {
                Tried::Answered => return,
                Tried::NotThere => match look_again.next() {
                    Some(wait_ms) if tools.line.is_far() && !*closing.borrow() => {
                        Duration::from_millis(wait_ms)
                    }
                    _ => return,
                },
                Tried::Failed(problem) if is_final(&problem, tools.line.is_far()) => {
                    return self.is_left(&problem.to_string());
                }
                Tried::Failed(problem) => {
                    tracing::debug!(what = ?self.what, %problem, "not given back yet");
                    back_off.next()
                }
            };
            let again = Instant::now() + wait;
            if again >= self.until {
                return self.is_left("it has expired by now");
            }
            pause(again, &mut closing).await;
        }
    }

    async fn try_once(&self, tools: &Tools) -> Tried {
        let _place = tools.places.acquire().await;
        match tokio::time::timeout(TRY_WITHIN, self.ask(tools)).await {
            Ok(Ok(tried)) => tried,
            Ok(Err(problem)) => Tried::Failed(problem),
            Err(_) => Tried::Failed(no_answer(TRY_WITHIN, true)),
        }
    }

    async fn ask(&self, tools: &Tools) -> Result<Tried, Problem> {
        let call = |call| tools.line.call(&self.context, call);
        match &self.what {
            What::Release { slot } => {
                call(Call::Release { slot: slot.to_string() }).await?;
            }
            What::EndRun { run, status } => {
                call(Call::EndRun { run: run.clone(), status: *status }).await?;
            }
            What::GiveUp { slot } => {
                let Answer::Slot(left) = call(Call::Leave { slot: slot.to_string() }).await? else {
                    return Ok(Tried::Answered);
                };
                match left.slot.state {
                    SlotState::Busy => drop(call(Call::Release { slot: slot.to_string() }).await?),
                    SlotState::Unknown => return Ok(Tried::NotThere),
                    _ => {}
                }
            }
        }
        Ok(Tried::Answered)
    }

    /// Nobody gives this back any more.
    pub fn is_left(&self, why: &str) {
        tracing::warn!(what = ?self.what, why, "not given back; it ends by itself at its expiry");
    }
}

/// The limiter said no; or it is in this process and has stopped, which it does once.
fn is_final(problem: &Problem, is_far: bool) -> bool {
    !is_trouble(problem) || (!is_far && problem.reason == Reason::Unavailable)
}

/// Until then, or until the client closes, whichever is first: what is still to do at the end is tried at once.
async fn pause(until: Instant, closing: &mut tokio::sync::watch::Receiver<bool>) {
    let asleep = tokio::time::sleep_until(until);
    if *closing.borrow() {
        return asleep.await;
    }
    tokio::select! {
        () = asleep => {}
        _ = closing.wait_for(|closing| *closing) => {}
    }
}
