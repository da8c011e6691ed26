//! What can be seen at a time. A read looks at a copy of the model moved to that time, so it changes nothing.

use crate::{Answer, Model, Namespace, SlotView, Spec, State, form};

/// One limit as `show` prints it. `busy` and `reserved` are sums of weights, `waiting` counts slots.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LimitView {
    pub capacity: u64,
    pub max_hold_ms: u64,
    pub busy: u64,
    pub reserved: u64,
    pub waiting: u64,
    pub overridden: bool,
    pub retired: bool,
    pub paused: bool,
}

/// The running window of a task and key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CounterView {
    pub used: u64,
    pub resets_in_ms: u64,
}

impl Model {
    pub fn slot(&self, at_ms: u64, namespace: &str, slot: &str) -> SlotView {
        self.seen(at_ms, namespace).1.slot_view(slot)
    }

    /// `Err` with `invalid_limit_name` or `limit_not_found`.
    pub fn limit(&self, at_ms: u64, namespace: &str, limit: &str) -> Result<LimitView, &'static str> {
        form::name(limit)?;
        let (_, namespace) = self.seen(at_ms, namespace);
        let declared = namespace.limit(limit).ok_or("limit_not_found")?;
        Ok(LimitView {
            capacity: namespace.capacity(limit),
            max_hold_ms: namespace.max_hold_ms(limit),
            busy: namespace.weight_in_state(limit, State::Busy),
            reserved: namespace.weight_in_state(limit, State::Reserved),
            waiting: namespace.queue(limit).len() as u64,
            overridden: namespace.is_overridden(limit),
            retired: declared.retired,
            paused: namespace.is_paused(limit),
        })
    }

    /// Slot ids in the order they will be looked at. `Err` as for `limit`.
    pub fn queue(&self, at_ms: u64, namespace: &str, limit: &str) -> Result<Vec<String>, &'static str> {
        self.limit(at_ms, namespace, limit)?;
        let (_, namespace) = self.seen(at_ms, namespace);
        Ok(namespace.queue(limit).into_iter().map(|s| namespace.slots[s].ask.slot.clone()).collect())
    }

    /// `None` when no window runs.
    pub fn counter(&self, at_ms: u64, namespace: &str, task: &str, key: &str) -> Option<CounterView> {
        let (now_ms, namespace) = self.seen(at_ms, namespace);
        let counter = namespace.counter(task, key)?;
        Some(CounterView { used: counter.used, resets_in_ms: counter.ends_at_ms - now_ms })
    }

    pub fn inflight(&self, at_ms: u64, namespace: &str, task: &str, key: &str) -> u64 {
        self.seen(at_ms, namespace).1.places_of(task, key)
    }

    /// K3: the verdict `admit` would give.
    pub fn check(
        &self,
        at_ms: u64,
        namespace: &str,
        task: &str,
        run: Option<&str>,
        specs: &[Spec],
    ) -> Answer {
        if let Err(code) = form::admit(task, run, specs) {
            return Answer::Error(code);
        }
        let (now_ms, namespace) = self.seen(at_ms, namespace);
        Answer::Verdict(namespace.verdict(task, run, specs, now_ms))
    }

    fn seen(&self, at_ms: u64, namespace: &str) -> (u64, Namespace) {
        let mut copy = self.clone();
        copy.move_to(at_ms);
        let found = copy.namespaces.into_iter().find(|it| it.name == namespace);
        (copy.now_ms, found.unwrap_or_default())
    }
}
