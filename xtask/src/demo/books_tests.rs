//! The books disagree when something is wrong: every test below spoils one thing and names the line that sees it.

use maitred::api::SlotState;

use super::{Past, ServerBooks, judge};
use crate::demo::{
    ledger::{Ledger, Life},
    partner::Numbers,
    talk::Said,
};

const ONE: Life = Life(1);
const DOOMED: Life = Life(2);

struct Case {
    ledger: Ledger,
    server: ServerBooks,
    partner: Numbers,
}

impl Case {
    fn broken(&self) -> Vec<String> {
        let findings = judge(&self.ledger, &self.server, &self.partner);
        findings.into_iter().filter(|finding| !finding.holds).map(|finding| finding.text).collect()
    }

    fn state(&mut self, slot: &str, state: SlotState) {
        self.server.states.insert(slot.to_owned(), state);
        let was_granted = matches!(state, SlotState::Released | SlotState::Expired);
        self.server.history.remove(slot);
        if was_granted || state == SlotState::Left {
            self.server.history.insert(slot.to_owned(), Past { state, was_granted, laps: 0 });
        }
    }

    fn past(&mut self, slot: &str) -> &mut Past {
        self.server.history.get_mut(slot).unwrap()
    }
}

fn called(ledger: &mut Ledger, life: Life, slot: &str, fence: u64) {
    let name = || slot.to_owned();
    ledger.note(life, &Said::Asked { slot: name() });
    ledger.note(life, &Said::Granted { slot: name(), fence, has_waited: true });
    ledger.note(life, &Said::Calling { slot: name() });
}

fn ended(slot: &str, state: SlotState, by_this_call: bool, lost: u32) -> Said {
    Said::Ended { slot: slot.to_owned(), state, by_this_call, lost }
}

/// One slot released, one released by a call whose answer was lost, one cut short and expired, one cut short while
/// it waited, and one whose call the partner never answered.
fn good() -> Case {
    let mut case =
        Case { ledger: Ledger::default(), server: ServerBooks::default(), partner: Numbers::default() };
    for (slot, life, fence) in [("a", ONE, 1), ("b", ONE, 2), ("c", DOOMED, 3), ("e", ONE, 4)] {
        called(&mut case.ledger, life, slot, fence);
        case.partner.served.insert(slot.to_owned(), 1);
    }
    for (slot, status) in [("a", 200), ("b", 200), ("e", 0)] {
        case.ledger.note(ONE, &Said::Answered { slot: slot.to_owned(), status });
    }
    case.ledger.note(ONE, &ended("a", SlotState::Released, true, 0));
    case.ledger.note(ONE, &ended("b", SlotState::Released, false, 1));
    case.ledger.note(DOOMED, &Said::Asked { slot: "d".to_owned() });
    assert_eq!(case.ledger.killed(DOOMED), ["d"]);
    case.state("a", SlotState::Released);
    case.state("b", SlotState::Released);
    case.state("c", SlotState::Expired);
    case.state("d", SlotState::Left);
    case.state("e", SlotState::Expired);
    case.server.grants = 4;
    case.partner.high_water = 3;
    case
}

fn assert_seen(case: &Case, line: &str) {
    let broken = case.broken();
    assert!(broken.iter().any(|text| text.contains(line)), "nothing about \"{line}\" in {broken:#?}");
}

#[test]
fn good_books_agree() {
    assert_eq!(good().broken(), Vec::<String>::new());
}

#[test]
fn a_grant_more_than_there_are_ends() {
    let mut case = good();
    case.server.grants = 5;
    assert_seen(&case, "server:");
}

#[test]
fn grants_in_vain() {
    let mut case = good();
    case.past("b").laps = 1;
    assert_seen(&case, "server:");
    case.server.grants = 5;
    assert_eq!(case.broken(), Vec::<String>::new());
    case.past("d").was_granted = true;
    assert_seen(&case, "server:");
    case.server.grants = 6;
    assert_eq!(case.broken(), Vec::<String>::new());
}

#[test]
fn a_history_that_tells_something_else() {
    let mut case = good();
    case.past("a").state = SlotState::Expired;
    assert_seen(&case, "history");
    case = good();
    case.server.history.remove("c");
    assert_seen(&case, "history");
    case = good();
    case.server.ended_twice.push("a".to_owned());
    assert_seen(&case, "history");
    case = good();
    let stranger = *case.past("a");
    case.server.history.insert("stranger".to_owned(), stranger);
    assert_seen(&case, "history");
}

#[test]
fn an_end_more_than_there_are_grants() {
    let mut case = good();
    case.server.grants = 3;
    assert_seen(&case, "server:");
}

#[test]
fn a_release_that_was_acknowledged_and_forgotten() {
    let mut case = good();
    case.state("a", SlotState::Expired);
    assert_seen(&case, "what a worker heard");
    assert_seen(&case, "between:");
}

#[test]
fn a_slot_that_was_forgotten() {
    let mut case = good();
    case.state("a", SlotState::Unknown);
    assert_seen(&case, "what a worker heard");
    assert_seen(&case, "server:");
}

#[test]
fn a_slot_that_was_granted_and_gone_while_answers_were_lost() {
    let mut case = good();
    case.ledger.note(ONE, &Said::Asked { slot: "f".to_owned() });
    case.ledger.note(ONE, &ended("f", SlotState::Expired, false, 3));
    case.state("f", SlotState::Expired);
    case.server.grants = 5;
    assert_eq!(case.broken(), Vec::<String>::new());
    case.ledger.slots.get_mut("f").unwrap().end.as_mut().unwrap().lost = 0;
    assert_seen(&case, "what a worker heard");
}

#[test]
fn a_release_that_nobody_made() {
    let mut case = good();
    case.ledger.slots.get_mut("b").unwrap().end.as_mut().unwrap().lost = 0;
    assert_seen(&case, "what a worker heard");
}

#[test]
fn a_slot_that_is_still_held() {
    let mut case = good();
    case.state("c", SlotState::Busy);
    assert_seen(&case, "server:");
    assert_seen(&case, "what a worker heard");
    case = good();
    case.server.waiting = 1;
    assert_seen(&case, "1 wait though all is over");
}

#[test]
fn a_grant_whose_end_no_living_worker_told() {
    let mut case = good();
    case.ledger.slots.get_mut("a").unwrap().end = None;
    assert_seen(&case, "workers:");
}

#[test]
fn nobody_had_to_wait() {
    let mut case = good();
    case.ledger.slots.values_mut().for_each(|account| account.has_waited = false);
    assert_seen(&case, "pressure: 0 of 4");
}

#[test]
fn one_fence_for_two() {
    let mut case = good();
    case.ledger.slots.get_mut("b").unwrap().fence = Some(1);
    assert_seen(&case, "one fence");
}

#[test]
fn the_partner_refused_or_was_too_full() {
    let mut case = good();
    case.partner.refused = 1;
    assert_seen(&case, "refusals at the partner: 1");
    case.partner.high_water = 51;
    assert_seen(&case, "most at the partner at once: 51");
}

#[test]
fn calls_without_a_slot_and_two_under_one() {
    let mut case = good();
    case.partner.served.insert("nobody's".to_owned(), 1);
    assert_seen(&case, "under a slot");
    case = good();
    case.partner.served.insert("a".to_owned(), 2);
    assert_seen(&case, "under a slot");
    case = good();
    case.partner.served.remove("a");
    assert_seen(&case, "under a slot");
}
