//! A slow, obvious model of maitred's rules: an executable specification to judge the engine by.
//!
//! It is written from the rules alone (T time, L limits, S slots, R rates, K places in flight, A verdicts and
//! request ids) and shares no code with the product. Lists and linear scans, nothing kept twice: every number it
//! shows is counted when it is asked for. Each block names the rule it implements.
//!
//! A worked example, one limit of capacity 1 and max hold 45 minutes:
//!
//! ```
//! use maitred_model::{Acquire, Answer, Model, State, Verb};
//!
//! let mut model = Model::new();
//! let declare = Verb::Declare { limit: "voice".into(), capacity: 1, max_hold_ms: 45 * 60_000 };
//! assert_eq!(model.command(0, "default", None, declare), Answer::Done);
//!
//! let ask = |slot: &str| Verb::Acquire(Acquire::new(slot, "voice"));
//! model.command(0, "default", None, ask("a")); // granted: reserved for two minutes
//! model.command(1, "default", None, ask("b")); // queued behind it
//! model.command(120_000, "default", None, Verb::Advance); // a never confirmed: b has the slot, a waits again
//!
//! assert_eq!(model.slot(120_000, "default", "b").state, State::Reserved);
//! assert_eq!(model.slot(120_000, "default", "a").place, Some(1));
//! ```
//!
//! # Where the rules are silent, and what this model does
//!
//! - **T1**: the model takes the server's time, not the wall clock: an earlier `at_ms` stands still at `now`. Going on
//!   "at the clock's pace" is the business of whoever reads the clock.
//! - **T2a**: decided once per command, over the slots of every namespace (nobody comes for a window or a place in
//!   flight): if the earliest due lies more than 5 s back, no grant happens before the command's time. A waiter whose
//!   timeout falls in that step times out, even if room was freed before, even at the very time of the command.
//! - **T3**: order over namespaces is the order of arrival over all of them, which only the fence can show.
//! - **S2**: a request id does nothing on `acquire`, `confirm` and `leave`; ended slots are never forgotten here (the
//!   rule says at least 24 h).
//! - **S7a**: a line belongs to an auto slot only. Asking again takes the slot over in every live state, onto the new
//!   caller's line or, without one, onto none: the older line can no longer hang up. A hang-up of the slot's current line is `left` while
//!   queued and `released` once granted. A line that has ended, or died with the server, can no longer hang up. The
//!   acquire call itself counts as being on the line, so an auto slot without a line is busy if granted at once.
//! - **S7, S14**: fence and expiry are shown while a slot is reserved or busy, not afterwards; the fence counts
//!   grants over all namespaces. A reserved slot's `expires_at_ms` is its max hold; its two minutes are
//!   `reserved_until_ms`.
//! - **L2, L4**: declaring a retired limit brings it back like a deploy. Resetting what was not overridden is fine.
//! - **Form**: in a deploy each entry is checked as name, capacity, max hold, then duplicate. In an acquire the forms
//!   of slot id and run come after its limits; in an admit the task's comes after the run's. A value that
//!   cannot be read at all is for the caller to pass as one out of range. Bounds (`queue_full` and its kind) are
//!   left out.
//! - **A2**: `used` and `remaining` of a refused call are as before it. A `check` answers what `admit` would have
//!   answered, numbers included. `resets_in_ms` is the rest of the running window; without one, the whole
//!   window if this call starts it or would never fit, else 0; 0 for places.
//! - **A5**: request ids belong to a namespace, and hold for declarations, deploys and the operator's verbs, for
//!   `release`, `end` and `admit`. Content is the verb with all its values. An error changes nothing, so it is
//!   not remembered; `not_released` and `over` are verdicts and are. Forgotten 24 h after first use. Form is checked
//!   before the id. `too_old` and `idempotency_full` (B1) are left out.
//! - **S15** is a declared limit with a name of its own and `hold: run` on its slots: nothing to add here.
#![forbid(unsafe_code)]

mod chance;
mod form;
mod generate;
mod limits;
mod rates;
mod reads;
mod shrink;
mod slots;
mod text;
mod time;
mod verbs;

pub use generate::{Step, generate};
pub use reads::{CounterView, LimitView};
pub use shrink::shrink;
pub use text::duration_text;
pub use verbs::{
    Acquire, Answer, Blocking, Declared, EndStatus, Kind, SlotView, Spec, SpecResult, State, Verb, Verdict,
};

use limits::{Limit, Override};
use rates::{Counter, Hit, Place};
use slots::Slot;

const REMEMBERED_MS: u64 = 24 * 60 * 60 * 1000;

/// Everything the limiter knows, over all namespaces.
#[derive(Clone, Debug, Default)]
pub struct Model {
    now_ms: u64,
    /// The last number given to an arrival in a queue. A slot that is put back arrives anew.
    last_arrival: u64,
    /// The last number given to a grant (S14).
    last_fence: u64,
    /// The last number given to a rate window, so that a hit finds its own window again (R5).
    last_window: u64,
    namespaces: Vec<Namespace>,
}

/// One installation; two of them never meet.
#[derive(Clone, Debug, Default)]
struct Namespace {
    name: String,
    limits: Vec<Limit>,
    /// Overrides and pauses outlive the limits they are for (L4, L7).
    overrides: Vec<Override>,
    paused: Vec<String>,
    /// Every slot ever asked for, ended ones too (S2).
    slots: Vec<Slot>,
    counters: Vec<Counter>,
    hits: Vec<Hit>,
    places: Vec<Place>,
    requests: Vec<Request>,
}

/// A5: a request id, what it was used for and what was answered.
#[derive(Clone, Debug)]
struct Request {
    id: String,
    verb: Verb,
    answer: Answer,
    at_ms: u64,
}

impl Model {
    pub fn new() -> Model {
        Model::default()
    }

    /// Time moves to `at_ms` and everything due happens (T2), then the command is carried out, then whatever it made
    /// possible is granted, all at one instant (T4). A server that died had died before what fell due since: its lines
    /// end first (S7a).
    pub fn command(&mut self, at_ms: u64, namespace: &str, request_id: Option<&str>, verb: Verb) -> Answer {
        if verb == Verb::DropLines {
            self.drop_lines();
        }
        self.move_to(at_ms);
        if let Some(code) = form::error(&verb) {
            return Answer::Error(code);
        }
        let n = self.namespace(namespace);
        let answer = match request_id {
            Some(id) if verb.may_carry_request_id() => self.once(n, id, verb),
            _ => self.carry_out(n, verb),
        };
        self.grant_what_fits();
        answer
    }

    /// A5: the same id with the same content has one effect and the first answer.
    fn once(&mut self, n: usize, id: &str, verb: Verb) -> Answer {
        let now_ms = self.now_ms;
        self.namespaces[n].requests.retain(|request| now_ms - request.at_ms < REMEMBERED_MS);
        if let Some(request) = self.namespaces[n].requests.iter().find(|request| request.id == id) {
            return if request.verb == verb { request.answer.clone() } else { Answer::Error("conflict") };
        }
        let answer = self.carry_out(n, verb.clone());
        if !matches!(answer, Answer::Error(_)) {
            let request = Request { id: id.into(), verb, answer: answer.clone(), at_ms: now_ms };
            self.namespaces[n].requests.push(request);
        }
        answer
    }

    fn carry_out(&mut self, n: usize, verb: Verb) -> Answer {
        match verb {
            Verb::Declare { limit, capacity, max_hold_ms } => {
                self.namespaces[n].declare(limit, capacity, max_hold_ms);
                Answer::Done
            }
            Verb::Deploy { limits } => self.namespaces[n].deploy(limits),
            Verb::Capacity { limit, value } => self.namespaces[n].override_capacity(&limit, value),
            Verb::MaxHold { limit, value_ms } => self.namespaces[n].override_max_hold(&limit, value_ms),
            Verb::Pause { limit } => self.namespaces[n].pause(&limit),
            Verb::Resume { limit } => self.namespaces[n].resume(&limit),
            Verb::Acquire(ask) => self.acquire(n, ask),
            Verb::Confirm { slot } => self.confirm(n, &slot),
            Verb::Leave { slot } => self.leave(n, &slot),
            Verb::Release { slot } => self.release(n, &slot),
            Verb::HangUp { slot, line } => self.hang_up(n, &slot, line),
            Verb::LineEnd { slot, line } => self.line_end(n, &slot, line),
            Verb::DropLines => Answer::Done,
            Verb::End { run, status } => self.end_run(n, &run, status),
            Verb::Admit { task, run, specs } => self.admit(n, &task, run.as_deref(), &specs),
            Verb::Advance => Answer::Done,
        }
    }

    /// S9: all the run's slots end first; the grants follow when the command is done. Its places are free (K1), and
    /// unless it succeeded, its hits are given back (R5).
    fn end_run(&mut self, n: usize, run: &str, status: EndStatus) -> Answer {
        for s in 0..self.namespaces[n].slots.len() {
            let slot = &self.namespaces[n].slots[s];
            let ends_with_run = match slot.state {
                State::Queued | State::Reserved => true,
                State::Busy => slot.ask.hold_run, // S11
                _ => false,
            };
            if slot.ask.run.as_deref() == Some(run) && ends_with_run {
                self.end_slot(n, s, State::RunEnded);
            }
        }
        let namespace = &mut self.namespaces[n];
        namespace.places.retain(|place| place.run != run);
        namespace.settle_hits(run, status == EndStatus::Succeeded);
        Answer::Done
    }

    /// N1: a namespace is there as soon as it is spoken of; an unknown one is empty.
    fn namespace(&mut self, name: &str) -> usize {
        if let Some(n) = self.namespaces.iter().position(|namespace| namespace.name == name) {
            return n;
        }
        self.namespaces.push(Namespace { name: name.into(), ..Namespace::default() });
        self.namespaces.len() - 1
    }
}
