//! The command line.
//!
//! Data goes to stdout, talk to stderr. On a terminal answers are aligned columns, in a pipe tab-separated raw
//! values, with `--json` the API's own fields. An error has three parts: what was wrong, what is near to it, what
//! to do next; its kind is the exit status ([`exit`]).

mod acquire;
mod agent;
mod agents;
mod apply;
mod backup;
mod complete;
mod completions;
mod doctor;
mod exit;
mod explain;
mod failure;
mod history;
mod leave;
mod limits;
mod output;
mod plan;
mod progress;
mod rates;
mod release;
mod run;
mod runs;
mod scenario;
mod session;
mod signals;
mod text;
mod token;
mod usage;
mod waiting;

use std::{future::Future, process::ExitCode};

use clap::{CommandFactory, Parser, Subcommand};

use crate::{
    cli::failure::Failure,
    http,
    serve::{self, DevOptions, ServeError, ServeOptions},
};

pub use session::DEFAULT_URL;

/// A durable limiter: how many pieces of one kind of work run at once, and who is next
#[derive(Parser, Debug)]
#[command(name = "maitred", version, after_help = HELP)]
pub struct Cli {
    #[command(subcommand)]
    verb: Verb,
}

const HELP: &str = "\
Examples:
  maitred dev                                # a throw-away server to play with
  maitred limits list                        # busy, waiting, max hold
  maitred run --limit demo -- ./export.sh    # hold a slot while a command runs

The server is found by --url or MAITRED_URL, the namespace by --agent or MAITRED_AGENT,
the token by --token-file or MAITRED_TOKEN.
Exit statuses: maitred help exit-codes";

#[derive(Subcommand, Debug)]
enum Verb {
    /// Run the server
    #[command(after_help = SERVE_HELP)]
    Serve(ServeOptions),
    /// Run a throw-away server with limits to play with
    #[command(after_help = DEV_HELP)]
    Dev(DevOptions),
    /// See and operate limits
    Limits(limits::LimitsArgs),
    /// Take a slot and print its id; the slot outlives the command
    Acquire(acquire::AcquireArgs),
    /// Give a slot back, for scripts
    Release(release::ReleaseArgs),
    /// Take a slot that waits out of the queue, for scripts
    Leave(leave::LeaveArgs),
    /// Hold a slot while a command runs
    Run(run::RunArgs),
    /// Why something waits: who is ahead, who holds, when it can go on
    Explain(explain::ExplainArgs),
    /// What ended: how, by whom, how long it waited and held
    History(history::HistoryArgs),
    /// What was changed about limits: by whom, why, and what it was before
    Audit(history::AuditArgs),
    /// See and reset what is counted against keys
    Rates(rates::RatesArgs),
    /// See what runs hold and wait for, and give it back
    Runs(runs::RunsArgs),
    /// What is wrong, and what to do about it
    Doctor(doctor::DoctorArgs),
    /// Read a data folder to the end: is it whole?
    Verify(backup::VerifyArgs),
    /// Copy the data folder of a server, running or stopped, and check the copy
    Backup(backup::BackupArgs),
    /// Which server to talk to when no flag says
    Agent(agent::AgentArgs),
    /// Completions for a shell
    Completions(completions::CompletionsArgs),
    /// Manual pages
    Man(completions::ManArgs),
    /// Make, list and revoke the tokens of a server
    Token(token::TokenArgs),
    /// Deploy the limits of a file
    Apply(apply::ApplyArgs),
    /// How many permits to give a downstream, and what each number of them does
    Plan(plan::PlanArgs),
    /// Play scenario files: stories about the rules, in virtual time
    Scenario(scenario::ScenarioArgs),
    /// What the exit statuses mean
    #[command(after_help = exit::TABLE)]
    ExitCodes,
    /// Print the OpenAPI document
    #[command(hide = true)]
    Openapi,
}

const SERVE_HELP: &str = "\
Examples:
  maitred serve
  maitred serve --listen 0.0.0.0:7654 --token-file tokens --data /var/lib/maitred
  maitred serve --tls-cert fullchain.pem --tls-key key.pem
  maitred serve --clock manual --data ./rehearsal       # for `maitred scenario --server`";

const DEV_HELP: &str = "\
Examples:
  maitred dev
  maitred dev --open                                    # and see it in a browser
  maitred dev --listen 127.0.0.1:8000 --config limits.toml
  maitred dev --example workflows                       # with runs: maitred runs start --help";

/// Reads the command line, does what it says, and tells the exit status.
pub fn main() -> ExitCode {
    complete::answer(Cli::command);
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return usage::refuse(&error),
    };
    let json = cli.verb.wants_json();
    match cli.verb.run() {
        Ok(status) => ExitCode::from(status),
        Err(failure) => {
            failure.print(json);
            ExitCode::from(failure.exit)
        }
    }
}

impl Verb {
    fn wants_json(&self) -> bool {
        match self {
            Verb::Limits(args) => args.wants_json(),
            Verb::Acquire(args) => args.connect.json,
            Verb::Release(args) => args.connect.json,
            Verb::Leave(args) => args.connect.json,
            Verb::Run(args) => args.connect.json,
            Verb::Explain(args) => args.connect.json,
            Verb::History(args) => args.connect.json,
            Verb::Audit(args) => args.connect.json,
            Verb::Rates(args) => args.connect.json,
            Verb::Runs(args) => args.connect.json,
            Verb::Doctor(args) => args.connect.json,
            Verb::Verify(args) => args.form.json,
            Verb::Backup(args) => args.form.json,
            Verb::Agent(args) => args.json,
            Verb::Token(args) => args.json,
            Verb::Apply(args) => args.connect.json,
            Verb::Plan(args) => args.json,
            Verb::Scenario(args) => args.json,
            Verb::Serve(_)
            | Verb::Dev(_)
            | Verb::ExitCodes
            | Verb::Openapi
            | Verb::Completions(_)
            | Verb::Man(_) => false,
        }
    }

    fn run(self) -> Result<u8, Failure> {
        match self {
            Verb::Serve(options) => serve::serve(options).map(|()| exit::OK).map_err(not_served),
            Verb::Dev(options) => serve::dev(options).map(|()| exit::OK).map_err(not_served),
            Verb::Limits(args) => block_on(limits::run(args)),
            Verb::Acquire(args) => block_on(acquire::run(args)),
            Verb::Release(args) => block_on(release::from_args(args)),
            Verb::Leave(args) => block_on(leave::run(args)),
            Verb::Run(args) => block_on(run::run(args)),
            Verb::Explain(args) => block_on(explain::run(args)),
            Verb::History(args) => block_on(history::history(args)),
            Verb::Audit(args) => block_on(history::audit(args)),
            Verb::Rates(args) => block_on(rates::run(args)),
            Verb::Runs(args) => block_on(runs::run(args)),
            Verb::Doctor(args) => block_on(doctor::run(args)),
            Verb::Verify(args) => backup::verify(&args),
            Verb::Backup(args) => backup::backup(&args),
            Verb::Agent(args) => agent::run(args),
            Verb::Completions(args) => completions::completions(&args),
            Verb::Man(args) => completions::man(&args, Cli::command()),
            Verb::Token(args) => token::run(args),
            Verb::Apply(args) => block_on(apply::run(args)),
            Verb::Plan(args) => plan::run(&args),
            Verb::Scenario(args) => block_on(scenario::run(args)),
            Verb::ExitCodes => Ok(print(exit::TABLE)),
            Verb::Openapi => Ok(print(http::openapi_json().trim_end())),
        }
    }
}

fn print(text: &str) -> u8 {
    output::raw(format!("{text}\n").as_bytes());
    exit::OK
}

fn block_on(work: impl Future<Output = Result<u8, Failure>>) -> Result<u8, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Failure::new(exit::FAILED, format!("no runtime: {error}")))?;
    runtime.block_on(work)
}

fn not_served(error: ServeError) -> Failure {
    let status = match &error {
        ServeError::OpenToAll(_)
        | ServeError::NoExample
        | ServeError::Config(_)
        | ServeError::Token(_)
        | ServeError::Tls(_)
        | ServeError::Log(_) => exit::USAGE,
        _ => exit::FAILED,
    };
    Failure::new(status, error.to_string())
}
