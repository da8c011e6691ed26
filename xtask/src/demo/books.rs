//! The books at the end, from five sources that know nothing of each other: what the workers said, what the server
//! answers about every slot, what its history tells of every end, the fences it gave, and what the partner saw.
//!
//! The server's own number of grants is the difference of two fences: every grant takes the next one, over any number
//! of restarts, so a grant that nobody heard of is counted too. It has to be the sum of how the slots ended. Example:
//! the first probe had fence 1 and the last one fence 14, so there were 12 grants; 10 slots are `released`, 2
//! `expired` and none is busy. If the server had forgotten a release that a worker was told of, that slot would be
//! `expired` too: the sum would still be 12, but the line that compares each worker's story with the server's is off.

use std::collections::{BTreeMap, HashMap};

use maitred::api::SlotState;

use super::{
    ledger::{Account, Ledger},
    partner::{HOLDS, Numbers},
};

/// What the server says when all is over.
#[derive(Default)]
pub struct ServerBooks {
    /// Grants between the first and the last fence.
    pub grants: u64,
    /// Every slot that was ever asked for, as it is.
    pub states: HashMap<String, SlotState>,
    /// What the history tells of slots that have ended.
    pub history: HashMap<String, Past>,
    /// Slots of which it tells two ends.
    pub ended_twice: Vec<String>,
    /// The limit's own view.
    pub busy: u64,
    pub reserved: u64,
    pub waiting: u64,
}

/// The end of a slot, as the history tells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Past {
    pub state: SlotState,
    /// It was reserved or busy when it ended.
    pub was_granted: bool,
    /// How often it was granted before that, in vain: nobody took it up in time.
    pub laps: u32,
}

/// One equation or rule, and whether it holds.
pub struct Finding {
    pub holds: bool,
    pub text: String,
}

fn finding(holds: bool, text: String) -> Finding {
    Finding { holds, text }
}

/// At most this many slots are named where a rule is broken.
const NAMED: usize = 5;

/// A rule that holds for every slot, or names those for which it doesn't.
fn every(what: &str, broken: Vec<String>) -> Finding {
    if broken.is_empty() {
        return finding(true, what.to_owned());
    }
    let some = broken[..broken.len().min(NAMED)].join("; ");
    finding(false, format!("{what}: NOT so for {}, such as {some}", broken.len()))
}

pub fn judge(ledger: &Ledger, server: &ServerBooks, partner: &Numbers) -> Vec<Finding> {
    vec![
        pressure(ledger),
        workers_sum(ledger),
        server_sum(server),
        between(ledger, server),
        history(server),
        every("what a worker heard of a slot is what the server says of it", contradictions(ledger, server)),
        fences(ledger),
        every("every worker's story makes sense", ledger.nonsense.clone()),
        finding(partner.refused == 0, format!("refusals at the partner: {}", partner.refused)),
        finding(
            partner.high_water <= HOLDS,
            format!("most at the partner at once: {} of {HOLDS}", partner.high_water),
        ),
        every("every call at the partner was made under a slot, one each", unguarded(ledger, partner)),
    ]
}

/// A limit that nobody had to wait for has held nothing back.
fn pressure(ledger: &Ledger) -> Finding {
    let waited = ledger.granted().filter(|(_, account)| account.has_waited).count();
    finding(
        waited > 0,
        format!("pressure: {waited} of {} slots had to wait in the queue", ledger.granted().count()),
    )
}

struct Sums {
    granted: usize,
    released: usize,
    expired: usize,
    cut_short: usize,
}

fn sums(ledger: &Ledger) -> Sums {
    let count = |is: &dyn Fn(&Account) -> bool| ledger.granted().filter(|(_, account)| is(account)).count();
    let ended = |account: &Account, state| account.end.as_ref().is_some_and(|end| end.state == state);
    Sums {
        granted: ledger.granted().count(),
        released: count(&|account| ended(account, SlotState::Released)),
        expired: count(&|account| ended(account, SlotState::Expired) || account.status == Some(0)),
        cut_short: count(&|account| account.is_cut_short),
    }
}

fn workers_sum(ledger: &Ledger) -> Finding {
    let Sums { granted, released, expired, cut_short } = sums(ledger);
    finding(
        granted == released + expired + cut_short,
        format!(
            "workers: {granted} granted = {released} released + {expired} expired + {cut_short} cut short by a kill"
        ),
    )
}

fn count(server: &ServerBooks, state: SlotState) -> u64 {
    server.states.values().filter(|is| **is == state).count() as u64
}

/// Besides what was released or has expired, a grant can have been in vain: nobody took it up in time, so it went on
/// to the next and came again later, or its slot was left before it was taken up.
fn server_sum(server: &ServerBooks) -> Finding {
    let (released, expired) = (count(server, SlotState::Released), count(server, SlotState::Expired));
    let laps: u64 = server.history.values().map(|past| u64::from(past.laps)).sum();
    let left = server.history.values().filter(|past| past.state == SlotState::Left && past.was_granted);
    let left = left.count() as u64;
    let is_empty = server.busy + server.reserved + server.waiting == 0;
    let sum = released + expired + server.busy + laps + left;
    let mut text = format!(
        "server:  {} granted = {released} released + {expired} expired + {} busy",
        server.grants, server.busy
    );
    for (number, what) in [(laps, "lapsed and granted again"), (left, "left before they were taken up")] {
        if number > 0 {
            text += &format!(" + {number} {what}");
        }
    }
    if !is_empty {
        text += &format!("; {} are reserved and {} wait though all is over", server.reserved, server.waiting);
    }
    finding(server.grants == sum && count(server, SlotState::Busy) == server.busy && is_empty, text)
}

/// The history tells one end of every slot that has ended, and of no other.
fn history(server: &ServerBooks) -> Finding {
    let is_end = |state: SlotState| {
        !matches!(state, SlotState::Unknown | SlotState::Queued | SlotState::Reserved | SlotState::Busy)
    };
    let mut broken: Vec<String> =
        server.ended_twice.iter().map(|slot| format!("{slot} ended twice")).collect();
    for (slot, state) in &server.states {
        let told = server.history.get(slot).map(|past| past.state);
        if told != is_end(*state).then_some(*state) {
            broken.push(format!("{slot}: is {}, the history tells {told:?}", state.as_str()));
        }
    }
    broken.extend(server.history.keys().filter(|slot| !server.states.contains_key(*slot)).cloned());
    every("the server's history tells of every end once", broken)
}

/// The two sums differ by the slots whose end no worker saw or whose grant no worker heard of, and by nothing else.
fn between(ledger: &Ledger, server: &ServerBooks) -> Finding {
    let Sums { released, expired, .. } = sums(ledger);
    let mut unseen: BTreeMap<&str, u64> = BTreeMap::new();
    let is_unseen = |account: &Account| account.is_cut_short || account.fence.is_none();
    for (slot, _) in ledger.slots.iter().filter(|(_, account)| is_unseen(account)) {
        let state = server.states.get(slot).copied().unwrap_or(SlotState::Unknown);
        *unseen.entry(state.as_str()).or_default() += 1;
    }
    let unseen_as = |state: SlotState| unseen.get(state.as_str()).copied().unwrap_or(0);
    let agrees = |state, heard: usize| count(server, state) == heard as u64 + unseen_as(state);
    let holds = agrees(SlotState::Released, released) && agrees(SlotState::Expired, expired);
    let shown: Vec<String> = unseen.iter().map(|(state, number)| format!("{number} {state}")).collect();
    let shown = if shown.is_empty() { "none".to_owned() } else { shown.join(", ") };
    finding(holds, format!("between: the server's end of slots that no worker saw to theirs: {shown}"))
}

fn contradictions(ledger: &Ledger, server: &ServerBooks) -> Vec<String> {
    let slots = ledger.slots.iter();
    slots
        .filter_map(|(slot, account)| contradiction(account, server.states.get(slot).copied(), slot))
        .collect()
}

fn contradiction(account: &Account, state: Option<SlotState>, slot: &str) -> Option<String> {
    let Some(state) = state else { return Some(format!("{slot}: the server was not asked")) };
    let was_granted = matches!(state, SlotState::Released | SlotState::Expired | SlotState::Busy);
    let agrees = match (&account.end, account.fence) {
        // The end was heard of: by this very call, or by a call whose answer was lost.
        (Some(end), Some(_)) => {
            let is_release = end.by_this_call || (end.lost > 0 && end.state == SlotState::Released);
            state == end.state && (state != SlotState::Released || is_release)
        }
        // Gone before it was granted, or granted and gone while answers were lost.
        (Some(end), None) => state == end.state && (!was_granted || end.lost > 0),
        // No answer from the partner: nobody gives it back.
        (None, Some(_)) if account.status == Some(0) => state == SlotState::Expired,
        (None, Some(_)) => account.is_cut_short && was_granted && state != SlotState::Busy,
        (None, None) => account.is_cut_short && state != SlotState::Queued && state != SlotState::Reserved,
    };
    (!agrees).then(|| format!("{slot}: server {}, worker {account:?}", state.as_str()))
}

fn fences(ledger: &Ledger) -> Finding {
    let twice = ledger.fences().into_iter().filter(|(_, slots)| *slots > 1);
    every("no two grants have one fence", twice.map(|(fence, _)| fence.to_string()).collect())
}

/// A call that was begun may not have arrived only if its worker was killed or got no answer.
fn unguarded(ledger: &Ledger, partner: &Numbers) -> Vec<String> {
    let mut broken = Vec::new();
    for (slot, times) in &partner.served {
        let account = ledger.slots.get(slot);
        let is_guarded = account.is_some_and(|account| account.fence.is_some() && account.is_called);
        if !is_guarded || *times != 1 {
            broken.push(format!("{slot} ({times} calls)"));
        }
    }
    for (slot, account) in &ledger.slots {
        let must_have_arrived = account.status == Some(200);
        if must_have_arrived && !partner.served.contains_key(slot) {
            broken.push(format!("{slot} (the partner knows nothing of it)"));
        }
    }
    broken
}

#[cfg(test)]
#[path = "books_tests.rs"]
mod tests;
