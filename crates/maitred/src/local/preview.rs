//! What a change of a limit would do, before anybody makes it.
//!
//! Nothing is tried on the engine: who would start is counted along the queue, in order, as a grant would (S3, S12): a
//! slot starts if it is first in each of its limits behind those that start before it, and each has room. A slot of
//! another limit that could go on only because of these starts is not counted, so what is told is never too much.

use std::collections::HashMap;

use maitred_api::{Given, PreviewAnswer, Problem};
use maitred_engine::{
    Engine,
    names::LimitName,
    time::format_duration,
    view::{LimitView, SlotView},
};

use super::{
    answer::{self, AsOf},
    check,
};

/// How many of the queue are looked at.
const LOOKED_AT: usize = 10_000;
const RESET: &str = "reset";

pub fn preview(
    engine: &Engine,
    ns: &str,
    limit: &LimitName,
    capacity: &Given,
    max_hold: &Given,
    as_of: AsOf,
) -> Result<PreviewAnswer, Problem> {
    let not_found =
        || answer::problem(&maitred_engine::outcome::Refusal::LimitNotFound { limit: limit.clone() });
    let before = engine.limit(ns, limit.as_str()).ok_or_else(not_found)?;
    let after_capacity = match capacity {
        given if given.is_missing() => before.capacity,
        given if given.0 == RESET => before.declared_capacity,
        given => check::capacity(limit, given)?,
    };
    let after_max_hold = match max_hold {
        given if given.is_missing() => before.max_hold_ms,
        given if given.0 == RESET => before.declared_max_hold_ms,
        given => check::max_hold(limit, given)?,
    };
    let queue = engine.queue(ns, limit.as_str(), 0, LOOKED_AT);
    let starts = starts(engine, ns, &before, after_capacity, &queue);
    let used = before.busy + before.reserved;
    let mut told = PreviewAnswer {
        limit: limit.to_string(),
        capacity: after_capacity,
        max_hold_ms: after_max_hold,
        starts,
        over: used.saturating_sub(u64::from(after_capacity)),
        never_fit: queue.iter().filter(|slot| weight(slot, limit) > after_capacity).count() as u32,
        effects: Vec::new(),
        revision: as_of.revision,
        as_of: as_of.at,
    };
    told.effects = effects(&before, &told);
    Ok(told)
}

fn weight(slot: &SlotView, limit: &LimitName) -> u32 {
    slot.limits.iter().find(|(name, _)| name == limit).map_or(0, |(_, weight)| *weight)
}

/// Room and queue of a limit as they change while slots start.
struct Room {
    free: u64,
    started: u64,
}

fn starts(engine: &Engine, ns: &str, limit: &LimitView, capacity: u32, queue: &[SlotView]) -> u32 {
    let mut rooms: HashMap<LimitName, Room> = HashMap::new();
    let own = Room { free: free(limit, capacity), started: 0 };
    rooms.insert(limit.limit.clone(), own);
    let mut starts = 0;
    for slot in queue {
        let places = engine.places(ns, slot.slot.as_str());
        let mut fits = slot.limits.len() == places.len();
        for ((name, weight), place) in slot.limits.iter().zip(&places) {
            let other = || engine.limit(ns, name.as_str()).map_or(0, |view| free(&view, view.capacity));
            let room = rooms.entry(name.clone()).or_insert_with(|| Room { free: other(), started: 0 });
            fits &= *place == room.started + 1 && room.free >= u64::from(*weight);
        }
        if !fits {
            break; // nobody overtakes in this queue
        }
        for (name, weight) in &slot.limits {
            if let Some(room) = rooms.get_mut(name) {
                room.free -= u64::from(*weight);
                room.started += 1;
            }
        }
        starts += 1;
    }
    starts
}

fn free(limit: &LimitView, capacity: u32) -> u64 {
    match limit.paused {
        true => 0,
        false => u64::from(capacity).saturating_sub(limit.busy + limit.reserved),
    }
}

fn effects(before: &LimitView, after: &PreviewAnswer) -> Vec<String> {
    let mut effects = Vec::new();
    let held = before.busy_slots + before.reserved_slots;
    if after.capacity != before.capacity {
        effects.push(capacity_effect(before, after, held));
    }
    if after.max_hold_ms != before.max_hold_ms {
        let now = format_duration(after.max_hold_ms);
        effects.push(match held {
            0 => format!("Slots granted from now on are taken back after {now}."),
            held => format!(
                "Slots granted from now on are taken back after {now}; the {held} that hold now keep their expiry."
            ),
        });
    }
    if after.never_fit > 0 {
        let (many, its) = if after.never_fit == 1 { ("slot", "its") } else { ("slots", "their") };
        effects.push(format!(
            "{} waiting {many} would no longer fit, and wait until the capacity is raised or {its} time is up.",
            after.never_fit
        ));
    }
    if effects.is_empty() {
        effects.push("Nothing changes.".to_owned());
    }
    effects
}

fn capacity_effect(before: &LimitView, after: &PreviewAnswer, held: u32) -> String {
    let waiting = before.waiting;
    match (after.over, after.starts) {
        (over, _) if over > 0 => format!(
            "The {held} slots that hold now stay. New ones are granted once fewer than {} places are taken.",
            after.capacity
        ),
        (_, starts) if starts > 0 => format!("{starts} of {waiting} waiting slots start now."),
        _ if before.paused && waiting > 0 => {
            format!("The limit is paused: none of the {waiting} waiting slots starts before it is resumed.")
        }
        _ if waiting > 0 => format!("None of the {waiting} waiting slots starts now."),
        _ => format!("Up to {} at once from now on; nobody waits.", after.capacity),
    }
}
