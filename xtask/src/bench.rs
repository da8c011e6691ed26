//! Measures: builds the server as it ships, and the harness (`bench/`), and lets the harness run. Both in the profile
//! `release`, whatever this task runner was built with; the server by itself, so that it has the features it ships with.

use std::process::Command;

use crate::{binary, test::NATS};

const RESULTS: &str = "bench/RESULTS.md";

#[derive(clap::Args)]
pub struct Options {
    /// One JSON object a line instead of a table
    #[arg(long)]
    json: bool,
    /// Few and short repetitions: to see that it runs, not how fast
    #[arg(long)]
    quick: bool,
    /// Writes bench/RESULTS.md
    #[arg(long)]
    write_results: bool,
    /// Only print what the figures are
    #[arg(long)]
    list: bool,
    /// The figures, or families of figures, to run [default: all]
    #[arg(value_name = "NAME")]
    names: Vec<String>,
}

pub fn run(options: Options) -> Result<(), String> {
    if let Err(why) = NATS.provide() {
        eprintln!("{why}; what is measured with it is left out");
    }
    let maitred = binary::build_as("maitred", &["--release", "--package", "maitred-server"])?;
    let harness = binary::build_as("maitred-bench", &["--release", "--package", "maitred-bench", "--bins"])?;
    let mut command = Command::new(harness);
    command.current_dir(binary::root()).arg("--maitred").arg(maitred);
    let flags = [("--json", options.json), ("--quick", options.quick), ("--list", options.list)];
    command.args(flags.iter().filter(|(_, given)| *given).map(|(flag, _)| flag));
    if options.write_results {
        command.args(["--write-results", RESULTS]);
    }
    let status = command.args(options.names).status().map_err(|error| format!("the harness: {error}"))?;
    if status.success() {
        Ok(())
    } else {
        Err("not everything could be measured; what is above says why".to_owned())
    }
}
