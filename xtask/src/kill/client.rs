//! One caller: does one thing after another, and remembers what was answered. So a kill leaves at most one call in
//! doubt per caller, and everything else is known exactly.

use maitred::{
    Far,
    api::{
        AcquireFields, AdmitFields, Answer, Call, Certainty, ConfirmMode, Context, Decision, Problem,
        SlotAnswer, SlotState, SpecFields,
    },
};
use uuid::Uuid;

use crate::chance::Chance;

/// Always room.
pub const WIDE: &str = "wide";
/// Nearly always full, so that slots queue.
pub const NARROW: &str = "narrow";
/// More live slots than this are not asked for.
const LIVE_MOST: usize = 10;

/// A slot as the last answer about it said.
#[derive(Clone, Debug, PartialEq)]
pub struct Slot {
    pub id: String,
    pub limit: &'static str,
    pub confirm: ConfirmMode,
    pub state: SlotState,
    pub fence: Option<u64>,
    pub expires_at: Option<u64>,
}

/// An admission that was answered.
#[derive(Clone, Debug)]
pub struct Admitted {
    pub request_id: String,
    pub fields: AdmitFields,
    pub decision: Decision,
}

/// A call whose answer did not come.
#[derive(Clone, Debug)]
pub enum Doubt {
    /// About the slot at this index.
    Slot(usize, Call),
    Admit(String, AdmitFields),
}

pub struct Client {
    pub far: Far,
    pub name: String,
    pub chance: Chance,
    pub slots: Vec<Slot>,
    pub admitted: Vec<Admitted>,
    pub doubt: Option<Doubt>,
    /// The newest state that an answer has shown.
    pub revision: u64,
    pub acknowledged: u64,
}

/// Why a caller stopped.
pub enum Stop {
    /// The server is gone.
    Gone,
    /// Something was answered that cannot be.
    Wrong(String),
}

impl Client {
    pub fn new(far: Far, number: u64, seed: u64) -> Client {
        let name = format!("caller-{number}");
        let chance = Chance::new(seed, &name);
        Client {
            far,
            name,
            chance,
            slots: vec![],
            admitted: vec![],
            doubt: None,
            revision: 0,
            acknowledged: 0,
        }
    }

    /// Until the server is gone.
    pub async fn load(&mut self) -> Result<(), String> {
        loop {
            match self.one_call().await {
                Ok(()) => {}
                Err(Stop::Gone) => return Ok(()),
                Err(Stop::Wrong(what)) => return Err(format!("{}: {what}", self.name)),
            }
        }
    }

    async fn one_call(&mut self) -> Result<(), Stop> {
        if self.chance.one_in(3) {
            return self.admit().await;
        }
        let live: Vec<usize> = (0..self.slots.len()).filter(|at| self.slots[*at].is_live()).collect();
        if live.is_empty() || (live.len() < LIVE_MOST && self.chance.one_in(3)) {
            return self.acquire().await;
        }
        let at = *self.chance.pick(&live);
        let slot = self.slots[at].id.clone();
        let call = match (self.slots[at].state, self.chance.below(4)) {
            (SlotState::Queued, 0) => Call::Leave { slot },
            (SlotState::Queued, _) | (SlotState::Reserved, 1..=3) => Call::Confirm { slot },
            _ => Call::Release { slot },
        };
        self.ask_about(at, call).await
    }

    async fn acquire(&mut self) -> Result<(), Stop> {
        let limit = if self.chance.one_in(2) { WIDE } else { NARROW };
        let confirm = if self.chance.one_in(2) { ConfirmMode::Auto } else { ConfirmMode::Holder };
        let id = Uuid::now_v7().to_string();
        let slot = Slot { id, limit, confirm, state: SlotState::Unknown, fence: None, expires_at: None };
        let call = slot.acquire();
        self.slots.push(slot);
        self.ask_about(self.slots.len() - 1, call).await
    }

    async fn ask_about(&mut self, at: usize, call: Call) -> Result<(), Stop> {
        match self.ask(None, &call).await {
            Ok(Answer::Slot(answer)) => self.has_heard(at, answer),
            Ok(Answer::Release(answer)) => {
                self.revision = self.revision.max(answer.revision);
                if !answer.released {
                    let wrong = format!("release of {:?} was answered with {answer:?}", self.slots[at]);
                    return Err(Stop::Wrong(wrong));
                }
                self.slots[at].state = answer.state;
            }
            Ok(other) => return Err(Stop::Wrong(format!("{call:?} was answered with {other:?}"))),
            Err(problem) => {
                self.doubt = in_doubt(&problem)?.then_some(Doubt::Slot(at, call));
                return Err(Stop::Gone);
            }
        }
        Ok(())
    }

    pub fn has_heard(&mut self, at: usize, answer: SlotAnswer) {
        self.revision = self.revision.max(answer.revision);
        let slot = &mut self.slots[at];
        slot.state = answer.slot.state;
        if slot.state.is_granted() {
            (slot.fence, slot.expires_at) = (answer.slot.fence, answer.slot.expires_at);
        }
    }

    /// Hits on this caller's own counter.
    async fn admit(&mut self) -> Result<(), Stop> {
        let request_id = Uuid::now_v7().to_string();
        let rate = SpecFields {
            key: self.name.clone(),
            limit: 1_000_000u64.into(),
            window_seconds: 86_400u64.into(),
            cost: self.chance.between(1, 4).into(),
            ..SpecFields::default()
        };
        let fields = AdmitFields {
            task: "kill".to_owned(),
            specs: vec![rate],
            enforce: true,
            ..AdmitFields::default()
        };
        match self.ask(Some(&request_id), &Call::Admit(fields.clone())).await {
            Ok(Answer::Decision(decision)) => {
                self.revision = self.revision.max(decision.revision);
                self.admitted.push(Admitted { request_id, fields, decision });
                Ok(())
            }
            Ok(other) => Err(Stop::Wrong(format!("an admission was answered with {other:?}"))),
            Err(problem) => {
                self.doubt = in_doubt(&problem)?.then_some(Doubt::Admit(request_id, fields));
                Err(Stop::Gone)
            }
        }
    }

    pub async fn ask(&mut self, request_id: Option<&str>, call: &Call) -> Result<Answer, Problem> {
        let context = Context {
            by: Some(self.name.clone()),
            request_id: request_id.map(str::to_owned),
            ..Context::default()
        };
        let answer = self.far.call(&context, call.clone()).await;
        self.acknowledged += u64::from(answer.is_ok());
        answer
    }

    /// What this caller's counter must say.
    pub fn hits(&self) -> u64 {
        self.admitted.iter().map(|admitted| cost(&admitted.fields)).sum()
    }
}

pub fn cost(fields: &AdmitFields) -> u64 {
    fields.specs.first().and_then(|spec| spec.cost.whole_number()).unwrap_or(1)
}

/// Whether the call may have happened. A refusal of a server that lives is no trouble that this harness makes.
fn in_doubt(problem: &Problem) -> Result<bool, Stop> {
    match problem.reason.http_status() {
        503 | 504 => Ok(problem.reason.certainty() == Certainty::Unknown),
        _ => Err(Stop::Wrong(format!("refused: {problem}"))),
    }
}

impl Slot {
    pub fn acquire(&self) -> Call {
        Call::Acquire(AcquireFields {
            slot: Some(self.id.clone()),
            limit: Some(self.limit.to_owned()),
            confirm: self.confirm,
            timeout: "1h".into(),
            ..AcquireFields::default()
        })
    }

    pub fn is_live(&self) -> bool {
        matches!(self.state, SlotState::Queued | SlotState::Reserved | SlotState::Busy)
    }
}
