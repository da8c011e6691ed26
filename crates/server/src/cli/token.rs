//! `maitred token …`: who may ask a server for what. Works on the data folder; a running server reads it again.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use maitred::parse_duration;
use serde::Serialize;
use serde_json::json;

use crate::{
    cli::{
        exit,
        failure::Failure,
        output::{self, Output, Sheet},
        text,
    },
    token::{
        Grant, Role, TokenError, Used,
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
        /// How long it is good, such as 90d [default: until it is revoked]
        #[arg(long, value_name = "DURATION", value_parser = lifetime)]
        expires: Option<u64>,
    },
    /// Every token that was made and not revoked, without the secret; expired ones say so
    #[command(after_help = LS_HELP)]
    Ls,
    /// Take a token back: a second later at the latest it is refused, its streams have ended and its calls no longer wait
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
  maitred token create ci --role admin --expires 90d > ci.token && chmod 600 ci.token

read looks; operate also takes and gives back slots, admits, pauses and overrides; admin also
declares, deploys, resets rates and sees whole keys. Only a hash is kept: a token that is lost
is revoked and made anew. From the first token on, every caller of the server must carry one. A
data folder that is not there yet is made. An expired token is refused as a revoked one is.";

const LS_HELP: &str = "\
Examples:
  maitred token ls
  maitred token ls --json

In a pipe, tab-separated: name, role, prefixes of limits, created at, expires at, last used at
(ms since 1970). A server writes down about once a minute which tokens were used.";

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
    expires_at: Option<u64>,
    token: &'a str,
}

pub fn run(args: TokenArgs) -> Result<u8, Failure> {
    let out = Output::new(args.json, args.header);
    let folder = args.data.as_path();
    let makes = matches!(args.verb, TokenVerb::Create { .. });
    if !makes && !folder.is_dir() {
        let message = format!("there is no data folder at {}", folder.display());
        let failure = Failure::new(exit::NOT_FOUND, message);
        return Err(failure
            .hint("name the server's: --data FOLDER or MAITRED_DATA")
            .hint("a server that has run here has made one, and so does: maitred token create"));
    }
    match args.verb {
        TokenVerb::Create { name, role, limits, expires } => {
            let made_at = now_ms();
            let expires_at = expires.map(|lives| made_at + lives);
            create(out, folder, &name, Grant { name: None, role, limits, made_at, expires_at })
        }
        TokenVerb::Ls => ls(out, folder),
        TokenVerb::Revoke { name } => revoke(out, folder, &name),
    }
}

fn create(out: Output, folder: &Path, name: &str, grant: Grant) -> Result<u8, Failure> {
    let is_first = !kept::path(folder).exists();
    let token = kept::create(folder, name, grant.clone()).map_err(failed)?;
    match out.json {
        true => {
            let Grant { role, limits, expires_at, .. } = &grant;
            out.json(&Made { name, role: *role, limits, expires_at: *expires_at, token: &token });
        }
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
    let used = Used::read(folder);
    let last = |token: &KeptToken| used.at(&token.name, token.created_at);
    let now = now_ms();
    let is_expired = |token: &KeptToken| token.expires_at.is_some_and(|at| at <= now);
    let public = |token: &KeptToken| {
        json!({ "name": token.name, "role": token.role, "limits": token.limits, "created_at": token.created_at,
            "expires_at": token.expires_at, "expired": is_expired(token), "last_used_at": last(token) })
    };
    let tokens_json: Vec<_> = tokens.iter().map(public).collect();
    let rows = |shown: &dyn Fn(Option<u64>, &str) -> String, all: &str, never: [&str; 2], gone: &str| {
        let row = |token: &KeptToken| {
            let limits = if token.limits.is_empty() { all.to_owned() } else { token.limits.join(" ") };
            vec![
                token.name.clone(),
                token.role.as_str().to_owned(),
                limits,
                shown(Some(token.created_at), ""),
                shown(token.expires_at, never[0]) + if is_expired(token) { gone } else { "" },
                shown(last(token), never[1]),
            ]
        };
        tokens.iter().map(row).collect()
    };
    let moment = |at: Option<u64>, none: &str| at.map_or_else(|| none.to_owned(), text::moment);
    let number = |at: Option<u64>, none: &str| at.map_or_else(|| none.to_owned(), |at| at.to_string());
    out.print(
        &json!({ "tokens": tokens_json }),
        || Sheet {
            names: vec!["NAME", "ROLE", "LIMITS", "CREATED", "EXPIRES", "LAST USED"],
            rows: rows(&moment, "all", ["never", "-"], " (expired)"),
        },
        || Sheet {
            names: vec!["name", "role", "limits", "created_at", "expires_at", "last_used_at"],
            rows: rows(&number, "", ["", ""], ""),
        },
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
        true => out.json(&json!({ "revoked": name })),
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

pub fn name(text: &str) -> Result<String, String> {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    match (1..=64).contains(&text.len()) && text.bytes().all(fits) {
        true => Ok(text.to_owned()),
        false => Err("allowed: 1 to 64 of A-Z a-z 0-9 . _ -".to_owned()),
    }
}

fn lifetime(text: &str) -> Result<u64, String> {
    match parse_duration(text) {
        Some(lives) if lives > 0 => Ok(lives),
        _ => Err("allowed: a duration such as 12h, 90d".to_owned()),
    }
}

fn now_ms() -> u64 {
    u64::try_from(jiff::Timestamp::now().as_millisecond()).unwrap_or_default()
}
