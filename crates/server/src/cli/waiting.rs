//! Waits on the line for a slot.
//!
//! The slot is asked for with `confirm: auto`: it is busy when it is granted, and the server knows that somebody is
//! there. Each call waits for less than a minute, since many a proxy ends a silent connection after one; between
//! two calls the slot keeps its place (S7a). Whatever happens to a call, the next asks for the same slot id, so two
//! slots are never taken. Only if a lost connection made the server think that we had left, a new slot is asked for.

use std::time::Duration;

use maitred_api::{AcquireFields, Answer, Call, ConfirmMode, Given, Problem, Reason, SlotAnswer, SlotState};
use rustix::process::Signal;
use tokio::time::Instant;

use crate::cli::{
    exit, failure::Failure, output, progress::Progress, session::Session, signals, signals::Signals,
};

/// One call on the line.
const CALL_WAITS: &str = "50s";
/// What the limiter gives a wait that names no timeout.
const TIMEOUT_MS: u64 = 24 * 60 * 60 * 1000;
/// How long past its own timeout a slot is asked about while no server answers.
const GRACE: Duration = Duration::from_secs(10);
const LOOK_WITHIN: Duration = Duration::from_secs(2);
const LEAVE_WITHIN: Duration = Duration::from_secs(5);

/// What is asked for.
#[derive(clap::Args, Clone, Debug)]
pub struct Wanted {
    /// How long to wait in the queue: 30m, 90s, …; a number alone is milliseconds [default: 24h]
    #[arg(long, value_name = "DURATION")]
    pub timeout: Option<String>,
    /// An id to find it by: a call, an order. No personal data
    #[arg(long, value_name = "TEXT")]
    pub label: Option<String>,
    /// The run that holds it; if the run ends while it waits, it leaves the queue
    #[arg(long, value_name = "ID")]
    pub run: Option<String>,
    /// How much of the capacity it takes [default: 1]
    #[arg(long, value_name = "N")]
    pub weight: Option<String>,
    /// The id of the slot, so that the command can be repeated after a failure [default: a new one]
    #[arg(long, value_name = "ID")]
    pub slot: Option<String>,
    /// Take it now or not at all
    #[arg(long, conflicts_with = "timeout")]
    pub no_wait: bool,
}

impl Wanted {
    fn fields(&self, limit: &str) -> AcquireFields {
        let given = |text: &Option<String>| text.as_deref().map(Given::from).unwrap_or_default();
        AcquireFields {
            slot: Some(self.slot.clone().unwrap_or_else(new_id)),
            limit: Some(limit.to_owned()),
            weight: given(&self.weight),
            run: self.run.clone(),
            label: self.label.clone(),
            timeout: if self.no_wait { Given::from(0u64) } else { given(&self.timeout) },
            confirm: ConfirmMode::Auto,
            wait: CALL_WAITS.into(),
            ..AcquireFields::default()
        }
    }

    fn timeout(&self) -> Duration {
        let asked = self.timeout.as_deref().and_then(maitred::parse_duration);
        Duration::from_millis(if self.no_wait { 0 } else { asked.unwrap_or(TIMEOUT_MS) })
    }
}

/// A server said it, so one is there, or was until just now: it stops, and another may come.
fn is_of_a_server(problem: &Problem) -> bool {
    problem.request_id.is_some()
}

fn new_id() -> String {
    uuid::Uuid::now_v7().to_string()
}

/// One wait for one slot.
pub struct Wait<'a> {
    session: &'a Session,
    limit: &'a str,
    fields: AcquireFields,
    /// The id is the caller's; no other may be taken in its stead.
    id_is_given: bool,
    /// When nobody can be asked any more, it is given up then.
    until: Instant,
    progress: Progress,
    /// A server has taken the question.
    was_heard: bool,
    pause: Duration,
}

/// The slot, busy; or why there is none.
pub async fn wait_for_slot(
    session: &Session,
    limit: &str,
    wanted: &Wanted,
    signals: &mut Signals,
) -> Result<SlotAnswer, Failure> {
    output::note_milliseconds(wanted.timeout.as_deref(), session.out.json);
    let mut wait = Wait {
        session,
        limit,
        fields: wanted.fields(limit),
        id_is_given: wanted.slot.is_some(),
        until: Instant::now() + wanted.timeout() + GRACE,
        progress: Progress::new(session.out.json),
        was_heard: false,
        pause: Duration::from_millis(100),
    };
    loop {
        let outcome = match wait.once(signals).await {
            Ok(outcome) => outcome,
            Err(signal) => return Err(wait.leave(signal).await),
        };
        wait.progress.clear();
        if let Some(settled) = wait.judge(outcome).await {
            return settled;
        }
    }
}

impl Wait<'_> {
    /// One call on the line, with progress beside it; a signal that ends us comes back as an error.
    async fn once(&mut self, signals: &mut Signals) -> Result<Result<Answer, Problem>, Signal> {
        let asked = self.session.call(Call::Acquire(self.fields.clone()));
        let mut asked = std::pin::pin!(asked);
        let slot = self.fields.slot.clone().unwrap_or_default();
        loop {
            tokio::select! {
                biased;
                outcome = &mut asked => return Ok(outcome),
                signal = signals.next() => if signals::is_ending(signal) { return Err(signal) },
                () = self.progress.due() => self.progress.show(self.session, &slot, self.limit).await,
            }
        }
    }

    /// None: ask again.
    async fn judge(&mut self, outcome: Result<Answer, Problem>) -> Option<Result<SlotAnswer, Failure>> {
        let answer = match outcome {
            Ok(Answer::Slot(answer)) => answer,
            Err(problem) if self.may_ask_again(&problem) => {
                self.wait_for_the_server(&problem).await;
                return None;
            }
            other => return Some(Err(self.session.failed(other, Some(self.limit)).await)),
        };
        self.was_heard = true;
        self.pause = Duration::from_millis(100);
        match answer.slot.state {
            SlotState::Busy => Some(Ok(answer)),
            SlotState::Queued | SlotState::Reserved => None,
            SlotState::Left | SlotState::Released if !self.id_is_given => {
                output::note("the connection was lost and the place in the queue with it; asking anew");
                self.fields.slot = Some(new_id());
                None
            }
            SlotState::TimedOut => Some(Err(self.timed_out().await)),
            state => Some(Err(self.ended(state))),
        }
    }

    fn may_ask_again(&self, problem: &Problem) -> bool {
        let lost = match problem.reason {
            Reason::Unknown => true,
            Reason::Unavailable | Reason::Overloaded => self.was_heard || is_of_a_server(problem),
            _ => false,
        };
        lost && Instant::now() < self.until
    }

    async fn wait_for_the_server(&mut self, problem: &Problem) {
        if self.pause > Duration::from_secs(1) {
            self.progress.say(&format!("waiting for the server: {}", problem.message));
        }
        self.was_heard |= problem.reason == Reason::Unknown || is_of_a_server(problem);
        tokio::time::sleep(self.pause).await;
        self.pause = (self.pause * 2).min(Duration::from_secs(5));
    }

    async fn timed_out(&self) -> Failure {
        let limit = self.limit;
        if self.is_paused().await {
            let told = format!("`{limit}` is paused: nothing is granted until it is resumed");
            return Failure::new(exit::TIMED_OUT, told)
                .hint(format!("by whom and why: maitred audit --limit {limit} --act paused"))
                .hint(format!("grant again: maitred limits resume {limit}"));
        }
        let told = match self.fields.timeout.whole_number() {
            Some(0) => format!("no slot of `{limit}` is free now"),
            _ => format!(
                "no slot of `{limit}` was free within the timeout (waited {})",
                self.progress.waited()
            ),
        };
        Failure::new(exit::TIMED_OUT, told).hint(format!("who holds what: maitred limits slots {limit}"))
    }

    async fn is_paused(&self) -> bool {
        let looked = self.session.call(Call::Limit { limit: self.limit.to_owned() });
        let looked = tokio::time::timeout(LOOK_WITHIN, looked).await;
        matches!(looked, Ok(Ok(Answer::Limit(answer))) if answer.limit.paused)
    }

    fn ended(&self, state: SlotState) -> Failure {
        let slot = self.fields.slot.as_deref().unwrap_or_default();
        Failure::new(exit::FAILED, format!("slot `{slot}` has ended: {}", state.as_str().replace('_', " ")))
            .hint("ask for another: leave --slot out, or give another id")
    }

    /// Interrupted: leaves the queue, and gives back what was granted meanwhile.
    async fn leave(&mut self, signal: Signal) -> Failure {
        self.progress.clear();
        let slot = self.fields.slot.clone().unwrap_or_default();
        let leaving = async {
            let left = self.session.call(Call::Leave { slot: slot.clone() }).await;
            match left {
                Ok(Answer::Slot(answer)) if answer.slot.state == SlotState::Busy && !self.id_is_given => {
                    self.session.call(Call::Release { slot: slot.clone() }).await.map(|_| ())
                }
                other => other.map(|_| ()),
            }
        };
        let told = match tokio::time::timeout(LEAVE_WITHIN, leaving).await {
            Ok(Ok(())) => "interrupted: left the queue",
            _ => "interrupted; the server takes the closed connection as leaving the queue",
        };
        Failure::new(signals::exit_of(signal), told)
    }
}
