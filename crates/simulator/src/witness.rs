//! What is durable, read by somebody who is no node: the truth that every answer and every node is held against.

use std::collections::BTreeMap;

use maitred::local::{
    follower::Follower,
    record::{Body, Entry},
};
use maitred_api::SlotState;
use maitred_engine::{
    Engine,
    bounds::{ABSENCE_MS, MEMORY_MS},
    command::{Acquire, Command, Verb},
    event::{Event, EventKind, Was},
    outcome::{End, Outcome, Refusal, SlotStatus, Verdict},
    time::Millis,
};
use maitred_journal::{Position, Record, Snapshot};

use crate::{
    books::{Books, CallId},
    faults::Branch,
    mirror::{Mirror, Place},
    pace::{Landing, Pace},
    report::Counts,
};

/// So many commands of a world are given to the model to judge: its cost grows with the square.
const JUDGED_MAX: usize = 1_200;
/// And none later than this, since the model forgets nothing (B1).
const JUDGED_MS: Millis = 20 * 3_600_000;
const COMPARE_EVERY: Position = 16;

type Checked = Result<(), String>;

/// A slot at the end of one command: where, how, with which fence.
type Moment = (Position, SlotState, Option<u64>);

#[derive(Default)]
struct Story {
    moments: Vec<Moment>,
    ended_at: Option<Millis>,
}

#[derive(Default)]
pub(crate) struct Witness {
    follower: Follower,
    truth: Truth,
    pub(crate) records: Vec<Record>,
    /// Of all outcomes, after each record.
    digests: Vec<u64>,
    pub(crate) pace: Pace,
}

/// All but the engine, so that both can be used at once.
#[derive(Default)]
struct Truth {
    outcomes: BTreeMap<CallId, (Position, Outcome)>,
    stories: BTreeMap<Place, Story>,
    mirror: Mirror,
    /// Which process the newest caller of an auto slot is on the line of.
    lines: BTreeMap<Place, (u64, Millis)>,
    judged: Vec<(Millis, Command, Outcome)>,
    began_at: Option<Millis>,
}

impl Witness {
    pub(crate) fn head(&self) -> Position {
        self.follower.head()
    }

    pub(crate) fn engine(&self) -> Option<&Engine> {
        self.follower.engine()
    }

    pub(crate) fn snapshot(&self) -> Option<Snapshot> {
        self.follower.snapshot()
    }

    pub(crate) fn outcome(&self, id: CallId) -> Option<&(Position, Outcome)> {
        self.truth.outcomes.get(&id)
    }

    pub(crate) fn digest_at(&self, position: Position) -> Option<u64> {
        self.digests.get((position as usize).checked_sub(1)?).copied()
    }

    pub(crate) fn judged(&self) -> &[(Millis, Command, Outcome)] {
        &self.truth.judged
    }

    pub(crate) fn story(&self, place: &Place) -> &[Moment] {
        self.truth.stories.get(place).map_or(&[], |story| &story.moments)
    }

    /// Whether the slot was like this at that revision: at its end, or in the course of its last record.
    pub(crate) fn was(
        &self,
        place: &Place,
        revision: Position,
        state: SlotState,
        fence: Option<u64>,
    ) -> bool {
        let moments = self.story(place);
        let then = moments.partition_point(|(position, ..)| *position < revision);
        let before = moments[..then].last();
        let within = moments[then..].iter().take_while(|(position, ..)| *position == revision);
        if state == SlotState::Unknown {
            return before.is_none_or(|(_, state, _)| is_end(*state));
        }
        before.into_iter().chain(within).any(|(_, was, had)| (*was, *had) == (state, fence))
    }

    pub(crate) fn live_slots(&self) -> usize {
        self.truth.mirror.live_slots().count()
    }

    /// Takes the next durable record.
    pub(crate) fn take(
        &mut self,
        record: &Record,
        landing: Landing,
        books: &Books,
        counts: &mut Counts,
    ) -> Checked {
        let entry = Entry::decode(&record.bytes).map_err(|error| error.to_string())?;
        let due = self.engine().and_then(Engine::next_due);
        let leaps = self.follower.leaps;
        let truth = &mut self.truth;
        let mut checked = Ok(());
        let each = |engine: &Engine, _: usize, command: &Command, outcome: &Outcome, events: &[Event]| {
            if checked.is_ok() {
                let (position, writer) = (record.position, entry.writer);
                let said = Said { position, writer, landing, engine, command, outcome, events };
                checked = truth.take(&said, books, counts);
            }
        };
        let applied = self.follower.take_decoded(record, &entry, each).map_err(|halt| halt.to_string())?;
        checked?;
        self.digests.push(self.engine().map_or(0, Engine::outcome_digest));
        self.records.push(record.clone());
        if applied.void {
            counts.took(Branch::Void);
            return Ok(());
        }
        if self.follower.leaps > leaps {
            counts.took(Branch::NotBelieved);
        }
        if due.is_some_and(|due| due + ABSENCE_MS < applied.at) {
            counts.took(Branch::NobodyThere);
        }
        if let Body::Batch(batch) = &entry.body {
            self.pace.check((record.position, entry.writer, batch), record.at, applied.at, landing)?;
        }
        if record.position.is_multiple_of(COMPARE_EVERY) {
            self.compare()?;
        }
        Ok(())
    }

    pub(crate) fn compare(&self) -> Checked {
        self.engine().map_or(Ok(()), |engine| self.truth.mirror.compare(engine))
    }
}

/// One command, and what came of it.
struct Said<'a> {
    position: Position,
    writer: u64,
    landing: Landing,
    engine: &'a Engine,
    command: &'a Command,
    outcome: &'a Outcome,
    events: &'a [Event],
}

impl Truth {
    fn take(&mut self, said: &Said<'_>, books: &Books, counts: &mut Counts) -> Checked {
        self.note_call(said, books)?;
        if let Command::In(request) = said.command
            && let Verb::Acquire(acquire) = &request.verb
        {
            let place = (request.namespace.clone(), acquire.slot.clone());
            self.asked(said, &place, acquire, counts)?;
            if let Some(line) = acquire.line {
                self.lines.insert(place, (line.writer, said.landing.landed_at));
            }
        }
        for event in said.events {
            self.event(said, event, books, counts)?;
        }
        self.note_moment(said);
        count_outcome(said.outcome, counts);
        self.mirror.check_nobody_stands()?;
        let began_at = *self.began_at.get_or_insert(said.engine.now());
        if self.judged.len() < JUDGED_MAX && said.engine.now() < began_at + JUDGED_MS {
            self.judged.push((said.engine.now(), said.command.clone(), said.outcome.clone()));
        }
        Ok(())
    }

    /// S7a: nothing is granted on the line of a process that is gone, as far as whoever writes can know. On a local
    /// journal it knows.
    fn check_line_lives(&self, place: &Place, said: &Said<'_>, books: &Books) -> Checked {
        let Some((line, since)) = self.lines.get(place) else { return Ok(()) };
        let is_known = match books.is_local {
            true => *line != said.writer,
            // One that landed late may come after its process was found dead; the next meeting ends it.
            false => books.knows_that_is_gone(said.writer, *line, said.landing.made_at, *since),
        };
        match is_known {
            true => Err(format!("{} was granted busy on a line of a process that is gone", place.1)),
            false => Ok(()),
        }
    }

    /// Every call comes to the journal once at the most, and never after it was refused.
    fn note_call(&mut self, said: &Said<'_>, books: &Books) -> Checked {
        let Command::In(request) = said.command else { return Ok(()) };
        let by = request.by.as_ref().and_then(|by| by.as_str().strip_prefix('c')?.parse::<CallId>().ok());
        let Some(id) = by else {
            return Ok(());
        };
        let call = books.calls.get(id).ok_or_else(|| format!("call {id} was never made"))?;
        if call.without_trace {
            return Err(format!("call {id} was refused, and stands at {}", said.position));
        }
        match self.outcomes.insert(id, (said.position, said.outcome.clone())) {
            None => Ok(()),
            Some((before, _)) => {
                Err(format!("call {id} takes effect at {before} and again at {}", said.position))
            }
        }
    }

    /// S2: one id, one slot, for as long as it is remembered.
    fn asked(&mut self, said: &Said<'_>, place: &Place, acquire: &Acquire, counts: &mut Counts) -> Checked {
        let Outcome::Slot(status) = said.outcome else { return Ok(()) };
        let now = said.engine.now();
        match self.stories.get(place) {
            None => {}
            Some(story) => match story.ended_at {
                Some(ended_at) if is_live(*status) && now < ended_at + MEMORY_MS => {
                    return Err(format!("{} came back after its end", place.1));
                }
                // Forgotten, and asked for as something new; unless it is still remembered after all.
                Some(_) if is_live(*status) => drop(self.stories.remove(place)),
                _ => {
                    counts.took(Branch::AskedAgain);
                    return Ok(());
                }
            },
        }
        self.stories.insert(place.clone(), Story::default());
        self.mirror.asked(&place.0, acquire);
        Ok(())
    }

    fn event(&mut self, said: &Said<'_>, event: &Event, books: &Books, counts: &mut Counts) -> Checked {
        let was_waiting = |place: &Place| {
            let moment = self.stories.get(place).and_then(|story| story.moments.last());
            moment.is_some_and(|(_, state, _)| *state == SlotState::Queued)
        };
        match &event.kind {
            EventKind::SlotGranted { slot, busy, .. } => {
                let place = (slot.namespace.clone(), slot.id.clone());
                let waited = was_waiting(&place);
                counts.took(if waited { Branch::GrantedFromQueue } else { Branch::GrantedAtOnce });
                if *busy && waited {
                    counts.took(Branch::GrantedAuto);
                    books.check_granted_busy(&place, said.position)?;
                    self.check_line_lives(&place, said, books)?;
                }
            }
            EventKind::SlotPutBack(_) => counts.took(Branch::Lapsed),
            EventKind::SlotEnded(ended) => {
                let place = (ended.namespace.clone(), ended.id.clone());
                let story = self.stories.entry(place).or_default();
                if story.ended_at.replace(event.at).is_some() {
                    return Err(format!("{} ends twice", ended.id));
                }
                counts.took(match (ended.end, is_hang_up(said.command), ended.was) {
                    (End::Released, true, Was::Busy) => Branch::HangUpReleased,
                    (End::Released, ..) => Branch::Released,
                    (End::Expired, ..) => Branch::Expired,
                    (End::TimedOut, ..) => Branch::TimedOut,
                    (End::Left, ..) => Branch::Left,
                    (End::RunEnded, ..) => Branch::RunEnded,
                });
            }
            _ => {}
        }
        self.mirror.take(event)?;
        if let Some(place) = place_of(event) {
            self.note(said, place);
        }
        Ok(())
    }

    /// A command may change a slot without an event, and answers with it in any case.
    fn note_moment(&mut self, said: &Said<'_>) {
        let Command::In(request) = said.command else { return };
        let slot = match &request.verb {
            Verb::Acquire(acquire) => &acquire.slot,
            Verb::Confirm { slot } | Verb::Leave { slot } | Verb::Release { slot } => slot,
            Verb::HangUp { slot, .. } | Verb::EndLine { slot, .. } => slot,
            _ => return,
        };
        self.note(said, (request.namespace.clone(), slot.clone()));
    }

    fn note(&mut self, said: &Said<'_>, place: Place) {
        let status = said.engine.status(place.0.as_str(), place.1.as_str());
        let Some(story) = self.stories.get_mut(&place) else { return };
        let (state, fence) = state_of(status);
        let moment = (said.position, state, fence);
        if story.moments.last() != Some(&moment) {
            story.moments.push(moment);
        }
    }
}

fn is_hang_up(command: &Command) -> bool {
    matches!(command, Command::In(request) if matches!(request.verb, Verb::HangUp { .. }))
}

fn is_end(state: SlotState) -> bool {
    !matches!(state, SlotState::Queued | SlotState::Reserved | SlotState::Busy)
}

fn is_live(status: SlotStatus) -> bool {
    !is_end(state_of(status).0)
}

fn place_of(event: &Event) -> Option<Place> {
    match &event.kind {
        EventKind::SlotQueued(slot) | EventKind::SlotPutBack(slot) => {
            Some((slot.namespace.clone(), slot.id.clone()))
        }
        EventKind::SlotGranted { slot, .. } | EventKind::SlotConfirmed { slot, .. } => {
            Some((slot.namespace.clone(), slot.id.clone()))
        }
        EventKind::SlotEnded(ended) => Some((ended.namespace.clone(), ended.id.clone())),
        _ => None,
    }
}

fn state_of(status: SlotStatus) -> (SlotState, Option<u64>) {
    match status {
        SlotStatus::Queued { .. } => (SlotState::Queued, None),
        SlotStatus::Reserved { fence, .. } => (SlotState::Reserved, Some(fence)),
        SlotStatus::Busy { fence, .. } => (SlotState::Busy, Some(fence)),
        SlotStatus::Ended(End::Released) => (SlotState::Released, None),
        SlotStatus::Ended(End::Expired) => (SlotState::Expired, None),
        SlotStatus::Ended(End::TimedOut) => (SlotState::TimedOut, None),
        SlotStatus::Ended(End::Left) => (SlotState::Left, None),
        SlotStatus::Ended(End::RunEnded) => (SlotState::RunEnded, None),
        SlotStatus::Unknown => (SlotState::Unknown, None),
    }
}

fn count_outcome(outcome: &Outcome, counts: &mut Counts) {
    match outcome {
        Outcome::Admission(admission) => {
            match admission.verdict {
                Verdict::OverRate { .. } => counts.took(Branch::OverRate),
                Verdict::OverConcurrency { .. } => counts.took(Branch::OverConcurrency),
                Verdict::Allowed => {}
            }
            if admission.replayed {
                counts.took(Branch::Replayed);
            }
        }
        Outcome::Refused(Refusal::Conflict) => counts.took(Branch::OtherContent),
        Outcome::Refused(Refusal::NeverFits { .. }) => counts.took(Branch::NeverFits),
        Outcome::Refused(Refusal::LimitRetired { .. }) => counts.took(Branch::Retired),
        _ => {}
    }
}
