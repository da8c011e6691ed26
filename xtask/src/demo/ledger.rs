//! The workers' side of the books: what they said of every slot.

use std::collections::{BTreeMap, HashMap};

use maitred::api::SlotState;

use super::talk::Said;

/// One life of one worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Life(pub u64);

/// One slot, as its worker told it.
#[derive(Clone, Debug)]
pub struct Account {
    pub asked_by: Life,
    /// The fence of the grant, once it was heard of.
    pub fence: Option<u64>,
    /// It was not granted in the moment it was asked for.
    pub has_waited: bool,
    /// The call at the partner: not begun, begun, answered with a status (0: no answer).
    pub is_called: bool,
    pub status: Option<u16>,
    pub end: Option<End>,
    /// Its worker was killed before it told the end.
    pub is_cut_short: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct End {
    pub state: SlotState,
    /// A release was answered with `released: true`.
    pub by_this_call: bool,
    /// Answers to earlier tries were lost, so one of those may have done it.
    pub lost: u32,
}

#[derive(Default)]
pub struct Ledger {
    pub slots: BTreeMap<String, Account>,
    /// What was said that cannot be: an event of a slot that was never asked for, two ends of one slot, ….
    pub nonsense: Vec<String>,
    pub lost_answers: u64,
    pub killed_lives: Vec<Life>,
}

impl Ledger {
    pub fn note(&mut self, life: Life, said: &Said) {
        match said {
            Said::Asked { slot } => self.open(life, slot),
            Said::Granted { slot, fence, has_waited } => self.change(slot, |account| {
                account.has_waited = *has_waited;
                account.fence.replace(*fence).is_none()
            }),
            Said::Calling { slot } => {
                self.change(slot, |account| !std::mem::replace(&mut account.is_called, true));
            }
            Said::Answered { slot, status } => {
                self.change(slot, |account| account.status.replace(*status).is_none());
            }
            Said::Ended { slot, state, by_this_call, lost } => {
                let end = End { state: *state, by_this_call: *by_this_call, lost: *lost };
                self.change(slot, |account| account.end.replace(end).is_none());
            }
            Said::Lost => self.lost_answers += 1,
            Said::Done { .. } => {}
        }
    }

    fn open(&mut self, life: Life, slot: &str) {
        let account = Account {
            asked_by: life,
            fence: None,
            has_waited: false,
            is_called: false,
            status: None,
            end: None,
            is_cut_short: false,
        };
        if self.slots.insert(slot.to_owned(), account).is_some() {
            self.nonsense.push(format!("slot {slot} was made twice"));
        }
    }

    /// `change` says whether this was the first time.
    fn change(&mut self, slot: &str, change: impl FnOnce(&mut Account) -> bool) {
        match self.slots.get_mut(slot).map(change) {
            Some(true) => {}
            Some(false) => self.nonsense.push(format!("slot {slot}: one thing was said twice")),
            None => self.nonsense.push(format!("slot {slot} was never asked for")),
        }
    }

    /// The worker was killed. Answers the slots it had asked for and not heard of: nobody waits for them any more.
    pub fn killed(&mut self, life: Life) -> Vec<String> {
        self.killed_lives.push(life);
        let mut unheard = Vec::new();
        for (slot, account) in &mut self.slots {
            if account.asked_by == life && account.end.is_none() && account.status != Some(0) {
                account.is_cut_short = true;
                if account.fence.is_none() {
                    unheard.push(slot.clone());
                }
            }
        }
        unheard
    }

    /// Slots whose grant was heard of.
    pub fn granted(&self) -> impl Iterator<Item = (&String, &Account)> {
        self.slots.iter().filter(|(_, account)| account.fence.is_some())
    }

    /// How many slots each fence was given to. It is one for all, or something is wrong.
    pub fn fences(&self) -> HashMap<u64, u32> {
        let mut fences = HashMap::new();
        for fence in self.slots.values().filter_map(|account| account.fence) {
            *fences.entry(fence).or_default() += 1;
        }
        fences
    }
}

#[cfg(test)]
mod tests {
    use maitred::api::SlotState;

    use super::{Ledger, Life};
    use crate::demo::talk::Said;

    fn asked(slot: &str) -> Said {
        Said::Asked { slot: slot.to_owned() }
    }

    fn granted(slot: &str, fence: u64) -> Said {
        Said::Granted { slot: slot.to_owned(), fence, has_waited: true }
    }

    #[test]
    fn a_killed_worker_cuts_its_own_slots_short() {
        let mut ledger = Ledger::default();
        let (one, two) = (Life(1), Life(2));
        ledger.note(one, &asked("waits"));
        ledger.note(one, &asked("busy"));
        ledger.note(one, &granted("busy", 1));
        ledger.note(two, &asked("other"));
        assert_eq!(ledger.killed(one), ["waits"]);
        let cut: Vec<_> = ledger.slots.iter().filter(|(_, account)| account.is_cut_short).collect();
        assert_eq!(cut.len(), 2);
        assert!(ledger.nonsense.is_empty());
    }

    #[test]
    fn nonsense_is_seen() {
        let mut ledger = Ledger::default();
        ledger.note(Life(1), &granted("a", 1));
        ledger.note(Life(1), &asked("b"));
        ledger.note(Life(1), &asked("b"));
        ledger.note(Life(1), &granted("b", 2));
        ledger.note(Life(1), &granted("b", 2));
        let end =
            Said::Ended { slot: "b".to_owned(), state: SlotState::Released, by_this_call: true, lost: 0 };
        ledger.note(Life(1), &end);
        ledger.note(Life(1), &end);
        assert_eq!(ledger.nonsense.len(), 4, "{:?}", ledger.nonsense);
    }
}
