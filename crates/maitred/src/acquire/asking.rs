//! Asking until there is a slot, or none to be had.
//!
//! The slot's id is made before the first try, so a try whose answer was lost is made again without taking a second slot. The
//! call is open while the slot waits: `confirm: auto`, so the grant itself makes it busy, and a caller that is gone has
//! left. Over a URL an open call lasts a round and is then renewed. A worked example, far, timeout 60 s, with a
//! connection that breaks:
//!
//! ```text
//!  0 s  acquire id=A wait=5s          5 s  queued, place 3   (the round is over, A is still in the queue)
//!  5 s  acquire id=A wait=10s        12 s  connection lost   (the server takes that for a hang-up: A has left)
//! 12 s  acquire id=A wait=20s        12 s  left              (so it did; what is left of the 60 s is asked for anew)
//! 12 s  acquire id=B wait=5s  …      40 s  busy              → the slot
//! ```
//!
//! Had the server not noticed the loss when A was asked for again, A would have been `queued` and its place kept: a
//! late hang-up ends its own line only.
//!
//! Who decides when the time is up: the limiter's clock. The client only stops when nothing answers any more, half a
//! deadline after its own end, and asks once more even then.

use std::time::{Duration, Instant};

use maitred_api::{Answer, Call, Certainty, Problem, Reason, SlotAnswer, SlotState};
use maitred_engine::{bounds::TIMEOUT_MAX_MS, names::SlotId};
use tokio::time::Timeout;

use super::Acquire;
use crate::{
    Maitred, Slot,
    error::{AcquireError, is_passing, millis},
    limiter::no_answer,
    line::Asked,
    operate::unexpected,
    releaser::BackOff,
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

pub(super) struct Asking {
    acquire: Acquire,
    id: SlotId,
    /// What the limiter is told of the caller's time.
    timeout_ms: u64,
    /// When the caller's time is over, by this machine's clock.
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

impl Asking {
    pub fn new(acquire: Acquire) -> Self {
        // A timeout that is longer still is refused by the limiter, in its own words.
        let timeout = acquire.timeout.min(2 * Duration::from_millis(TIMEOUT_MAX_MS));
        let now = Instant::now();
        let mut asking = Self {
            acquire,
            id: new_id(),
            timeout_ms: 0,
            ends: now + timeout,
            failing_since: None,
            round: NEAR_ROUND,
            began: now,
            interrupted: false,
            may_be_there: false,
        };
        asking.begin(asking.acquire.timeout);
        if !asking.acquire.timeout.is_zero() {
            asking.acquire.home.home.held.warn_if_nested(asking.acquire.limit());
        }
        asking
    }

    /// From the start, with this much time.
    fn begin(&mut self, timeout: Duration) {
        self.timeout_ms = millis(timeout);
        self.round = if self.is_far() { FIRST_ROUND } else { NEAR_ROUND };
        self.failing_since = None;
        (self.interrupted, self.may_be_there) = (false, false);
    }

    /// The slot. Whoever waits keeps this future, so what it keeps is kept small.
    pub async fn settle(&mut self) -> Result<Slot, AcquireError> {
        let mut back_off = BackOff::default();
        loop {
            match self.try_once().await? {
                Tried::Granted(slot) => return Ok(slot),
                Tried::Lost => {
                    self.id = new_id();
                    self.begin(self.ends.saturating_duration_since(Instant::now()));
                }
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
        let there_before = self.may_be_there;
        self.began = Instant::now();
        // Near, dropping an open call is a hang-up that can't get lost. Far, a grant may be on its way by then.
        self.may_be_there |= self.is_far();
        let problem = match self.open_call().await {
            Ok(Ok(Answer::Slot(answer))) => return self.heard_of(answer),
            Ok(Ok(other)) => unexpected(&other),
            Ok(Err(problem)) => problem,
            Err(_) => no_answer(self.began.elapsed(), true),
        };
        self.failed(problem, there_before)
    }

    fn open_call(&self) -> Timeout<Asked> {
        let fields = self.acquire.wanted.fields(&self.id, self.timeout_ms, self.round);
        let Maitred { home, context, .. } = &self.acquire.home;
        tokio::time::timeout_at(self.until(), home.line.call(context, Call::Acquire(fields)))
    }

    fn failed(&mut self, problem: Problem, there_before: bool) -> Result<Tried, AcquireError> {
        self.may_be_there = there_before || !proves_that_nothing_happened(&problem, self.is_far());
        match problem.reason {
            // In this process it has stopped, and does not come back.
            Reason::Unavailable | Reason::Unknown if !self.is_far() => Err(self.given_up(problem)),
            _ if is_passing(&problem) => Ok(Tried::Failed(problem)),
            _ => Err(AcquireError::Refused(problem)),
        }
    }

    fn heard_of(&mut self, answer: SlotAnswer) -> Result<Tried, AcquireError> {
        let state = answer.slot.state;
        self.may_be_there = matches!(state, SlotState::Queued | SlotState::Reserved);
        let Acquire { home, timeout, .. } = &self.acquire;
        let limiter = || self.acquire.limit().to_owned();
        match state {
            SlotState::Busy => Ok(Tried::Granted(Slot::new(home.clone(), self.id.clone(), answer))),
            SlotState::Queued | SlotState::Reserved => Ok(Tried::Queued),
            SlotState::TimedOut => Err(AcquireError::Timeout { limiter: limiter(), timeout: *timeout }),
            SlotState::Left | SlotState::Released | SlotState::Expired if self.interrupted => Ok(Tried::Lost),
            _ => Err(AcquireError::Ended { limiter: limiter(), state }),
        }
    }

    /// When a try counts as lost. The limiter ends it itself, at the end of the round or of the timeout.
    fn until(&self) -> tokio::time::Instant {
        let (now, grace) = (Instant::now(), self.acquire.home.deadline);
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
        now >= self.ends + self.acquire.home.deadline || now >= failing_since + self.acquire.home.patience
    }

    fn longest_round(&self) -> Duration {
        if self.is_far() { ROUND } else { NEAR_ROUND }
    }

    fn is_far(&self) -> bool {
        self.acquire.home.home.line.is_far()
    }

    fn given_up(&self, problem: Problem) -> AcquireError {
        match self.may_be_there {
            true => AcquireError::Unknown { slot: self.id.clone(), problem },
            false => AcquireError::Unavailable(problem),
        }
    }
}

impl Drop for Asking {
    fn drop(&mut self) {
        // A near wait that just ran out may have become an ordinary one before the drop could hang up.
        if self.may_be_there || self.began.elapsed() >= NEAR_ROUND {
            self.acquire.home.give_up_in_background(&self.id);
        }
    }
}

fn new_id() -> SlotId {
    SlotId::parse(&uuid::Uuid::now_v7().to_string()).expect("a UUID has the characters of an id")
}

/// A limiter that stops says `unavailable` to those who wait, and keeps their slots in the queue. So only where it was
/// never reached, or refused for another reason, nothing happened.
fn proves_that_nothing_happened(problem: &Problem, is_far: bool) -> bool {
    let said_by_the_limiter = !is_far || problem.request_id.is_some();
    problem.reason.certainty() == Certainty::Refused
        && !(problem.reason == Reason::Unavailable && said_by_the_limiter)
}
