//! `maitred scenario`: plays scenario files.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use maitred::FarOptions;
use serde::Serialize;

use crate::{
    cli::{exit, failure::Failure, output::Output, session::ConnectOptions, text},
    scenario::{self, Difference, Report, Stage, shared},
};

#[derive(Args, Debug)]
#[command(after_help = HELP)]
pub struct ScenarioArgs {
    /// Scenario files
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Play over HTTP on this server, whose clock is moved by hand
    #[arg(long, value_name = "URL", requires = "clock", conflicts_with = "journal")]
    server: Option<String>,
    /// Whose time counts there; `manual` says that it may be moved
    #[arg(long, value_name = "manual", requires = "server")]
    clock: Option<Clock>,
    /// Where each file gets a journal of its own, dropped afterwards: a folder, postgres://USER@HOST/DATABASE,
    /// nats://HOST, or `memory:` [default: memory:]
    #[arg(long, value_name = "URL")]
    journal: Option<String>,
    /// A file with the token to carry to the server; else it is taken from MAITRED_TOKEN
    #[arg(long, value_name = "FILE", requires = "server")]
    token_file: Option<PathBuf>,
    /// A PEM file with roots to believe beside the platform's
    #[arg(long, value_name = "FILE", env = "MAITRED_CA", requires = "server")]
    ca: Option<PathBuf>,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(ValueEnum, Clone, Copy, Debug)]
enum Clock {
    Manual,
}

#[derive(Serialize)]
struct Played {
    files: Vec<Report>,
    /// How many of them did not go as they say.
    failed: usize,
}

const HELP: &str = "\
Examples:
  maitred scenario scenarios/*.txt
  maitred scenario mine.txt --server http://127.0.0.1:7654 --clock manual
  maitred scenario mine.txt --journal /tmp --json         # on a disk
  maitred scenario mine.txt --journal postgres://me@localhost/test

A file is a story, one command a line:

  0s   declare voice capacity=1 max_hold=45m   => ok
  0s   acquire voice slot=a confirm=auto       => busy
  45m  slot a                                  => expired

Exit status 1 if a line differs or a file cannot be read.";

pub async fn run(args: ScenarioArgs) -> Result<u8, Failure> {
    let stage = stage(&args)?;
    let out = Output::new(args.json, false);
    let mut reports = Vec::new();
    for file in &args.files {
        let report = scenario::play_file(file, &stage).await;
        if !args.json {
            tell(out, &report);
        }
        reports.push(report);
    }
    let failed = reports.iter().filter(|report| !report.passed()).count();
    match args.json {
        true => out.json(&Played { files: reports, failed }),
        false => out.line(&summary(&reports, failed)),
    }
    Ok(if failed == 0 { exit::OK } else { exit::FAILED })
}

fn stage(args: &ScenarioArgs) -> Result<Stage, Failure> {
    if let Some(url) = &args.server {
        let connect = ConnectOptions {
            url: None,
            agent: None,
            token_file: args.token_file.clone(),
            ca: args.ca.clone(),
            json: args.json,
            header: false,
        };
        let options = FarOptions { token: connect.token()?, roots: args.ca.clone(), ..FarOptions::default() };
        return Ok(Stage::Server { url: url.clone(), options });
    }
    match args.journal.as_deref() {
        None | Some("memory:") => Ok(Stage::Memory),
        Some(folder) if !folder.contains("://") => Ok(Stage::Folder(PathBuf::from(folder))),
        Some(url) if shared::is_known(url) => Ok(Stage::Shared { url: url.to_owned() }),
        Some(other) => Err(Failure::new(
            exit::USAGE,
            format!("this build has no journal for `{}`", shared::scheme(other)),
        )
        .hint("allowed: a folder, postgres://USER@HOST/DATABASE, nats://HOST, or `memory:`")),
    }
}

fn tell(out: Output, report: &Report) {
    for Difference { line, command, expected, came } in &report.differ {
        let file = &report.file;
        out.line(&format!("{file}:{line}: {command}"));
        out.line(&format!("    expected  {expected}"));
        out.line(&format!("    came      {came}"));
    }
    if let Some(trouble) = &report.trouble {
        out.line(trouble);
    }
}

fn summary(reports: &[Report], failed: usize) -> String {
    let lines = reports.iter().map(|report| report.lines).sum();
    let played = format!("{}, {}", text::count(reports.len(), "file"), text::count(lines, "line"));
    match failed {
        0 => format!("{played}: all as expected"),
        _ => {
            let differ = reports.iter().map(|report| report.differ.len()).sum();
            let differ: &str = &text::count(differ, "line");
            format!("{played}: {} failed, {differ} differ", text::count(failed, "file"))
        }
    }
}
