//! Is there an order in which a plain limiter gives these answers? Neither revisions nor fences are asked for it, but a
//! grant has to have a higher fence than the one before.
//!
//! # Worked example
//! ```text
//! c1  acquire a |-------> granted      c1  release a |---> unknown
//! c2      acquire b |--> queued               c2  look b |---> granted
//! ```
//! Every call takes effect at one instant between its beginning and its answer; a call without an answer does so at any
//! time from its beginning on, or never. `acquire b` cannot come first, or it would have been granted; so `a`, `b`; then
//! `look b` needs the release before it, which may have happened. There is such an order: the history is possible.
//!
//! # How
//! Depth first (Wing and Gong), with a memory of which sets of calls, done in any order, led to which state (Lowe):
//! from such a pair nothing new can come. Only the first calls of each limit are searched, as a history cut off at any
//! time is a history, with calls that are not answered yet. A search that goes on for too long is given up, and said.

use std::collections::{BTreeMap, HashSet};

use super::{Asked, Call, Told};

/// So many calls of each limit.
const CALLS_MAX: usize = 300;
const STEPS_MAX: usize = 200_000;

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Searched {
    pub calls: usize,
    pub given_up: usize,
}

pub(super) fn check(calls: &[Call], capacities: &BTreeMap<String, u64>, wrong: &mut Vec<String>) -> Searched {
    let mut searched = Searched::default();
    for (limit, capacity) in capacities {
        let search = Search::new(&first_calls(calls, limit), *capacity as usize);
        match search.run() {
            Found::Order => searched.calls += search.answered,
            Found::GaveUp => searched.given_up += 1,
            Found::Nothing => wrong.push(format!(
                "in no order could a limiter of capacity {capacity} answer the first {} calls for {limit} so",
                search.answered
            )),
        }
    }
    searched
}

/// The first calls for slots of this limit, cut off at one time: what was not answered by then is not known.
fn first_calls(calls: &[Call], limit: &str) -> Vec<Call> {
    let is_of_limit = |call: &&Call| matches!(&call.asked, Asked::Acquire { limit: of, .. } if of == limit);
    let slots: HashSet<&str> = calls.iter().filter(is_of_limit).map(Call::slot).collect();
    let mut own: Vec<Call> = calls.iter().filter(|call| slots.contains(call.slot())).cloned().collect();
    own.sort_by_key(|call| call.began_at);
    let cut_at = own.get(CALLS_MAX).map_or(u64::MAX, |call| call.began_at);
    own.truncate(CALLS_MAX);
    own.iter_mut().filter(|call| call.ended_at >= cut_at).for_each(|call| call.told = Told::Unknown);
    own
}

/// What can happen to one slot, at one instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Act {
    Acquire,
    Release,
    HangUp,
    Look,
}

/// What must be so right after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Must {
    Anything,
    Wait,
    Hold,
    /// Free, and by this.
    FreeNow,
    Free,
}

#[derive(Debug)]
struct Op {
    slot: usize,
    act: Act,
    must: Must,
    began_at: u64,
    /// None if it may never have happened.
    ended_at: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Place {
    Nowhere,
    Waits,
    Holds,
    Gone,
}

/// A plain limiter.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct State {
    places: Vec<Place>,
    queue: Vec<usize>,
    held: usize,
    fence: u64,
}

enum Found {
    Order,
    Nothing,
    GaveUp,
}

struct Search {
    ops: Vec<Op>,
    answered: usize,
    capacity: usize,
    /// Of each slot, if anybody was told.
    fences: Vec<Option<u64>>,
}

impl Search {
    fn new(calls: &[Call], capacity: usize) -> Search {
        let mut names: BTreeMap<&str, usize> = BTreeMap::new();
        let mut search = Search { ops: Vec::new(), answered: 0, capacity, fences: Vec::new() };
        for call in calls {
            let next = names.len();
            let slot = *names.entry(call.slot()).or_insert(next);
            search.fences.resize(names.len(), None);
            if let Told::Granted { fence, .. } = call.told {
                search.fences[slot] = Some(fence);
            }
            search.answered += usize::from(!matches!(call.told, Told::Refused | Told::Unknown));
            search.add(call, slot);
        }
        search.ops.sort_by_key(|op| op.began_at);
        search
    }

    fn add(&mut self, call: &Call, slot: usize) {
        let must = match call.told {
            Told::Refused => return,
            Told::Unknown => Must::Anything,
            Told::Queued { .. } => Must::Wait,
            Told::Granted { .. } => Must::Hold,
            Told::Released { now: true, .. } => Must::FreeNow,
            Told::Released { now: false, .. } | Told::Ended { .. } => Must::Free,
        };
        let ended_at = (call.told != Told::Unknown).then_some(call.ended_at);
        let mut op = |act, must| self.ops.push(Op { slot, act, must, began_at: call.began_at, ended_at });
        match &call.asked {
            Asked::Look { .. } => op(Act::Look, must),
            Asked::Release { .. } => op(Act::Release, must),
            Asked::Acquire { waits: false, .. } => op(Act::Acquire, must),
            // What it is told is true some time after what it did.
            Asked::Acquire { waits: true, .. } => {
                op(Act::Acquire, Must::Anything);
                match ended_at {
                    Some(_) => op(Act::Look, must),
                    None => op(Act::HangUp, Must::Anything),
                }
            }
        }
    }

    fn run(&self) -> Found {
        let start =
            State { places: vec![Place::Nowhere; self.fences.len()], queue: Vec::new(), held: 0, fence: 0 };
        let mut done = vec![0_u64; self.ops.len().div_ceil(64)];
        let mut known: HashSet<(Vec<u64>, State)> = HashSet::new();
        // What was done, the state before it, and from where on to look for another one.
        let mut path: Vec<(usize, State)> = Vec::new();
        let (mut state, mut from) = (start, 0);
        for _ in 0..STEPS_MAX {
            if self.is_all_done(&done) {
                return Found::Order;
            }
            match self.next(&done, &state, from) {
                Some((op, after)) => {
                    done[op / 64] |= 1 << (op % 64);
                    if known.insert((done.clone(), after.clone())) {
                        path.push((op, std::mem::replace(&mut state, after)));
                        from = 0;
                    } else {
                        done[op / 64] &= !(1 << (op % 64));
                        from = op + 1;
                    }
                }
                None => {
                    let Some((op, before)) = path.pop() else { return Found::Nothing };
                    done[op / 64] &= !(1 << (op % 64));
                    (state, from) = (before, op + 1);
                }
            }
        }
        Found::GaveUp
    }

    fn is_all_done(&self, done: &[u64]) -> bool {
        let mut answered = self.ops.iter().enumerate().filter(|(_, op)| op.ended_at.is_some());
        answered.all(|(index, _)| is_done(done, index))
    }

    /// The first that may come next, from this one on: it began before anything that is not done was answered, and its
    /// answer fits.
    fn next(&self, done: &[u64], state: &State, from: usize) -> Option<(usize, State)> {
        let open = || self.ops.iter().enumerate().filter(|(index, _)| !is_done(done, *index));
        let until = open().filter_map(|(_, op)| op.ended_at).min().unwrap_or(u64::MAX);
        open()
            .skip_while(|(index, _)| *index < from)
            .take_while(|(_, op)| op.began_at <= until)
            .find_map(|(index, op)| Some((index, self.after(state, op)?)))
    }

    /// The state behind the op; none if it cannot be answered so here, or an unanswered one would do nothing.
    fn after(&self, before: &State, op: &Op) -> Option<State> {
        let mut state = before.clone();
        let place = before.places[op.slot];
        match (op.act, place) {
            (Act::Acquire, Place::Nowhere) if state.queue.is_empty() && state.held < self.capacity => {
                self.grant(&mut state, op.slot)?;
            }
            (Act::Acquire, Place::Nowhere) => {
                state.places[op.slot] = Place::Waits;
                state.queue.push(op.slot);
            }
            (Act::Release | Act::HangUp, Place::Holds) => {
                state.places[op.slot] = Place::Gone;
                state.held -= 1;
                self.grant_next(&mut state)?;
            }
            (Act::HangUp, Place::Waits) => {
                state.places[op.slot] = Place::Gone;
                state.queue.retain(|slot| *slot != op.slot);
            }
            _ => {}
        }
        let fits = match op.must {
            Must::Anything => op.ended_at.is_some() || state != *before,
            Must::Wait => state.places[op.slot] == Place::Waits,
            Must::Hold => state.places[op.slot] == Place::Holds,
            Must::FreeNow => place == Place::Holds && state.places[op.slot] == Place::Gone,
            Must::Free => place == Place::Gone || place == Place::Nowhere && op.act != Act::Acquire,
        };
        fits.then_some(state)
    }

    fn grant_next(&self, state: &mut State) -> Option<()> {
        if state.held < self.capacity && !state.queue.is_empty() {
            let slot = state.queue.remove(0);
            self.grant(state, slot)?;
        }
        Some(())
    }

    /// None if its fence is not above the last one.
    fn grant(&self, state: &mut State, slot: usize) -> Option<()> {
        if let Some(fence) = self.fences[slot] {
            if fence <= state.fence {
                return None;
            }
            state.fence = fence;
        }
        state.places[slot] = Place::Holds;
        state.held += 1;
        Some(())
    }
}

fn is_done(done: &[u64], index: usize) -> bool {
    done[index / 64] & (1 << (index % 64)) != 0
}
