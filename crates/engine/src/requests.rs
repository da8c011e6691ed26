//! Requests with an id of their own (A5): the first has the effect, every further one the first answer.

use maitred_planted::{Defect, has};

use crate::{
    command::{Admit, Request, Verb},
    digest::Named,
    engine::Engine,
    event::Event,
    memory::{Entry, Share, Standing},
    names::{Namespace, RequestId},
    outcome::{Admission, End, Outcome, Refusal, Verdict},
    time::Millis,
};

/// What is kept of an answer: enough to give it again. What else belongs to it is read as of now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    Ended(End),
    Done,
    Release { released: bool },
    Admission(Verdict),
}

impl Answer {
    /// Kind in the lowest byte, then a place in the call, then seconds.
    pub(crate) fn pack(self) -> u64 {
        match self {
            Answer::Ended(end) => end.number() << 8 | 1,
            Answer::Done => 2,
            Answer::Release { released } => u64::from(released) << 8 | 3,
            Answer::Admission(Verdict::Allowed) => 4,
            Answer::Admission(Verdict::OverRate { spec, retry_after_s }) => {
                retry_after_s << 16 | (spec as u64) << 8 | 5
            }
            Answer::Admission(Verdict::OverConcurrency { spec }) => (spec as u64) << 8 | 6,
        }
    }

    /// None for a number that [`Answer::pack`] does not give.
    pub(crate) fn unpack(packed: u64) -> Option<Answer> {
        let spec = (packed >> 8 & 0xff) as usize;
        let answer = match packed & 0xff {
            1 => Answer::Ended(End::of_number(packed >> 8)?),
            2 => Answer::Done,
            3 => Answer::Release { released: spec != 0 },
            4 => Answer::Admission(Verdict::Allowed),
            5 => Answer::Admission(Verdict::OverRate { spec, retry_after_s: packed >> 16 }),
            6 => Answer::Admission(Verdict::OverConcurrency { spec }),
            _ => return None,
        };
        (answer.pack() == packed).then_some(answer)
    }

    fn of(outcome: &Outcome) -> Option<Answer> {
        match outcome {
            Outcome::Done => Some(Answer::Done),
            Outcome::Release { released, .. } => Some(Answer::Release { released: *released }),
            Outcome::Admission(admission) => Some(Answer::Admission(admission.verdict)),
            // A slot is its own memory, and a refusal changed nothing.
            Outcome::Slot(_) | Outcome::Refused(_) => None,
        }
    }
}

impl Verb {
    /// Whether a request id means anything. The others name a slot, and asking again changes nothing more.
    fn takes_request_id(&self) -> bool {
        match self {
            Verb::Declare(_)
            | Verb::Deploy(_)
            | Verb::SetCapacity { .. }
            | Verb::SetMaxHold { .. }
            | Verb::Pause { .. }
            | Verb::Resume { .. }
            | Verb::Release { .. }
            | Verb::EndRun { .. }
            | Verb::Admit(_)
            | Verb::ResetRate { .. } => true,
            Verb::Acquire(_)
            | Verb::Confirm { .. }
            | Verb::Leave { .. }
            | Verb::HangUp { .. }
            | Verb::EndLine { .. } => false,
        }
    }
}

impl Engine {
    pub(crate) fn carry_out_request(&mut self, request: &Request, events: &mut Vec<Event>) -> Outcome {
        match &request.request {
            Some(id) if request.verb.takes_request_id() => self.carry_out_once(id, request, events),
            _ => self.carry_out_verb(request, events),
        }
    }

    fn carry_out_once(&mut self, id: &RequestId, request: &Request, events: &mut Vec<Event>) -> Outcome {
        let hash = self.hash_key.name(Named::Request, [request.namespace.as_str(), id.as_str()]);
        let content = self.content_of(&request.verb);
        if let Some(&entry) = self.memory.get(hash) {
            let is_same = entry.content == content || has(Defect::RequestContentIgnored);
            return if is_same { self.answer_again(request, entry) } else { conflict() };
        }
        let standing = match self.standing_of_request(id) {
            Ok(standing) => Some(standing),
            // Giving back is never refused, and does no harm twice.
            Err(_) if matches!(request.verb, Verb::Release { .. }) => None,
            Err(refusal) => return Outcome::Refused(refusal),
        };
        let outcome = self.carry_out_verb(request, events);
        if let (Some((share, after_id)), Some(answer)) = (standing, Answer::of(&outcome)) {
            self.memory
                .remember(share, Entry { id: hash, content, answer: answer.pack(), at: self.now, after_id });
        }
        outcome
    }

    /// Whether the first answer to this request is remembered: then it is given again, and nothing is done.
    pub fn knows_request(&self, namespace: &Namespace, id: &RequestId) -> bool {
        self.memory.get(self.hash_key.name(Named::Request, [namespace.as_str(), id.as_str()])).is_some()
    }

    fn standing_of_request(&mut self, id: &RequestId) -> Result<(Share, Millis), Refusal> {
        match self.memory.standing(self.now, id.as_str()) {
            Standing::TooOld => Err(Refusal::TooOld { horizon: self.memory.horizon }),
            Standing::New { share, after_id } if self.memory.has_room(self.now, share) => {
                Ok((share, after_id))
            }
            Standing::New { .. } => Err(Refusal::IdempotencyFull),
        }
    }

    fn content_of(&mut self, verb: &Verb) -> u64 {
        self.scratch.clear();
        verb.encode(&mut self.scratch);
        self.hash_key.content(self.scratch.as_bytes())
    }

    fn answer_again(&self, request: &Request, entry: Entry) -> Outcome {
        match (Answer::unpack(entry.answer), &request.verb) {
            (Some(Answer::Done), _) => Outcome::Done,
            (Some(Answer::Release { released }), Verb::Release { slot }) => {
                Outcome::Release { released, status: self.status_of(&request.namespace, slot) }
            }
            (Some(Answer::Admission(verdict)), Verb::Admit(admit)) => {
                self.admit_again(&request.namespace, admit, verdict)
            }
            // The same content has the same verb, so only a collision of hashes comes here.
            _ => conflict(),
        }
    }

    fn admit_again(&self, namespace: &Namespace, admit: &Admit, verdict: Verdict) -> Outcome {
        let mut results = self.decide(self.now, namespace.as_str(), admit).results(admit, false);
        for (index, result) in results.iter_mut().enumerate() {
            result.over = match verdict {
                Verdict::Allowed => false,
                Verdict::OverRate { spec, .. } | Verdict::OverConcurrency { spec } => spec == index,
            };
        }
        Outcome::Admission(Admission { verdict, results, replayed: true })
    }
}

fn conflict() -> Outcome {
    Outcome::Refused(Refusal::Conflict)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_answer_comes_back() {
        let answers = [
            Answer::Ended(End::RunEnded),
            Answer::Done,
            Answer::Release { released: true },
            Answer::Release { released: false },
            Answer::Admission(Verdict::Allowed),
            Answer::Admission(Verdict::OverRate { spec: 15, retry_after_s: 400 * 86_400 }),
            Answer::Admission(Verdict::OverConcurrency { spec: 3 }),
        ];
        for answer in answers {
            assert_eq!(Answer::unpack(answer.pack()), Some(answer));
        }
        assert_eq!(Answer::unpack(0), None);
        assert_eq!(Answer::unpack(9 << 8 | 1), None);
        assert_eq!(Answer::unpack(2 << 8 | 3), None);
    }
}
