//! What a grant allows of a call, and what it shows of an answer.
//!
//! | role | may |
//! | --- | --- |
//! | read | every call that only looks |
//! | operate | take, confirm, release and leave slots, admit, end runs, pause, resume, override |
//! | admin | declare, deploy, reset rates, see whole keys |
//!
//! A grant with prefixes is for limits whose names begin with one of them: a call that names another is refused, and
//! answers leave the others out. Rates have no limits, so prefixes do not concern them. The routes say the least role
//! they need ([`super::router`]); here is what each call needs, since a batch carries calls of every kind.

use maitred_api::{
    Answer, AuditFields, Call, ExplainAnswer, ExplainedSlot, LiveEvent, LiveSnapshot, Problem, Reason,
    RunInfo, RunsFields, SlotInfo,
};

use super::{Shared, ask::Asker};
use crate::token::{Grant, Role};

/// The least role for a call.
pub fn needed(call: &Call) -> Role {
    match call {
        Call::Declare(_) | Call::Deploy { .. } | Call::ResetRate { .. } => Role::Admin,
        // A look that waits may confirm the slot.
        Call::Slot { wait, .. } if !wait.is_missing() => Role::Operate,
        Call::Limits { .. }
        | Call::Limit { .. }
        | Call::LimitSlots { .. }
        | Call::Slot { .. }
        | Call::Runs(_)
        | Call::Run { .. }
        | Call::Keys { .. }
        | Call::History { .. }
        | Call::Audit(_)
        | Call::Explain { .. }
        | Call::Overview(_)
        | Call::Series { .. }
        | Call::Preview { .. }
        | Call::Namespaces {}
        | Call::Nodes {} => Role::Read,
        Call::SetCapacity { .. }
        | Call::ResetCapacity { .. }
        | Call::SetMaxHold { .. }
        | Call::ResetMaxHold { .. }
        | Call::Pause { .. }
        | Call::Resume { .. }
        | Call::Acquire(_)
        | Call::Confirm { .. }
        | Call::Release { .. }
        | Call::Leave { .. }
        | Call::EndRun { .. }
        | Call::StartRun { .. }
        | Call::CancelRun { .. }
        | Call::Admit(_) => Role::Operate,
    }
}

pub fn has_role(grant: &Grant, role: Role) -> Result<(), Problem> {
    if grant.role >= role {
        return Ok(());
    }
    let message =
        format!("this needs a token of role {}; this one has {}", role.as_str(), grant.role.as_str());
    Err(Problem::new(Reason::Forbidden, message))
}

pub fn covers(grant: &Grant, limit: &str) -> Result<(), Problem> {
    if grant.covers(limit) {
        return Ok(());
    }
    Err(outside(grant))
}

fn outside(grant: &Grant) -> Problem {
    let prefixes = grant.limits.join(", ");
    let message = format!("this token is for limits that begin with {prefixes}, and this names another");
    Problem::new(Reason::Forbidden, message)
}

impl Shared {
    /// Refuses what the caller may not do.
    pub async fn allow(&self, asker: &Asker, call: &Call) -> Result<(), Problem> {
        let grant = &asker.grant;
        has_role(grant, needed(call))?;
        if !grant.is_bounded() {
            return Ok(());
        }
        match call {
            // It would retire what the grant does not cover.
            Call::Deploy { .. } => Err(outside(grant)),
            Call::Confirm { slot }
            | Call::Release { slot }
            | Call::Leave { slot }
            | Call::Slot { slot, .. } => {
                let look = Call::Slot { slot: slot.clone(), wait: Default::default() };
                self.covers_what_it_shows(asker, look).await
            }
            Call::EndRun { run, .. } => {
                self.covers_what_it_shows(asker, Call::Run { run: run.clone() }).await
            }
            other => named(other).into_iter().try_for_each(|limit| covers(grant, limit)),
        }
    }

    async fn covers_what_it_shows(&self, asker: &Asker, look: Call) -> Result<(), Problem> {
        let is_covered = match self.node.call(&asker.context, look).await? {
            Answer::Slot(answer) => covers_slot(&asker.grant, &answer.slot),
            Answer::Run(answer) => answer.run.slots.iter().all(|slot| covers_slot(&asker.grant, slot)),
            _ => true,
        };
        is_covered.then_some(()).ok_or_else(|| outside(&asker.grant))
    }
}

/// The limits that a call names.
fn named(call: &Call) -> Vec<&str> {
    match call {
        Call::Acquire(fields) => fields
            .limit
            .iter()
            .chain(fields.limits.iter().map(|share| &share.limit))
            .map(String::as_str)
            .collect(),
        Call::Declare(limit) => vec![&limit.name],
        Call::SetCapacity { limit, .. }
        | Call::ResetCapacity { limit }
        | Call::SetMaxHold { limit, .. }
        | Call::ResetMaxHold { limit }
        | Call::Pause { limit }
        | Call::Resume { limit }
        | Call::Limit { limit }
        | Call::Series { limit, .. }
        | Call::Preview { limit, .. }
        | Call::LimitSlots { limit, .. } => vec![limit],
        Call::History { limit, .. }
        | Call::Audit(AuditFields { limit, .. })
        | Call::Runs(RunsFields { limit, .. }) => limit.iter().map(String::as_str).collect(),
        _ => Vec::new(),
    }
}

fn covers_slot(grant: &Grant, slot: &SlotInfo) -> bool {
    slot.limits.iter().all(|share| grant.covers(&share.limit))
}

/// The call, looking only at what the grant covers where that is counted and paged.
pub fn bounded(grant: &Grant, mut call: Call) -> Call {
    match &mut call {
        Call::Limits { prefixes, .. } => prefixes.clone_from(&grant.limits),
        Call::Overview(fields) => fields.prefixes.clone_from(&grant.limits),
        Call::Runs(fields) => fields.prefixes.clone_from(&grant.limits),
        _ => {}
    }
    call
}

/// The answer without what the grant does not cover.
pub fn shown(grant: &Grant, mut answer: Answer) -> Answer {
    if !grant.is_bounded() {
        return answer;
    }
    let slots = |run: &mut RunInfo| {
        run.slots.retain(|slot| covers_slot(grant, slot));
        run.steps.retain(|step| step.limit.as_ref().is_some_and(|limit| grant.covers(limit)));
    };
    match &mut answer {
        Answer::LimitSlots(all) => {
            all.holders.retain(|slot| covers_slot(grant, slot));
            all.queue.retain(|slot| covers_slot(grant, slot));
        }
        Answer::Runs(runs) => runs.runs.iter_mut().for_each(slots),
        Answer::Run(run) => slots(&mut run.run),
        Answer::History(history) => {
            history.ends.retain(|end| end.limits.iter().all(|share| grant.covers(&share.limit)));
        }
        Answer::Audit(audit) => audit.acts.retain(|act| act.is_of_a_rate() || grant.covers(&act.target)),
        Answer::Explain(explained) => explained_to(grant, explained),
        _ => {}
    }
    answer
}

/// The words tell of everything, so they go where something is left out.
fn explained_to(grant: &Grant, explained: &mut ExplainAnswer) {
    let before = explained.slots.len() + explained.ended.len();
    explained.slots.retain(|slot| covers_slot(grant, &slot.slot));
    explained.ended.retain(|end| end.limits.iter().all(|share| grant.covers(&share.limit)));
    let mut is_part = explained.slots.len() + explained.ended.len() < before;
    for slot in &mut explained.slots {
        if waits_told_to(grant, slot) {
            slot.text = PART.to_owned();
            is_part = true;
        }
    }
    if is_part {
        explained.text = PART.to_owned();
    }
}

const PART: &str = "Part of this belongs to limits that this token is not for.";

/// Leaves out others in the same queues that hold, or wait for, limits of others too. Whether any were there.
fn waits_told_to(grant: &Grant, slot: &mut ExplainedSlot) -> bool {
    let mut is_part = false;
    for limit in &mut slot.waits_for {
        let before = limit.holders.len() + usize::from(limit.first.is_some());
        limit.holders.retain(|holder| covers_slot(grant, holder));
        limit.first.take_if(|first| !covers_slot(grant, first));
        is_part |= limit.holders.len() + usize::from(limit.first.is_some()) < before;
    }
    is_part
}

/// The events that the grant covers. Those of no limit are shown to all.
pub fn told(grant: &Grant, mut events: Vec<LiveEvent>) -> Vec<LiveEvent> {
    events.retain(|event| event.about().all(|limit| grant.covers(limit)));
    events
}

/// The samples of `/metrics` without those of limits that the grant does not cover. Names of limits need no escapes.
pub fn told_in_numbers(grant: &Grant, text: String) -> String {
    if !grant.is_bounded() {
        return text;
    }
    let limit_of = |line: &str| Some(line.split_once(",limit=\"")?.1.split_once('"')?.0.to_owned());
    let is_told = |line: &&str| limit_of(line).is_none_or(|limit| grant.covers(&limit));
    text.split_inclusive('\n').filter(is_told).collect()
}

pub fn told_first(grant: &Grant, mut snapshot: LiveSnapshot) -> LiveSnapshot {
    match &mut snapshot {
        LiveSnapshot::Limits(limits) => {
            limits.limits.retain(|limit| grant.covers(&limit.limit));
            limits.next.take_if(|next| !grant.covers(next));
        }
        LiveSnapshot::Limit(slots) => {
            slots.holders.retain(|slot| covers_slot(grant, slot));
            slots.queue.retain(|slot| covers_slot(grant, slot));
        }
    }
    snapshot
}
