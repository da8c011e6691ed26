//! Events as the API tells them.

use maitred_api::LiveEvent;
use maitred_engine::{
    event::{Event, EventKind, SlotEvent},
    names::LimitName,
};

use super::sequencer::Published;

/// The events of one record that belong to a namespace, and to one limit if only that is wanted.
pub fn events(published: &Published, namespace: &str, limit: Option<&str>) -> Vec<LiveEvent> {
    let of_interest =
        |event: &LiveEvent| limit.is_none_or(|wanted| event.about().any(|limit| limit == wanted));
    published
        .events
        .iter()
        .filter(|event| namespace_of(event) == namespace)
        .map(|event| live(published.position, event))
        .filter(of_interest)
        .collect()
}

fn namespace_of(event: &Event) -> &str {
    match &event.kind {
        EventKind::LimitDeclared { namespace, .. }
        | EventKind::LimitRetired { namespace, .. }
        | EventKind::LimitGone { namespace, .. }
        | EventKind::CapacityOverridden { namespace, .. }
        | EventKind::MaxHoldOverridden { namespace, .. }
        | EventKind::LimitPaused { namespace, .. }
        | EventKind::LimitResumed { namespace, .. }
        | EventKind::RunEnded { namespace, .. }
        | EventKind::RateReset { namespace, .. } => namespace.as_str(),
        EventKind::SlotQueued(slot) | EventKind::SlotPutBack(slot) => slot.namespace.as_str(),
        EventKind::SlotGranted { slot, .. } | EventKind::SlotConfirmed { slot, .. } => {
            slot.namespace.as_str()
        }
        EventKind::SlotEnded(ended) => ended.namespace.as_str(),
    }
}

fn live(revision: u64, event: &Event) -> LiveEvent {
    let of_limit = |kind: &str, limit: &LimitName| LiveEvent {
        limit: Some(limit.to_string()),
        ..bare(revision, event.at, kind)
    };
    let of_slot = |kind: &str, slot: &SlotEvent| LiveEvent {
        slot: Some(slot.id.to_string()),
        ..of_limits(revision, event.at, kind, std::iter::once(&slot.limit).chain(&slot.further))
    };
    match &event.kind {
        EventKind::LimitDeclared { limit, .. } => of_limit("limit_declared", limit),
        EventKind::LimitRetired { limit, .. } => of_limit("limit_retired", limit),
        EventKind::LimitGone { limit, .. } => of_limit("limit_gone", limit),
        EventKind::CapacityOverridden { limit, .. } => of_limit("capacity_overridden", limit),
        EventKind::MaxHoldOverridden { limit, .. } => of_limit("max_hold_overridden", limit),
        EventKind::LimitPaused { limit, .. } => of_limit("limit_paused", limit),
        EventKind::LimitResumed { limit, .. } => of_limit("limit_resumed", limit),
        EventKind::SlotQueued(slot) => of_slot("slot_queued", slot),
        EventKind::SlotPutBack(slot) => of_slot("slot_put_back", slot),
        EventKind::SlotGranted { slot, busy, fence, waited_ms, expires_at, .. } => LiveEvent {
            state: Some(if *busy { "busy" } else { "reserved" }.to_owned()),
            fence: Some(*fence),
            waited_ms: Some(*waited_ms),
            expires_at: Some(*expires_at),
            ..of_slot("slot_granted", slot)
        },
        EventKind::SlotConfirmed { slot, fence, expires_at } => LiveEvent {
            fence: Some(*fence),
            expires_at: Some(*expires_at),
            ..of_slot("slot_confirmed", slot)
        },
        EventKind::SlotEnded(ended) => LiveEvent {
            slot: Some(ended.id.to_string()),
            run: ended.run.as_ref().map(ToString::to_string),
            label: ended.label.as_ref().map(ToString::to_string),
            state: Some(ended.end.as_str().to_owned()),
            fence: ended.fence,
            by: ended.by.as_ref().map(ToString::to_string),
            ..of_limits(revision, event.at, "slot_ended", ended.limits.iter().map(|(limit, _)| limit))
        },
        EventKind::RunEnded { run, .. } => {
            LiveEvent { run: Some(run.to_string()), ..bare(revision, event.at, "run_ended") }
        }
        EventKind::RateReset { .. } => bare(revision, event.at, "rate_reset"),
    }
}

fn of_limits<'a>(
    revision: u64,
    at: u64,
    kind: &str,
    limits: impl Iterator<Item = &'a LimitName>,
) -> LiveEvent {
    let limits: Vec<String> = limits.map(ToString::to_string).collect();
    let limit = limits.first().cloned();
    LiveEvent {
        limit,
        limits: if limits.len() > 1 { limits } else { Vec::new() },
        ..bare(revision, at, kind)
    }
}

fn bare(revision: u64, at: u64, kind: &str) -> LiveEvent {
    LiveEvent { revision, at, kind: kind.to_owned(), ..LiveEvent::default() }
}
