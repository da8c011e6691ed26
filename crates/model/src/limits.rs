//! L: declarations, deploys, the operator's overrides and the pause.

use crate::{Answer, Declared, Namespace, State};

/// What is declared, as long as the limit is there.
#[derive(Clone, Debug)]
pub(crate) struct Limit {
    pub name: String,
    pub capacity: u64,
    pub max_hold_ms: u64,
    pub retired: bool,
}

/// L4: capacity and max hold, each on its own. Kept by name, whatever becomes of the limit.
#[derive(Clone, Debug)]
pub(crate) struct Override {
    pub limit: String,
    pub capacity: Option<u64>,
    pub max_hold_ms: Option<u64>,
}

impl Namespace {
    /// L2: idempotent. L3: declared again, a retired limit is simply back.
    pub(crate) fn declare(&mut self, name: String, capacity: u64, max_hold_ms: u64) {
        self.limits.retain(|limit| limit.name != name);
        self.limits.push(Limit { name, capacity, max_hold_ms, retired: false });
    }

    /// L3: the whole set. What is missing is retired, and gone at once if it is empty.
    pub(crate) fn deploy(&mut self, limits: Vec<Declared>) -> Answer {
        for limit in &mut self.limits {
            limit.retired = true;
        }
        for declared in limits {
            self.declare(declared.limit, declared.capacity, declared.max_hold_ms);
        }
        self.drop_empty_retired();
        Answer::Done
    }

    /// L3: a retired limit is gone when nothing queued, reserved or busy is left in it.
    pub(crate) fn drop_empty_retired(&mut self) {
        let slots = &self.slots;
        let in_use = |name: &str| slots.iter().any(|slot| slot.is_live() && slot.weight_in(name).is_some());
        self.limits.retain(|limit| !limit.retired || in_use(&limit.name));
    }

    pub(crate) fn override_capacity(&mut self, name: &str, value: Option<u64>) -> Answer {
        if self.limit(name).is_none() {
            return Answer::Error("limit_not_found");
        }
        self.override_of(name).capacity = value;
        Answer::Done
    }

    pub(crate) fn override_max_hold(&mut self, name: &str, value_ms: Option<u64>) -> Answer {
        if self.limit(name).is_none() {
            return Answer::Error("limit_not_found");
        }
        self.override_of(name).max_hold_ms = value_ms;
        Answer::Done
    }

    fn override_of(&mut self, name: &str) -> &mut Override {
        if !self.overrides.iter().any(|it| it.limit == name) {
            self.overrides.push(Override { limit: name.into(), capacity: None, max_hold_ms: None });
        }
        self.overrides.iter_mut().find(|it| it.limit == name).expect("just put there")
    }

    /// L7
    pub(crate) fn pause(&mut self, name: &str) -> Answer {
        if self.limit(name).is_none() {
            return Answer::Error("limit_not_found");
        }
        if !self.is_paused(name) {
            self.paused.push(name.into());
        }
        Answer::Done
    }

    /// L7: only this lifts a pause.
    pub(crate) fn resume(&mut self, name: &str) -> Answer {
        if self.limit(name).is_none() {
            return Answer::Error("limit_not_found");
        }
        self.paused.retain(|paused| paused != name);
        Answer::Done
    }

    pub(crate) fn limit(&self, name: &str) -> Option<&Limit> {
        self.limits.iter().find(|limit| limit.name == name)
    }

    pub(crate) fn is_paused(&self, name: &str) -> bool {
        self.paused.iter().any(|paused| paused == name)
    }

    pub(crate) fn is_overridden(&self, name: &str) -> bool {
        let set = |it: &Override| it.capacity.is_some() || it.max_hold_ms.is_some();
        self.overrides.iter().any(|it| it.limit == name && set(it))
    }

    /// The override wins over the declaration (L4). 0 for a limit that is not there.
    pub(crate) fn capacity(&self, name: &str) -> u64 {
        let overridden = self.overrides.iter().find(|it| it.limit == name).and_then(|it| it.capacity);
        overridden.or_else(|| Some(self.limit(name)?.capacity)).unwrap_or(0)
    }

    /// The override wins over the declaration (L4). 0 for a limit that is not there.
    pub(crate) fn max_hold_ms(&self, name: &str) -> u64 {
        let overridden = self.overrides.iter().find(|it| it.limit == name).and_then(|it| it.max_hold_ms);
        overridden.or_else(|| Some(self.limit(name)?.max_hold_ms)).unwrap_or(0)
    }

    /// The weights of the limit's slots in this state, summed.
    pub(crate) fn weight_in_state(&self, name: &str, state: State) -> u64 {
        self.slots.iter().filter(|slot| slot.state == state).filter_map(|slot| slot.weight_in(name)).sum()
    }

    /// L5: used + weight <= capacity, used being busy and reserved. L7: paused, there is no room.
    pub(crate) fn has_room(&self, name: &str, weight: u64) -> bool {
        let used = self.weight_in_state(name, State::Busy) + self.weight_in_state(name, State::Reserved);
        !self.is_paused(name) && used + weight <= self.capacity(name)
    }
}
