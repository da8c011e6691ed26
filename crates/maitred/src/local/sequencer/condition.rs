//! Changes of a limit that are only to be made while it is as their caller saw it.
//!
//! An example: Ana and Ben both look at `voice`, capacity 20. Ana sets 30. Ben, who did not see that, sets 25 and says
//! which settings he saw (`tag`): his change is refused, and he looks again.
//!
//! Nothing of this is in the journal. The condition is looked at when the record is put together, on the state that the
//! record is appended to: the append succeeds only if nothing came between, and one that lost is put together anew. Within
//! one record a change behind another of limits waits for the next record. A retry whose first try was made is not held
//! to the condition: it is given the first answer again.

use maitred_api::{Problem, Reason};
use maitred_engine::{
    command::{Command, Request, Verb},
    time::format_duration,
    view::LimitView,
};

use super::{Effect, Pending, Sequencer};
use crate::local::answer::{limit_of, tag};

enum Verdict {
    Holds,
    /// What stands before it in the record may change the limit.
    Later,
    Fails(Problem),
}

impl<R> Sequencer<R> {
    /// The next command that may go into one record behind these. Whoever's condition fails is told so here.
    pub(super) fn next_behind(
        &mut self,
        before: &[Command],
        effects: &mut Vec<Effect<R>>,
    ) -> Option<Pending<R>> {
        loop {
            let mut next = self.pending.pop_front()?;
            match self.condition(&next, before) {
                Verdict::Holds => return Some(next),
                Verdict::Later => {
                    self.pending.push_front(next);
                    return None;
                }
                Verdict::Fails(problem) => {
                    let reply = next.caller.reply.take();
                    effects.extend(reply.map(|reply| Effect::Answer { reply, answer: Err(problem) }));
                }
            }
        }
    }

    fn condition(&self, next: &Pending<R>, before: &[Command]) -> Verdict {
        let (Some(wanted), Command::In(request)) = (&next.caller.if_match, &next.command) else {
            return Verdict::Holds;
        };
        if before.iter().any(changes_limits) {
            return Verdict::Later;
        }
        let (Some(engine), Some(limit)) = (self.engine(), limit_of(&request.verb)) else {
            return Verdict::Holds;
        };
        let known = |request: &Request| {
            request.request.as_ref().is_some_and(|id| engine.knows_request(&request.namespace, id))
        };
        match engine.limit(request.namespace.as_str(), limit.as_str()) {
            _ if known(request) => Verdict::Holds,
            Some(view) if *wanted == tag(&view) || wanted == "*" => Verdict::Holds,
            Some(view) => Verdict::Fails(changed(&view)),
            None if matches!(request.verb, Verb::Declare(_)) => Verdict::Fails(gone(limit.as_str())),
            None => Verdict::Holds, // the engine says that there is none
        }
    }
}

fn changes_limits(command: &Command) -> bool {
    match command {
        Command::In(request) => limit_of(&request.verb).is_some() || matches!(request.verb, Verb::Deploy(_)),
        _ => false,
    }
}

fn changed(view: &LimitView) -> Problem {
    let mark = if view.paused { ", paused" } else { "" };
    let message = format!(
        "`{}` was changed meanwhile: capacity {}, max hold {}{mark}; look again, then ask with its new tag",
        view.limit,
        view.capacity,
        format_duration(view.max_hold_ms)
    );
    let details = serde_json::json!({
        "tag": tag(view), "capacity": view.capacity, "max_hold_ms": view.max_hold_ms, "paused": view.paused,
    });
    Problem::new(Reason::SettingsChanged, message).with_details(details)
}

fn gone(limit: &str) -> Problem {
    let message = format!("there is no limit `{limit}` any more; leave If-Match out to declare it");
    Problem::new(Reason::SettingsChanged, message)
}
