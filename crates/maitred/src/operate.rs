//! What operators do, and what anybody may look at.

use std::time::Duration;

use maitred_api::{
    Answer, Call, Given, LimitAnswer, LimitInfo, LimitSlotsAnswer, NamedLimit, Problem, Reason, RunAnswer,
    RunInfo, RunStatus, RunsFields, SlotAnswer,
};

use tokio::time::Instant;

use crate::{Maitred, SlotId, error::millis, releaser::What, slot::Released};

/// How many entries a page of a list has.
const PAGE: u32 = 1_000;
/// How long a slot that may be there is given back for, since its expiry is not known.
const GIVE_UP_FOR: Duration = Duration::from_secs(86_400);
/// Places are freed an hour after they were taken in any case.
const END_RUN_FOR: Duration = Duration::from_secs(3_600);

/// Changes of limits. Each is done once, however often its answer gets lost.
impl Maitred {
    /// Declares a limit, or declares it anew. It does not undo an operator's override.
    ///
    /// # Errors
    /// A name, capacity (1 to 100 000) or max hold (1 ms to 30 days) that is not allowed; the limiter's own trouble.
    pub async fn declare(&self, limit: &str, capacity: u32, max_hold: Duration) -> Result<(), Problem> {
        self.change(Call::Declare(named(limit, capacity, max_hold))).await
    }

    /// Declares the whole set of the namespace: every limit that is not in it is retired.
    ///
    /// # Errors
    /// As for [`Maitred::declare`]; then nothing of the set is declared.
    pub async fn deploy<'a>(
        &self,
        set: impl IntoIterator<Item = (&'a str, u32, Duration)>,
    ) -> Result<(), Problem> {
        let limits = set.into_iter().map(|(limit, capacity, max_hold)| named(limit, capacity, max_hold));
        self.change(Call::Deploy { limits: limits.collect() }).await
    }

    /// Overrides the declared capacity until it is reset. Raised, it lets waiting slots in at once; lowered, it
    /// takes nothing back.
    ///
    /// # Errors
    /// No such limit, or not a capacity.
    pub async fn set_capacity(&self, limit: &str, capacity: u32) -> Result<(), Problem> {
        self.change(Call::SetCapacity { limit: limit.to_owned(), capacity: capacity.into() }).await
    }

    /// Back to the declared capacity.
    ///
    /// # Errors
    /// No such limit.
    pub async fn reset_capacity(&self, limit: &str) -> Result<(), Problem> {
        self.change(Call::ResetCapacity { limit: limit.to_owned() }).await
    }

    /// Overrides the declared max hold until it is reset. It counts from the next grant on.
    ///
    /// # Errors
    /// No such limit, or not a max hold.
    pub async fn set_max_hold(&self, limit: &str, max_hold: Duration) -> Result<(), Problem> {
        self.change(Call::SetMaxHold { limit: limit.to_owned(), max_hold: millis(max_hold).into() }).await
    }

    /// Back to the declared max hold.
    ///
    /// # Errors
    /// No such limit.
    pub async fn reset_max_hold(&self, limit: &str) -> Result<(), Problem> {
        self.change(Call::ResetMaxHold { limit: limit.to_owned() }).await
    }

    /// Grants nothing more until it is resumed. What is held stays held, what waits goes on waiting.
    ///
    /// # Errors
    /// No such limit.
    pub async fn pause(&self, limit: &str) -> Result<(), Problem> {
        self.change(Call::Pause { limit: limit.to_owned() }).await
    }

    /// Grants again.
    ///
    /// # Errors
    /// No such limit.
    pub async fn resume(&self, limit: &str) -> Result<(), Problem> {
        self.change(Call::Resume { limit: limit.to_owned() }).await
    }

    /// Gives a slot back, whoever holds it. The second time, and after its max hold, it says `released: false`.
    ///
    /// # Errors
    /// The limiter could not be heard, or the id is none.
    pub async fn release(&self, slot: &SlotId) -> Result<Released, Problem> {
        match self.call(Call::Release { slot: slot.to_string() }).await? {
            Answer::Release(answer) => Ok(Released { released: answer.released, state: answer.state }),
            other => Err(unexpected(&other)),
        }
    }

    /// Ends a run: it leaves every queue, gives up its places, and its hits that count successes only are given
    /// back unless it succeeded.
    ///
    /// # Errors
    /// The limiter could not be heard, or the id is none.
    pub async fn end_run(&self, run: &str, status: RunStatus) -> Result<(), Problem> {
        self.change(Call::EndRun { run: run.to_owned(), status }).await
    }

    /// Ends a run from where nobody can wait, such as a `Drop`: never blocks, works outside a runtime, and is tried in
    /// the background until it is answered, for an hour.
    pub fn end_run_in_background(&self, run: impl Into<String>, status: RunStatus) {
        self.hand_over(What::EndRun { run: run.into(), status }, Instant::now() + END_RUN_FOR);
    }

    /// Gives up a slot from where nobody can wait and nobody knows how it stands: it leaves the queue, a grant is given
    /// back, and one that is not there yet is looked for a few times. Never blocks, works outside a runtime.
    pub fn give_up_in_background(&self, slot: &SlotId) {
        self.hand_over(What::GiveUp { slot: slot.clone() }, Instant::now() + GIVE_UP_FOR);
    }

    async fn change(&self, call: Call) -> Result<(), Problem> {
        self.call(call).await.map(drop)
    }
}

/// What there is.
impl Maitred {
    /// All limits of the namespace, by name.
    ///
    /// # Errors
    /// The limiter could not be heard.
    pub async fn limits(&self) -> Result<Vec<LimitInfo>, Problem> {
        let (mut limits, mut after) = (Vec::new(), None);
        loop {
            match self.call(Call::Limits { after, most: Some(PAGE), prefixes: Vec::new() }).await? {
                Answer::Limits(page) => {
                    limits.extend(page.limits);
                    after = page.next;
                }
                other => return Err(unexpected(&other)),
            }
            if after.is_none() {
                return Ok(limits);
            }
        }
    }

    /// One limit.
    ///
    /// # Errors
    /// No such limit.
    pub async fn limit(&self, limit: &str) -> Result<LimitAnswer, Problem> {
        match self.call(Call::Limit { limit: limit.to_owned() }).await? {
            Answer::Limit(answer) => Ok(answer),
            other => Err(unexpected(&other)),
        }
    }

    /// One limit with the first thousand of its slots: who holds, then who waits, in order, all at one revision.
    ///
    /// # Errors
    /// No such limit.
    pub async fn limit_slots(&self, limit: &str) -> Result<LimitSlotsAnswer, Problem> {
        match self.call(Call::LimitSlots { limit: limit.to_owned(), skip: 0, most: Some(PAGE) }).await? {
            Answer::LimitSlots(answer) => Ok(answer),
            other => Err(unexpected(&other)),
        }
    }

    /// A slot as it is.
    ///
    /// # Errors
    /// The limiter could not be heard, or the id is none.
    pub async fn slot(&self, slot: &SlotId) -> Result<SlotAnswer, Problem> {
        match self.call(Call::Slot { slot: slot.to_string(), wait: Given::default() }).await? {
            Answer::Slot(answer) => Ok(answer),
            other => Err(unexpected(&other)),
        }
    }

    /// Every run that holds or waits for something, by id.
    ///
    /// # Errors
    /// The limiter could not be heard.
    pub async fn runs(&self) -> Result<Vec<RunInfo>, Problem> {
        let (mut runs, mut after) = (Vec::new(), None);
        loop {
            let fields = RunsFields { after, most: Some(PAGE), ..RunsFields::default() };
            match self.call(Call::Runs(fields)).await? {
                Answer::Runs(page) => {
                    runs.extend(page.runs);
                    after = page.next;
                }
                other => return Err(unexpected(&other)),
            }
            if after.is_none() {
                return Ok(runs);
            }
        }
    }

    /// What a run holds and waits for.
    ///
    /// # Errors
    /// The limiter could not be heard, or the id is none.
    pub async fn run(&self, run: &str) -> Result<RunAnswer, Problem> {
        match self.call(Call::Run { run: run.to_owned() }).await? {
            Answer::Run(answer) => Ok(answer),
            other => Err(unexpected(&other)),
        }
    }
}

fn named(limit: &str, capacity: u32, max_hold: Duration) -> NamedLimit {
    NamedLimit { name: limit.to_owned(), capacity: capacity.into(), max_hold: millis(max_hold).into() }
}

/// Both clients answer a call with its own kind of answer; this one came from something else.
pub(crate) fn unexpected(answer: &Answer) -> Problem {
    Problem::new(Reason::Internal, format!("the limiter answered another question: {answer:?}"))
}
