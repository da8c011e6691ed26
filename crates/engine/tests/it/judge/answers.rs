//! Answers of both sides in one form.

use maitred_engine::outcome::{Admission, End, Outcome, SlotStatus, Verdict};
use maitred_model::{Answer, Kind, SlotView, State};

/// What both sides can be asked to agree on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Said {
    Done,
    Slot(Slot),
    Released(bool),
    Verdict { over: Option<(usize, Option<u64>)>, results: Option<Vec<Key>> },
    Refused(String),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slot {
    pub state: State,
    pub place: Option<u64>,
    pub fence: Option<u64>,
    pub expires_at: Option<u64>,
    pub lapses_at: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    used: u64,
    remaining: u64,
    reset_s: u64,
    over: bool,
}

/// A verdict that was given before is given again, but with the results of now: those are not compared.
pub fn of_engine(outcome: &Outcome) -> Said {
    match outcome {
        Outcome::Done => Said::Done,
        Outcome::Slot(status) => Said::Slot(engine_slot(status)),
        Outcome::Release { released, .. } => Said::Released(*released),
        Outcome::Admission(admission) => of_admission(admission),
        Outcome::Refused(refusal) => Said::Refused(refusal.code().to_owned()),
    }
}

fn of_admission(admission: &Admission) -> Said {
    let over = match admission.verdict {
        Verdict::Allowed => None,
        Verdict::OverRate { spec, retry_after_s } => Some((spec, Some(retry_after_s))),
        Verdict::OverConcurrency { spec } => Some((spec, None)),
    };
    let results = admission.results.iter().map(|result| Key {
        used: result.used,
        remaining: result.remaining,
        reset_s: result.reset_s,
        over: result.over,
    });
    Said::Verdict { over, results: (!admission.replayed).then(|| results.collect()) }
}

pub fn engine_slot(status: &SlotStatus) -> Slot {
    let state = |state| Slot { state, place: None, fence: None, expires_at: None, lapses_at: None };
    match *status {
        SlotStatus::Queued { place, .. } => Slot { place: Some(place), ..state(State::Queued) },
        SlotStatus::Reserved { fence, lapses_at, expires_at, .. } => Slot {
            fence: Some(fence),
            expires_at: Some(expires_at),
            lapses_at: Some(lapses_at),
            ..state(State::Reserved)
        },
        SlotStatus::Busy { fence, expires_at, .. } => {
            Slot { fence: Some(fence), expires_at: Some(expires_at), ..state(State::Busy) }
        }
        SlotStatus::Ended(End::Released) => state(State::Released),
        SlotStatus::Ended(End::Expired) => state(State::Expired),
        SlotStatus::Ended(End::TimedOut) => state(State::TimedOut),
        SlotStatus::Ended(End::Left) => state(State::Left),
        SlotStatus::Ended(End::RunEnded) => state(State::RunEnded),
        SlotStatus::Unknown => state(State::Unknown),
    }
}

pub fn of_model(answer: &Answer, with_results: bool) -> Said {
    match answer {
        Answer::Done => Said::Done,
        Answer::Slot(view) => Said::Slot(model_slot(view)),
        Answer::Released(released) => Said::Released(*released),
        Answer::Verdict(verdict) => {
            let over = verdict.blocking.as_ref().map(|blocking| {
                assert_eq!(blocking.kind == Kind::Concurrency, blocking.retry_after_seconds.is_none());
                (blocking.spec, blocking.retry_after_seconds)
            });
            let results = verdict.results.iter().map(|result| Key {
                used: result.used,
                remaining: result.remaining,
                reset_s: result.resets_in_ms.div_ceil(1000),
                over: result.over,
            });
            Said::Verdict { over, results: with_results.then(|| results.collect()) }
        }
        Answer::Error(code) => Said::Refused((*code).to_owned()),
    }
}

pub fn model_slot(view: &SlotView) -> Slot {
    Slot {
        state: view.state,
        place: view.place,
        fence: view.fence,
        expires_at: view.expires_at_ms,
        lapses_at: view.reserved_until_ms,
    }
}
