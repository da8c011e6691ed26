//! What becomes a row: how slots ended, and what was done about limits.

use maitred_engine::{
    command::{Command, Request, Verb},
    event::{EndedSlot, Event, EventKind},
    names::Label,
    outcome::End,
    time::{Millis, format_duration},
};

/// The rows of some records, in their order, gathered before they are written.
#[derive(Debug, Default)]
pub struct Rows {
    pub ends: Vec<(u64, Millis, EndedSlot)>,
    pub acts: Vec<Act>,
}

#[derive(Debug)]
pub struct Act {
    pub revision: u64,
    pub at: Millis,
    pub namespace: String,
    pub act: &'static str,
    pub target: String,
    pub before: Option<String>,
    pub after: Option<String>,
    pub by: Option<Label>,
    pub reason: Option<Label>,
}

impl Rows {
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub fn len(&self) -> usize {
        self.ends.len() + self.acts.len()
    }

    /// These come behind those that are there.
    pub fn append(&mut self, mut later: Rows) {
        self.ends.append(&mut later.ends);
        self.acts.append(&mut later.acts);
    }

    pub fn forget_up_to(&mut self, revision: u64) {
        self.ends.retain(|(of, ..)| *of > revision);
        self.acts.retain(|act| act.revision > revision);
    }

    /// Lets go of the older half, whole records only: up to which record, and its time.
    pub fn forget_half(&mut self) -> Option<(u64, Millis)> {
        let ends = self.ends.iter().map(|(revision, at, _)| (*revision, *at));
        let mut all: Vec<_> = ends.chain(self.acts.iter().map(|act| (act.revision, act.at))).collect();
        all.sort_unstable();
        let last = *all.get(all.len() / 2)?;
        self.forget_up_to(last.0);
        Some(last)
    }

    /// What one command did.
    pub fn add(&mut self, revision: u64, command: &Command, events: &[Event]) {
        let request = match command {
            Command::In(request) => Some(&**request),
            _ => None,
        };
        for event in events {
            if let EventKind::SlotEnded(ended) = &event.kind {
                self.ends.push((revision, event.at, (**ended).clone()));
                self.acts.extend(releases_by_hand(revision, event.at, ended));
            } else if let Some(act) = act(revision, event, request) {
                self.acts.push(act);
            }
        }
    }
}

/// A release that says why is an operator's: one act for each limit that got its place back.
fn releases_by_hand(revision: u64, at: Millis, ended: &EndedSlot) -> impl Iterator<Item = Act> {
    let is_by_hand = ended.end == End::Released && ended.reason.is_some();
    ended.limits.iter().filter(move |_| is_by_hand).map(move |(limit, _)| Act {
        revision,
        at,
        namespace: ended.namespace.to_string(),
        act: "released",
        target: limit.to_string(),
        before: Some(ended.id.to_string()),
        after: None,
        by: ended.by.clone(),
        reason: ended.reason.clone(),
    })
}

fn act(revision: u64, event: &Event, request: Option<&Request>) -> Option<Act> {
    let number = |value: &Option<u32>| value.map(|value| value.to_string());
    let span = |value: &Option<Millis>| value.map(format_duration);
    let (namespace, act, target, before, after) = match &event.kind {
        EventKind::LimitDeclared { namespace, limit, capacity, max_hold_ms } => {
            let after = format!("{capacity} for {}", format_duration(*max_hold_ms));
            (namespace, "declared", limit.to_string(), None, Some(after))
        }
        EventKind::LimitRetired { namespace, limit } => (namespace, "retired", limit.to_string(), None, None),
        EventKind::LimitGone { namespace, limit } => (namespace, "gone", limit.to_string(), None, None),
        EventKind::CapacityOverridden { namespace, limit, before, after } => {
            (namespace, "capacity", limit.to_string(), number(before), number(after))
        }
        EventKind::MaxHoldOverridden { namespace, limit, before, after } => {
            (namespace, "max_hold", limit.to_string(), span(before), span(after))
        }
        EventKind::LimitPaused { namespace, limit } => (namespace, "paused", limit.to_string(), None, None),
        EventKind::LimitResumed { namespace, limit } => (namespace, "resumed", limit.to_string(), None, None),
        EventKind::RateReset { namespace, task, key } => {
            (namespace, "rate_reset", format!("{task}/{}", masked(key.as_str())), None, None)
        }
        _ => return None,
    };
    // What fell due on the way to somebody's command is not that somebody's act.
    let own = request.filter(|request| is_about_limits(&request.verb) && event_is_of(event, request));
    Some(Act {
        revision,
        at: event.at,
        namespace: namespace.to_string(),
        act,
        target,
        before,
        after,
        by: own.and_then(|request| request.by.clone()),
        reason: own.and_then(|request| request.reason.clone()),
    })
}

fn is_about_limits(verb: &Verb) -> bool {
    matches!(
        verb,
        Verb::Declare(_)
            | Verb::Deploy(_)
            | Verb::SetCapacity { .. }
            | Verb::SetMaxHold { .. }
            | Verb::Pause { .. }
            | Verb::Resume { .. }
            | Verb::ResetRate { .. }
    )
}

fn event_is_of(event: &Event, request: &Request) -> bool {
    match &event.kind {
        EventKind::LimitGone { namespace, .. } => {
            *namespace == request.namespace && matches!(request.verb, Verb::Deploy(_))
        }
        _ => true,
    }
}

/// A key as it may be shown: it can name a person.
fn masked(key: &str) -> String {
    let shown: String = key.chars().take(4).collect();
    if key.chars().count() <= 4 { "…".to_owned() } else { format!("{shown}…") }
}
