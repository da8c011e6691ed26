//! Coverage-guided fuzzing of whatever reads bytes: builds the targets of `fuzz/` with libFuzzer and runs each for a
//! while.
//!
//! ```text
//! planted    found, as it must be, after 1,842 executions
//! record     1,204,881 executions, 1,410 edges, 5,021 features, 212 inputs kept, in 60 s
//! ```
//!
//! Only the crates of this workspace are built anew, by `fuzz/rustc-with-coverage`. The targets begin with the committed
//! corpus and with what earlier runs have kept beside the build. A find is a file, and is repeated without a fuzzer by
//! `cargo test -p maitred-fuzz` once it lies in the corpus.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

use serde_json::Value;

use crate::binary;

const TARGETS: [&str; 6] = ["record", "snapshot", "folder", "body", "text", "commands"];
/// Has a fault that only a fuzzer finds that is told which code ran.
const PLANTED: &str = "planted";
const PLANTED_WITHIN_S: u64 = 20;

#[derive(clap::Args)]
pub struct Options {
    /// For how long each target is run
    #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..))]
    seconds: u64,
    /// Only these
    #[arg(value_name = "TARGET", value_parser = TARGETS)]
    targets: Vec<String>,
}

pub fn run(options: Options) -> Result<(), String> {
    let names: Vec<&str> = match options.targets.is_empty() {
        true => TARGETS.to_vec(),
        false => options.targets.iter().map(String::as_str).collect(),
    };
    let built = build(&names)?;
    let fuzzer = |name: &str| Fuzzer::new(name, &built);
    println!("{PLANTED:<9}  {}", fuzzer(PLANTED)?.must_find()?);
    let mut found = Vec::new();
    for name in names {
        let fuzzer = fuzzer(name)?;
        match fuzzer.run(options.seconds)? {
            Ended::Clean(line) => println!("{name:<9}  {line}"),
            Ended::Found(what) => {
                println!("{name:<9}  FOUND\n{what}");
                found.push(name);
            }
        }
    }
    match found.is_empty() {
        true => Ok(()),
        false => Err(format!("found by: {}", found.join(", "))),
    }
}

/// The programs by name, built with those features that everything else is built with here.
fn build(names: &[&str]) -> Result<BTreeMap<String, PathBuf>, String> {
    let mut cargo = binary::cargo();
    cargo.args([
        "build",
        "--package",
        "xtask",
        "--package",
        "maitred-fuzz",
        "--features",
        "maitred-fuzz/libfuzzer",
    ]);
    cargo.args(["--profile", &binary::profile(), "--message-format=json-render-diagnostics"]);
    names.iter().chain([&PLANTED]).for_each(|name| _ = cargo.args(["--bin", name]));
    cargo.env("RUSTC_WORKSPACE_WRAPPER", binary::root().join("fuzz/rustc-with-coverage"));
    let output = cargo.stderr(Stdio::inherit()).output().map_err(|error| format!("{cargo:?}: {error}"))?;
    if !output.status.success() {
        return Err("the fuzz targets could not be built; what cargo says is above".to_owned());
    }
    Ok(String::from_utf8_lossy(&output.stdout).lines().filter_map(executable).collect())
}

fn executable(line: &str) -> Option<(String, PathBuf)> {
    let message: Value = serde_json::from_str(line).ok()?;
    let name = message["target"]["name"].as_str()?;
    Some((name.to_owned(), message["executable"].as_str()?.into()))
}

struct Fuzzer {
    name: String,
    program: PathBuf,
    /// What is committed.
    corpus: PathBuf,
    /// What was kept by earlier runs, and the finds.
    kept: PathBuf,
    finds: PathBuf,
}

enum Ended {
    Clean(String),
    Found(String),
}

impl Fuzzer {
    fn new(name: &str, built: &BTreeMap<String, PathBuf>) -> Result<Fuzzer, String> {
        let program = built.get(name).ok_or_else(|| format!("cargo built no target `{name}`"))?;
        // `target/ci/record` -> `target/fuzz/record`
        let beside = program.ancestors().nth(2).unwrap_or(Path::new(".")).join("fuzz").join(name);
        let (kept, finds) = (beside.join("kept"), beside.join("finds"));
        let corpus = binary::root().join("fuzz/corpus").join(name);
        for folder in [&kept, &finds] {
            fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        }
        Ok(Fuzzer { name: name.to_owned(), program: program.clone(), corpus, kept, finds })
    }

    fn command(&self, seconds: u64) -> Command {
        let mut command = Command::new(&self.program);
        command.arg(format!("-max_total_time={seconds}"));
        command.arg(format!("-artifact_prefix={}/", self.finds.display()));
        // No input may take a second, nor make much of itself in memory.
        command.args(["-timeout=5", "-rss_limit_mb=1024", "-print_final_stats=1", "-use_value_profile=1"]);
        command.env("RUST_BACKTRACE", "1").arg(&self.kept);
        command
    }

    fn run(&self, seconds: u64) -> Result<Ended, String> {
        let mut command = self.command(seconds);
        let output = said(command.arg(&self.corpus))?;
        let log = String::from_utf8_lossy(&output.stderr);
        if output.status.success() {
            return Ok(Ended::Clean(format!("{}, in {seconds} s", summary(&log)?)));
        }
        Ok(Ended::Found(self.find(&log)))
    }

    /// What it was, where it lies, and how to see it again.
    fn find(&self, log: &str) -> String {
        let lines: Vec<&str> = log.lines().collect();
        let panic =
            lines.iter().position(|line| line.contains("panicked at") || line.contains("ERROR: libFuzzer"));
        let from = panic.unwrap_or(lines.len().saturating_sub(20));
        let seed =
            lines.iter().find(|line| line.starts_with("INFO: Seed:")).unwrap_or(&"INFO: Seed: unknown");
        let file =
            lines.iter().find_map(|line| line.split("Test unit written to ").nth(1)).unwrap_or("(no file)");
        format!(
            "{}\n{seed}\ninput: {file}\nagain: {} {file}\nkeep it: copy it to fuzz/corpus/{}, then `cargo test -p maitred-fuzz`",
            lines[from..lines.len().min(from + 40)].join("\n"),
            self.program.display(),
            self.name
        )
    }

    fn must_find(&self) -> Result<String, String> {
        // What it found the last time would be no proof.
        fs::remove_dir_all(&self.kept).map_err(|error| error.to_string())?;
        fs::create_dir_all(&self.kept).map_err(|error| error.to_string())?;
        let output = said(&mut self.command(PLANTED_WITHIN_S))?;
        let log = String::from_utf8_lossy(&output.stderr);
        if output.status.success() || !log.contains("the planted fault was found") {
            return Err(format!("the fuzzer is blind: it did not find the planted fault\n{log}"));
        }
        let executed = number_behind(&log, "stat::number_of_executed_units:");
        Ok(format!("found, as it must be, after {} executions", executed.unwrap_or_default()))
    }
}

fn said(command: &mut Command) -> Result<Output, String> {
    command.stdin(Stdio::null()).output().map_err(|error| format!("{command:?}: {error}"))
}

/// `#1204881 DONE   cov: 1410 ft: 5021 corp: 212/11Kb …`
fn summary(log: &str) -> Result<String, String> {
    let last = log.lines().rfind(|line| line.starts_with('#') && line.contains(" cov: "));
    let line = last.ok_or_else(|| format!("the fuzzer told nothing of its coverage:\n{log}"))?;
    let executed = number_behind(log, "stat::number_of_executed_units:").unwrap_or_default();
    let [edges, features, kept] =
        ["cov:", "ft:", "corp:"].map(|what| number_behind(line, what).unwrap_or_default());
    Ok(format!("{executed} executions, {edges} edges, {features} features, {kept} inputs kept"))
}

fn number_behind(text: &str, what: &str) -> Option<u64> {
    let behind = text.split(what).nth(1)?.trim_start();
    let digits = behind.bytes().take_while(u8::is_ascii_digit).count();
    behind[..digits].parse().ok()
}

#[cfg(test)]
mod tests {
    use super::{TARGETS, binary, summary};

    #[test]
    fn what_the_fuzzer_tells_is_read() {
        let log = "#2\tINITED cov: 1 ft: 1 corp: 1/1b exec/s: 0 rss: 30Mb\n\
                   #99\tDONE   cov: 1410 ft: 5021 corp: 212/11Kb lim: 4096 exec/s: 9 rss: 90Mb\n\
                   stat::number_of_executed_units: 99\n";
        let told = "99 executions, 1410 edges, 5021 features, 212 inputs kept";
        assert_eq!(summary(log).as_deref(), Ok(told));
        assert!(summary("killed").is_err());
    }

    #[test]
    fn every_target_has_a_corpus() {
        for target in TARGETS {
            assert!(binary::root().join("fuzz/corpus").join(target).is_dir(), "{target}");
        }
    }
}
