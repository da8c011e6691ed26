//! `maitred explain`: why something waits, who is ahead, who holds, and when it can go on.

use clap::Args;
use maitred_api::{
    Answer, Block, Call, EndedSlot, ExplainAnswer, ExplainedKind, ExplainedLimit, ExplainedSlot,
};

use crate::cli::{
    exit,
    failure::Failure,
    output::Sheet,
    session::{ConnectOptions, Session},
    text,
};

#[derive(Args, Debug)]
#[command(after_help = HELP)]
pub struct ExplainArgs {
    /// The id of a slot, else a run, else a label
    #[arg(value_name = "SLOT|RUN|LABEL")]
    what: String,
    #[command(flatten)]
    pub connect: ConnectOptions,
}

const HELP: &str = "\
Examples:
  maitred explain 0198f3c2-…
  maitred explain order-4711 --json
  maitred explain run-7 | awk -F'\\t' '$6 == \"full\"'

What has ended is explained from the history. In a pipe, tab-separated, one line for each limit of
each slot: slot, state, limit, place in the queue, waiting, block (none, full, paused, too_small,
behind), used, capacity, weight, and in ms since 1970 when its next place comes back at the latest.
A name that nobody knows is exit status 3.";

pub async fn run(args: ExplainArgs) -> Result<u8, Failure> {
    let session = Session::open(&args.connect)?;
    let answer = match session.call(Call::Explain { what: args.what.clone() }).await {
        Ok(Answer::Explain(answer)) => answer,
        other => return Err(session.failed(other, None).await),
    };
    if answer.kind == ExplainedKind::Unknown {
        let namespace = session.namespace();
        let message = format!("no slot, run or label `{}` is known in namespace `{namespace}`", args.what);
        let failure = Failure::new(exit::NOT_FOUND, message);
        return Err(failure
            .hint("who holds what: maitred limits slots LIMIT")
            .hint("what ended: maitred history"));
    }
    session.out.tell(&answer, || story(&answer), || facts(&answer));
    Ok(exit::OK)
}

/// In words: the answer, then each slot of several, then who holds what blocks.
fn story(answer: &ExplainAnswer) -> Vec<String> {
    let mut lines = vec![answer.text.clone()];
    if answer.slots.len() > 1 {
        lines.extend(answer.slots.iter().map(|slot| format!("  {}: {}", slot.slot.slot, slot.text)));
    }
    let waiting =
        answer.slots.iter().flat_map(|slot| &slot.waits_for).filter(|limit| limit.block != Block::None);
    lines.extend(waiting.flat_map(|limit| holders(limit, answer.as_of)));
    lines.extend(answer.ended.iter().map(|end| ended(end, answer.as_of)));
    lines
}

fn holders(limit: &ExplainedLimit, as_of: u64) -> Vec<String> {
    let line = |holder: &maitred_api::SlotInfo| {
        let who = match &holder.label {
            Some(label) if *label != holder.slot => format!("{label} ({})", holder.slot),
            _ => holder.slot.clone(),
        };
        let run = holder.run.as_ref().map(|run| format!(" of run {run}")).unwrap_or_default();
        let ended = holder.run_ended_at.map(|at| text::span(as_of.saturating_sub(at)));
        let ended = ended.map(|ago| format!(", which ended {ago} ago")).unwrap_or_default();
        let left = holder.expires_at.or(holder.lapses_at).map(|at| text::span(at.saturating_sub(as_of)));
        let left = left.map(|left| format!(", back in {left} at the latest")).unwrap_or_default();
        format!("  {who} holds {}{run}{ended}{left}", limit.limit)
    };
    limit.holders.iter().map(line).collect()
}

fn ended(end: &EndedSlot, as_of: u64) -> String {
    let ago = text::span(as_of.saturating_sub(end.ended_at));
    let held = end.held_ms.map(|held| format!(", held {}", text::span(held))).unwrap_or_default();
    let by = end.by.as_ref().map(|by| format!(", by {by}")).unwrap_or_default();
    let why = end.reason.as_ref().map(|why| format!(" ({why})")).unwrap_or_default();
    let state = end.state.as_str().replace('_', " ");
    format!("  {} {state} {ago} ago, waited {}{held}{by}{why}", end.slot, text::span(end.waited_ms))
}

fn facts(answer: &ExplainAnswer) -> Sheet {
    let mut sheet = Sheet::new(&[
        "slot",
        "state",
        "limit",
        "place",
        "waiting",
        "block",
        "used",
        "capacity",
        "weight",
        "next_due_at",
    ]);
    sheet.rows = answer.slots.iter().flat_map(rows).chain(answer.ended.iter().map(end_row)).collect();
    sheet
}

/// A slot that does not wait has one row without a limit.
fn rows(slot: &ExplainedSlot) -> Vec<Vec<String>> {
    let state = slot.slot.state.as_str();
    if slot.waits_for.is_empty() {
        return vec![bare(&slot.slot.slot, state)];
    }
    let row = |limit: &ExplainedLimit| {
        let next = limit.holders.iter().filter_map(|holder| holder.expires_at).min();
        vec![
            slot.slot.slot.clone(),
            state.to_owned(),
            limit.limit.clone(),
            limit.place.to_string(),
            limit.waiting.to_string(),
            block(limit.block).to_owned(),
            limit.used.to_string(),
            limit.capacity.to_string(),
            limit.weight.to_string(),
            next.map(|at| at.to_string()).unwrap_or_default(),
        ]
    };
    slot.waits_for.iter().map(row).collect()
}

fn end_row(end: &EndedSlot) -> Vec<String> {
    bare(&end.slot, end.state.as_str())
}

fn bare(slot: &str, state: &str) -> Vec<String> {
    let mut row = vec![slot.to_owned(), state.to_owned()];
    row.resize(10, String::new());
    row
}

fn block(block: Block) -> &'static str {
    match block {
        Block::None => "none",
        Block::Full => "full",
        Block::Paused => "paused",
        Block::TooSmall => "too_small",
        Block::Behind => "behind",
    }
}

#[cfg(test)]
mod tests {
    use maitred_api::ExplainedLimit;
    use serde_json::json;

    use super::holders;

    #[test]
    fn a_holder_is_named_as_people_know_it() {
        let holder = |label: Option<&str>, run_ended_at: Option<u64>| {
            json!({ "slot": "0198", "state": "busy", "run": "r", "label": label, "run_ended_at": run_ended_at,
                    "expires_at": 400_000 })
        };
        let limit = json!({ "limit": "voice", "weight": 1, "capacity": 2, "used": 2, "place": 1, "waiting": 1,
            "block": "full", "holders": [holder(Some("call 7"), Some(40_000)), holder(None, None)] });
        let limit: ExplainedLimit = serde_json::from_value(limit).expect("a limit that is explained");
        let lines = [
            "  call 7 (0198) holds voice of run r, which ended 1m ago, back in 5m at the latest",
            "  0198 holds voice of run r, back in 5m at the latest",
        ];
        assert_eq!(holders(&limit, 100_000), lines);
    }
}
