//! What must be there after a kill: everything that was answered, and of the one call in doubt all or nothing.
//!
//! A call in doubt is judged in three steps. Its object is *read*: it must be as before the call or as after it. The
//! same call is *made again*, with the same id. Then it must be as after one call: not none, not two. And an answer to the second
//! call tells which it was, which must fit what was read. Example: a counter stood at 7 and `admit` with cost 2 broke
//! off. After the restart it must read 7 or 9; made again, it must say `replayed` in the second case only, and the
//! counter must read 9 in both.

use maitred::api::{AdmitFields, Answer, BatchItem, Call, Context, Given, SlotAnswer, SlotState};

use super::client::{Admitted, Client, Doubt, Slot, cost};

/// What a round of doubt came to.
#[derive(Clone, Copy, Debug, Default)]
pub struct Doubts {
    pub had_happened: u64,
    pub had_not: u64,
}

impl Client {
    /// Reads everything this caller knows of, then settles what is in doubt.
    pub async fn verify(&mut self) -> Result<Doubts, String> {
        let mut doubts = Doubts::default();
        let doubt = self.doubt.take();
        let about = match &doubt {
            Some(Doubt::Slot(at, call)) => Some((*at, call)),
            _ => None,
        };
        let all: Vec<usize> = (0..self.slots.len()).collect();
        for (at, answer) in self.read(&all).await? {
            let call = about.filter(|(doubtful, _)| *doubtful == at).map(|(_, call)| call);
            may_be(&self.slots[at], call, &answer).map_err(|what| format!("{}: {what}", self.name))?;
            if call.is_none() {
                self.has_heard(at, answer);
            }
        }
        let counted = self.counter().await?;
        let happened = match &doubt {
            None => None,
            Some(Doubt::Slot(at, call)) => Some(self.settle_slot(*at, call).await?),
            Some(Doubt::Admit(id, fields)) => Some(self.settle_admit(counted, id, fields).await?),
        };
        match happened {
            Some(true) => doubts.had_happened += 1,
            Some(false) => doubts.had_not += 1,
            None if counted != self.hits() => {
                let hits = self.hits();
                return Err(format!(
                    "{}: lost or changed: {hits} hits were answered, {counted} are counted",
                    self.name
                ));
            }
            None => {}
        }
        self.replay_some().await?;
        self.take_up().await?;
        Ok(doubts)
    }

    /// Makes what is reserved busy: reservations lapse, and no kill is to blame for that.
    async fn take_up(&mut self) -> Result<(), String> {
        for at in 0..self.slots.len() {
            if self.slots[at].state == SlotState::Reserved {
                let confirm = Call::Confirm { slot: self.slots[at].id.clone() };
                match self.ask(None, &confirm).await {
                    Ok(Answer::Slot(answer)) if answer.slot.state == SlotState::Busy => {
                        self.has_heard(at, answer)
                    }
                    other => return Err(format!("{}: {confirm:?} was answered with {other:?}", self.name)),
                }
            }
        }
        Ok(())
    }

    pub async fn read(&mut self, slots: &[usize]) -> Result<Vec<(usize, SlotAnswer)>, String> {
        let mut answers = Vec::new();
        for some in slots.chunks(1_000) {
            let question =
                |at: &usize| Call::Slot { slot: self.slots[*at].id.clone(), wait: Given::default() };
            let items = some.iter().map(|at| BatchItem { id: None, call: question(at) }).collect();
            let results = self.far.batch(&Context::default(), items).await;
            for (at, result) in some.iter().zip(results) {
                match result {
                    Ok(Answer::Slot(answer)) => answers.push((*at, answer)),
                    other => return Err(format!("{}: reading a slot: {other:?}", self.name)),
                }
            }
        }
        Ok(answers)
    }

    async fn settle_slot(&mut self, at: usize, call: &Call) -> Result<bool, String> {
        let before = self.read(&[at]).await?.remove(0).1;
        let wrong = |what: String| format!("{}: {call:?} made again: {what}", self.name);
        let had_happened = is_after(call, before.slot.state);
        let after = match self.far.call(&Context::default(), call.clone()).await {
            Ok(Answer::Slot(answer)) => answer,
            Ok(Answer::Release(answer)) if answer.released != had_happened => {
                self.slots[at].state = answer.state;
                return Ok(had_happened);
            }
            other => return Err(wrong(format!("{other:?}, before it {:?}", before.slot))),
        };
        let is_same_grant = before.slot.fence.is_none() || before.slot.fence == after.slot.fence;
        if after.slot.state.is_granted() && !is_same_grant {
            return Err(wrong(format!("another grant: {:?}, before it {:?}", after.slot, before.slot)));
        }
        self.has_heard(at, after);
        Ok(had_happened)
    }

    async fn settle_admit(&mut self, counted: u64, id: &str, fields: &AdmitFields) -> Result<bool, String> {
        let (acknowledged, cost) = (self.hits(), cost(fields));
        let had_happened = counted == acknowledged + cost;
        let name = self.name.clone();
        if !had_happened && counted != acknowledged {
            return Err(format!(
                "{name}: {acknowledged} hits acknowledged, {cost} in doubt, {counted} counted"
            ));
        }
        let answer = self.ask(Some(id), &Call::Admit(fields.clone())).await;
        let Ok(Answer::Decision(decision)) = answer else {
            return Err(format!("{name}: an admission made again: {answer:?}"));
        };
        let now = self.counter().await?;
        if now != acknowledged + cost || decision.replayed != had_happened {
            return Err(format!(
                "{name}: {counted} hits before the admission of {cost} was made again, {now} after it, {decision:?}"
            ));
        }
        self.admitted.push(Admitted { request_id: id.to_owned(), fields: fields.clone(), decision });
        Ok(had_happened)
    }

    /// What was answered before is answered again in the same words, and counts nothing.
    async fn replay_some(&mut self) -> Result<(), String> {
        for _ in 0..self.admitted.len().min(3) {
            let admitted = self.chance.pick(&self.admitted).clone();
            let answer = self.ask(Some(&admitted.request_id), &Call::Admit(admitted.fields.clone())).await;
            let is_same = matches!(&answer, Ok(Answer::Decision(decision))
                if decision.replayed && decision.over_limit == admitted.decision.over_limit);
            if !is_same {
                return Err(format!("{}: {admitted:?} was replayed as {answer:?}", self.name));
            }
        }
        match self.counter().await? {
            counted if counted == self.hits() => Ok(()),
            counted => Err(format!("{}: {} hits, {counted} counted after replays", self.name, self.hits())),
        }
    }

    async fn counter(&mut self) -> Result<u64, String> {
        let (task, key) = (Some("kill".to_owned()), Some(self.name.clone()));
        match self.ask(None, &Call::Keys { task, key, after: None, most: None }).await {
            Ok(Answer::Keys(answer)) => {
                let window = answer.keys.first().and_then(|key| key.window.as_ref());
                Ok(window.map_or(0, |window| window.used))
            }
            other => Err(format!("{}: reading a counter: {other:?}", self.name)),
        }
    }
}

/// The states that the call leads to, whatever was before it.
fn is_after(call: &Call, state: SlotState) -> bool {
    match call {
        Call::Acquire(_) => state != SlotState::Unknown,
        Call::Confirm { .. } => state == SlotState::Busy,
        Call::Release { .. } => state == SlotState::Released,
        Call::Leave { .. } => state == SlotState::Left,
        _ => false,
    }
}

/// The slot is as it was last heard of, or has moved on as it may without its caller, or the call in doubt was done.
fn may_be(slot: &Slot, in_doubt: Option<&Call>, now: &SlotAnswer) -> Result<(), String> {
    use SlotState::{Busy, Queued, Reserved};
    let state = now.slot.state;
    let moved = slot.state == state || (slot.state == Queued && state == Reserved);
    let done = in_doubt.is_some_and(|call| is_after(call, state));
    let is_other_grant = slot.state.is_granted()
        && matches!(state, Reserved | Busy)
        && (slot.fence, slot.expires_at) != (now.slot.fence, now.slot.expires_at);
    if (moved || done) && !is_other_grant {
        return Ok(());
    }
    Err(format!("lost or changed: {slot:?}, in doubt: {in_doubt:?}, and now it is {:?}", now.slot))
}

#[cfg(test)]
mod tests {
    use maitred::api::{Call, ConfirmMode, SlotAnswer, SlotInfo, SlotState};

    use super::{Slot, may_be};

    fn slot(state: SlotState, fence: Option<u64>) -> Slot {
        let expires_at = fence.map(|_| 5);
        Slot { id: "s".to_owned(), limit: "wide", confirm: ConfirmMode::Auto, state, fence, expires_at }
    }

    fn now(state: SlotState, fence: Option<u64>) -> SlotAnswer {
        let json = serde_json::json!({ "slot": "s", "state": state, "fence": fence, "expires_at": fence.map(|_| 5) });
        let slot: SlotInfo = serde_json::from_value(json).unwrap();
        SlotAnswer { slot, revision: 1, as_of: 1 }
    }

    #[test]
    fn what_may_be_after_a_kill() {
        use SlotState::{Busy, Queued, Released, Reserved, Unknown};
        let release = Call::Release { slot: "s".to_owned() };
        assert!(may_be(&slot(Busy, Some(1)), None, &now(Busy, Some(1))).is_ok());
        assert!(may_be(&slot(Busy, Some(1)), Some(&release), &now(Released, None)).is_ok());
        assert!(may_be(&slot(Queued, None), None, &now(Reserved, Some(9))).is_ok());
        // Lost, done by nobody, given to somebody else meanwhile, and back from the dead.
        assert!(may_be(&slot(Busy, Some(1)), None, &now(Unknown, None)).is_err());
        assert!(may_be(&slot(Busy, Some(1)), None, &now(Released, None)).is_err());
        assert!(may_be(&slot(Busy, Some(1)), None, &now(Busy, Some(2))).is_err());
        assert!(may_be(&slot(Released, None), None, &now(Busy, Some(1))).is_err());
        assert!(may_be(&slot(Unknown, None), None, &now(Queued, None)).is_err());
    }
}
