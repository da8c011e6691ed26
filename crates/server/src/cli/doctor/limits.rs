//! What is wrong with limits: the server's own verdicts, and those that were retired and do not drain.

use maitred_api::{
    Answer, Call, LimitHealth, LimitOrder, LimitOverview, OverviewAnswer, OverviewFields, Problem, Reason,
};

use super::{Finding, Verdict};
use crate::cli::{session::Session, text};

const PAGE: u32 = 1_000;

/// Every limit, by name.
pub async fn all(session: &Session) -> Result<OverviewAnswer, Problem> {
    let mut limits = Vec::new();
    loop {
        let skip = limits.len() as u32;
        let fields =
            OverviewFields { sort: LimitOrder::Name, skip, most: Some(PAGE), ..OverviewFields::default() };
        let page = match session.call(Call::Overview(fields)).await? {
            Answer::Overview(page) => page,
            _ => return Err(Problem::new(Reason::Unavailable, "the server gave an answer of another kind")),
        };
        let is_last = page.limits.len() < PAGE as usize;
        limits.extend(page.limits);
        if is_last {
            return Ok(OverviewAnswer { limits, ..page });
        }
    }
}

/// One finding for each thing that is wrong, or that nothing is.
pub fn findings(all: &OverviewAnswer) -> Vec<Finding> {
    let mut findings: Vec<Finding> =
        all.limits.iter().flat_map(|limit| verdict(limit).into_iter().chain(retired(limit))).collect();
    if findings.is_empty() {
        let checked = text::count(all.limits.len(), "limit");
        findings.push(Finding::ok("limits", format!("nothing leaks and nothing is stuck in {checked}")));
    }
    findings
}

fn verdict(row: &LimitOverview) -> Option<Finding> {
    if row.evidence.is_empty() {
        return None;
    }
    let name = &row.limit.limit;
    let verdict = if row.health == LimitHealth::Leaking { Verdict::Fail } else { Verdict::Warn };
    let command = match row.health {
        LimitHealth::Leaking if row.held_by_ended_runs > 0 => format!("maitred limits slots {name}"),
        LimitHealth::Leaking => format!("maitred history {name} --most 1000"),
        LimitHealth::Ok => format!("maitred limits resume {name}"),
        _ => format!("maitred limits slots {name}"),
    };
    let found = match row.health {
        LimitHealth::Ok => row.evidence.clone(),
        health => format!("{}: {}", health.as_str(), row.evidence),
    };
    Some(Finding::bad(
        verdict,
        &format!("limit {name}"),
        found,
        format!("{}: {command}", row.advice.trim_end_matches('.')),
    ))
}

fn retired(row: &LimitOverview) -> Option<Finding> {
    let limit = &row.limit;
    let is_empty = limit.busy + limit.reserved + u64::from(limit.waiting) == 0;
    (limit.retired && !is_empty).then(|| {
        let name = &limit.limit;
        let fix = format!("wait for it to drain, or declare it again; who: maitred limits slots {name}");
        let found = "retired, and still held or waited for";
        Finding::bad(Verdict::Warn, &format!("limit {name}"), found, fix)
    })
}
