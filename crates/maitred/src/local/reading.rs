//! What a reading call answers, from the engine at one revision.

use maitred_api::{
    AdmitFields, Answer, Call, KeyInfo, KeysAnswer, LimitAnswer, LimitSlotsAnswer, LimitsAnswer,
    NamespacesAnswer, Problem, Reason, RunAnswer, RunInfo, RunsAnswer, RunsFields,
};
use maitred_engine::{Engine, outcome::Outcome, view::LimitView};

use super::{
    answer::{self, AsOf},
    check, explain, preview,
};

const PAGE: u32 = 100;
const PAGE_MAX: u32 = 1_000;

/// `ns` is a namespace that was checked; the call's own names are checked here.
pub fn read(engine: &Engine, ns: &str, call: &Call, as_of: AsOf) -> Result<Answer, Problem> {
    let (revision, at) = (as_of.revision, as_of.at);
    match call {
        Call::Limits { after, most, prefixes } => {
            let most = page(*most)?;
            let views = limits(engine, ns, after.as_deref(), most, prefixes);
            let next =
                (views.len() == most).then(|| views.last().map(|view| view.limit.to_string())).flatten();
            let limits = views.iter().map(answer::limit_info).collect();
            Ok(Answer::Limits(LimitsAnswer { limits, next, revision, as_of: at }))
        }
        // The node puts it together from all of them.
        Call::Overview(_) => {
            let limits = engine.limits(ns, None, usize::MAX).iter().map(answer::limit_info).collect();
            Ok(Answer::Limits(LimitsAnswer { limits, next: None, revision, as_of: at }))
        }
        Call::Namespaces {} => {
            let namespaces = engine.namespaces().iter().map(ToString::to_string).collect();
            Ok(Answer::Namespaces(NamespacesAnswer { namespaces, revision, as_of: at }))
        }
        Call::Preview { limit, capacity, max_hold } => {
            let limit = check::limit_name(limit)?;
            preview::preview(engine, ns, &limit, capacity, max_hold, as_of).map(Answer::Preview)
        }
        Call::Limit { limit } => {
            let limit = limit_info(engine, ns, limit)?;
            Ok(Answer::Limit(LimitAnswer { limit, revision, as_of: at }))
        }
        Call::LimitSlots { limit, skip, most } => {
            limit_slots(engine, ns, limit, *skip as usize, page(*most)?, as_of)
        }
        Call::Slot { slot, .. } => {
            let slot = check::slot_id(slot)?;
            Ok(Answer::Slot(answer::slot_now(engine, ns, slot.as_str(), as_of)))
        }
        Call::Run { run } => {
            let run = check::run_id(run)?;
            let nothing = || RunInfo::nothing(run.as_str());
            let run = engine.run(ns, run.as_str()).as_ref().map_or_else(nothing, answer::run_info);
            Ok(Answer::Run(RunAnswer { run, revision, as_of: at }))
        }
        // The node leaves out what is not wanted.
        Call::Runs(RunsFields { after, most, .. }) => {
            let (views, next) = engine.runs(ns, cursor(after.as_deref())?, page(*most)?);
            let runs = views.iter().map(answer::run_info).collect();
            Ok(Answer::Runs(RunsAnswer { runs, next: next.map(|n| n.to_string()), revision, as_of: at }))
        }
        Call::Keys { task: Some(task), key: Some(key), .. } => one_key(engine, ns, task, key, as_of),
        Call::Keys { task: None, key: None, after, most } => {
            let (views, next) = engine.keys(at, ns, cursor(after.as_deref())?, page(*most)?);
            let keys = views.iter().map(|view| answer::key_info(view, at)).collect();
            Ok(Answer::Keys(KeysAnswer { keys, next: next.map(|n| n.to_string()), revision, as_of: at }))
        }
        Call::Keys { .. } => Err(Problem::new(
            Reason::InvalidArgument,
            "give both `task` and `key` for one key, or neither for all",
        )),
        Call::Explain { what } => Ok(Answer::Explain(explain::explain(engine, ns, what, as_of))),
        Call::Admit(fields) => checked_admission(engine, ns, fields, as_of),
        _ => Err(Problem::new(Reason::Internal, "this call changes something; it is no read")),
    }
}

/// The verdict that an admission would get.
fn checked_admission(
    engine: &Engine,
    ns: &str,
    fields: &AdmitFields,
    as_of: AsOf,
) -> Result<Answer, Problem> {
    let admit = check::admit(fields)?;
    match engine.check(as_of.at, ns, &admit) {
        Outcome::Admission(admission) => {
            Ok(Answer::Decision(answer::decision(&fields.specs, &admit.specs, &admission, as_of)))
        }
        Outcome::Refused(refusal) => Err(answer::problem(&refusal)),
        _ => Err(Problem::new(Reason::Internal, "a check gave no verdict")),
    }
}

/// A page of the limits whose names begin with one of the prefixes; of all, if there are none.
fn limits(
    engine: &Engine,
    ns: &str,
    after: Option<&str>,
    most: usize,
    prefixes: &[String],
) -> Vec<LimitView> {
    if prefixes.is_empty() {
        return engine.limits(ns, after, most);
    }
    let is_seen = |view: &LimitView| prefixes.iter().any(|prefix| view.limit.as_str().starts_with(prefix));
    engine.limits(ns, after, usize::MAX).into_iter().filter(is_seen).take(most).collect()
}

pub fn page(most: Option<u32>) -> Result<usize, Problem> {
    match most.unwrap_or(PAGE) {
        most @ 1..=PAGE_MAX => Ok(most as usize),
        most => Err(Problem::new(
            Reason::InvalidArgument,
            format!("most is {most}; allowed: a whole number from 1 to {PAGE_MAX}"),
        )),
    }
}

fn cursor(after: Option<&str>) -> Result<u64, Problem> {
    let Some(text) = after else { return Ok(0) };
    text.parse().map_err(|_| {
        Problem::new(
            Reason::InvalidArgument,
            "after is not a cursor; give the `next` of the page before, unchanged",
        )
    })
}

fn limit_info(engine: &Engine, ns: &str, limit: &str) -> Result<maitred_api::LimitInfo, Problem> {
    let limit = check::limit_name(limit)?;
    engine
        .limit(ns, limit.as_str())
        .as_ref()
        .map(answer::limit_info)
        .ok_or_else(|| answer::problem(&maitred_engine::outcome::Refusal::LimitNotFound { limit }))
}

/// `skip` and `most` count over both lists as one: the holders, then the queue.
fn limit_slots(
    engine: &Engine,
    ns: &str,
    limit: &str,
    skip: usize,
    most: usize,
    as_of: AsOf,
) -> Result<Answer, Problem> {
    let info = limit_info(engine, ns, limit)?;
    let held = (info.busy_slots + info.reserved_slots) as usize;
    let holders = engine.holders(ns, limit, skip, most);
    let queue = engine.queue(ns, limit, skip.saturating_sub(held), most - holders.len());
    Ok(Answer::LimitSlots(LimitSlotsAnswer {
        limit: info,
        holders: holders.iter().map(answer::slot_info).collect(),
        queue: queue.iter().map(answer::slot_info).collect(),
        revision: as_of.revision,
        as_of: as_of.at,
    }))
}

fn one_key(engine: &Engine, ns: &str, task: &str, key: &str, as_of: AsOf) -> Result<Answer, Problem> {
    let (task, key) = (check::task_id(task)?, check::key_of(key)?);
    let counter = engine.counter(as_of.at, ns, task.as_str(), key.as_str());
    let info = KeyInfo {
        task: task.to_string(),
        key: key.to_string(),
        window: counter.map(|counter| answer::window_info(counter, as_of.at)),
        in_flight: engine.in_flight(as_of.at, ns, task.as_str(), key.as_str()),
    };
    Ok(Answer::Keys(KeysAnswer { keys: vec![info], next: None, revision: as_of.revision, as_of: as_of.at }))
}
