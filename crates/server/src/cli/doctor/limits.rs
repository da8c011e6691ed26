//! What can be wrong with a limit, told from its numbers and its last hour.

use maitred_api::{Answer, Call, EndedSlot, LimitInfo, LimitsAnswer, Problem, Reason, SlotState};

use super::{Finding, Verdict};
use crate::cli::{session::Session, text};

const PAGE: u32 = 1_000;
const HOUR_MS: u64 = 3_600_000;
/// So many expiries in an hour are no accident, if they are also one in twenty of all ends.
const EXPIRED_LEAST: usize = 3;
const EXPIRED_ONE_IN: usize = 20;
/// A first in line that waits longer than this while nothing was granted is stuck.
const STUCK_MS: u64 = 300_000;

pub async fn all(session: &Session) -> Result<LimitsAnswer, Problem> {
    let mut limits = Vec::new();
    let mut after = None;
    loop {
        let page = match session.call(Call::Limits { after, most: Some(PAGE) }).await? {
            Answer::Limits(page) => page,
            _ => return Err(Problem::new(Reason::Unavailable, "the server gave an answer of another kind")),
        };
        limits.extend(page.limits);
        if page.next.is_none() {
            return Ok(LimitsAnswer { limits, ..page });
        }
        after = page.next;
    }
}

/// One finding for each thing that is wrong, or that nothing is.
pub async fn findings(session: &Session, all: &LimitsAnswer) -> Vec<Finding> {
    let mut findings: Vec<Finding> = Vec::new();
    for limit in &all.limits {
        findings.extend(standing(limit, all.as_of));
        if let Ok(Answer::History(history)) = session.call(last_ends(&limit.limit)).await {
            let ends = history.ends.iter().filter(|end| end.ended_at + HOUR_MS >= all.as_of);
            findings.extend(leaking(&limit.limit, &ends.collect::<Vec<_>>()));
        }
    }
    if findings.is_empty() {
        let checked = text::count(all.limits.len(), "limit");
        findings.push(Finding::ok("limits", format!("nothing leaks and nothing is stuck in {checked}")));
    }
    findings
}

fn last_ends(limit: &str) -> Call {
    let limit = Some(limit.to_owned());
    Call::History { limit, slot: None, run: None, label: None, before: None, most: Some(PAGE) }
}

/// What its numbers show.
fn standing(limit: &LimitInfo, as_of: u64) -> Vec<Finding> {
    let name = &limit.limit;
    let check = format!("limit {name}");
    let mut findings = Vec::new();
    if limit.paused && limit.waiting > 0 {
        let found = format!("paused, and {} waiting", text::count(limit.waiting as usize, "slot"));
        findings.push(Finding::bad(Verdict::Warn, &check, found, format!("maitred limits resume {name}")));
    }
    if limit.retired && limit.busy + limit.reserved + u64::from(limit.waiting) > 0 {
        let found = "retired, and still held or waited for";
        let fix = format!("wait for it to drain, or declare it again; who: maitred limits slots {name}");
        findings.push(Finding::bad(Verdict::Warn, &check, found, fix));
    }
    let waited = |at: u64| as_of.saturating_sub(at);
    let stuck = limit.oldest_queued_at.map(waited).filter(|ms| *ms > STUCK_MS && limit.available > 0);
    if let (Some(ms), false) = (stuck, limit.paused) {
        let found = format!("{} free, but the first in line has waited {}", limit.available, text::span(ms));
        let fix = format!("see what it waits for: maitred limits slots {name}, then maitred explain SLOT");
        findings.push(Finding::bad(Verdict::Warn, &check, found, fix));
    }
    findings
}

/// Slots that end by their max hold: their releases got lost.
fn leaking(limit: &str, ends: &[&EndedSlot]) -> Option<Finding> {
    let expired = ends.iter().filter(|end| end.state == SlotState::Expired).count();
    if expired < EXPIRED_LEAST || expired * EXPIRED_ONE_IN < ends.len() {
        return None;
    }
    let found = format!("leaks: {expired} of {} slots in the last hour ended by max hold", ends.len());
    let fix = format!("find who does not release: maitred history {limit} --most 1000");
    Some(Finding::bad(Verdict::Fail, &format!("limit {limit}"), found, fix))
}
