//! What a shell is offered at the tab key: the command line's own words, and names that only the server knows.
//!
//! The script of `maitred completions` calls this binary back at every tab, with the words typed so far behind `--`. A
//! server that does not answer at once is done without: nobody waits at a prompt.

use std::{ffi::OsStr, path::PathBuf, time::Duration};

use clap::{Command, builder::StyledStr};
use clap_complete::{
    CompleteEnv,
    engine::{ArgValueCompleter, CompletionCandidate},
    env::Shells,
};

use crate::{
    cli::{
        agents::Agents,
        session::{ConnectOptions, Session},
    },
    deploy,
};

/// Set by the script when it calls back.
const VARIABLE: &str = "MAITRED_COMPLETE";
const WITHIN: Duration = Duration::from_millis(300);

/// Answers a shell and ends the process, if it is a shell that asks.
pub fn answer(command: fn() -> Command) {
    CompleteEnv::with_factory(command).var(VARIABLE).complete();
}

/// What a shell must run once, by its name.
pub fn script(shell: &str) -> Option<Vec<u8>> {
    let mut script = Vec::new();
    let known = Shells::builtins();
    let written =
        known.completer(shell)?.write_registration(VARIABLE, "maitred", "maitred", "maitred", &mut script);
    written.ok().map(|()| script)
}

/// Offers the limits of the server that the line so far is about.
pub fn limits() -> ArgValueCompleter {
    ArgValueCompleter::new(|typed: &OsStr| beginning_with(typed, ask()))
}

/// Offers the agents of this user.
pub fn agents() -> ArgValueCompleter {
    ArgValueCompleter::new(|typed: &OsStr| {
        let agents = Agents::read().map(|all| all.agents).unwrap_or_default();
        beginning_with(typed, agents.into_iter().map(|(name, agent)| (name, agent.url.unwrap_or_default())))
    })
}

fn beginning_with(
    typed: &OsStr,
    all: impl IntoIterator<Item = (String, String)>,
) -> Vec<CompletionCandidate> {
    let typed = typed.to_string_lossy();
    let fitting = all.into_iter().filter(|(name, _)| name.starts_with(&*typed));
    fitting.map(|(name, help)| CompletionCandidate::new(name).help(Some(StyledStr::from(help)))).collect()
}

/// Each limit with its use.
fn ask() -> Vec<(String, String)> {
    let options = connect(std::env::args().skip_while(|word| word != "--").collect());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let (Ok(session), Ok(runtime)) = (Session::open(&options), runtime) else { return Vec::new() };
    let all = async { deploy::limits(&session.client, &session.context).await };
    let all = runtime.block_on(async { tokio::time::timeout(WITHIN, all).await });
    let limits = all.ok().and_then(Result::ok).unwrap_or_default();
    limits
        .into_iter()
        .map(|limit| (limit.limit, format!("{} of {} busy", limit.busy, limit.capacity)))
        .collect()
}

/// The server's options, from a line that is not finished, so that it cannot be parsed as one.
fn connect(words: Vec<String>) -> ConnectOptions {
    let given = |flag: &str, variable: &str| {
        let long = format!("--{flag}");
        let behind = words.iter().position(|word| *word == long).and_then(|at| words.get(at + 1));
        let within = words.iter().find_map(|word| word.strip_prefix(&long)?.strip_prefix('='));
        let value = behind.map(String::as_str).or(within).map(str::to_owned);
        value.or_else(|| std::env::var(variable).ok()).filter(|value| !value.is_empty())
    };
    ConnectOptions {
        url: given("url", "MAITRED_URL"),
        agent: given("agent", "MAITRED_AGENT"),
        token_file: given("token-file", "").map(PathBuf::from),
        ca: given("ca", "MAITRED_CA").map(PathBuf::from),
        json: false,
        header: false,
    }
}
