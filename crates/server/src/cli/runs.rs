//! `maitred runs …`: what runs hold and wait for.

mod release;

use clap::{Args, Subcommand};
use maitred_api::{
    Answer, Call, RunAnswer, RunFilter, RunInfo, RunState, RunsAnswer, RunsFields, SlotInfo, SlotState,
};

use crate::cli::{
    complete, exit,
    failure::Failure,
    limits::ends_at,
    output::{self, Sheet},
    session::{ConnectOptions, Session, Why},
    text,
};

const PAGE: u32 = 1_000;

#[derive(Args, Debug)]
#[command(after_help = HELP)]
pub struct RunsArgs {
    #[command(subcommand)]
    verb: RunsVerb,
    #[command(flatten)]
    pub connect: ConnectOptions,
}

#[derive(Subcommand, Debug)]
enum RunsVerb {
    /// Every run that holds or waits for something, or those that are asked for
    #[command(after_help = LIST_HELP)]
    List(ListArgs),
    /// One run: its slots and its places
    #[command(after_help = SHOW_HELP)]
    Show {
        /// Its id
        run: String,
    },
    /// Give back every slot that a run holds, when its releases got lost
    #[command(after_help = RELEASE_HELP)]
    Release {
        /// Its id
        run: String,
        /// Do not ask
        #[arg(long)]
        yes: bool,
        #[command(flatten)]
        why: Why,
    },
    /// Start a run of a workflow that the server hosts
    #[command(after_help = START_HELP)]
    Start {
        /// The workflow
        workflow: String,
        /// The run's id [default: one that is made up]
        run: Option<String>,
        /// What it is given, as JSON
        #[arg(long, value_name = "JSON", default_value = "null")]
        input: String,
    },
    /// Cancel a run that the server hosts: it leaves every queue
    #[command(after_help = CANCEL_HELP)]
    Cancel {
        /// Its id
        run: String,
    },
}

#[derive(clap::Args, Debug)]
struct ListArgs {
    /// Runs that hold or wait for a slot of this limit only
    #[arg(long, value_name = "LIMIT", add = complete::limits())]
    limit: Option<String>,
    /// Runs whose id, workflow, label or limits have this in them
    #[arg(long, value_name = "TEXT")]
    text: Option<String>,
    /// Runs that wait, that hold, or that have ended and still hold
    #[arg(long, value_name = "waiting|holding|ended", value_parser = filter)]
    only: Option<RunFilter>,
}

fn filter(text: &str) -> Result<RunFilter, String> {
    let known =
        [("waiting", RunFilter::Waiting), ("holding", RunFilter::Holding), ("ended", RunFilter::Ended)];
    let found = known.into_iter().find(|(name, _)| *name == text);
    found.map(|(_, filter)| filter).ok_or_else(|| "allowed: waiting, holding, ended".to_owned())
}

const START_HELP: &str = "\
Examples, at a server that was started with `maitred dev --example workflows`:
  maitred runs start place_call call-81 --input '{\"callId\":\"ana\"}'
  maitred runs start call_ended --input '{\"slotId\":\"wf/call-81/1/1\"}'
  maitred runs start export_report --input '{\"reportId\":\"november\"}'
  maitred runs cancel call-82

The same id again starts nothing anew. In a pipe it prints the run's id.";

const CANCEL_HELP: &str = "\
Examples:
  maitred runs cancel call-82

Only what the server hosts can be cancelled here (`maitred dev --example workflows`). Of any other
run its own engine is the one to ask; what it holds is given back by: maitred runs release.";

const HELP: &str = "\
Examples:
  maitred runs list
  maitred runs show order-4711
  maitred runs release order-4711";

const RELEASE_HELP: &str = "\
Examples:
  maitred runs release order-4711
  maitred runs release order-4711 --yes --reason 'its worker is gone'

It asks first, with the slots; off a terminal it wants --yes (else exit status 5). What the run
waits for stays in the queue. The work itself is not stopped.";

const LIST_HELP: &str = "\
Examples:
  maitred runs list
  maitred runs list --only waiting --limit voice-calls
  maitred runs list --only ended               # over, and still holding

In a pipe, tab-separated: run, slots it holds, slots it waits for, places in flight, hits that are
given back if it does not succeed, status (running while it waits; of runs that the server hosts, as
they are), workflow.";

const SHOW_HELP: &str = "\
Examples:
  maitred runs show order-4711
  maitred runs show order-4711 --json

In a pipe, tab-separated: kind (slot, place, or of a step: hook, step, timer, run), state, id of the
slot, task of the place or name of the step, limits or the key (its first letters), ends at (of a
step: ended at; ms since 1970). A run that holds nothing, waits for nothing and did not lately is
not known (exit status 3).";

pub async fn run(args: RunsArgs) -> Result<u8, Failure> {
    let session = Session::open(&args.connect)?;
    match args.verb {
        RunsVerb::List(args) => list(&session, args).await,
        RunsVerb::Show { run } => show(&session, run).await,
        RunsVerb::Release { run, yes, why } => release::run(&session.by_hand(&why), &run, yes).await,
        RunsVerb::Start { workflow, run, input } => start(&session, workflow, run, &input).await,
        RunsVerb::Cancel { run } => cancel(&session, run).await,
    }
}

async fn list(session: &Session, args: ListArgs) -> Result<u8, Failure> {
    let ListArgs { limit, text, only } = args;
    let wanted = RunsFields { limit, text, only, most: Some(PAGE), ..RunsFields::default() };
    let mut all = RunsAnswer { runs: Vec::new(), next: None, revision: 0, as_of: 0 };
    loop {
        let fields = RunsFields { after: all.next.take(), ..wanted.clone() };
        let page = match session.call(Call::Runs(fields)).await {
            Ok(Answer::Runs(page)) => page,
            other => return Err(session.failed(other, None).await),
        };
        all.runs.extend(page.runs);
        all = RunsAnswer { runs: all.runs, ..page };
        if all.next.is_none() {
            break;
        }
    }
    session.out.print(
        &all,
        || sheet(&["RUN", "HOLDS", "WAITS", "PLACES", "HITS", "STATUS", "WORKFLOW"], &all.runs, "-"),
        || sheet(&["run", "holds", "waits", "places", "hits", "status", "workflow"], &all.runs, ""),
    );
    if all.runs.is_empty() && session.out.for_people() {
        let such = if wanted.is_filtered() { "such run" } else { "run" };
        output::note(&format!(
            "no {such} holds or waits for anything in namespace `{}`",
            session.namespace()
        ));
    }
    Ok(exit::OK)
}

fn sheet(names: &[&'static str], runs: &[RunInfo], none: &'static str) -> Sheet {
    let mut sheet = Sheet::new(names);
    let row = |run: &RunInfo| {
        let waits = run.slots.iter().filter(|slot| slot.state == SlotState::Queued).count();
        let numbers = [(run.slots.len() - waits) as u64, waits as u64, run.places.len() as u64, run.hits];
        let status = run.status.map_or(none, RunState::as_str).to_owned();
        let after = [status, run.workflow.clone().unwrap_or_else(|| none.to_owned())];
        [run.run.clone()].into_iter().chain(numbers.iter().map(u64::to_string)).chain(after).collect()
    };
    sheet.rows = runs.iter().map(row).collect();
    sheet
}

async fn show(session: &Session, run: String) -> Result<u8, Failure> {
    let answer = asked(session, Call::Run { run }).await?;
    if answer.run.is_nothing() {
        let name = &answer.run.run;
        let failure =
            Failure::new(exit::NOT_FOUND, format!("run `{name}` holds nothing and waits for nothing"));
        return Err(failure.hint(format!("what it held: maitred history --run {name}")));
    }
    tell(session, &answer)
}

async fn start(session: &Session, workflow: String, run: Option<String>, input: &str) -> Result<u8, Failure> {
    let input = serde_json::from_str(input)
        .map_err(|error| Failure::new(exit::USAGE, format!("--input is no JSON: {error}")))?;
    let run = run.unwrap_or_else(|| uuid::Uuid::now_v7().to_string());
    let answer = asked(session, Call::StartRun { run, workflow, input }).await?;
    let run = &answer.run.run;
    let sheet = |name| {
        let mut sheet = Sheet::new(&[name]);
        sheet.rows = vec![vec![run.clone()]];
        sheet
    };
    session.out.print(&answer, || sheet("RUN"), || sheet("run"));
    if session.out.for_people() {
        output::note(&format!("how it stands: maitred runs show {run}"));
    }
    Ok(exit::OK)
}

/// It is cancelled when its engine has its next turn, so what is answered is often still how it stood before.
async fn cancel(session: &Session, run: String) -> Result<u8, Failure> {
    let answer = asked(session, Call::CancelRun { run }).await?;
    tell(session, &answer)?;
    if session.out.for_people() && answer.run.status == Some(RunState::Running) {
        output::note("it is being cancelled");
    }
    Ok(exit::OK)
}

async fn asked(session: &Session, call: Call) -> Result<RunAnswer, Failure> {
    match session.call(call).await {
        Ok(Answer::Run(answer)) => Ok(answer),
        other => Err(session.failed(other, None).await),
    }
}

fn tell(session: &Session, answer: &RunAnswer) -> Result<u8, Failure> {
    session.out.print(answer, || for_people(answer), || for_pipes(answer));
    if session.out.for_people() {
        let RunInfo { run, status, workflow, output, .. } = &answer.run;
        let status = status.map(RunState::as_str);
        let of = workflow.as_ref().map(|workflow| format!(" of {workflow}")).unwrap_or_default();
        let output = output.as_ref().map(|output| format!(": {output}")).unwrap_or_default();
        if let Some(status) = status {
            output::note(&format!("run {run}{of} is {status}{output}"));
        }
    }
    Ok(exit::OK)
}

fn limits(slot: &SlotInfo) -> String {
    slot.limits.iter().map(|share| share.limit.as_str()).collect::<Vec<_>>().join("+")
}

fn for_people(answer: &RunAnswer) -> Sheet {
    let left =
        |at: Option<u64>| at.map_or_else(String::new, |at| text::span(at.saturating_sub(answer.as_of)));
    let mut sheet = Sheet::new(&["KIND", "STATE", "WHAT", "OF", "ENDS IN"]);
    let since = |at: Option<u64>| {
        at.map_or_else(String::new, |at| format!("{} ago", text::span(answer.as_of.saturating_sub(at))))
    };
    sheet.rows = rows(answer, left, since);
    sheet
}

fn for_pipes(answer: &RunAnswer) -> Sheet {
    let mut sheet = Sheet::new(&["kind", "state", "what", "of", "ends_at"]);
    let at = |at: Option<u64>| at.map(|at| at.to_string()).unwrap_or_default();
    sheet.rows = rows(answer, at, at);
    sheet
}

fn rows(
    answer: &RunAnswer,
    end: impl Fn(Option<u64>) -> String,
    ended: impl Fn(Option<u64>) -> String,
) -> Vec<Vec<String>> {
    let slots = answer.run.slots.iter().map(|slot| {
        let state = slot.state.as_str().to_owned();
        vec!["slot".to_owned(), state, slot.slot.clone(), limits(slot), end(ends_at(slot))]
    });
    let places = answer.run.places.iter().map(|place| {
        let end = end(Some(place.expires_at));
        vec!["place".to_owned(), "in_flight".to_owned(), place.task.clone(), place.key.clone(), end]
    });
    let steps = answer.run.steps.iter().map(|step| {
        let (kind, state) = (step.kind.as_str().to_owned(), step.state.as_str().to_owned());
        vec![kind, state, step.name.clone(), step.limit.clone().unwrap_or_default(), ended(step.ended_at)]
    });
    slots.chain(places).chain(steps).collect()
}
