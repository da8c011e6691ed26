//! Everything CI runs, in its short form, one step after another. It stops at the first that fails.
//!
//! What takes time is compiling, so everything is compiled once, in the profile `ci` that this task runner itself
//! was built with: release speed with debug assertions. The linter and the documentation share their own, cheaper
//! pass. A harness that hunts faults is run a second time with a fault planted, and has to see it.

mod copied;
mod examples;
mod needs;
mod step;
mod studio;
mod tally;

use std::time::{Duration, Instant};

pub use self::{
    needs::{MUTANTS, NATS, OLD_NATS, SBOM, old_nats_server},
    step::{npm_script, watched},
};
use self::{
    step::{STEPS, Step},
    tally::Tally,
};

/// Run when they are named: their builds, or their waits, do not fit into half an hour.
const BY_NAME: &[&str] =
    &["deny", "see", "workflows-postgres", "runs-postgres", "copied", "hosted", "upgrade"];

#[derive(clap::Args)]
pub struct Options {
    /// Run only this step; may be given several times [default: all but those that are run by name]
    #[arg(long, value_name = "STEP", value_parser = step::names())]
    only: Vec<String>,
}

pub fn run(options: Options) -> Result<(), String> {
    let is_wanted = |step: &&Step| match options.only.is_empty() {
        true => !BY_NAME.contains(&step.name),
        false => options.only.iter().any(|name| name == step.name),
    };
    let steps: Vec<&Step> = STEPS.iter().filter(is_wanted).collect();
    let since = Instant::now();
    let mut all = Tally::default();
    for (index, step) in steps.iter().enumerate() {
        println!("\n=== {} of {}: {}: {}", index + 1, steps.len(), step.name, step.what);
        let begun = Instant::now();
        let (tally, error) = match (step.run)() {
            Ok(tally) => (tally, None),
            Err(failure) => (failure.tally, Some(failure.why)),
        };
        all.add(tally);
        println!(
            "=== {}: {} in {}",
            step.name,
            if error.is_none() { "ok" } else { "FAILED" },
            shown(begun.elapsed())
        );
        if let Some(why) = error {
            println!("\nFAILED at step {}: {why}\nAgain: cargo xtask test --only {}", step.name, step.name);
            break;
        }
    }
    println!("\n{} in {}", all, shown(since.elapsed()));
    println!("{} passed, {} failed", all.passed, all.failed);
    match all.failed {
        0 => Ok(()),
        _ => Err("not everything passed".to_owned()),
    }
}

fn shown(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0..60 => format!("{:.1} s", time.as_secs_f64()),
        _ => format!("{} min {} s", seconds / 60, seconds % 60),
    }
}
