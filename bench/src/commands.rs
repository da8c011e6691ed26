//! Commands of the engine, as the server makes them of calls.

use maitred_engine::{
    command::{Acquire, Admit, Ask, Command, Confirm, Declaration, Hold, Request, Spec, SpecKind, Verb},
    names::RequestId,
};

use crate::ids;

/// A command without a request id.
pub fn plain(verb: Verb) -> Command {
    with_id(None, verb)
}

pub fn with_id(request: Option<RequestId>, verb: Verb) -> Command {
    let namespace = Default::default();
    Command::In(Box::new(Request { namespace, request, by: None, reason: None, verb }))
}

pub fn name<T: std::str::FromStr>(text: &str) -> T {
    text.parse().ok().expect("the harness makes valid names only")
}

pub fn declare(number: u64, capacity: u32) -> Verb {
    Verb::Declare(Declaration { limit: name(&ids::limit(number)), capacity, max_hold_ms: 3_600_000 })
}

pub fn acquire(slot: &str, limit: u64) -> Acquire {
    Acquire {
        slot: name(slot),
        asks: vec![Ask { limit: name(&ids::limit(limit)), weight: 1 }],
        run: None,
        workflow: None,
        label: None,
        timeout_ms: 86_400_000,
        confirm: Confirm::Auto,
        hold: Hold::Released,
        line: None,
    }
}

pub fn release(slot: &str) -> Verb {
    Verb::Release { slot: name(slot) }
}

pub fn leave(slot: &str) -> Verb {
    Verb::Leave { slot: name(slot) }
}

pub fn admit(key: u64) -> Verb {
    let kind = SpecKind::Rate { window_ms: 3_600_000, cost: 1, successes_only: false };
    let spec = Spec { key: name(&ids::key(key)), limit: 1_000_000_000, kind };
    Verb::Admit(Admit { task: name("describe-image"), run: None, specs: vec![spec] })
}

/// Ids that say in what order they were made, so that the older ones can be made again.
pub fn numbered_id(number: u64, at_ms: u64) -> String {
    ids::text(&ids::id(at_ms, number, 0)).to_owned()
}

pub fn request_id(number: u64, at_ms: u64) -> RequestId {
    name(ids::text(&ids::id(at_ms, number, 1)))
}
