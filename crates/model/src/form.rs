//! Form before existence: what is wrong with a command whatever the state is. The first failure wins.

use crate::{Acquire, Declared, Spec, Verb};

const DAY_MS: u64 = 24 * 60 * 60 * 1000;
const MAX_NUMBER: u64 = (1 << 53) - 1;

type Checked = Result<(), &'static str>;

pub(crate) fn error(verb: &Verb) -> Option<&'static str> {
    let checked = match verb {
        Verb::Declare { limit, capacity, max_hold_ms } => declaration(limit, *capacity, *max_hold_ms),
        Verb::Deploy { limits } => whole_set(limits),
        Verb::Capacity { limit, value } => name(limit).and(value.map_or(Ok(()), capacity)),
        Verb::MaxHold { limit, value_ms } => name(limit).and(value_ms.map_or(Ok(()), max_hold)),
        Verb::Pause { limit } | Verb::Resume { limit } => name(limit),
        Verb::Acquire(ask) => acquire(ask),
        Verb::Confirm { slot } | Verb::Leave { slot } | Verb::Release { slot } => id(slot, "invalid_id"),
        Verb::HangUp { slot, .. } | Verb::LineEnd { slot, .. } => id(slot, "invalid_id"),
        Verb::End { run, .. } => id(run, "invalid_run"),
        Verb::Admit { task, run, specs } => admit(task, run.as_deref(), specs),
        Verb::DropLines | Verb::Advance => Ok(()),
    };
    checked.err()
}

/// N1
pub(crate) fn name(name: &str) -> Checked {
    let good = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "._-".contains(c);
    holds((1..=64).contains(&name.len()) && name.chars().all(good), "invalid_limit_name")
}

/// L1
fn capacity(capacity: u64) -> Checked {
    holds((1..=100_000).contains(&capacity), "invalid_capacity")
}

/// L1
fn max_hold(max_hold_ms: u64) -> Checked {
    holds((1..=30 * DAY_MS).contains(&max_hold_ms), "invalid_max_hold")
}

fn declaration(limit: &str, value: u64, max_hold_ms: u64) -> Checked {
    name(limit)?;
    capacity(value)?;
    max_hold(max_hold_ms)
}

fn whole_set(limits: &[Declared]) -> Checked {
    for (i, declared) in limits.iter().enumerate() {
        declaration(&declared.limit, declared.capacity, declared.max_hold_ms)?;
        let twice = limits[..i].iter().any(|earlier| earlier.limit == declared.limit);
        holds(!twice, "duplicate_limit")?;
    }
    Ok(())
}

/// S1
fn acquire(ask: &Acquire) -> Checked {
    holds(ask.timeout_ms <= 400 * DAY_MS, "invalid_timeout")?;
    for (i, (limit, weight)) in ask.limits.iter().enumerate() {
        name(limit)?;
        holds((1..=100_000).contains(weight), "invalid_weight")?;
        holds(!ask.limits[..i].iter().any(|(earlier, _)| earlier == limit), "duplicate_limit")?;
    }
    holds(!ask.limits.is_empty(), "invalid_argument")?;
    id(&ask.slot, "invalid_id")?;
    ask.run.as_ref().map_or(Ok(()), |run| id(run, "invalid_run"))
}

/// R7, R8, K1
pub(crate) fn admit(task: &str, run: Option<&str>, specs: &[Spec]) -> Checked {
    for (i, spec) in specs.iter().enumerate() {
        key(&spec.key)?;
        holds(spec.limit <= MAX_NUMBER, "invalid_limit")?;
        if let Some(window_ms) = spec.window_ms {
            let whole_seconds = window_ms.is_multiple_of(1000);
            holds(whole_seconds && (1000..=400 * DAY_MS).contains(&window_ms), "invalid_window")?;
            holds((1..=MAX_NUMBER).contains(&spec.cost), "invalid_cost")?;
        }
        let same = |earlier: &Spec| earlier.key == spec.key && earlier.kind() == spec.kind();
        holds(!specs[..i].iter().any(same), "duplicate_key")?;
    }
    let needs_run = specs.iter().any(|spec| spec.window_ms.is_none() || spec.successes_only);
    match run {
        Some(run) => id(run, "invalid_run")?,
        None => holds(!needs_run, "invalid_run")?,
    }
    id(task, "invalid_id")?;
    holds(!specs.is_empty(), "invalid_argument")
}

/// R8
fn key(key: &str) -> Checked {
    holds((1..=256).contains(&key.len()) && key.chars().all(in_a_key), "invalid_key")
}

/// N2
fn id(id: &str, code: &'static str) -> Checked {
    holds((1..=200).contains(&id.len()) && id.chars().all(in_a_key), code)
}

fn in_a_key(c: char) -> bool {
    c.is_ascii_alphanumeric() || "._=@|/:-".contains(c)
}

fn holds(condition: bool, code: &'static str) -> Checked {
    if condition { Ok(()) } else { Err(code) }
}
