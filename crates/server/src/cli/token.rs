//! `maitred token …`: who may ask a server for what. Works on the data folder; a running server reads it again.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use serde::Serialize;

use crate::{
    cli::{
        exit,
        failure::Failure,
        output::{self, Output, Sheet},
        text,
    },
    token::{
        Role, TokenError,
        kept::{self, KeptToken},
    },
};

#[derive(Args, Debug)]
#[command(after_help = HELP)]
pub struct TokenArgs {
    #[command(subcommand)]
    verb: TokenVerb,
    /// The data folder of the server
    #[arg(long, global = true, value_name = "FOLDER", env = "MAITRED_DATA", default_value = "maitred-data")]
    data: PathBuf,
    /// Print JSON; errors as JSON on stderr
    #[arg(long, global = true, help_heading = "Output")]
    pub json: bool,
    /// Print the names of columns in a pipe too
    #[arg(long, global = true, help_heading = "Output")]
    header: bool,
}

#[derive(Subcommand, Debug)]
enum TokenVerb {
    /// Make a token and print it, this once
    #[command(after_help = CREATE_HELP)]
    Create {
        /// Stands in the record as the one who asked: 1 to 64 of A-Z a-z 0-9 . _ -
        #[arg(value_parser = name)]
        name: String,
        /// What it may do
        #[arg(long, value_enum)]
        role: Role,
        /// Only limits whose names begin with one of these [default: all]
        #[arg(long, value_name = "PREFIX", num_args = 1..)]
        limits: Vec<String>,
    },
    /// Every token that is good, without the secret
    #[command(after_help = LS_HELP)]
    Ls,
    /// Take a token back: it is refused a second later at the latest, and its open streams end
    #[command(after_help = REVOKE_HELP)]
    Revoke {
        /// Its name
        name: String,
    },
}

const HELP: &str = "\
Examples:
  maitred token create ana --role operate --data /var/lib/maitred
  maitred token ls
  maitred token revoke ana";

const CREATE_HELP: &str = "\
Examples:
  maitred token create grafana --role read
  maitred token create dialer --role operate --limits voice- partner-
  maitred token create ci --role admin > ci.token && chmod 600 ci.token

read looks; operate also takes and gives back slots, admits, pauses and overrides; admin also
declares, deploys, resets rates and sees whole keys. Only a hash is kept: a token that is lost
is revoked and made anew. From the first token on, every caller of the server must carry one.";

const LS_HELP: &str = "\
Examples:
  maitred token ls
  maitred token ls --json

In a pipe, tab-separated: name, role, prefixes of limits, created at (ms since 1970).";

const REVOKE_HELP: &str = "\
Examples:
  maitred token revoke ana
  maitred token ls                        # who is left

After the last one is revoked nobody may ask, until there is a new one.";

#[derive(Serialize)]
struct Made<'a> {
    name: &'a str,
    role: Role,
    limits: &'a [String],
    token: &'a str,
}

pub fn run(args: TokenArgs) -> Result<u8, Failure> {
    let out = Output::new(args.json, args.header);
    let folder = args.data.as_path();
    if !folder.is_dir() {
        let message = format!("there is no data folder at {}", folder.display());
        let failure = Failure::new(exit::NOT_FOUND, message);
        return Err(failure
            .hint("name the server's: --data FOLDER or MAITRED_DATA")
            .hint("a server that has run here has made one: maitred serve"));
    }
    match args.verb {
        TokenVerb::Create { name, role, limits } => create(out, folder, &name, role, &limits),
        TokenVerb::Ls => ls(out, folder),
        TokenVerb::Revoke { name } => revoke(out, folder, &name),
    }
}

fn create(out: Output, folder: &Path, name: &str, role: Role, limits: &[String]) -> Result<u8, Failure> {
    let is_first = !kept::path(folder).exists();
    let token = kept::create(folder, name, role, limits.to_vec(), now_ms()).map_err(failed)?;
    match out.json {
        true => out.json(&Made { name, role, limits, token: &token }),
        false => out.line(&token),
    }
    if out.for_people() {
        output::note(
            "keep it now: only its hash is kept here. Callers give it by MAITRED_TOKEN or --token-file",
        );
    }
    if is_first && !out.json {
        output::note("from now on every caller of a server on this folder must carry a token");
    }
    Ok(exit::OK)
}

fn ls(out: Output, folder: &Path) -> Result<u8, Failure> {
    let tokens = kept::list(folder).map_err(failed)?;
    let public = |token: &KeptToken| {
        serde_json::json!({ "name": token.name, "role": token.role, "limits": token.limits,
            "created_at": token.created_at })
    };
    let json: Vec<_> = tokens.iter().map(public).collect();
    let sheet = |names: &[&'static str], created: fn(u64) -> String, all: &str| {
        let mut sheet = Sheet::new(names);
        let limits = |token: &KeptToken| match token.limits.is_empty() {
            true => all.to_owned(),
            false => token.limits.join(" "),
        };
        let row = |token: &KeptToken| {
            vec![token.name.clone(), token.role.as_str().to_owned(), limits(token), created(token.created_at)]
        };
        sheet.rows = tokens.iter().map(row).collect();
        sheet
    };
    out.print(
        &serde_json::json!({ "tokens": json }),
        || sheet(&["NAME", "ROLE", "LIMITS", "CREATED"], text::moment, "all"),
        || sheet(&["name", "role", "limits", "created_at"], |at| at.to_string(), ""),
    );
    if tokens.is_empty() && out.for_people() {
        output::note("there are no tokens; make one: maitred token create NAME --role ROLE");
    }
    Ok(exit::OK)
}

fn revoke(out: Output, folder: &Path, name: &str) -> Result<u8, Failure> {
    if !kept::revoke(folder, name).map_err(failed)? {
        let failure = Failure::new(exit::NOT_FOUND, format!("there is no token named `{name}`"));
        return Err(failure.hint("see all: maitred token ls"));
    }
    match out.json {
        true => out.json(&serde_json::json!({ "revoked": name })),
        false => out.line(&format!("revoked {name}")),
    }
    Ok(exit::OK)
}

fn failed(error: TokenError) -> Failure {
    let status = match error {
        TokenError::Taken(_) => exit::REFUSED,
        TokenError::Exposed { .. } => exit::NOT_ALLOWED,
        _ => exit::FAILED,
    };
    Failure::new(status, error.to_string())
}

fn name(text: &str) -> Result<String, String> {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    match (1..=64).contains(&text.len()) && text.bytes().all(fits) {
        true => Ok(text.to_owned()),
        false => Err("allowed: 1 to 64 of A-Z a-z 0-9 . _ -".to_owned()),
    }
}

fn now_ms() -> u64 {
    u64::try_from(jiff::Timestamp::now().as_millisecond()).unwrap_or_default()
}
