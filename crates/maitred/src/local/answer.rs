//! The edge outwards: what the engine says becomes what the API answers.

use maitred_api::{
    AdmitFields, Answer, ConfirmMode, Decision, DoneAnswer, HoldMode, KeyInfo, LimitAnswer, LimitInfo,
    LimitKind, LimitShare, PlaceInfo, Problem, Reason, ReleaseAnswer, RunInfo, SlotAnswer, SlotInfo,
    SlotState, SpecResult, WindowInfo,
};
use maitred_engine::{
    Engine,
    command::{Confirm, Hold, Request, Spec, SpecKind, Verb},
    names::LimitName,
    outcome::{Admission, End, Outcome, Refusal, SlotStatus, Verdict},
    time::{self, Millis},
    view::{CounterView, KeyView, LimitView, RunView, SlotView},
};

use super::steps;

/// The revision and the time at which something is true.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AsOf {
    pub revision: u64,
    pub at: Millis,
}

/// The answer to a change, from its outcome and the engine as it then is.
pub fn change(
    engine: &Engine,
    request: &Request,
    admit: Option<&AdmitFields>,
    outcome: &Outcome,
    as_of: AsOf,
) -> Result<Answer, Problem> {
    let ns = request.namespace.as_str();
    match outcome {
        Outcome::Done => done(engine, request, as_of),
        Outcome::Slot(status) => {
            let slot = slot_of(&request.verb).unwrap_or_default();
            Ok(Answer::Slot(slot_answer(engine, ns, slot, *status, as_of)))
        }
        Outcome::Release { released, status } => Ok(Answer::Release(ReleaseAnswer {
            released: *released,
            slot: slot_of(&request.verb).unwrap_or_default().to_owned(),
            state: state(*status),
            revision: as_of.revision,
            as_of: as_of.at,
        })),
        Outcome::Admission(admission) => {
            let fields = admit.map_or(&[][..], |fields| &fields.specs);
            Ok(Answer::Decision(decision(fields, request_specs(&request.verb), admission, as_of)))
        }
        Outcome::Refused(refusal) => Err(problem(refusal)),
    }
}

/// What a done act left behind: the limit it concerns, where it concerns one.
fn done(engine: &Engine, request: &Request, as_of: AsOf) -> Result<Answer, Problem> {
    let view =
        limit_of(&request.verb).and_then(|limit| engine.limit(request.namespace.as_str(), limit.as_str()));
    Ok(match view {
        Some(view) => {
            Answer::Limit(LimitAnswer { limit: limit_info(&view), revision: as_of.revision, as_of: as_of.at })
        }
        None => Answer::Done(DoneAnswer { revision: as_of.revision, as_of: as_of.at }),
    })
}

/// The limit that a verb changes, where it changes one.
pub fn limit_of(verb: &Verb) -> Option<&LimitName> {
    match verb {
        Verb::Declare(declared) => Some(&declared.limit),
        Verb::SetCapacity { limit, .. } | Verb::SetMaxHold { limit, .. } => Some(limit),
        Verb::Pause { limit } | Verb::Resume { limit } => Some(limit),
        _ => None,
    }
}

/// Names the settings of a limit: two that differ in any of them have different ones.
pub fn tag(view: &LimitView) -> String {
    let number = |value: Option<u64>| value.map_or_else(|| "-".to_owned(), |value| value.to_string());
    let (capacity, max_hold) = (view.capacity_override.map(u64::from), view.max_hold_override_ms);
    let marks = [(view.paused, "p"), (view.retired, "r")];
    let marks: String = marks.into_iter().filter(|(is_so, _)| *is_so).map(|(_, mark)| mark).collect();
    let declared = format!("{}.{}", view.declared_capacity, view.declared_max_hold_ms);
    format!("{declared}.{}.{}.{marks}", number(capacity), number(max_hold))
}

fn slot_of(verb: &Verb) -> Option<&str> {
    match verb {
        Verb::Acquire(acquire) => Some(acquire.slot.as_str()),
        Verb::Confirm { slot } | Verb::Release { slot } | Verb::Leave { slot } => Some(slot.as_str()),
        Verb::HangUp { slot, .. } | Verb::EndLine { slot, .. } => Some(slot.as_str()),
        _ => None,
    }
}

fn request_specs(verb: &Verb) -> &[Spec] {
    match verb {
        Verb::Admit(admit) => &admit.specs,
        _ => &[],
    }
}

pub fn decision(
    fields: &[maitred_api::SpecFields],
    specs: &[Spec],
    admission: &Admission,
    as_of: AsOf,
) -> Decision {
    let (kind, blocked_by, retry_after_seconds) = match admission.verdict {
        Verdict::Allowed => (first_kind(specs), None, 0),
        Verdict::OverRate { spec, retry_after_s } => (LimitKind::Rate, Some(spec), retry_after_s),
        Verdict::OverConcurrency { spec } => (LimitKind::Concurrency, Some(spec), 0),
    };
    let results =
        specs.iter().zip(&admission.results).enumerate().map(|(index, (spec, result))| SpecResult {
            label: fields.get(index).and_then(|fields| fields.label.clone()),
            limit: spec.limit,
            used: result.used,
            remaining: result.remaining,
            reset_seconds: result.reset_s,
            over: result.over,
            window_seconds: window_seconds(spec.kind),
        });
    Decision {
        kind,
        over_limit: blocked_by.is_some(),
        retry_after_seconds,
        degraded: false,
        results: results.collect(),
        blocked_by,
        replayed: admission.replayed,
        revision: as_of.revision,
        as_of: as_of.at,
    }
}

fn window_seconds(kind: SpecKind) -> Option<u64> {
    match kind {
        SpecKind::Rate { window_ms, .. } => Some(window_ms / time::SECOND_MS),
        SpecKind::Place => None,
    }
}

fn first_kind(specs: &[Spec]) -> LimitKind {
    match specs.first().map(|spec| spec.kind) {
        Some(SpecKind::Place) => LimitKind::Concurrency,
        _ => LimitKind::Rate,
    }
}

pub fn slot_answer(engine: &Engine, ns: &str, slot: &str, status: SlotStatus, as_of: AsOf) -> SlotAnswer {
    let mut info = match engine.slot(ns, slot) {
        Some(view) => slot_info(&view),
        None => bare_slot(slot),
    };
    put_status(&mut info, status);
    SlotAnswer { slot: info, revision: as_of.revision, as_of: as_of.at }
}

/// The slot as it is now, ended or not.
pub fn slot_now(engine: &Engine, ns: &str, slot: &str, as_of: AsOf) -> SlotAnswer {
    slot_answer(engine, ns, slot, engine.status(ns, slot), as_of)
}

fn bare_slot(slot: &str) -> SlotInfo {
    SlotInfo {
        slot: slot.to_owned(),
        state: SlotState::Unknown,
        place: None,
        fence: None,
        limits: Vec::new(),
        run: None,
        workflow: None,
        label: None,
        confirm: None,
        hold: None,
        asked_at: None,
        queued_at: None,
        gives_up_at: None,
        granted_at: None,
        lapses_at: None,
        expires_at: None,
        laps: None,
        run_ended_at: None,
    }
}

pub fn slot_info(view: &SlotView) -> SlotInfo {
    let share = |(limit, weight): &(maitred_engine::names::LimitName, u32)| LimitShare {
        limit: limit.to_string(),
        weight: *weight,
    };
    let mut info = SlotInfo {
        limits: view.limits.iter().map(share).collect(),
        run: view.run.as_ref().map(ToString::to_string),
        workflow: view.workflow.as_ref().map(ToString::to_string),
        label: view.label.as_ref().map(ToString::to_string),
        confirm: Some(match view.confirm {
            Confirm::Holder => ConfirmMode::Holder,
            Confirm::Auto => ConfirmMode::Auto,
        }),
        hold: Some(match view.hold {
            Hold::Released => HoldMode::Released,
            Hold::Run => HoldMode::Run,
        }),
        asked_at: Some(view.asked_at),
        queued_at: Some(view.queued_at),
        laps: Some(view.laps),
        ..bare_slot(view.slot.as_str())
    };
    put_status(&mut info, view.status);
    info
}

fn put_status(info: &mut SlotInfo, status: SlotStatus) {
    info.state = state(status);
    match status {
        SlotStatus::Queued { place, gives_up_at } => {
            info.place = Some(place);
            info.gives_up_at = Some(gives_up_at);
        }
        SlotStatus::Reserved { fence, granted_at, lapses_at, expires_at } => {
            info.lapses_at = Some(lapses_at);
            (info.fence, info.granted_at, info.expires_at) =
                (Some(fence), Some(granted_at), Some(expires_at));
        }
        SlotStatus::Busy { fence, granted_at, expires_at } => {
            (info.fence, info.granted_at, info.expires_at) =
                (Some(fence), Some(granted_at), Some(expires_at));
        }
        SlotStatus::Ended(_) | SlotStatus::Unknown => {}
    }
}

pub fn state(status: SlotStatus) -> SlotState {
    match status {
        SlotStatus::Queued { .. } => SlotState::Queued,
        SlotStatus::Reserved { .. } => SlotState::Reserved,
        SlotStatus::Busy { .. } => SlotState::Busy,
        SlotStatus::Ended(End::Released) => SlotState::Released,
        SlotStatus::Ended(End::Expired) => SlotState::Expired,
        SlotStatus::Ended(End::TimedOut) => SlotState::TimedOut,
        SlotStatus::Ended(End::Left) => SlotState::Left,
        SlotStatus::Ended(End::RunEnded) => SlotState::RunEnded,
        SlotStatus::Unknown => SlotState::Unknown,
    }
}

pub fn limit_info(view: &LimitView) -> LimitInfo {
    LimitInfo {
        limit: view.limit.to_string(),
        capacity: view.capacity,
        max_hold_ms: view.max_hold_ms,
        declared_capacity: view.declared_capacity,
        declared_max_hold_ms: view.declared_max_hold_ms,
        capacity_override: view.capacity_override,
        max_hold_override_ms: view.max_hold_override_ms,
        paused: view.paused,
        retired: view.retired,
        tag: tag(view),
        busy: view.busy,
        reserved: view.reserved,
        available: u64::from(view.capacity).saturating_sub(view.busy + view.reserved),
        busy_slots: view.busy_slots,
        reserved_slots: view.reserved_slots,
        waiting: view.waiting,
        oldest_queued_at: view.oldest_queued_at,
        oldest_granted_at: view.oldest_granted_at,
    }
}

pub fn run_info(view: &RunView) -> RunInfo {
    let slots: Vec<SlotInfo> = view.slots.iter().map(slot_info).collect();
    let steps: Vec<_> = slots.iter().filter_map(steps::of_live).collect();
    RunInfo {
        run: view.run.to_string(),
        workflow: slots.iter().find_map(|slot| slot.workflow.clone()),
        status: steps::status(&steps),
        steps,
        output: None,
        slots,
        places: view
            .places
            .iter()
            .map(|(task, key, expires_at)| PlaceInfo {
                task: task.to_string(),
                key: key.to_string(),
                expires_at: *expires_at,
            })
            .collect(),
        hits: view.hits,
    }
}

pub fn key_info(view: &KeyView, now: Millis) -> KeyInfo {
    KeyInfo {
        task: view.task.to_string(),
        key: view.key.to_string(),
        window: view.counter.map(|counter| window_info(counter, now)),
        in_flight: view.in_flight,
    }
}

pub fn window_info(counter: CounterView, now: Millis) -> WindowInfo {
    WindowInfo {
        used: counter.used,
        started_at: counter.started_at,
        ends_at: counter.ends_at,
        resets_in_s: time::seconds_up(counter.ends_at.saturating_sub(now)),
    }
}

/// The words for a refusal: what was wrong, and what to do.
pub fn problem(refusal: &Refusal) -> Problem {
    let reason = Reason::from_code(refusal.code()).unwrap_or(Reason::Internal);
    let message = match refusal {
        Refusal::LimitNotFound { limit } => format!("no limit named `{limit}`; declare it first"),
        Refusal::LimitRetired { limit } => {
            format!("limit `{limit}` is retired: the last deploy left it out; declare it again to use it")
        }
        Refusal::NeverFits { limit, weight, capacity } => {
            format!(
                "weight {weight} never fits into limit `{limit}` of capacity {capacity}; ask for less or raise the capacity"
            )
        }
        Refusal::Conflict => "this id was used before with other content; use a new id".to_owned(),
        Refusal::TooOld { .. } => {
            "this id is older than what is remembered, so nobody can tell whether it was used; make a new one"
                .to_owned()
        }
        Refusal::IdempotencyFull => {
            "no more ids without a time in them can be remembered for 24 h; use UUIDv7 ids, or wait"
                .to_owned()
        }
        Refusal::QueueFull { limit: Some(limit) } => {
            format!("the queue of limit `{limit}` is full; try later")
        }
        Refusal::QueueFull { limit: None } => "too many slots wait in all; try later".to_owned(),
        Refusal::TooManySlots => "too many slots are alive; release some, or try later".to_owned(),
        Refusal::TooManyLimits => "there are as many limits as this server keeps; retire some".to_owned(),
        Refusal::TooManyKeys => {
            "there are as many live keys as this server keeps; try when windows have ended".to_owned()
        }
        Refusal::TooManyNamespaces => {
            "there are as many namespaces as this server keeps; use one of them".to_owned()
        }
        Refusal::UnsupportedRules { version } => {
            format!("rules {version} are not known here; start the newer binary")
        }
    };
    Problem::new(reason, message)
}
