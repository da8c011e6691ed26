//! What can be seen at a time. A read of a later time looks at a copy of the model moved there, so it changes nothing.

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
        self.seen(at_ms, namespace, |_, namespace| namespace.slot_view(slot))
    }

    /// Whether the slot's newest caller is on a line (S7a).
    pub fn is_on_line(&self, namespace: &str, slot: &str) -> bool {
        let of_namespace = self.namespaces.iter().find(|known| known.name == namespace);
        let mut slots = of_namespace.iter().flat_map(|namespace| &namespace.slots);
        slots.any(|known| known.ask.slot == slot && known.line.is_some())
    }

    /// `Err` with `invalid_limit_name` or `limit_not_found`.
    pub fn limit(&self, at_ms: u64, namespace: &str, limit: &str) -> Result<LimitView, &'static str> {
        form::name(limit)?;
        self.seen(at_ms, namespace, |_, namespace| namespace.limit_view(limit))
    }

    /// Slot ids in the order they will be looked at. `Err` as for `limit`.
    pub fn queue(&self, at_ms: u64, namespace: &str, limit: &str) -> Result<Vec<String>, &'static str> {
        self.limit(at_ms, namespace, limit)?;
        let ids = |namespace: &Namespace| {
            namespace.queue(limit).into_iter().map(|s| namespace.slots[s].ask.slot.clone()).collect()
        };
        Ok(self.seen(at_ms, namespace, |_, namespace| ids(namespace)))
    }

    /// `None` when no window runs.
    pub fn counter(&self, at_ms: u64, namespace: &str, task: &str, key: &str) -> Option<CounterView> {
        self.seen(at_ms, namespace, |now_ms, namespace| {
            let counter = namespace.counter(task, key)?;
            Some(CounterView { used: counter.used, resets_in_ms: counter.ends_at_ms - now_ms })
        })
    }

    pub fn inflight(&self, at_ms: u64, namespace: &str, task: &str, key: &str) -> u64 {
        self.seen(at_ms, namespace, |_, namespace| namespace.places_of(task, key))
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
        let verdict = |now_ms, namespace: &Namespace| namespace.verdict(task, run, specs, now_ms);
        Answer::Verdict(self.seen(at_ms, namespace, verdict))
    }

    fn seen<T>(&self, at_ms: u64, namespace: &str, look: impl FnOnce(u64, &Namespace) -> T) -> T {
        if at_ms <= self.now_ms {
            return self.look_at(namespace, look);
        }
        let mut copy = self.clone();
        copy.move_to(at_ms);
        copy.look_at(namespace, look)
    }

    fn look_at<T>(&self, namespace: &str, look: impl FnOnce(u64, &Namespace) -> T) -> T {
        match self.namespaces.iter().find(|it| it.name == namespace) {
            Some(found) => look(self.now_ms, found),
            None => look(self.now_ms, &Namespace::default()),
        }
    }
}

impl Namespace {
    fn limit_view(&self, limit: &str) -> Result<LimitView, &'static str> {
        let declared = self.limit(limit).ok_or("limit_not_found")?;
        Ok(LimitView {
            capacity: self.capacity(limit),
            max_hold_ms: self.max_hold_ms(limit),
            busy: self.weight_in_state(limit, State::Busy),
            reserved: self.weight_in_state(limit, State::Reserved),
            waiting: self.queue(limit).len() as u64,
            overridden: self.is_overridden(limit),
            retired: declared.retired,
            paused: self.is_paused(limit),
        })
    }
}
