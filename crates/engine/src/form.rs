//! Whether a command's numbers are within their bounds, for commands that were read from bytes. Doors say which
//! field is wrong and what is allowed; here a no is enough.

use std::collections::BTreeSet;

use crate::{
    bounds::{
        ASKS_MAX, CAPACITY_MAX, COUNT_MAX, MAX_HOLD_MAX_MS, SPECS_MAX, TIMEOUT_MAX_MS, WEIGHT_MAX,
        WINDOW_MAX_MS, WINDOW_MIN_MS,
    },
    command::{Acquire, Admit, Command, Declaration, Spec, SpecKind, Verb},
    time::{Millis, SECOND_MS},
};

impl Command {
    /// True if every number is within its bounds and nothing is named twice.
    pub fn check_form(&self) -> bool {
        match self {
            Command::Advance | Command::DropLines { .. } => true,
            Command::SetRules { version } => *version > 0,
            Command::In(request) => request.verb.check_form(),
        }
    }
}

impl Verb {
    fn check_form(&self) -> bool {
        match self {
            Verb::Declare(declaration) => declaration.check_form(),
            Verb::Deploy(declarations) => {
                declarations.iter().all(Declaration::check_form)
                    && all_different(declarations.iter().map(|declaration| &declaration.limit))
            }
            Verb::SetCapacity { capacity, .. } => capacity.is_none_or(is_capacity),
            Verb::SetMaxHold { max_hold_ms, .. } => max_hold_ms.is_none_or(is_max_hold),
            Verb::Acquire(acquire) => acquire.check_form(),
            Verb::Admit(admit) => admit.check_form(),
            Verb::Pause { .. }
            | Verb::Resume { .. }
            | Verb::Confirm { .. }
            | Verb::Release { .. }
            | Verb::Leave { .. }
            | Verb::HangUp { .. }
            | Verb::EndLine { .. }
            | Verb::EndRun { .. }
            | Verb::ResetRate { .. } => true,
        }
    }
}

impl Declaration {
    fn check_form(&self) -> bool {
        is_capacity(self.capacity) && is_max_hold(self.max_hold_ms)
    }
}

impl Acquire {
    fn check_form(&self) -> bool {
        (1..=ASKS_MAX).contains(&self.asks.len())
            && self.timeout_ms <= TIMEOUT_MAX_MS
            && self.asks.iter().all(|ask| (1..=WEIGHT_MAX).contains(&ask.weight))
            && all_different(self.asks.iter().map(|ask| &ask.limit))
    }
}

impl Admit {
    fn check_form(&self) -> bool {
        (1..=SPECS_MAX).contains(&self.specs.len())
            && self.specs.iter().all(|spec| spec.check_form(self.run.is_some()))
            && all_different(self.specs.iter().map(|spec| (&spec.key, spec.kind == SpecKind::Place)))
    }
}

impl Spec {
    fn check_form(&self, has_run: bool) -> bool {
        let kind = match self.kind {
            SpecKind::Place => has_run,
            SpecKind::Rate { window_ms, cost, successes_only } => {
                (WINDOW_MIN_MS..=WINDOW_MAX_MS).contains(&window_ms)
                    && window_ms % SECOND_MS == 0
                    && (1..=COUNT_MAX).contains(&cost)
                    && (has_run || !successes_only)
            }
        };
        kind && self.limit <= COUNT_MAX
    }
}

fn is_capacity(capacity: u32) -> bool {
    (1..=CAPACITY_MAX).contains(&capacity)
}

fn is_max_hold(max_hold_ms: Millis) -> bool {
    (1..=MAX_HOLD_MAX_MS).contains(&max_hold_ms)
}

fn all_different<T: Ord>(items: impl Iterator<Item = T>) -> bool {
    let mut seen = BTreeSet::new();
    items.into_iter().all(|item| seen.insert(item))
}
