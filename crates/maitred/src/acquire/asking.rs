//! One slot id, asked for until it is granted or has ended.
//!
//! The id is made before the first try, so a try whose answer was lost is made again without taking a second slot. The
//! call is open while the slot waits: `confirm: auto`, so the grant itself makes it busy, and a caller that is gone has
//! left. Over a URL an open call lasts a round and is then renewed. A worked example, far, timeout 60 s, with a
//! connection that breaks:
//!
//! ```text
//!  0 s  acquire id=A wait=5s          5 s  queued, place 3   (the round is over, A is still in the queue)
//!  5 s  acquire id=A wait=10s        12 s  connection lost   (the server takes that for a hang-up: A has left)
//! 12 s  acquire id=A wait=20s        12 s  left              (so it did) → None; a new id, 48 s left
//! 12 s  acquire id=B wait=5s  …      40 s  busy              → the slot
//! ```
//!
//! Had the server not noticed the loss when A was asked for again, A would have been `queued` and its place kept: a
//! late hang-up ends its own line only.
//!
//! Who decides when the time is up: the limiter's clock. The client only stops when nothing answers any more, half a
//! deadline after its own end, and asks once more even then.

use std::time::{Duration, Instant};

use maitred_api::{AcquireFields, Answer, Call, Certainty, Problem, Reason, SlotAnswer, SlotState};
use maitred_engine::names::SlotId;

use crate::{
    Maitred, Slot,
    error::{AcquireError, is_passing},
    limiter::no_answer,
    operate::unexpected,
    releaser::{BackOff, What},
};

/// The first round over a URL, so that a server that hangs is noticed early; then each is twice as long.
const FIRST_ROUND: Duration = Duration::from_secs(5);
/// Proxies end calls that are silent for a minute.
const ROUND: Duration = Duration::from_secs(50);
/// Near there is no line that could go dead; a day is the longest wait there is.
const NEAR_ROUND: Duration = Duration::from_secs(86_400);
/// How much longer than its round a call may take before its line counts as dead.
const FIRST_SLACK: Duration = Duration::from_secs(2);
const ROUND_SLACK: Duration = Duration::from_secs(10);
/// How long a slot that may be there is given back for, since its expiry is not known.
const GIVE_UP_FOR: Duration = Duration::from_secs(86_400);

pub(super) struct Asking<'a> {
    home: &'a Maitred,
    fields: AcquireFields,
    id: SlotId,
    /// What the caller asked for, and when that is over.
    timeout: Duration,
    ends: Instant,
    /// Since when every try failed.
    failing_since: Option<Instant>,
    /// How long the next open call lasts, and when the last one began.
    round: Duration,
    began: Instant,
    /// A line was lost: what has ended may have ended because of that.
    interrupted: bool,
    /// The limiter may have the slot although nobody is on the line for it: it is to be given back.
    may_be_there: bool,
}

/// What one try came to.
enum Tried {
    Granted(Slot),
    Queued,
    /// The slot has left because its line was lost.
    Lost,
    Failed(Problem),
}

impl<'a> Asking<'a> {
    pub fn new(home: &'a Maitred, mut fields: AcquireFields, timeout: Duration, ends: Instant) -> Self {
        let id =
            SlotId::parse(&uuid::Uuid::now_v7().to_string()).expect("a UUID has the characters of an id");
        fields.slot = Some(id.to_string());
        let round = if home.home.line.is_far() { FIRST_ROUND } else { NEAR_ROUND };
        Self {
            home,
            fields,
            id,
            timeout,
            ends,
            failing_since: None,
            round,
            began: Instant::now(),
            interrupted: false,
            may_be_there: false,
        }
    }

    /// The slot, or none if its line was lost and it has left: then a new id is to be asked with.
    pub async fn settle(&mut self) -> Result<Option<Slot>, AcquireError> {
        let mut back_off = BackOff::default();
        loop {
            match self.try_once().await? {
                Tried::Granted(slot) => return Ok(Some(slot)),
                Tried::Lost => return Ok(None),
                Tried::Queued => {
                    self.failing_since = None;
                    if self.began.elapsed() >= self.round / 2 {
                        back_off = BackOff::default();
                    } else {
                        // Whatever answers does not wait as it was asked to.
                        tokio::time::sleep(back_off.next()).await;
                    }
                    self.round = (self.round * 2).min(self.longest_round());
                }
                Tried::Failed(problem) if self.is_over() => return Err(self.given_up(problem)),
                Tried::Failed(problem) => {
                    tracing::warn!(slot = %self.id, %problem, "no answer to an acquire yet");
                    self.interrupted = true;
                    tokio::time::sleep(back_off.next()).await;
                }
            }
        }
    }

    async fn try_once(&mut self) -> Result<Tried, AcquireError> {
        let line = &self.home.home.line;
        let there_before = self.may_be_there;
        self.began = Instant::now();
        self.fields.wait = (self.round.as_millis() as u64).into();
        // Near, dropping an open call is a hang-up that can't get lost. Far, a grant may be on its way by then.
        self.may_be_there |= line.is_far();
        let asked = line.call(&self.home.context, Call::Acquire(self.fields.clone()));
        let problem = match tokio::time::timeout_at(self.until(), asked).await {
            Ok(Ok(Answer::Slot(answer))) => return self.heard_of(answer),
            Ok(Ok(other)) => unexpected(&other),
            Ok(Err(problem)) => problem,
            Err(_) => no_answer(self.began.elapsed(), true),
        };
        if proves_that_nothing_happened(&problem, line.is_far()) {
            self.may_be_there = there_before;
        } else {
            self.may_be_there = true;
        }
        match problem.reason {
            // In this process it has stopped, and does not come back.
            Reason::Unavailable | Reason::Unknown if !line.is_far() => Err(self.given_up(problem)),
            _ if is_passing(&problem) => Ok(Tried::Failed(problem)),
            _ => Err(AcquireError::Refused(problem)),
        }
    }

    fn heard_of(&mut self, answer: SlotAnswer) -> Result<Tried, AcquireError> {
        let state = answer.slot.state;
        self.may_be_there = matches!(state, SlotState::Queued | SlotState::Reserved);
        let limiter = || self.fields.limits.first().map(|first| first.limit.clone()).unwrap_or_default();
        match state {
            SlotState::Busy => Ok(Tried::Granted(Slot::new(self.home.clone(), self.id.clone(), answer))),
            SlotState::Queued | SlotState::Reserved => Ok(Tried::Queued),
            SlotState::TimedOut => Err(AcquireError::Timeout { limiter: limiter(), timeout: self.timeout }),
            SlotState::Left | SlotState::Released | SlotState::Expired if self.interrupted => Ok(Tried::Lost),
            _ => Err(AcquireError::Ended { limiter: limiter(), state }),
        }
    }

    /// When a try counts as lost. The limiter ends it itself, at the end of the round or of the timeout.
    fn until(&self) -> tokio::time::Instant {
        let (now, grace) = (Instant::now(), self.home.deadline);
        // A caller that waits in the queue would lose its place by hanging up on a server that is merely slow.
        let slack = if self.round == FIRST_ROUND { FIRST_SLACK } else { ROUND_SLACK };
        let until = match now < self.ends {
            true => (now + self.round + slack).min(self.ends + grace / 2),
            false => (self.ends + grace * 3 / 2).max(now + grace / 2),
        };
        until.into()
    }

    /// Enough waited for a limiter that does not answer. A line that hung until now is no reason to give up: it is
    /// the first sign of trouble.
    fn is_over(&mut self) -> bool {
        let now = Instant::now();
        let failing_since = *self.failing_since.get_or_insert(now);
        now >= self.ends + self.home.deadline || now >= failing_since + self.home.patience
    }

    fn longest_round(&self) -> Duration {
        if self.home.home.line.is_far() { ROUND } else { NEAR_ROUND }
    }

    fn given_up(&self, problem: Problem) -> AcquireError {
        match self.may_be_there {
            true => AcquireError::Unknown { slot: self.id.clone(), problem },
            false => AcquireError::Unavailable(problem),
        }
    }
}

impl Drop for Asking<'_> {
    fn drop(&mut self) {
        // A near wait that just ran out may have become an ordinary one before the drop could hang up.
        if self.may_be_there || self.began.elapsed() >= NEAR_ROUND {
            let until = tokio::time::Instant::now() + GIVE_UP_FOR;
            self.home.hand_over(What::GiveUp { slot: self.id.clone() }, until);
        }
    }
}

/// A limiter that stops says `unavailable` to those who wait, and keeps their slots in the queue. So only where it was
/// never reached, or refused for another reason, nothing happened.
fn proves_that_nothing_happened(problem: &Problem, is_far: bool) -> bool {
    let said_by_the_limiter = !is_far || problem.request_id.is_some();
    problem.reason.certainty() == Certainty::Refused
        && !(problem.reason == Reason::Unavailable && said_by_the_limiter)
}
