//! `maitred doctor`: what is wrong, and what to do about it.

mod limits;

use clap::Args;
use maitred::Client;
use maitred_api::{Answer, Call, Problem, Reach};
use serde::Serialize;

use crate::cli::{
    exit,
    failure::Failure,
    output::Sheet,
    session::{ConnectOptions, Session},
    text,
};

#[derive(Args, Debug)]
#[command(after_help = HELP)]
pub struct DoctorArgs {
    /// Ask only whether the server takes calls, which needs no token: for the health check of a container
    #[arg(long)]
    ready: bool,
    #[command(flatten)]
    pub connect: ConnectOptions,
}

const HELP: &str = "\
Examples:
  maitred doctor
  maitred doctor --url http://limits.example:7654 --json
  maitred doctor | awk -F'\\t' '$1 != \"ok\"'
  maitred doctor --ready                  # exit status 0 while it takes calls

It says which server it asks and what made it that one, whether the server takes calls, whether
this token may ask, whether the clocks agree, how far the history is behind, and of each limit
whether slots leak or nothing moves. In a pipe, tab-separated: ok, warn or fail; what was asked;
what was found; what to do. Exit status 1 if anything failed; warnings alone are status 0.";

/// How far two clocks may differ before times mislead people.
const CLOCKS_MS: u64 = 5_000;
/// A history that is filled is a few records behind at the most, for a moment.
const LAG_MAX: u64 = 10_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    Ok,
    Warn,
    Fail,
}

/// One question and its answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    pub verdict: Verdict,
    pub check: String,
    pub found: String,
    /// What to do; nothing where all is well.
    pub fix: String,
}

impl Finding {
    pub fn ok(check: &str, found: impl Into<String>) -> Finding {
        Finding { verdict: Verdict::Ok, check: check.to_owned(), found: found.into(), fix: String::new() }
    }

    pub fn bad(verdict: Verdict, check: &str, found: impl Into<String>, fix: impl Into<String>) -> Finding {
        Finding { verdict, check: check.to_owned(), found: found.into(), fix: fix.into() }
    }
}

#[derive(Serialize)]
struct Report<'a> {
    findings: &'a [Finding],
    failed: usize,
    warned: usize,
}

pub async fn run(args: DoctorArgs) -> Result<u8, Failure> {
    let session = Session::open(&args.connect)?;
    let ready = ready(&session).await;
    let may_ask = ready.verdict != Verdict::Fail && !args.ready;
    let mut findings = vec![Finding::ok("asked", args.connect.told()?), ready];
    if may_ask {
        findings.extend(calls(&session).await);
    }
    let count = |verdict| findings.iter().filter(|finding| finding.verdict == verdict).count();
    let report = Report { findings: &findings, failed: count(Verdict::Fail), warned: count(Verdict::Warn) };
    session.out.tell(&report, || for_people(&findings), || for_pipes(&findings));
    Ok(if report.failed == 0 { exit::OK } else { exit::FAILED })
}

async fn ready(session: &Session) -> Finding {
    const CHECK: &str = "server";
    let Client::Far(far) = &session.client else {
        return Finding::bad(Verdict::Fail, CHECK, "there is no server", "give --url URL");
    };
    match far.ready().await {
        Ok(answer) if answer.ready && !answer.notes.is_empty() => {
            Finding::bad(Verdict::Warn, CHECK, answer.notes.join("; "), next_of(&answer.notes))
        }
        Ok(answer) if answer.ready => {
            Finding::ok(CHECK, format!("takes calls, at revision {}", answer.revision))
        }
        Ok(answer) if answer.draining => {
            Finding::bad(Verdict::Fail, CHECK, "it was told to stop", "start it again: maitred serve")
        }
        Ok(answer) => {
            Finding::bad(Verdict::Fail, CHECK, answer.notes.join("; "), "its log says more; start it again")
        }
        Err(problem) => {
            let fix = "start one (maitred serve), or name another: --url URL or MAITRED_URL";
            Finding::bad(Verdict::Fail, CHECK, problem.message, fix)
        }
    }
}

/// What needs calls to be allowed.
async fn calls(session: &Session) -> Vec<Finding> {
    let all = match limits::all(session).await {
        Ok(all) => all,
        Err(problem) => return vec![not_allowed(problem)],
    };
    let mut findings = vec![Finding::ok("token", "may look"), clocks(all.as_of)];
    findings.extend(nodes(session).await);
    match history(session).await {
        Ok(finding) => findings.push(finding),
        Err(problem) => findings.push(Finding::bad(
            Verdict::Warn,
            "history",
            problem.message,
            "see the server's log; limits work without it",
        )),
    }
    findings.extend(limits::findings(&all));
    findings
}

fn not_allowed(problem: Problem) -> Finding {
    Finding::bad(
        Verdict::Fail,
        "token",
        problem.message,
        "give one: --token-file FILE or MAITRED_TOKEN; make one: maitred token create NAME --role read",
    )
}

fn clocks(as_of: u64) -> Finding {
    let here = u64::try_from(jiff::Timestamp::now().as_millisecond()).unwrap_or_default();
    let apart = here.abs_diff(as_of);
    match apart <= CLOCKS_MS {
        true => Finding::ok("clocks", "this machine and the server agree"),
        false => Finding::bad(
            Verdict::Warn,
            "clocks",
            format!("they are {} apart", text::span(apart)),
            "only the server's counts; set both by a time service so that times mean the same",
        ),
    }
}

/// Nothing of a server whose journal is its own.
async fn nodes(session: &Session) -> Option<Finding> {
    let Ok(Answer::Nodes(answer)) = session.call(Call::Nodes {}).await else { return None };
    let (live, silent): (Vec<_>, Vec<_>) = answer.nodes.iter().partition(|node| node.live);
    answer.shared.then(|| match silent.len() {
        0 => Finding::ok("nodes", format!("{} on the journal", text::count(live.len(), "server"))),
        count => Finding::bad(
            Verdict::Warn,
            "nodes",
            format!("{} on the journal, {count} silent", text::count(live.len(), "server")),
            "one that was stopped is forgotten some minutes later; else see its log",
        ),
    })
}

async fn history(session: &Session) -> Result<Finding, Problem> {
    let call = Call::History { limit: None, slot: None, run: None, label: None, before: None, most: Some(1) };
    let reach = match session.call(call).await? {
        Answer::History(answer) => answer.reach,
        _ => Reach::default(),
    };
    let fix = "see whether its disk is full; limits work without the history";
    Ok(match reach.trouble {
        Some(trouble) => Finding::bad(Verdict::Warn, "history", trouble, fix),
        None if reach.lag > LAG_MAX => {
            Finding::bad(Verdict::Warn, "history", format!("{} records behind", reach.lag), fix)
        }
        None => Finding::ok("history", "keeps up"),
    })
}

fn for_people(findings: &[Finding]) -> Vec<String> {
    let lines = |finding: &Finding| {
        let mark = match finding.verdict {
            Verdict::Ok => "ok",
            Verdict::Warn => "WARN",
            Verdict::Fail => "FAIL",
        };
        let found = format!("{mark} {}: {}", finding.check, finding.found);
        let fix = (!finding.fix.is_empty()).then(|| format!("  {}", finding.fix));
        std::iter::once(found).chain(fix)
    };
    findings.iter().flat_map(lines).collect()
}

fn for_pipes(findings: &[Finding]) -> Sheet {
    let mut sheet = Sheet::new(&["verdict", "check", "found", "fix"]);
    let row = |finding: &Finding| {
        let verdict = match finding.verdict {
            Verdict::Ok => "ok",
            Verdict::Warn => "warn",
            Verdict::Fail => "fail",
        };
        vec![verdict.to_owned(), finding.check.clone(), finding.found.clone(), finding.fix.clone()]
    };
    sheet.rows = findings.iter().map(row).collect();
    sheet
}

/// What to do about what a server says of itself.
fn next_of(notes: &[String]) -> &'static str {
    match notes.iter().any(|note| note.starts_with("the certificate ")) {
        true => "replace the files of the certificate; they are read within a second",
        false => "its log says more",
    }
}
