//! The steps of a run, read from its history.

use duroxide::{Event, EventKind};
use maitred::api::{RunStep, SlotState, StepKind, StepState};

use crate::{
    desk::{ACQUIRE, CONFIRM, LAST_LOOK, PREFIX, Said},
    names::{Ticket, limit_of_inbox},
};

/// Reads a history from its beginning.
#[derive(Default)]
pub struct Reading {
    steps: Vec<RunStep>,
    /// The event that began each step.
    began: Vec<u64>,
    /// Waits for slots: the inbox, and the place of its step.
    hooks: Vec<(String, usize)>,
    /// Questions to the limiter that are open: the event, and the slot they are about.
    asked: Vec<(u64, String)>,
    /// The next timer is a pause, since the limiter is away.
    pauses: bool,
}

pub fn steps(history: &[Event]) -> Vec<RunStep> {
    let mut reading = Reading::default();
    history.iter().for_each(|event| reading.read(event));
    reading.steps
}

impl Reading {
    fn read(&mut self, event: &Event) {
        match &event.kind {
            EventKind::ActivityScheduled { name, input, .. } if name.starts_with(PREFIX) => {
                if matches!(name.as_str(), ACQUIRE | CONFIRM | LAST_LOOK) {
                    self.asked.push((event.event_id, slot_in(input)));
                }
            }
            EventKind::ActivityScheduled { name, .. } => self.begin(event, name, StepKind::Step),
            EventKind::SubOrchestrationScheduled { name, .. } => self.begin(event, name, StepKind::Run),
            EventKind::TimerCreated { .. } if std::mem::take(&mut self.pauses) => {}
            EventKind::TimerCreated { .. } => self.begin(event, "timer", StepKind::Timer),
            EventKind::ActivityCompleted { result } => {
                self.heard(event, result);
                self.end(event, StepState::Closed);
            }
            EventKind::SubOrchestrationCompleted { .. } | EventKind::TimerFired { .. } => {
                self.end(event, StepState::Closed);
            }
            EventKind::ActivityFailed { .. } | EventKind::SubOrchestrationFailed { .. } => {
                self.end(event, StepState::Failed);
            }
            EventKind::QueueSubscribed { name } => self.wait(event, name),
            EventKind::OrchestrationCompleted { .. } | EventKind::OrchestrationFailed { .. } => {
                self.end_all(event);
            }
            _ => {}
        }
    }

    fn begin(&mut self, event: &Event, name: &str, kind: StepKind) {
        let (name, state) = (name.to_owned(), StepState::Open);
        let started_at = event.timestamp_ms;
        self.push(event, RunStep { name, kind, state, limit: None, started_at, ended_at: None });
    }

    fn push(&mut self, event: &Event, step: RunStep) {
        self.steps.push(step);
        self.began.push(event.event_id);
    }

    /// A wait for a slot begins with its timer, which is part of it.
    fn wait(&mut self, event: &Event, inbox: &str) {
        if self.hooks.iter().any(|(known, _)| known == inbox) {
            return;
        }
        let Some(limit) = limit_of_inbox(inbox) else {
            return self.begin(event, inbox, StepKind::Hook);
        };
        if self.steps.last().is_some_and(|last| last.kind == StepKind::Timer && last.ended_at.is_none()) {
            self.steps.pop();
            self.began.pop();
        }
        self.hooks.push((inbox.to_owned(), self.steps.len()));
        self.push(event, RunStep::hook(limit, event.timestamp_ms));
    }

    /// What the limiter said about a slot decides the step that waits for it.
    fn heard(&mut self, event: &Event, result: &str) {
        let of = |(id, _): &(u64, String)| Some(*id) == event.source_event_id;
        let Some(at) = self.asked.iter().position(of) else { return };
        let (_, slot) = self.asked.swap_remove(at);
        let state = match serde_json::from_str(result) {
            Ok(Said::Away(_)) => {
                self.pauses = true;
                return;
            }
            Ok(Said::Slot { state: SlotState::Queued | SlotState::Reserved, .. }) => return,
            Ok(Said::Slot { state: SlotState::Busy, .. }) => StepState::Closed,
            _ => StepState::Failed,
        };
        let suffix =
            Ticket::of_slot(&slot).map(|ticket| format!(" · {}.{}", ticket.execution, ticket.number));
        let hook =
            |(inbox, _): &&(String, usize)| suffix.as_ref().is_some_and(|suffix| inbox.ends_with(suffix));
        if let Some(&(_, step)) = self.hooks.iter().find(hook) {
            self.close(step, event, state);
        }
    }

    fn end(&mut self, event: &Event, state: StepState) {
        let began = event.source_event_id;
        if let Some(step) = self.began.iter().position(|id| Some(*id) == began) {
            self.close(step, event, state);
        }
    }

    fn close(&mut self, step: usize, event: &Event, state: StepState) {
        let step = &mut self.steps[step];
        if step.ended_at.is_none() {
            (step.state, step.ended_at) = (state, Some(event.timestamp_ms));
        }
    }

    fn end_all(&mut self, event: &Event) {
        (0..self.steps.len()).for_each(|step| self.close(step, event, StepState::Cancelled));
    }
}

fn slot_in(input: &str) -> String {
    match serde_json::from_str(input) {
        Ok(serde_json::Value::String(slot)) => slot,
        Ok(fields) => fields["slot"].as_str().unwrap_or_default().to_owned(),
        Err(_) => String::new(),
    }
}
