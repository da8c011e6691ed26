//! What callers asked and what they were told, and whether each answer may be given.
//!
//! Three answers are never mixed up (D2): *done* must stand in the durable journal, exactly once, with the outcome
//! that was told; *refused* must have changed nothing; *unknown* promises nothing, but still no second effect.

use std::collections::BTreeMap;

use maitred_api::{Answer, Problem, Reason, SlotAnswer};
use maitred_engine::{
    command::{Confirm, Request, Verb},
    names::{Namespace, SlotId},
    outcome::{Outcome, Verdict},
    time::Millis,
};
use maitred_journal::Position;

use crate::{mirror::Place, witness::Witness};

/// So many meetings, at least so far apart, are enough for any node to take another for dead.
const JUDGED_AFTER: u32 = 12;
const MET_APART_MS: Millis = 1_000;

pub(crate) type CallId = usize;
type Checked = Result<(), String>;

#[derive(Clone, Debug)]
pub(crate) enum Asked {
    Change(Box<Request>),
    Read { namespace: Namespace, call: Box<maitred_api::Call>, min_revision: Option<u64> },
    Look { namespace: Namespace, slot: SlotId },
}

#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub client: usize,
    pub node: usize,
    pub asked: Asked,
    /// For how long the caller stays on the line; none does not wait.
    pub wait_ms: Option<Millis>,
    /// The process that took it, and the line it is on there.
    pub taken: Option<(u32, Option<u64>)>,
    /// The durable head when it came to its node.
    pub end_then: Position,
    /// The node has answered.
    pub answered: bool,
    /// The caller has an answer, or has given up.
    pub closed: bool,
    /// It was told that nothing happened, and the journal must never hold it.
    pub without_trace: bool,
}

impl Call {
    /// The slot this call waits for on a line.
    pub(crate) fn waits_for(&self) -> Option<(Namespace, SlotId)> {
        match &self.asked {
            Asked::Change(request) => match &request.verb {
                Verb::Acquire(acquire) => Some((request.namespace.clone(), acquire.slot.clone())),
                _ => None,
            },
            Asked::Look { namespace, slot } => Some((namespace.clone(), slot.clone())),
            Asked::Read { .. } => None,
        }
    }

    pub(crate) fn is_auto(&self) -> bool {
        let Asked::Change(request) = &self.asked else { return false };
        matches!(&request.verb, Verb::Acquire(acquire) if acquire.confirm == Confirm::Auto)
    }
}

#[derive(Default)]
pub(crate) struct Books {
    pub calls: Vec<Call>,
    /// There is no other process than the one that writes.
    pub is_local: bool,
    /// For each process that is gone and each that met the others since: how often it did, and when it was last.
    judges: BTreeMap<(u64, u64), (u32, Millis)>,
    /// Auto slots whose last caller was told that they wait, and is off the line since this revision.
    off_line: BTreeMap<Place, Position>,
}

impl Books {
    pub(crate) fn new(is_local: bool) -> Books {
        Books { is_local, ..Books::default() }
    }

    /// A process has died.
    pub(crate) fn gone(&mut self, writer: u64) {
        // It judges nobody any more; its own entry stands under the judge 0.
        self.judges.retain(|(_, judge), _| *judge != writer);
        self.judges.insert((writer, 0), (0, 0));
    }

    /// A process has met the others, at this true time.
    pub(crate) fn met(&mut self, judge: u64, now: Millis) {
        let gone: Vec<u64> =
            self.judges.keys().filter(|(_, judge)| *judge == 0).map(|(gone, _)| *gone).collect();
        for gone in gone {
            let (count, last) = self.judges.entry((gone, judge)).or_default();
            if *count < JUDGED_AFTER && now >= *last + MET_APART_MS {
                (*count, *last) = (*count + 1, now);
            }
        }
    }

    /// S7a: a process that has often enough met the others without this one grants nothing on its lines any more.
    /// `made_at` is when its record was made, `line_since` when the line came to be.
    pub(crate) fn knows_that_is_gone(
        &self,
        judge: u64,
        gone: u64,
        made_at: Millis,
        line_since: Millis,
    ) -> bool {
        let known = self.judges.get(&(gone, judge)).filter(|(count, _)| *count >= JUDGED_AFTER);
        known.is_some_and(|(_, since)| made_at > *since && line_since < *since)
    }

    pub(crate) fn open(&mut self, call: Call) -> CallId {
        self.calls.push(call);
        self.calls.len() - 1
    }

    /// A call comes to a node: whoever waits on a line again may be granted a busy slot.
    pub(crate) fn taken(&mut self, id: CallId) {
        if self.calls[id].is_auto()
            && let Some(place) = self.calls[id].waits_for()
        {
            self.off_line.remove(&place);
        }
    }

    /// S7a: what is busy at its grant has somebody who is told of it.
    pub(crate) fn check_granted_busy(&self, place: &Place, position: Position) -> Checked {
        match self.off_line.get(place) {
            Some(since) if *since < position => Err(format!(
                "{} was granted busy at {position}, but its caller was told at {since} that it waits",
                place.1
            )),
            _ => Ok(()),
        }
    }

    /// The node answers a call.
    pub(crate) fn answered(
        &mut self,
        id: CallId,
        answer: &Result<Answer, Problem>,
        witness: &Witness,
    ) -> Checked {
        let call = &mut self.calls[id];
        if std::mem::replace(&mut call.answered, true) {
            return Err(format!("call {id} is answered twice"));
        }
        let call = &self.calls[id];
        let checked = match &call.asked {
            Asked::Change(request) => check_change(id, request, answer, witness),
            Asked::Read { namespace, call: asked, min_revision } => {
                check_read(namespace, asked, *min_revision, answer, witness)
                    .and_then(|()| if min_revision.is_none() { check_end(call, answer) } else { Ok(()) })
            }
            Asked::Look { namespace, slot } => match answer {
                Ok(Answer::Slot(told)) => {
                    check_slot(namespace, slot, told, witness).and_then(|()| check_end(call, answer))
                }
                _ => Ok(()),
            },
        };
        checked.map_err(|wrong| format!("call {id}, {:?}: {wrong}; told {answer:?}", call.asked))?;
        self.note(id, answer, witness)
    }

    fn note(&mut self, id: CallId, answer: &Result<Answer, Problem>, witness: &Witness) -> Checked {
        let refused = answer.as_ref().err().map(|problem| problem.reason);
        if matches!(refused, Some(Reason::StorageFull | Reason::Overloaded | Reason::Unavailable)) {
            self.calls[id].without_trace = true;
            if witness.outcome(id).is_some() {
                return Err(format!("call {id} was refused and is in the journal"));
            }
        }
        if let (true, Some(place), Ok(Answer::Slot(told))) =
            (self.calls[id].is_auto(), self.calls[id].waits_for(), answer)
            && told.slot.state == maitred_api::SlotState::Queued
        {
            let others = |call: &Call| call.is_auto() && !call.answered && call.taken.is_some();
            let recent = self.calls.iter().rev().take(400);
            if !recent.clone().any(|call| others(call) && call.waits_for().as_ref() == Some(&place)) {
                self.off_line.insert(place, told.revision);
            }
        }
        Ok(())
    }
}

fn check_change(
    id: CallId,
    request: &Request,
    answer: &Result<Answer, Problem>,
    witness: &Witness,
) -> Checked {
    let seen = witness.outcome(id);
    let told = match answer {
        Err(problem) => return check_refusal(problem, seen.map(|(_, outcome)| outcome)),
        Ok(told) => told,
    };
    let revision = revision(told);
    let Some((position, outcome)) = seen else {
        return Err("told before it is durable".to_owned());
    };
    if *position > revision || revision > witness.head() {
        return Err(format!("told at revision {revision}, durable at {position}, head {}", witness.head()));
    }
    match (told, outcome) {
        (Answer::Slot(told), Outcome::Slot(_)) => match slot_of(&request.verb) {
            Some(slot) => check_slot(&request.namespace, slot, told, witness),
            None => Err("a slot nobody asked for".to_owned()),
        },
        (Answer::Release(told), Outcome::Release { released, .. }) if told.released == *released => Ok(()),
        (Answer::Decision(told), Outcome::Admission(admission)) => {
            let over = !matches!(admission.verdict, Verdict::Allowed);
            let same = told.over_limit == over && told.replayed == admission.replayed;
            if same { Ok(()) } else { Err(format!("the verdict was {admission:?}")) }
        }
        (Answer::Done(_) | Answer::Limit(_), Outcome::Done) => Ok(()),
        _ => Err(format!("the outcome was {outcome:?}")),
    }
}

/// A refusal by the rules is an outcome in the journal; one by the node has left no trace; the rest is not known.
fn check_refusal(problem: &Problem, outcome: Option<&Outcome>) -> Checked {
    match (problem.reason, outcome) {
        (Reason::StorageFull | Reason::Overloaded | Reason::Unavailable | Reason::Unknown, _) => Ok(()),
        (reason, Some(Outcome::Refused(refusal))) if reason.code() == refusal.code() => Ok(()),
        (_, outcome) => Err(format!("refused, but the outcome was {outcome:?}")),
    }
}

fn check_read(
    namespace: &Namespace,
    call: &maitred_api::Call,
    min_revision: Option<u64>,
    answer: &Result<Answer, Problem>,
    witness: &Witness,
) -> Checked {
    let Ok(told) = answer else { return Ok(()) };
    let revision = revision(told);
    if revision > witness.head() || min_revision.is_some_and(|least| revision < least) {
        return Err(format!("read at revision {revision}, head {}, wanted {min_revision:?}", witness.head()));
    }
    match (call, told) {
        (maitred_api::Call::Slot { slot, .. }, Answer::Slot(told)) => {
            let slot = slot.parse().map_err(|_| "not a slot id".to_owned())?;
            check_slot(namespace, &slot, told, witness)
        }
        (_, Answer::LimitSlots(told)) => {
            let (limit, holders) = (&told.limit, told.holders.len() as u32);
            let same = limit.busy_slots + limit.reserved_slots == holders
                && limit.waiting as usize == told.queue.len();
            if same { Ok(()) } else { Err("what is counted is not what is listed".to_owned()) }
        }
        _ => Ok(()),
    }
}

/// One slot is told as it is at the journal's end: nothing that was durable before the question is missing (D6).
fn check_end(call: &Call, answer: &Result<Answer, Problem>) -> Checked {
    match answer {
        Ok(Answer::Slot(told)) if told.revision < call.end_then => Err(format!(
            "revision {} was told, and {} was durable before the question",
            told.revision, call.end_then
        )),
        _ => Ok(()),
    }
}

/// The slot was like this at that revision, in the durable journal.
fn check_slot(namespace: &Namespace, slot: &SlotId, told: &SlotAnswer, witness: &Witness) -> Checked {
    if told.revision > witness.head() {
        return Err(format!(
            "told of revision {}, and the durable head is {}",
            told.revision,
            witness.head()
        ));
    }
    let place = (namespace.clone(), slot.clone());
    if witness.was(&place, told.revision, told.slot.state, told.slot.fence) {
        return Ok(());
    }
    Err(format!("the slot was {:?} around revision {}", witness.story(&place), told.revision))
}

fn slot_of(verb: &Verb) -> Option<&SlotId> {
    match verb {
        Verb::Acquire(acquire) => Some(&acquire.slot),
        Verb::Confirm { slot } | Verb::Release { slot } | Verb::Leave { slot } => Some(slot),
        _ => None,
    }
}

pub(crate) fn revision(answer: &Answer) -> u64 {
    match answer {
        Answer::Release(it) => it.revision,
        Answer::Slot(it) => it.revision,
        Answer::Decision(it) => it.revision,
        Answer::LimitSlots(it) => it.revision,
        Answer::Limit(it) => it.revision,
        Answer::Done(it) => it.revision,
        other => unreachable!("nobody here asks for {other:?}"),
    }
}
