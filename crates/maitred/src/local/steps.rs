//! The waits for slots of a run, as its steps.

use maitred_api::{EndedSlot, RunState, RunStep, SlotInfo, SlotState, StepState};

/// The wait for a slot that is live; none if it was there at once.
pub fn of_live(slot: &SlotInfo) -> Option<RunStep> {
    let (asked_at, first) = (slot.asked_at?, slot.limits.first()?);
    let step = RunStep::hook(&first.limit, asked_at);
    match (slot.state, slot.granted_at) {
        (SlotState::Busy, Some(granted_at)) => was_waited(step, granted_at),
        // Granted, and its run has not heard of it yet.
        (SlotState::Reserved, Some(granted_at)) if granted_at == asked_at => None,
        _ => Some(step),
    }
}

/// The wait for a slot that has ended.
pub fn of_ended(end: &EndedSlot) -> Option<RunStep> {
    let step = RunStep::hook(&end.limits.first()?.limit, end.asked_at);
    if end.was == "busy" {
        return was_waited(step, end.asked_at + end.waited_ms);
    }
    let state = match end.state {
        SlotState::TimedOut => StepState::Failed,
        _ => StepState::Cancelled,
    };
    Some(RunStep { state, ended_at: Some(end.ended_at), ..step })
}

fn was_waited(step: RunStep, granted_at: u64) -> Option<RunStep> {
    let waited = granted_at > step.started_at;
    waited.then_some(RunStep { state: StepState::Closed, ended_at: Some(granted_at), ..step })
}

/// A run that waits runs. Of one that holds slots and does not wait the limiter knows no more than that.
pub fn status(steps: &[RunStep]) -> Option<RunState> {
    steps.iter().any(|step| step.state == StepState::Open).then_some(RunState::Running)
}

#[cfg(test)]
mod tests {
    use maitred_api::LimitShare;

    use super::*;

    fn live(state: SlotState, granted_at: Option<u64>) -> Option<RunStep> {
        of_live(&SlotInfo { state, granted_at, ..slot() })
    }

    fn slot() -> SlotInfo {
        SlotInfo {
            slot: "s".to_owned(),
            state: SlotState::Queued,
            limits: vec![LimitShare { limit: "voice-calls".to_owned(), weight: 1 }],
            asked_at: Some(100),
            place: None,
            fence: None,
            run: None,
            workflow: None,
            label: None,
            confirm: None,
            hold: None,
            queued_at: None,
            gives_up_at: None,
            granted_at: None,
            lapses_at: None,
            expires_at: None,
            laps: None,
            run_ended_at: None,
        }
    }

    #[test]
    fn a_wait_is_open_until_the_slot_is_confirmed() {
        let state = |step: Option<RunStep>| step.map(|step| (step.state, step.ended_at));
        assert_eq!(state(live(SlotState::Queued, None)), Some((StepState::Open, None)));
        assert_eq!(state(live(SlotState::Reserved, Some(150))), Some((StepState::Open, None)));
        assert_eq!(state(live(SlotState::Busy, Some(150))), Some((StepState::Closed, Some(150))));
        assert_eq!(live(SlotState::Queued, None).unwrap().name, "Esperando hueco · voice-calls");
    }

    #[test]
    fn what_was_there_at_once_was_no_wait() {
        assert_eq!(live(SlotState::Busy, Some(100)), None);
        assert_eq!(live(SlotState::Reserved, Some(100)), None);
    }
}
