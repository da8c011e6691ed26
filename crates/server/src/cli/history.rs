//! `maitred history` and `maitred audit`: what ended and what was changed, by whom and why.

use clap::Args;
use maitred_api::{Answer, AuditAnswer, AuditEntry, AuditFields, Call, EndedSlot, HistoryAnswer, Reach};

use crate::cli::{
    complete, exit,
    failure::Failure,
    output::{self, Sheet},
    session::{ConnectOptions, Session},
    text,
};

/// What an act may be.
const ACTS: [&str; 9] =
    ["declared", "retired", "gone", "capacity", "max_hold", "paused", "resumed", "rate_reset", "released"];
/// The most that one call answers.
const PAGE: u32 = 1_000;

#[derive(Args, Debug)]
#[command(after_help = HISTORY_HELP)]
pub struct HistoryArgs {
    /// Slots of this limit only
    #[arg(add = complete::limits())]
    limit: Option<String>,
    /// This slot only
    #[arg(long, value_name = "ID")]
    slot: Option<String>,
    /// Slots of this run only
    #[arg(long, value_name = "RUN")]
    run: Option<String>,
    /// Slots with this label only
    #[arg(long, value_name = "LABEL")]
    label: Option<String>,
    #[command(flatten)]
    most: Most,
    #[command(flatten)]
    pub connect: ConnectOptions,
}

#[derive(Args, Debug)]
#[command(after_help = AUDIT_HELP)]
pub struct AuditArgs {
    /// Acts on this limit only
    #[arg(long, value_name = "LIMIT", add = complete::limits())]
    limit: Option<String>,
    /// Acts of this kind only
    #[arg(long, value_name = "ACT", value_parser = ACTS)]
    act: Option<String>,
    /// Acts by somebody whose name has this in it
    #[arg(long, value_name = "NAME")]
    by: Option<String>,
    #[command(flatten)]
    most: Most,
    #[command(flatten)]
    pub connect: ConnectOptions,
}

#[derive(Args, Clone, Copy, Debug)]
struct Most {
    /// How many at the most
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    most: u32,
}

const HISTORY_HELP: &str = "\
Examples:
  maitred history voice-calls
  maitred history --run order-4711
  maitred history --most 1000 | awk -F'\\t' '$2 == \"expired\"'     # whose release got lost

Newest first. In a pipe, tab-separated: ended at (ms since 1970), state, slot, run, label, limits,
waited (ms), held (ms), fence, by, reason. The history is filled behind the journal and bounded by
age and rows; how far it reaches is told on stderr.";

const AUDIT_HELP: &str = "\
Examples:
  maitred audit
  maitred audit --limit voice-calls
  maitred audit --act released --by ana
  maitred audit --most 1000 --json

Newest first. A release is an act when it says why, as `maitred limits release` always does; the slot stands as what was before. In a pipe, tab-separated: at (ms since 1970), act, target, before, after, by, reason.";

pub async fn history(args: HistoryArgs) -> Result<u8, Failure> {
    let session = Session::open(&args.connect)?;
    let mut all = HistoryAnswer { ends: Vec::new(), next: None, reach: Reach::default() };
    loop {
        let call = Call::History {
            limit: args.limit.clone(),
            slot: args.slot.clone(),
            run: args.run.clone(),
            label: args.label.clone(),
            before: all.next.take(),
            most: Some((args.most.most - all.ends.len() as u32).min(PAGE)),
        };
        let page = match session.call(call).await {
            Ok(Answer::History(page)) => page,
            other => return Err(session.failed(other, None).await),
        };
        all.ends.extend(page.ends);
        (all.next, all.reach) = (page.next, page.reach);
        if all.next.is_none() || all.ends.len() as u32 >= args.most.most {
            break;
        }
    }
    session.out.print(&all, || ends_for_people(&all.ends), || ends_for_pipes(&all.ends));
    note_reach(&session, &all.reach, all.ends.len(), all.next.is_some());
    Ok(exit::OK)
}

pub async fn audit(args: AuditArgs) -> Result<u8, Failure> {
    let session = Session::open(&args.connect)?;
    let mut all = AuditAnswer { acts: Vec::new(), next: None, reach: Reach::default() };
    loop {
        let most = Some((args.most.most - all.acts.len() as u32).min(PAGE));
        let fields = AuditFields {
            limit: args.limit.clone(),
            act: args.act.clone(),
            by: args.by.clone(),
            before: all.next.take(),
            most,
            ..AuditFields::default()
        };
        let page = match session.call(Call::Audit(fields)).await {
            Ok(Answer::Audit(page)) => page,
            other => return Err(session.failed(other, None).await),
        };
        all.acts.extend(page.acts);
        (all.next, all.reach) = (page.next, page.reach);
        if all.next.is_none() || all.acts.len() as u32 >= args.most.most {
            break;
        }
    }
    session.out.print(&all, || acts_for_people(&all.acts), || acts_for_pipes(&all.acts));
    note_reach(&session, &all.reach, all.acts.len(), all.next.is_some());
    Ok(exit::OK)
}

/// What is not in the list, so that nobody takes a gap for proof.
fn note_reach(session: &Session, reach: &Reach, shown: usize, more: bool) {
    if session.out.json {
        return;
    }
    if more {
        output::note(&format!("the newest {shown} are shown; there may be more: --most {}", shown * 10));
    }
    if let Some(trouble) = &reach.trouble {
        output::note(&format!("the history is not being filled: {trouble}"));
    }
    if reach.lag > 0 {
        output::note(&format!("the history is {} behind", text::count(reach.lag as usize, "record")));
    }
    if shown == 0 && session.out.for_people() {
        let since =
            if reach.since > 0 { format!(" since {}", text::moment(reach.since)) } else { String::new() };
        output::note(&format!("the history has nothing of this{since}"));
    }
}

fn ends_for_people(ends: &[EndedSlot]) -> Sheet {
    let mut sheet = Sheet::new(&["ENDED", "STATE", "SLOT", "RUN", "LABEL", "WAITED", "HELD", "BY", "WHY"]);
    let or_dash = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".to_owned());
    let row = |end: &EndedSlot| {
        vec![
            text::moment(end.ended_at),
            end.state.as_str().replace('_', " "),
            end.slot.clone(),
            or_dash(&end.run),
            or_dash(&end.label),
            text::span(end.waited_ms),
            end.held_ms.map_or_else(|| "-".to_owned(), text::span),
            or_dash(&end.by),
            end.reason.clone().unwrap_or_default(),
        ]
    };
    sheet.rows = ends.iter().map(row).collect();
    sheet
}

fn ends_for_pipes(ends: &[EndedSlot]) -> Sheet {
    let mut sheet = Sheet::new(&[
        "ended_at",
        "state",
        "slot",
        "run",
        "label",
        "limits",
        "waited_ms",
        "held_ms",
        "fence",
        "by",
        "reason",
    ]);
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    let number = |number: Option<u64>| number.map(|number| number.to_string()).unwrap_or_default();
    let row = |end: &EndedSlot| {
        let shares = end.limits.iter().map(|share| match share.weight {
            1 => share.limit.clone(),
            weight => format!("{}*{weight}", share.limit),
        });
        vec![
            end.ended_at.to_string(),
            end.state.as_str().to_owned(),
            end.slot.clone(),
            text(&end.run),
            text(&end.label),
            shares.collect::<Vec<_>>().join("+"),
            end.waited_ms.to_string(),
            number(end.held_ms),
            number(end.fence),
            text(&end.by),
            text(&end.reason),
        ]
    };
    sheet.rows = ends.iter().map(row).collect();
    sheet
}

fn acts_for_people(acts: &[AuditEntry]) -> Sheet {
    let mut sheet = Sheet::new(&["WHEN", "ACT", "TARGET", "BEFORE", "AFTER", "BY", "WHY"]);
    let or_dash = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".to_owned());
    let row = |act: &AuditEntry| {
        vec![
            text::moment(act.at),
            act.act.clone(),
            act.target.clone(),
            or_dash(&act.before),
            or_dash(&act.after),
            act.by.clone().unwrap_or_else(|| "the limiter".to_owned()),
            act.reason.clone().unwrap_or_default(),
        ]
    };
    sheet.rows = acts.iter().map(row).collect();
    sheet
}

fn acts_for_pipes(acts: &[AuditEntry]) -> Sheet {
    let mut sheet = Sheet::new(&["at", "act", "target", "before", "after", "by", "reason"]);
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    let row = |act: &AuditEntry| {
        vec![
            act.at.to_string(),
            act.act.clone(),
            act.target.clone(),
            text(&act.before),
            text(&act.after),
            text(&act.by),
            text(&act.reason),
        ]
    };
    sheet.rows = acts.iter().map(row).collect();
    sheet
}
