//! Limits and their slots as sheets.

use maitred::format_duration;
use maitred_api::{Answer, Call, LimitInfo, LimitSlotsAnswer, LimitsAnswer, SlotInfo, SlotState};

use crate::cli::{
    exit,
    failure::Failure,
    output::{self, Sheet},
    session::Session,
    text,
};

/// The most that one call answers.
const PAGE: u32 = 1_000;

pub async fn list(session: &Session) -> Result<u8, Failure> {
    let answer = all(session).await?;
    session.out.print(&answer, || list_for_people(&answer), || list_for_pipes(&answer.limits, answer.as_of));
    if answer.limits.is_empty() && session.out.for_people() {
        let namespace = session.namespace();
        output::note(&format!(
            "no limits in namespace `{namespace}`; declare some: maitred apply -f limits.toml"
        ));
    }
    Ok(exit::OK)
}

/// Every page as one answer, with revision and time of the last.
pub async fn all(session: &Session) -> Result<LimitsAnswer, Failure> {
    let mut limits = Vec::new();
    let mut after = None;
    loop {
        let page = match session.call(Call::Limits { after, most: Some(PAGE), prefixes: Vec::new() }).await {
            Ok(Answer::Limits(page)) => page,
            other => return Err(session.failed(other, None).await),
        };
        limits.extend(page.limits);
        if page.next.is_none() {
            return Ok(LimitsAnswer { limits, ..page });
        }
        after = page.next;
    }
}

pub fn list_for_people(answer: &LimitsAnswer) -> Sheet {
    let mut sheet = Sheet::new(&["NAME", "USE", "WAITING", "OLDEST WAIT", "MAX HOLD", "SOURCE"]);
    sheet.rows = answer.limits.iter().map(|limit| for_people(limit, answer.as_of)).collect();
    sheet
}

fn for_people(limit: &LimitInfo, as_of: u64) -> Vec<String> {
    let oldest =
        limit.oldest_queued_at.map_or_else(|| "-".to_owned(), |at| text::span(as_of.saturating_sub(at)));
    vec![
        marked_name(limit),
        usage(limit),
        limit.waiting.to_string(),
        oldest,
        format_duration(limit.max_hold_ms),
        source(limit),
    ]
}

pub fn list_for_pipes(limits: &[LimitInfo], as_of: u64) -> Sheet {
    let mut sheet = Sheet::new(&[
        "name",
        "busy",
        "reserved",
        "capacity",
        "waiting",
        "oldest_wait_ms",
        "max_hold_ms",
        "source",
        "paused",
        "retired",
    ]);
    sheet.rows = limits.iter().map(|limit| for_pipes(limit, as_of)).collect();
    sheet
}

fn for_pipes(limit: &LimitInfo, as_of: u64) -> Vec<String> {
    let oldest = limit.oldest_queued_at.map(|at| as_of.saturating_sub(at).to_string());
    vec![
        limit.limit.clone(),
        limit.busy.to_string(),
        limit.reserved.to_string(),
        limit.capacity.to_string(),
        limit.waiting.to_string(),
        oldest.unwrap_or_default(),
        limit.max_hold_ms.to_string(),
        if is_overridden(limit) { "override" } else { "declared" }.to_owned(),
        yes(limit.paused),
        yes(limit.retired),
    ]
}

fn yes(yes: bool) -> String {
    if yes { "yes" } else { "no" }.to_owned()
}

fn marked_name(limit: &LimitInfo) -> String {
    let marks: Vec<&str> = [("paused", limit.paused), ("retired", limit.retired)]
        .iter()
        .filter(|(_, on)| *on)
        .map(|(mark, _)| *mark)
        .collect();
    if marks.is_empty() { limit.limit.clone() } else { format!("{} ({})", limit.limit, marks.join(", ")) }
}

/// `18/20`, `18/20 +2 reserved`; after a cut `18 of 10, draining`.
pub fn usage(limit: &LimitInfo) -> String {
    let reserved = if limit.reserved > 0 { format!(" +{} reserved", limit.reserved) } else { String::new() };
    match limit.busy + limit.reserved > u64::from(limit.capacity) {
        true => format!("{} of {}{reserved}, draining", limit.busy, limit.capacity),
        false => format!("{}/{}{reserved}", limit.busy, limit.capacity),
    }
}

pub fn is_overridden(limit: &LimitInfo) -> bool {
    limit.capacity_override.is_some() || limit.max_hold_override_ms.is_some()
}

/// Where the values in force come from, with what is declared behind an override.
pub fn source(limit: &LimitInfo) -> String {
    let capacity = limit.capacity_override.map(|_| limit.declared_capacity.to_string());
    let max_hold = limit.max_hold_override_ms.map(|_| format_duration(limit.declared_max_hold_ms));
    let declared: Vec<String> = capacity.into_iter().chain(max_hold).collect();
    match declared.is_empty() {
        true => "declared".to_owned(),
        false => format!("override (declared: {})", declared.join(", ")),
    }
}

pub async fn one(session: &Session, name: &str) -> Result<u8, Failure> {
    let answer = session.limit(name).await?;
    let people = || story(&answer.limit, answer.as_of);
    session.out.print(&answer, people, || fields(&answer));
    Ok(exit::OK)
}

/// A limit in words, one fact a line.
fn story(limit: &LimitInfo, as_of: u64) -> Sheet {
    let ago = |at: Option<u64>| at.map(|at| text::span(as_of.saturating_sub(at)));
    let declared = |overridden: bool, declared: String| match overridden {
        true => format!("   (override; declared: {declared})"),
        false => String::new(),
    };
    let waiting = match ago(limit.oldest_queued_at) {
        Some(oldest) => format!("{}, the first for {oldest}", limit.waiting),
        None => limit.waiting.to_string(),
    };
    let capacity = declared(limit.capacity_override.is_some(), limit.declared_capacity.to_string());
    let max_hold =
        declared(limit.max_hold_override_ms.is_some(), format_duration(limit.declared_max_hold_ms));
    let mut facts = vec![
        ("limit", marked_name(limit)),
        ("use", usage(limit)),
        ("waiting", waiting),
        ("capacity", format!("{}{capacity}", limit.capacity)),
        ("max hold", format!("{}{max_hold}", format_duration(limit.max_hold_ms))),
    ];
    facts.extend(ago(limit.oldest_granted_at).map(|oldest| ("longest held", oldest)));
    let rows = facts.into_iter().map(|(name, value)| vec![name.to_owned(), value]).collect();
    Sheet { names: vec!["", ""], rows }
}

/// The API's fields, one a line.
fn fields(answer: &maitred_api::LimitAnswer) -> Sheet {
    let mut sheet = Sheet::new(&["field", "value"]);
    if let Ok(serde_json::Value::Object(fields)) = serde_json::to_value(answer) {
        let shown =
            |value: serde_json::Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        sheet.rows = fields.into_iter().map(|(name, value)| vec![name, shown(value)]).collect();
    }
    sheet
}

pub async fn slots(session: &Session, name: &str, most: u32) -> Result<u8, Failure> {
    let mut answer = session.limit_slots(name, 0, Some(most.min(PAGE))).await?;
    loop {
        let have = (answer.holders.len() + answer.queue.len()) as u32;
        let page = session.limit_slots(name, have, Some((most - have).clamp(1, PAGE))).await?;
        if have >= most || page.holders.is_empty() && page.queue.is_empty() {
            break;
        }
        answer.holders.extend(page.holders);
        answer.queue.extend(page.queue);
    }
    session.out.print(&answer, || slots_for_people(&answer), || slots_for_pipes(&answer));
    note_the_rest(session, &answer);
    Ok(exit::OK)
}

fn note_the_rest(session: &Session, answer: &LimitSlotsAnswer) {
    let limit = &answer.limit;
    let all = u64::from(limit.busy_slots) + u64::from(limit.reserved_slots) + u64::from(limit.waiting);
    let shown = (answer.holders.len() + answer.queue.len()) as u64;
    if shown < all && !session.out.json {
        output::note(&format!("{shown} of {all} slots shown; more with --most {all}"));
    }
    if all == 0 && session.out.for_people() {
        output::note(&format!("limit `{}` holds nothing, and nothing waits", limit.limit));
    }
}

fn slots_for_people(answer: &LimitSlotsAnswer) -> Sheet {
    let mut sheet = Sheet::new(&["STATE", "SLOT", "RUN", "LABEL", "WEIGHT", "SINCE", "ENDS"]);
    let row = |slot: &SlotInfo| {
        let state = match slot.place {
            Some(place) => format!("{} {place}", slot.state.as_str()),
            None => slot.state.as_str().to_owned(),
        };
        let since = slot.granted_at.or(slot.queued_at).map(|at| text::span(answer.as_of.saturating_sub(at)));
        vec![
            state,
            slot.slot.clone(),
            slot.run.clone().unwrap_or_else(|| "-".to_owned()),
            slot.label.clone().unwrap_or_else(|| "-".to_owned()),
            weight(slot, &answer.limit.limit),
            since.unwrap_or_default(),
            ends(slot, answer.as_of),
        ]
    };
    sheet.rows = answer.holders.iter().chain(&answer.queue).map(row).collect();
    sheet
}

fn ends(slot: &SlotInfo, as_of: u64) -> String {
    let what = match slot.state {
        SlotState::Busy => "expires",
        SlotState::Reserved => "lapses",
        _ => "gives up",
    };
    ends_at(slot).map(|at| format!("{what} in {}", text::span(at.saturating_sub(as_of)))).unwrap_or_default()
}

pub fn ends_at(slot: &SlotInfo) -> Option<u64> {
    match slot.state {
        SlotState::Busy => slot.expires_at,
        SlotState::Reserved => slot.lapses_at,
        _ => slot.gives_up_at,
    }
}

fn weight(slot: &SlotInfo, limit: &str) -> String {
    slot.limits
        .iter()
        .find(|share| share.limit == limit)
        .map_or_else(String::new, |share| share.weight.to_string())
}

fn slots_for_pipes(answer: &LimitSlotsAnswer) -> Sheet {
    let mut sheet = Sheet::new(&[
        "state",
        "place",
        "slot",
        "run",
        "label",
        "weight",
        "fence",
        "queued_at",
        "granted_at",
        "ends_at",
    ]);
    let number = |number: Option<u64>| number.map(|number| number.to_string()).unwrap_or_default();
    let row = |slot: &SlotInfo| {
        vec![
            slot.state.as_str().to_owned(),
            number(slot.place),
            slot.slot.clone(),
            slot.run.clone().unwrap_or_default(),
            slot.label.clone().unwrap_or_default(),
            weight(slot, &answer.limit.limit),
            number(slot.fence),
            number(slot.queued_at),
            number(slot.granted_at),
            number(ends_at(slot)),
        ]
    };
    sheet.rows = answer.holders.iter().chain(&answer.queue).map(row).collect();
    sheet
}
