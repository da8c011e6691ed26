//! The callers: each does one job after another, as programs do, and believes nothing that it was not told.
//!
//! A job that was told *unknown* asks again with the same ids. An answer that comes after its caller has given up
//! is not heard.

use maitred_api::{Answer, Problem};
use maitred_engine::{
    command::{Request, Verb},
    names::{Label, Namespace},
    time::{Millis, SECOND_MS},
};

use crate::{
    books::{Asked, Call, CallId, revision},
    chance::Chance,
    faults::{Branch, Fault},
    jobs::{Job, Next},
    world::{Checked, Event, World},
};

#[derive(Debug)]
pub(crate) struct Client {
    /// The node it prefers.
    pub node: usize,
    /// The operator, who declares the limits and changes them.
    pub is_operator: bool,
    pub job: Option<Job>,
    pub open: Option<CallId>,
    wake: u32,
    /// The newest revision it has seen.
    pub seen: u64,
    /// How long it rests between jobs, at the most.
    pub rest_ms: Millis,
    /// No new jobs.
    pub healing: bool,
    /// How many jobs it has begun.
    pub jobs: u32,
}

impl Client {
    pub(crate) fn several(chance: &mut Chance, nodes: usize) -> Vec<Client> {
        let count = 5 + chance.below(14);
        let rest_ms = chance.pick(&[SECOND_MS, 5 * SECOND_MS, 30 * SECOND_MS]);
        let client = |index: u64| Client {
            node: index as usize % nodes,
            is_operator: index == 0,
            job: None,
            open: None,
            wake: 0,
            seen: 0,
            rest_ms,
            healing: false,
            jobs: 0,
        };
        (0..count).map(client).collect()
    }

    pub(crate) fn heal(&mut self) {
        self.healing = true;
        if self.is_operator {
            self.job = Some(Job::put_right());
        }
    }

    pub(crate) fn is_done(&self) -> bool {
        self.job.is_none() && self.open.is_none()
    }
}

impl World {
    pub(crate) fn wake_after(&mut self, client: usize, ms: Millis) {
        self.clients[client].wake += 1;
        let number = self.clients[client].wake;
        self.after(ms, Event::Wakes { client, number });
    }

    pub(crate) fn wakes(&mut self, client: usize, number: u32) {
        let it = &mut self.clients[client];
        if it.wake != number || it.open.is_some() {
            return;
        }
        if it.job.is_none() {
            if it.healing {
                return;
            }
            it.jobs += 1;
            it.job = Some(Job::new(&mut self.chance, client, it.jobs, it.is_operator, self.now));
        }
        let job = it.job.as_mut().expect("it was made just before");
        let (asked, wait_ms) = job.ask(&mut self.chance, it.seen);
        let id = self.send(client, asked.clone(), wait_ms);
        self.clients[client].open = Some(id);
        if self.plan.meets(&mut self.chance, Fault::AskTwice, 4) && may_be_repeated(&asked) {
            self.counts.met(Fault::AskTwice);
            self.send(client, asked, wait_ms);
        }
    }

    /// One attempt, with a name of its own in the record.
    fn send(&mut self, client: usize, mut asked: Asked, wait_ms: Option<Millis>) -> CallId {
        let nodes = self.nodes.len() as u64;
        let node = if self.chance.percent(80) {
            self.clients[client].node
        } else {
            self.chance.below(nodes) as usize
        };
        let id = self.books.calls.len();
        if let Asked::Change(request) = &mut asked {
            request.by = Label::parse(&format!("c{id}")).ok();
        }
        let call = Call {
            client,
            node,
            asked,
            wait_ms,
            taken: None,
            answered: false,
            closed: false,
            end_then: 0,
            without_trace: false,
        };
        self.books.open(call);
        let patience_ms = wait_ms.unwrap_or(0) + 2 * SECOND_MS + self.chance.below(10 * SECOND_MS);
        self.after(patience_ms, Event::GivesUp { id });
        if self.plan.meets(&mut self.chance, Fault::LostCall, 1) {
            self.counts.met(Fault::LostCall);
            return id;
        }
        let ms = self.on_the_way();
        self.after(ms, Event::Arrives { id });
        if let Some(wait_ms) = wait_ms
            && self.plan.meets(&mut self.chance, Fault::HangUp, 15)
        {
            let process = self.nodes[node].process.as_ref().map_or(0, |process| process.id);
            let ms = ms + self.chance.below(wait_ms + 20);
            self.after(ms, Event::HangUp { process, id });
        }
        id
    }

    pub(crate) fn told(&mut self, id: CallId, answer: &Result<Answer, Problem>) {
        let call = &mut self.books.calls[id];
        if std::mem::replace(&mut call.closed, true) {
            return;
        }
        let client = call.client;
        if let Ok(answer) = answer {
            let seen = &mut self.clients[client].seen;
            *seen = (*seen).max(revision(answer));
        }
        self.goes_on(id, Some(answer));
    }

    /// Closes the connection, which a node that is there sees, mostly.
    pub(crate) fn gives_up(&mut self, id: CallId) -> Checked {
        let call = &mut self.books.calls[id];
        let (was_closed, taken) = (call.closed, call.taken);
        if was_closed && self.clients[call.client].open != Some(id) {
            return Ok(());
        }
        let is_owed = taken.is_some_and(|(process, _)| self.node_of(process).is_some())
            && !self.books.calls[id].answered;
        if is_owed && !was_closed && self.is_well() {
            return Err(format!("call {id} is not answered, though nothing is in its way"));
        }
        if !was_closed
            && let Some((process, Some(_))) = taken
            && self.chance.percent(90)
        {
            self.after(1, Event::HangUp { process, id });
        } else {
            self.books.calls[id].closed = true;
        }
        self.counts.took(Branch::Unknown);
        self.goes_on(id, None);
        Ok(())
    }

    /// The job takes what it was told, if it was this call that it waited for.
    fn goes_on(&mut self, id: CallId, answer: Option<&Result<Answer, Problem>>) {
        let client = self.books.calls[id].client;
        let it = &mut self.clients[client];
        if it.open != Some(id) {
            return;
        }
        it.open = None;
        let Some(job) = &mut it.job else { return };
        let next = job.told(&mut self.chance, answer, it.healing);
        let outage_ms = self.outage_until.saturating_sub(self.now);
        let ms = match next {
            Next::Ask { after_ms } => after_ms,
            Next::Over => {
                it.job = None;
                if it.healing {
                    return;
                }
                self.chance.below(it.rest_ms)
            }
        };
        self.wake_after(client, ms + outage_ms);
    }
}

/// What has no id of its own would count twice.
fn may_be_repeated(asked: &Asked) -> bool {
    let Asked::Change(request) = asked else { return false };
    match &request.verb {
        Verb::Acquire(_) | Verb::Confirm { .. } | Verb::Release { .. } | Verb::Leave { .. } => true,
        _ => request.request.is_some(),
    }
}

pub(crate) fn request(namespace: &Namespace, verb: Verb) -> Request {
    Request { namespace: namespace.clone(), request: None, by: None, reason: None, verb }
}
