//! Why something is not moving: the answer that an operator would otherwise piece together from four screens.

use maitred_api::{Block, ExplainAnswer, ExplainedKind, ExplainedLimit, ExplainedSlot, SlotInfo, SlotState};
use maitred_engine::{
    Engine,
    time::{Millis, SECOND_MS, format_duration},
    view::{LimitView, SlotView},
};

use super::answer::{self, AsOf};

/// Slots of a run or label that are explained, and holders that are named.
const SLOTS_MAX: usize = 20;
const HOLDERS_MAX: usize = 10;
/// Holders among which the first to come back is looked for.
const HOLDERS_LOOKED_AT: usize = 1_000;

/// What is alive under this name: a slot, else a run, else what carries it as a label.
pub fn explain(engine: &Engine, ns: &str, what: &str, as_of: AsOf) -> ExplainAnswer {
    let (kind, views) = find(engine, ns, what);
    let slots: Vec<ExplainedSlot> = views.iter().map(|view| explained(engine, ns, view, as_of.at)).collect();
    let text = match (kind, slots.as_slice()) {
        (ExplainedKind::Unknown, _) => format!("Nothing that holds or waits is known as `{what}`."),
        (ExplainedKind::Slot, [only]) => only.text.clone(),
        (_, []) => format!("`{what}` holds no slot and waits for none."),
        (_, slots) => several(what, slots),
    };
    ExplainAnswer {
        what: what.to_owned(),
        kind,
        text,
        slots,
        ended: Vec::new(),
        revision: as_of.revision,
        as_of: as_of.at,
    }
}

fn find(engine: &Engine, ns: &str, what: &str) -> (ExplainedKind, Vec<SlotView>) {
    if let Some(slot) = engine.slot(ns, what) {
        return (ExplainedKind::Slot, vec![slot]);
    }
    if let Some(mut run) = engine.run(ns, what) {
        run.slots.truncate(SLOTS_MAX);
        return (ExplainedKind::Run, run.slots);
    }
    match engine.labelled(ns, what, SLOTS_MAX) {
        none if none.is_empty() => (ExplainedKind::Unknown, none),
        slots => (ExplainedKind::Label, slots),
    }
}

fn several(what: &str, slots: &[ExplainedSlot]) -> String {
    let is_waiting = |slot: &&ExplainedSlot| slot.slot.state == SlotState::Queued;
    let waiting = slots.iter().filter(is_waiting).count();
    let telling = slots.iter().find(is_waiting).or(slots.first());
    let text = telling.map(|slot| slot.text.as_str()).unwrap_or_default();
    format!("`{what}` holds {} and waits for {waiting}. {text}", slots.len() - waiting)
}

fn explained(engine: &Engine, ns: &str, view: &SlotView, now: Millis) -> ExplainedSlot {
    let slot = answer::slot_info(view);
    if slot.state != SlotState::Queued {
        let text = holding_text(&slot, now);
        return ExplainedSlot { slot, text, waits_for: Vec::new(), next_due_at: None };
    }
    let places = engine.places(ns, view.slot.as_str());
    let limits: Vec<ExplainedLimit> = view
        .limits
        .iter()
        .zip(places)
        .filter_map(|((limit, weight), place)| {
            let limit = engine.limit(ns, limit.as_str())?;
            Some(explained_limit(engine, ns, &limit, *weight, place))
        })
        .collect();
    let next_due_at = limits.iter().filter(|limit| limit.block != Block::None).filter_map(next_due).max();
    let text = waiting_text(&slot, &limits, now);
    ExplainedSlot { slot, text, waits_for: limits, next_due_at }
}

fn explained_limit(engine: &Engine, ns: &str, limit: &LimitView, weight: u32, place: u64) -> ExplainedLimit {
    let name = limit.limit.as_str();
    let used = limit.busy + limit.reserved;
    let block = if place > 1 {
        Block::Behind
    } else if limit.paused {
        Block::Paused
    } else if weight > limit.capacity {
        Block::TooSmall
    } else if used + u64::from(weight) > u64::from(limit.capacity) {
        Block::Full
    } else {
        Block::None
    };
    let mut holders: Vec<SlotInfo> =
        engine.holders(ns, name, 0, HOLDERS_LOOKED_AT).iter().map(answer::slot_info).collect();
    holders.sort_by_key(|holder| holder.expires_at);
    holders.truncate(HOLDERS_MAX);
    let first = engine.queue(ns, name, 0, 1).first().map(answer::slot_info).filter(|_| place > 1);
    let (capacity, waiting) = (limit.capacity, limit.waiting);
    ExplainedLimit { limit: name.to_owned(), weight, capacity, used, place, waiting, block, first, holders }
}

/// When the first holder of a limit has to give its place back.
fn next_due(limit: &ExplainedLimit) -> Option<Millis> {
    limit.holders.iter().filter_map(|holder| holder.expires_at).min()
}

fn holding_text(slot: &SlotInfo, now: Millis) -> String {
    let limits =
        slot.limits.iter().map(|share| format!("`{}`", share.limit)).collect::<Vec<_>>().join(" and ");
    let since = slot.granted_at.map_or_else(String::new, |at| ago(at, now));
    match slot.state {
        SlotState::Reserved => format!(
            "It was given a place of {limits} {since} and has not confirmed it; in {} the place goes on to the next.",
            until(slot.lapses_at, now)
        ),
        _ => format!(
            "It holds {limits}, granted {since}; the place comes back in {} at the latest.",
            until(slot.expires_at, now)
        ),
    }
}

fn waiting_text(slot: &SlotInfo, limits: &[ExplainedLimit], now: Millis) -> String {
    let since = slot.queued_at.map_or_else(String::new, |at| ago(at, now));
    let gives_up = until(slot.gives_up_at, now);
    let why: Vec<String> = limits
        .iter()
        .filter(|limit| limit.block != Block::None)
        .map(|limit| block_text(limit, now))
        .collect();
    format!("It was queued {since} and gives up in {gives_up}. {}", why.join(" "))
}

fn block_text(limit: &ExplainedLimit, now: Millis) -> String {
    let ExplainedLimit { limit: name, weight, capacity, used, place, waiting, .. } = limit;
    let next = match next_due(limit) {
        Some(at) => format!("the next place comes back in {} at the latest", until(Some(at), now)),
        None => "nobody holds it".to_owned(),
    };
    match limit.block {
        Block::None => String::new(),
        Block::Full => {
            format!(
                "It is first in line for `{name}` and needs {weight}: {used} of {capacity} are taken; {next}."
            )
        }
        Block::Paused => {
            format!("`{name}` is paused by an operator: nothing is given out until it is resumed.")
        }
        Block::TooSmall => format!(
            "It is first in line for `{name}` and needs {weight}, but the capacity was lowered to {capacity}: \
             it can only go once that is raised."
        ),
        Block::Behind => {
            let first = limit.first.as_ref().map_or_else(String::new, |first| {
                let run = first.run.as_ref().map(|run| format!(" of run `{run}`")).unwrap_or_default();
                format!(" first is `{}`{run};", first.slot)
            });
            format!(
                "In line for `{name}` it is {place} of {waiting};{first} {used} of {capacity} are taken; {next}."
            )
        }
    }
}

fn ago(at: Millis, now: Millis) -> String {
    format!("{} ago", span(now.saturating_sub(at)))
}

fn until(at: Option<Millis>, now: Millis) -> String {
    at.map_or_else(|| "an unknown time".to_owned(), |at| span(at.saturating_sub(now)))
}

/// For people: whole seconds, unless there is less than one.
fn span(ms: Millis) -> String {
    if ms < SECOND_MS { format_duration(ms) } else { format_duration(ms / SECOND_MS * SECOND_MS) }
}
