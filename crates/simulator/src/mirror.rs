//! Limits and queues kept a second time, from events alone, in the plainest way: lists, looked through from the
//! front. What the engine does must be allowed by this.
//!
//! ```text
//! limit a: capacity 2, used 1, queue [s5, s7]
//! event: s7 granted        -> "s7 overtakes s5"
//! event: s5 granted        -> used 2, queue [s7]
//! after the command        -> nobody at a head may have room
//! ```

use std::collections::{BTreeMap, VecDeque};

use maitred_engine::{
    Engine,
    command::Acquire,
    event::{Event, EventKind, SlotEvent},
    names::{LimitName, Namespace, SlotId},
    time::Millis,
};

pub(crate) type Place = (Namespace, SlotId);
type Checked = Result<(), String>;

#[derive(Default)]
pub(crate) struct Mirror {
    limits: BTreeMap<(Namespace, LimitName), Limit>,
    slots: BTreeMap<Place, Slot>,
    last_fence: u64,
}

#[derive(Default)]
struct Limit {
    capacity: u32,
    capacity_override: Option<u32>,
    max_hold_ms: Millis,
    max_hold_override: Option<Millis>,
    paused: bool,
    used: u64,
    queue: VecDeque<SlotId>,
}

struct Slot {
    asks: Vec<(LimitName, u32)>,
    held: bool,
}

impl Limit {
    fn capacity(&self) -> u64 {
        u64::from(self.capacity_override.unwrap_or(self.capacity))
    }

    fn has_room(&self, weight: u32) -> bool {
        !self.paused && self.used + u64::from(weight) <= self.capacity()
    }
}

impl Mirror {
    /// A slot is asked for, before the events of that.
    pub(crate) fn asked(&mut self, namespace: &Namespace, acquire: &Acquire) {
        let asks = acquire.asks.iter().map(|ask| (ask.limit.clone(), ask.weight)).collect();
        self.slots.insert((namespace.clone(), acquire.slot.clone()), Slot { asks, held: false });
    }

    pub(crate) fn take(&mut self, event: &Event) -> Checked {
        use EventKind::*;
        match &event.kind {
            LimitDeclared { namespace, limit, capacity, max_hold_ms } => {
                let limit = self.limit(namespace, limit);
                (limit.capacity, limit.max_hold_ms) = (*capacity, *max_hold_ms);
            }
            CapacityOverridden { namespace, limit, after, .. } => {
                self.limit(namespace, limit).capacity_override = *after;
            }
            MaxHoldOverridden { namespace, limit, after, .. } => {
                self.limit(namespace, limit).max_hold_override = *after;
            }
            LimitPaused { namespace, limit } => self.limit(namespace, limit).paused = true,
            LimitResumed { namespace, limit } => self.limit(namespace, limit).paused = false,
            LimitGone { namespace, limit } => return self.gone(namespace, limit),
            SlotQueued(slot) | SlotPutBack(slot) => return self.queued(slot),
            SlotGranted { slot, fence, expires_at, .. } => {
                return self.granted(event.at, slot, *fence, *expires_at);
            }
            SlotEnded(ended) => return self.ended(&(ended.namespace.clone(), ended.id.clone())),
            SlotConfirmed { .. } | LimitRetired { .. } | RunEnded { .. } | RateReset { .. } => {}
        }
        Ok(())
    }

    fn limit(&mut self, namespace: &Namespace, limit: &LimitName) -> &mut Limit {
        self.limits.entry((namespace.clone(), limit.clone())).or_default()
    }

    fn gone(&mut self, namespace: &Namespace, name: &LimitName) -> Checked {
        let limit = self.limit(namespace, name);
        if limit.used > 0 || !limit.queue.is_empty() {
            return Err(format!("limit {name} is gone while {} are used and some wait", limit.used));
        }
        Ok(())
    }

    /// Out of wherever it is, with the limits it names.
    fn detach(&mut self, place: &Place) -> Result<Vec<(LimitName, u32)>, String> {
        let slot =
            self.slots.get_mut(place).ok_or_else(|| format!("an event of {}, unasked for", place.1))?;
        let (asks, was_held) = (slot.asks.clone(), std::mem::take(&mut slot.held));
        for (name, weight) in &asks {
            let limit = self.limit(&place.0, name);
            if was_held {
                limit.used -= u64::from(*weight);
            } else {
                limit.queue.retain(|waiting| *waiting != place.1);
            }
        }
        Ok(asks)
    }

    fn queued(&mut self, slot: &SlotEvent) -> Checked {
        let place = (slot.namespace.clone(), slot.id.clone());
        for (name, _) in self.detach(&place)? {
            self.limit(&place.0, &name).queue.push_back(place.1.clone());
        }
        Ok(())
    }

    /// S3, S12, L5, L6, L7, S14.
    fn granted(&mut self, at: Millis, slot: &SlotEvent, fence: u64, expires_at: Millis) -> Checked {
        let place = (slot.namespace.clone(), slot.id.clone());
        if fence <= self.last_fence {
            return Err(format!("fence {fence} of {} after fence {}", slot.id, self.last_fence));
        }
        self.last_fence = fence;
        let known = self.slots.get(&place).ok_or_else(|| format!("{} granted, unasked for", slot.id))?;
        if known.held {
            return Err(format!("{} granted twice", slot.id));
        }
        for (name, _) in &known.asks {
            let first = self.limits.get(&(place.0.clone(), name.clone())).and_then(|it| it.queue.front());
            if let Some(first) = first.filter(|first| **first != slot.id) {
                return Err(format!("{} overtakes {first} in {name}", slot.id));
            }
        }
        let asks = self.detach(&place)?;
        let mut max_hold_ms = Millis::MAX;
        for (name, weight) in &asks {
            let limit = self.limit(&place.0, name);
            if !limit.has_room(*weight) {
                let (used, capacity) = (limit.used, limit.capacity());
                return Err(format!("{} granted in {name} with {used} of {capacity} used", slot.id));
            }
            limit.used += u64::from(*weight);
            max_hold_ms = max_hold_ms.min(limit.max_hold_override.unwrap_or(limit.max_hold_ms));
        }
        if expires_at != at + max_hold_ms {
            return Err(format!("{} expires at {expires_at}, granted at {at} for {max_hold_ms}", slot.id));
        }
        self.slots.get_mut(&place).expect("it was there").held = true;
        Ok(())
    }

    fn ended(&mut self, place: &Place) -> Checked {
        self.detach(place)?;
        self.slots.remove(place);
        Ok(())
    }

    /// After a command nobody who could go is left standing.
    pub(crate) fn check_nobody_stands(&self) -> Checked {
        for ((namespace, _), limit) in &self.limits {
            let Some(head) = limit.queue.front() else { continue };
            let slot = &self.slots[&(namespace.clone(), head.clone())];
            let could_go = slot.asks.iter().all(|(name, weight)| {
                let limit = &self.limits[&(namespace.clone(), name.clone())];
                limit.queue.front() == Some(head) && limit.has_room(*weight)
            });
            if could_go {
                return Err(format!("{head} is first everywhere, has room, and stands"));
            }
        }
        Ok(())
    }

    /// D4: the engine shows what this has counted, and lists what it shows.
    pub(crate) fn compare(&self, engine: &Engine) -> Checked {
        for ((namespace, name), limit) in &self.limits {
            let (ns, name) = (namespace.as_str(), name.as_str());
            let Some(view) = engine.limit(ns, name) else { continue };
            let queue: Vec<SlotId> =
                engine.queue(ns, name, 0, usize::MAX).into_iter().map(|it| it.slot).collect();
            let holders = engine.holders(ns, name, 0, usize::MAX);
            let listed: u64 = holders
                .iter()
                .flat_map(|slot| &slot.limits)
                .filter(|(named, _)| named.as_str() == name)
                .map(|(_, weight)| u64::from(*weight))
                .sum();
            let agrees = queue.iter().eq(&limit.queue)
                && view.waiting as usize == queue.len()
                && (view.busy_slots + view.reserved_slots) as usize == holders.len()
                && view.busy + view.reserved == limit.used
                && listed == limit.used
                && u64::from(view.capacity) == limit.capacity()
                && view.paused == limit.paused;
            if !agrees {
                return Err(format!(
                    "limit {name}: shown {view:?}, listed {listed} and {queue:?}, counted {} and {:?}",
                    limit.used, limit.queue
                ));
            }
        }
        Ok(())
    }

    pub(crate) fn live_slots(&self) -> impl Iterator<Item = &Place> {
        self.slots.keys()
    }
}
