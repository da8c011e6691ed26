//! `maitred rates …`: what is counted against keys, and what would come of a call.

mod spec;

use clap::{Args, Subcommand};
use maitred::Client;
use maitred_api::{AdmitFields, Answer, Call, Decision, KeyInfo, KeysAnswer, SpecFields};

use crate::cli::{
    exit,
    failure::Failure,
    output::{self, Sheet},
    session::{ConnectOptions, Session, Why},
    text,
};

const PAGE: u32 = 1_000;

#[derive(Args, Debug)]
#[command(after_help = HELP)]
pub struct RatesArgs {
    #[command(subcommand)]
    verb: RatesVerb,
    #[command(flatten)]
    pub connect: ConnectOptions,
}

#[derive(Subcommand, Debug)]
enum RatesVerb {
    /// Every key that is counted or held
    #[command(after_help = LIST_HELP)]
    List {
        /// Show whole keys, not their first letters: a key can name a person
        #[arg(long)]
        reveal: bool,
    },
    /// One key, even if nothing is counted
    #[command(after_help = SHOW_HELP)]
    Show {
        /// The task
        task: String,
        /// The whole key
        key: String,
    },
    /// Forget what is counted against a key; places in flight stay
    #[command(after_help = RESET_HELP)]
    Reset {
        /// The task
        task: String,
        /// The whole key
        key: String,
        #[command(flatten)]
        why: Why,
    },
    /// What would come of a call, without counting anything
    #[command(after_help = PREVIEW_HELP)]
    Preview {
        /// The task
        task: String,
        /// `key=…,limit=N,window=60s` for a rate, without `window` for places in flight
        #[arg(required = true, value_name = "SPEC", value_parser = spec::parse)]
        specs: Vec<SpecFields>,
        /// The run that asks, where a spec is for places in flight
        #[arg(long, value_name = "RUN")]
        run: Option<String>,
    },
}

const HELP: &str = "\
Examples:
  maitred rates list
  maitred rates show describe-image user=7
  maitred rates preview describe-image key=user=7,limit=20,window=60s";

const LIST_HELP: &str = "\
Examples:
  maitred rates list
  maitred rates list --reveal | sort -t'\t' -k3nr | head

In a pipe, tab-separated: task, key, used, window ends at (ms since 1970), in flight.";

const SHOW_HELP: &str = "\
Examples:
  maitred rates show describe-image user=7
  maitred rates show describe-image user=7 --json";

const RESET_HELP: &str = "\
Examples:
  maitred rates reset describe-image user=7 --reason 'their first day'
  maitred rates show describe-image user=7";

const PREVIEW_HELP: &str = "\
Examples:
  maitred rates preview describe-image key=user=7,limit=20,window=60s
  maitred rates preview describe-image key=user=7,limit=1 key=all,limit=100,window=1h --run r1

In a SPEC stand key, limit, and where wanted window, cost and label. In a pipe, tab-separated, one
line a spec: verdict (allowed or over), used, limit, remaining, resets in (s), label. Exit status 5
if a call would be refused.";

pub async fn run(args: RatesArgs) -> Result<u8, Failure> {
    let session = Session::open(&args.connect)?;
    match args.verb {
        RatesVerb::List { reveal } => list(&session, reveal).await,
        RatesVerb::Show { task, key } => show(&session, task, key).await,
        RatesVerb::Reset { task, key, why } => reset(&session.because(&why), task, key).await,
        RatesVerb::Preview { task, specs, run } => preview(&session, task, specs, run).await,
    }
}

async fn list(session: &Session, reveal: bool) -> Result<u8, Failure> {
    let mut all = KeysAnswer { keys: Vec::new(), next: None, revision: 0, as_of: 0 };
    loop {
        let call = Call::Keys { task: None, key: None, after: all.next.take(), most: Some(PAGE) };
        let page = keys(session, call, reveal).await?;
        all.keys.extend(page.keys);
        all = KeysAnswer { keys: all.keys, ..page };
        if all.next.is_none() {
            break;
        }
    }
    print(session, &all);
    if all.keys.is_empty() && session.out.for_people() {
        output::note(&format!("nothing is counted or held in namespace `{}`", session.namespace()));
    }
    Ok(exit::OK)
}

async fn show(session: &Session, task: String, key: String) -> Result<u8, Failure> {
    let call = Call::Keys { task: Some(task), key: Some(key), after: None, most: None };
    print(session, &keys(session, call, false).await?);
    Ok(exit::OK)
}

async fn keys(session: &Session, call: Call, reveal: bool) -> Result<KeysAnswer, Failure> {
    let outcome = match &session.client {
        Client::Far(far) if reveal => far.call_revealing(&session.context, call).await,
        client => client.call(&session.context, call).await,
    };
    match outcome {
        Ok(Answer::Keys(answer)) => Ok(answer),
        other => Err(session.failed(other, None).await),
    }
}

fn print(session: &Session, answer: &KeysAnswer) {
    let people = || {
        let mut sheet = Sheet::new(&["TASK", "KEY", "USED", "RESETS IN", "IN FLIGHT"]);
        sheet.rows = answer
            .keys
            .iter()
            .map(|info| row(info, |window| text::span(window.resets_in_s * 1000)))
            .collect();
        sheet
    };
    let pipes = || {
        let mut sheet = Sheet::new(&["task", "key", "used", "ends_at", "in_flight"]);
        sheet.rows = answer.keys.iter().map(|info| row(info, |window| window.ends_at.to_string())).collect();
        sheet
    };
    session.out.print(answer, people, pipes);
}

fn row(info: &KeyInfo, end: impl Fn(&maitred_api::WindowInfo) -> String) -> Vec<String> {
    let used = info.window.as_ref().map_or(0, |window| window.used);
    vec![
        info.task.clone(),
        info.key.clone(),
        used.to_string(),
        info.window.as_ref().map(end).unwrap_or_default(),
        info.in_flight.to_string(),
    ]
}

async fn reset(session: &Session, task: String, key: String) -> Result<u8, Failure> {
    match session.call(Call::ResetRate { task: task.clone(), key: key.clone() }).await {
        Ok(Answer::Done(_)) => show(session, task, key).await,
        other => Err(session.failed(other, None).await),
    }
}

async fn preview(
    session: &Session,
    task: String,
    specs: Vec<SpecFields>,
    run: Option<String>,
) -> Result<u8, Failure> {
    let fields = AdmitFields { task, run, specs, check: true, enforce: false };
    let decision = match session.call(Call::Admit(fields)).await {
        Ok(Answer::Decision(decision)) => decision,
        other => return Err(session.failed(other, None).await),
    };
    session.out.print(&decision, || verdict(&decision), || verdicts(&decision));
    Ok(if decision.over_limit { exit::REFUSED } else { exit::OK })
}

fn verdict(decision: &Decision) -> Sheet {
    let told = match (decision.over_limit, decision.retry_after_seconds) {
        (false, _) => "a call would be allowed now".to_owned(),
        (true, 0) => "a call would be refused: a place frees when a running task finishes".to_owned(),
        (true, seconds) => format!("a call would be refused; try again in {}", text::span(seconds * 1000)),
    };
    let used = if decision.over_limit { "used" } else { "would then be used" };
    let mut rows = vec![vec![told]];
    rows.extend(decision.results.iter().enumerate().map(|(at, result)| {
        let name = result.label.clone().unwrap_or_else(|| format!("spec {}", at + 1));
        let over = if result.over { ", over" } else { "" };
        let reset = match result.reset_seconds {
            0 => String::new(),
            seconds => format!(", resets in {}", text::span(seconds * 1000)),
        };
        vec![format!("  {name}: {} of {} {used}{reset}{over}", result.used, result.limit)]
    }));
    Sheet { names: vec![""], rows }
}

fn verdicts(decision: &Decision) -> Sheet {
    let mut sheet = Sheet::new(&["verdict", "used", "limit", "remaining", "resets_in_s", "label"]);
    let row = |result: &maitred_api::SpecResult| {
        vec![
            if result.over { "over" } else { "allowed" }.to_owned(),
            result.used.to_string(),
            result.limit.to_string(),
            result.remaining.to_string(),
            result.reset_seconds.to_string(),
            result.label.clone().unwrap_or_default(),
        ]
    };
    sheet.rows = decision.results.iter().map(row).collect();
    sheet
}
