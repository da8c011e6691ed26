//! The parts of a soak: each a command of this repository in its long form, and which of its lines are its result.

use std::process::Command;

use super::load;
use crate::{
    binary,
    test::{MUTANTS, OLD_NATS, npm_script, old_nats_server, watched},
};

pub struct Part {
    pub name: &'static str,
    pub what: &'static str,
    pub run: fn(&Lengths) -> Ended,
}

/// What came of a part: lines that say what was met, or why it failed, or why it could not be run.
pub enum Ended {
    Passed(Vec<String>),
    Failed(String),
    LeftOut(String),
}

pub struct Lengths {
    pub hours: f64,
    pub load_minutes: u64,
    pub percent: u64,
}

impl Lengths {
    /// Of what is so many in full.
    fn of(&self, full: u64) -> u64 {
        (full * self.percent).div_ceil(100)
    }
}

pub const PARTS: &[Part] = &[
    Part { name: "simulate", what: "simulated hours with everything going wrong", run: simulate },
    Part { name: "small-scope", what: "every state of a small world, a million of them", run: small_scope },
    Part { name: "judge", what: "200,000 random command sequences on engine and model", run: judge },
    Part { name: "power-cuts", what: "100,000 images of power cuts of the local journal", run: power_cuts },
    Part {
        name: "failing-calls",
        what: "every call of the disk fails in every way, 20 runs",
        run: failing_calls,
    },
    Part { name: "fuzz", what: "hostile bytes for whatever reads bytes, 20 minutes each", run: fuzz },
    Part { name: "bit-flips", what: "every bit of a journal is flipped", run: bit_flips },
    Part { name: "kill", what: "kill -9 of the server under load, 500 times", run: kill },
    Part {
        name: "nodes-postgres",
        what: "three servers over PostgreSQL under chaos, 10 minutes",
        run: nodes_postgres,
    },
    Part { name: "nodes-nats", what: "three servers over NATS under chaos, 10 minutes", run: nodes_nats },
    Part {
        name: "nodes-old-nats",
        what: "three servers over Debian's NATS 2.9, which acknowledges too early and compares wrongly, 10 minutes",
        run: nodes_old_nats,
    },
    Part {
        name: "idle",
        what: "10,000 slots held for an hour while nobody asks: no record is written",
        run: idle,
    },
    Part { name: "upgrade", what: "servers replaced by those of a newer version under load", run: upgrade },
    Part { name: "runs", what: "200 workflow runs over 30 kills", run: runs },
    Part {
        name: "runs-typescript",
        what: "100 runs of the seed's programs on Workflow DevKit over 10 kills",
        run: runs_typescript,
    },
    Part { name: "demo", what: "the main job, long, over kills of server and workers", run: demo },
    Part { name: "see", what: "every planted defect", run: see },
    Part { name: "bounds", what: "every bound of a server filled, memory as stated", run: bounds },
    Part { name: "load", what: "70 % of the measured maximum with 10,000 waiting calls", run: load::run },
    Part { name: "mutants", what: "cargo-mutants on the engine", run: mutants },
];

pub fn names() -> clap::builder::PossibleValuesParser {
    clap::builder::PossibleValuesParser::new(PARTS.iter().map(|part| part.name))
}

fn simulate(lengths: &Lengths) -> Ended {
    // What was met, line by line, is the result.
    let hours = format!("--hours={}", lengths.hours);
    shown(binary::this(&["simulate", &hours]), |line| {
        line.starts_with("seeds from") || line.starts_with("  ")
    })
}

/// The engine looks at its whole state after every command.
const CHECKED_ENGINE: [&str; 6] = ["--package", "maitred-engine", "--features", "check", "--test", "it"];

fn small_scope(lengths: &Lengths) -> Ended {
    let states = lengths.of(1_000_000).to_string();
    tests(&CHECKED_ENGINE, &["small_scope::"], &[("MAITRED_STATES", &states)], |line| line.contains("states"))
}

fn judge(lengths: &Lengths) -> Ended {
    let cases = lengths.of(200_000).to_string();
    tests(&CHECKED_ENGINE, &["judge::"], &[("MAITRED_JUDGE_CASES", &cases)], |line| line.contains(" cases "))
}

fn power_cuts(lengths: &Lengths) -> Ended {
    let images = lengths.of(100_000).to_string();
    let test = "power_cut::every_cut_leaves_what_was_promised";
    journal(test, &[("MAITRED_POWER_CUTS", &images)], |line| line.contains("images from seeds"))
}

fn failing_calls(lengths: &Lengths) -> Ended {
    let seeds = lengths.of(20).to_string();
    let test = "failing_calls::no_failing_call_loses_what_was_promised";
    journal(test, &[("MAITRED_SEEDS", &seeds)], |line| line.starts_with("Met {"))
}

fn bit_flips(_: &Lengths) -> Ended {
    journal("bit_flips", &[], |line| line.contains("Counts {"))
}

fn fuzz(lengths: &Lengths) -> Ended {
    let seconds = format!("--seconds={}", lengths.of(20 * 60));
    shown(binary::this(&["fuzz", &seconds]), |line| line.contains("executions"))
}

fn kill(lengths: &Lengths) -> Ended {
    let rounds = format!("--rounds={}", lengths.of(500));
    shown(binary::this(&["kill", &rounds]), |line| line.starts_with("killed") || line.contains("seed"))
}

fn nodes_postgres(lengths: &Lengths) -> Ended {
    nodes(&["--on=postgres"], lengths)
}

fn nodes_nats(lengths: &Lengths) -> Ended {
    nodes(&["--on=nats"], lengths)
}

/// The chain of records must hold there, or say that the server has lost what it had acknowledged.
fn nodes_old_nats(lengths: &Lengths) -> Ended {
    if let Err(why) = OLD_NATS.provide() {
        return Ended::LeftOut(why);
    }
    let server = format!("--nats-server={}", old_nats_server().display());
    nodes(&["--on=nats", &server], lengths)
}

/// Ten minutes of runs of half a minute: each is judged by itself.
fn nodes(on: &[&str], lengths: &Lengths) -> Ended {
    let minutes = format!("--minutes={}", lengths.of(10));
    let is_result = |line: &str| {
        ["calls judged", "seed", "trouble", "the store lost"].iter().any(|part| line.contains(part))
    };
    shown(binary::this(&[&["nodes", &minutes], on].concat()), is_result)
}

fn idle(lengths: &Lengths) -> Ended {
    let minutes = format!("--idle={}", lengths.of(60));
    shown(binary::this(&["nodes", &minutes]), |line| line.contains("records written"))
}

fn upgrade(_: &Lengths) -> Ended {
    shown(binary::this(&["nodes", "--upgrade"]), |line| {
        line.contains("calls judged") || line.contains("seed")
    })
}

fn runs(lengths: &Lengths) -> Ended {
    let (runs, kills) = (format!("--runs={}", lengths.of(200)), format!("--kills={}", lengths.of(30)));
    shown(binary::this(&["workflows", &runs, &kills]), |line| line.contains("calls") || line.contains("seed"))
}

/// On the DevKit's own files, which are mended after each kill: they are made for development.
fn runs_typescript(lengths: &Lengths) -> Ended {
    let (runs, kills) = (lengths.of(100).to_string(), lengths.of(10).to_string());
    let settings = [("CHAOS_RUNS", runs.as_str()), ("CHAOS_KILLS", &kills), ("NO_COLOR", "1")];
    match npm_script("e2e -- chaos", &settings) {
        Err(why) => Ended::Failed(why),
        Ok(npm) => shown(npm, |line| {
            let found = ["CHAOS_SEED", "runs:", "dialled:", "repeated:", "mostInside:", "torn:", "seconds:"];
            found.iter().any(|name| line.trim_start_matches(['{', ' ']).starts_with(name))
        }),
    }
}

fn demo(lengths: &Lengths) -> Ended {
    let records = format!("--records={}", lengths.of(20_000));
    shown(binary::this(&["demo", &records]), |line| line.contains("so") || line.contains("seed"))
}

fn see(_: &Lengths) -> Ended {
    shown(binary::this(&["see", "--all"]), |line| line.ends_with(" s") || line.contains("planted defects"))
}

fn bounds(_: &Lengths) -> Ended {
    let target = ["--package", "maitred-engine", "--test", "memory"];
    tests(&target, &["--ignored", "--test-threads=1"], &[], |line| line.contains("bytes each"))
}

/// A shorter form takes every so-manieth mutant. The model and the small world judge each mutant with few cases: what
/// they would find only in many is counted as missed.
fn mutants(lengths: &Lengths) -> Ended {
    if let Err(why) = MUTANTS.provide() {
        return Ended::LeftOut(why);
    }
    let shard = format!("--shard=0/{}", (100 / lengths.percent).max(1));
    let mut cargo = binary::cargo();
    cargo.args(["mutants", "--package", "maitred-engine", "--features", "check", "--output", "target"]);
    cargo.args(["--no-shuffle", "--sharding", "round-robin", &shard]);
    cargo.args(["--test-tool", "nextest", "--timeout", "120"]);
    // Their mutants change what is measured or checked, not what is decided.
    cargo.args(["--exclude", "crates/engine/src/check.rs", "--exclude", "crates/engine/src/memory.rs"]);
    cargo.envs([("MAITRED_JUDGE_CASES", "300"), ("MAITRED_STATES", "3000")]);
    let is_result = |line: &str| line.starts_with("MISSED") || line.contains("mutants tested");
    // Survivors end it with 2; they are named in the report, and are no failure of what is tested.
    match watched(&mut cargo) {
        Err(error) => Ended::Failed(error.to_string()),
        Ok((_, output)) if output.contains("mutants tested") => Ended::Passed(lines(&output, is_result)),
        Ok((_, output)) => Ended::Failed(last(&output)),
    }
}

fn journal(test: &str, variables: &[(&str, &str)], is_result: fn(&str) -> bool) -> Ended {
    tests(&["--package", "maitred-journal", "--lib"], &[test], variables, is_result)
}

fn tests(
    target: &[&str],
    arguments: &[&str],
    variables: &[(&str, &str)],
    is_result: fn(&str) -> bool,
) -> Ended {
    let mut cargo = binary::cargo();
    cargo.args(["test", "--profile", &binary::profile()]).args(target);
    cargo.args(["--", "--nocapture"]).args(arguments).envs(variables.iter().copied());
    shown(cargo, is_result)
}

/// Runs the command; these lines of what it says are its result.
fn shown(mut command: Command, is_result: impl Fn(&str) -> bool) -> Ended {
    match watched(&mut command) {
        Err(error) => Ended::Failed(format!("{command:?}: {error}")),
        Ok((true, output)) => Ended::Passed(lines(&output, is_result)),
        Ok((false, output)) => Ended::Failed(last(&output)),
    }
}

fn lines(output: &str, is_result: impl Fn(&str) -> bool) -> Vec<String> {
    output.lines().filter(|line| is_result(line)).map(str::to_owned).collect()
}

fn last(output: &str) -> String {
    let lines: Vec<&str> = output.lines().collect();
    lines[lines.len().saturating_sub(30)..].join("\n")
}
