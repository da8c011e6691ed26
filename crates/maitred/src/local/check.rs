//! The edge inwards: a call becomes a command, or a problem that names the field and says what is allowed.
//!
//! Form is checked here, once, in the order that the scenarios' README settles: the first failure wins, and
//! form comes before existence, which only the engine knows.

use std::collections::HashSet;

use maitred_api::{
    AcquireFields, AdmitFields, Call, ConfirmMode, Context, Given, HoldMode, NamedLimit, Problem, Reason,
    RunStatus, SpecFields, WeightedLimit,
};
use maitred_engine::{
    bounds,
    command::{self, Acquire, Admit, Ask, Confirm, Declaration, Hold, Request, Spec, SpecKind, Verb},
    names::{Key, Label, LimitName, Namespace, RunId, SlotId, TaskId},
    time::{self, Millis},
};

use super::answer;

/// The longest that one call may stay open.
pub const WAIT_MAX_MS: Millis = time::DAY_MS;

fn bad<T>(reason: Reason, message: String) -> Result<T, Problem> {
    Err(Problem::new(reason, message))
}

/// What a changing call asks of the engine.
pub fn request(context: &Context, call: &Call) -> Result<Request, Problem> {
    Ok(Request {
        namespace: namespace(context)?,
        request: context
            .request_id
            .as_deref()
            .map(|id| parsed(id, Reason::InvalidId, "Idempotency-Key"))
            .transpose()?,
        by: label(context.by.as_deref(), "by")?,
        reason: label(context.reason.as_deref(), "reason")?,
        verb: verb(call)?,
    })
}

/// The tag that the limit must have for this change to be made.
pub fn condition(context: &Context, verb: &Verb) -> Result<Option<String>, Problem> {
    let Some(given) = &context.if_match else { return Ok(None) };
    if answer::limit_of(verb).is_none() {
        let message = "If-Match goes with a change of one limit: declare it, set or reset its capacity or max hold, \
                       pause or resume it. Leave the header out";
        return bad(Reason::InvalidArgument, message.to_owned());
    }
    Ok(Some(given.trim().trim_matches('"').to_owned()))
}

pub fn namespace(context: &Context) -> Result<Namespace, Problem> {
    match context.namespace.as_deref() {
        None => Ok(Namespace::default()),
        Some(name) => parsed(name, Reason::InvalidNamespace, "namespace"),
    }
}

fn verb(call: &Call) -> Result<Verb, Problem> {
    Ok(match call {
        Call::Declare(fields) => Verb::Declare(declaration(fields)?),
        Call::Deploy { limits } => Verb::Deploy(deploy(limits)?),
        Call::SetCapacity { limit, capacity: given } => {
            let limit = limit_name(limit)?;
            Verb::SetCapacity { capacity: Some(capacity(&limit, given)?), limit }
        }
        Call::ResetCapacity { limit } => Verb::SetCapacity { limit: limit_name(limit)?, capacity: None },
        Call::SetMaxHold { limit, max_hold: given } => {
            let limit = limit_name(limit)?;
            Verb::SetMaxHold { max_hold_ms: Some(max_hold(&limit, given)?), limit }
        }
        Call::ResetMaxHold { limit } => Verb::SetMaxHold { limit: limit_name(limit)?, max_hold_ms: None },
        Call::Pause { limit } => Verb::Pause { limit: limit_name(limit)? },
        Call::Resume { limit } => Verb::Resume { limit: limit_name(limit)? },
        Call::Acquire(fields) => Verb::Acquire(acquire(fields)?),
        Call::Confirm { slot } => Verb::Confirm { slot: slot_id(slot)? },
        Call::Release { slot } => Verb::Release { slot: slot_id(slot)? },
        Call::Leave { slot } => Verb::Leave { slot: slot_id(slot)? },
        Call::EndRun { run, status } => Verb::EndRun { run: run_id(run)?, status: run_status(*status) },
        Call::Admit(fields) => Verb::Admit(admit(fields)?),
        Call::StartRun { .. } | Call::CancelRun { .. } => {
            let why = "nothing hosts workflows here: a limiter knows runs by what they hold and wait for";
            return Err(Problem::new(Reason::NotFound, why));
        }
        Call::ResetRate { task, key } => Verb::ResetRate { task: task_id(task)?, key: key_of(key)? },
        _ => return bad(Reason::InvalidArgument, "this call reads; it changes nothing".to_owned()),
    })
}

fn parsed<T: std::str::FromStr<Err = maitred_engine::names::NameError>>(
    text: &str,
    reason: Reason,
    field: &str,
) -> Result<T, Problem> {
    text.parse()
        .or_else(|error| bad(reason, format!("{field} \"{}\" is not valid; {error}", text.escape_debug())))
}

pub fn limit_name(text: &str) -> Result<LimitName, Problem> {
    parsed(text, Reason::InvalidLimitName, "limit name")
}

pub fn slot_id(text: &str) -> Result<SlotId, Problem> {
    parsed(text, Reason::InvalidId, "slot id")
}

pub fn run_id(text: &str) -> Result<RunId, Problem> {
    parsed(text, Reason::InvalidRun, "run id")
}

pub fn task_id(text: &str) -> Result<TaskId, Problem> {
    parsed(text, Reason::InvalidId, "task")
}

pub fn key_of(text: &str) -> Result<Key, Problem> {
    parsed(text, Reason::InvalidKey, "key")
}

fn label(text: Option<&str>, field: &str) -> Result<Option<Label>, Problem> {
    text.map(|text| parsed(text, Reason::InvalidLabel, field)).transpose()
}

fn run_status(status: RunStatus) -> command::RunStatus {
    match status {
        RunStatus::Succeeded => command::RunStatus::Succeeded,
        RunStatus::Failed => command::RunStatus::Failed,
        RunStatus::Cancelled => command::RunStatus::Cancelled,
    }
}

fn declaration(fields: &NamedLimit) -> Result<Declaration, Problem> {
    let limit = limit_name(&fields.name)?;
    let capacity = capacity(&limit, &fields.capacity)?;
    let max_hold_ms = max_hold(&limit, &fields.max_hold)?;
    Ok(Declaration { limit, capacity, max_hold_ms })
}

fn deploy(limits: &[NamedLimit]) -> Result<Vec<Declaration>, Problem> {
    let mut seen = HashSet::new();
    let mut set = Vec::with_capacity(limits.len());
    for fields in limits {
        let declared = declaration(fields)?;
        if !seen.insert(declared.limit.clone()) {
            return bad(
                Reason::DuplicateLimit,
                format!("limit `{}` stands twice in the set", declared.limit),
            );
        }
        set.push(declared);
    }
    Ok(set)
}

pub fn capacity(limit: &LimitName, given: &Given) -> Result<u32, Problem> {
    let most = u64::from(bounds::CAPACITY_MAX);
    match given.whole_number() {
        Some(number) if (1..=most).contains(&number) => Ok(number as u32),
        _ => bad(
            Reason::InvalidCapacity,
            format!(
                "limit `{limit}`: capacity is {}; allowed: a whole number from 1 to {most}",
                given.shown()
            ),
        ),
    }
}

pub fn max_hold(limit: &LimitName, given: &Given) -> Result<Millis, Problem> {
    match duration(given) {
        Some(ms) if (1..=bounds::MAX_HOLD_MAX_MS).contains(&ms) => Ok(ms),
        _ => bad(
            Reason::InvalidMaxHold,
            format!(
                "limit `{limit}`: max hold is {}; allowed: a duration such as 45m, 2h, 1h30m or milliseconds, from 1ms to 30d",
                given.shown()
            ),
        ),
    }
}

/// A duration as text in the form of the seeds, or as milliseconds.
pub fn duration(given: &Given) -> Option<Millis> {
    match &given.0 {
        serde_json::Value::String(text) => time::parse_duration(text),
        _ => given.whole_number(),
    }
}

fn timeout(given: &Given) -> Result<Millis, Problem> {
    if given.is_missing() {
        return Ok(bounds::TIMEOUT_DEFAULT_MS);
    }
    match duration(given) {
        Some(ms) if ms <= bounds::TIMEOUT_MAX_MS => Ok(ms),
        _ => bad(
            Reason::InvalidTimeout,
            format!(
                "timeout is {}; allowed: a duration such as 30m or milliseconds, from 0s to 400d",
                given.shown()
            ),
        ),
    }
}

/// How long the call stays open; none if it does not wait.
pub fn wait(given: &Given) -> Result<Option<Millis>, Problem> {
    if given.is_missing() {
        return Ok(None);
    }
    match duration(given) {
        Some(0) => Ok(None),
        Some(ms) if ms <= WAIT_MAX_MS => Ok(Some(ms)),
        _ => bad(
            Reason::InvalidWait,
            format!(
                "wait is {}; allowed: a duration such as 30s or milliseconds, from 0s to 1d",
                given.shown()
            ),
        ),
    }
}

fn acquire(fields: &AcquireFields) -> Result<Acquire, Problem> {
    let timeout_ms = timeout(&fields.timeout)?;
    let asks = asks(fields)?;
    let Some(slot) = &fields.slot else {
        return bad(Reason::InvalidId, format!("slot id is missing; {}", SlotId::ALLOWED));
    };
    Ok(Acquire {
        slot: slot_id(slot)?,
        asks,
        run: fields.run.as_deref().map(run_id).transpose()?,
        workflow: label(fields.workflow.as_deref(), "workflow")?,
        label: label(fields.label.as_deref(), "label")?,
        timeout_ms,
        confirm: match fields.confirm {
            ConfirmMode::Holder => Confirm::Holder,
            ConfirmMode::Auto => Confirm::Auto,
        },
        hold: match fields.hold {
            HoldMode::Released => Hold::Released,
            HoldMode::Run => Hold::Run,
        },
        line: None,
    })
}

fn asks(fields: &AcquireFields) -> Result<Vec<Ask>, Problem> {
    let one = fields.limit.iter().map(|limit| (limit, &fields.weight));
    let several = fields.limits.iter().map(|WeightedLimit { limit, weight }| (limit, weight));
    if fields.limit.is_some() && !fields.limits.is_empty() {
        return bad(Reason::InvalidArgument, "give either `limit` or `limits`, not both".to_owned());
    }
    if fields.limit.is_none() && !fields.weight.is_missing() {
        return bad(
            Reason::InvalidArgument,
            "`weight` goes with `limit`; in `limits` each has its own".to_owned(),
        );
    }
    let mut asks: Vec<Ask> = Vec::new();
    for (name, weight) in one.chain(several) {
        let limit = limit_name(name)?;
        let weight = weight_of(&limit, weight)?;
        if asks.iter().any(|ask| ask.limit == limit) {
            return bad(
                Reason::DuplicateLimit,
                format!("limit `{limit}` is named twice; give it one weight"),
            );
        }
        asks.push(Ask { limit, weight });
    }
    match asks.len() {
        0 => bad(
            Reason::InvalidLimitName,
            "no limit is named; give `limit`, or `limits` with 1 to 8 of them".to_owned(),
        ),
        1..=bounds::ASKS_MAX => Ok(asks),
        many => bad(
            Reason::TooManyLimitsInSlot,
            format!("{many} limits are named; a slot takes at most {}", bounds::ASKS_MAX),
        ),
    }
}

fn weight_of(limit: &LimitName, given: &Given) -> Result<u32, Problem> {
    let most = u64::from(bounds::WEIGHT_MAX);
    match given.whole_number() {
        None if given.is_missing() => Ok(1),
        Some(number) if (1..=most).contains(&number) => Ok(number as u32),
        _ => bad(
            Reason::InvalidWeight,
            format!("limit `{limit}`: weight is {}; allowed: a whole number from 1 to {most}", given.shown()),
        ),
    }
}

pub fn admit(fields: &AdmitFields) -> Result<Admit, Problem> {
    let task = task_id(&fields.task)?;
    match fields.specs.len() {
        0 => return bad(Reason::InvalidArgument, "no spec is given; give 1 to 16".to_owned()),
        1..=bounds::SPECS_MAX => {}
        many => {
            return bad(
                Reason::TooManySpecs,
                format!("{many} specs are given; a call takes at most {}", bounds::SPECS_MAX),
            );
        }
    }
    let mut specs: Vec<Spec> = Vec::with_capacity(fields.specs.len());
    for given in &fields.specs {
        let spec = spec(given)?;
        let same_kind =
            |other: &Spec| matches!(other.kind, SpecKind::Place) == matches!(spec.kind, SpecKind::Place);
        if specs.iter().any(|other| other.key == spec.key && same_kind(other)) {
            return bad(
                Reason::DuplicateKey,
                "a key stands twice in the call; for two windows put the window into the key".to_owned(),
            );
        }
        specs.push(spec);
    }
    let run = fields.run.as_deref().map(run_id).transpose()?;
    let needs_run = |spec: &Spec| match spec.kind {
        SpecKind::Rate { successes_only, .. } => successes_only,
        SpecKind::Place => true,
    };
    if run.is_none() && specs.iter().any(needs_run) {
        return bad(
            Reason::InvalidRun,
            "run is missing; places in flight and countSuccessesOnly belong to a run".to_owned(),
        );
    }
    for given in &fields.specs {
        label(given.label.as_deref(), "label")?;
    }
    Ok(Admit { task, run, specs })
}

fn spec(given: &SpecFields) -> Result<Spec, Problem> {
    let key = key_of(&given.key)?;
    let limit = count(&given.limit, 0)
        .ok_or(())
        .or_else(|()| bad(Reason::InvalidLimit, counted("limit", &given.limit, 0)))?;
    if given.window_seconds.is_missing() {
        return Ok(Spec { key, limit, kind: SpecKind::Place });
    }
    let window_ms =
        given.window_seconds.whole_number().and_then(|seconds| seconds.checked_mul(time::SECOND_MS));
    let window_ms = match window_ms {
        Some(ms) if (bounds::WINDOW_MIN_MS..=bounds::WINDOW_MAX_MS).contains(&ms) => ms,
        _ => {
            let shown = given.window_seconds.shown();
            return bad(
                Reason::InvalidWindow,
                format!(
                    "windowSeconds is {shown}; allowed: a whole number of seconds from 1 to 34560000 (400 days)"
                ),
            );
        }
    };
    let cost = if given.cost.is_missing() { Some(1) } else { count(&given.cost, 1) };
    let Some(cost) = cost else {
        return bad(Reason::InvalidCost, counted("cost", &given.cost, 1));
    };
    Ok(Spec {
        key,
        limit,
        kind: SpecKind::Rate { window_ms, cost, successes_only: given.count_successes_only },
    })
}

fn count(given: &Given, least: u64) -> Option<u64> {
    given.whole_number().filter(|number| (least..=bounds::COUNT_MAX).contains(number))
}

fn counted(field: &str, given: &Given, least: u64) -> String {
    format!("{field} is {}; allowed: a whole number from {least} to {}", given.shown(), bounds::COUNT_MAX)
}
