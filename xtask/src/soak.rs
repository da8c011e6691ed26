//! The long forms of everything that hunts faults, one after the other, each with what came of it. With `--write-report`
//! that becomes `docs/src/reference/soak.md`: commit, machine, seeds, what was met.
//!
//! A part that fails does not keep the others from running; the whole fails in the end.

mod load;
mod parts;
mod report;

use std::time::Instant;

use self::{parts::PARTS, report::Row};

#[derive(clap::Args)]
pub struct Options {
    /// How many hours are simulated
    #[arg(long, default_value_t = 300.0)]
    hours: f64,
    /// For how long the load goes on
    #[arg(long, default_value_t = 60, value_name = "MINUTES", value_parser = clap::value_parser!(u64).range(1..))]
    load_minutes: u64,
    /// Everything else: this percentage of its full length
    #[arg(long, default_value_t = 100, value_name = "PERCENT", value_parser = clap::value_parser!(u64).range(1..=1_000))]
    length: u64,
    /// Only this part; may be given several times [default: all]
    #[arg(long, value_name = "PART", value_parser = parts::names())]
    only: Vec<String>,
    /// Writes docs/src/reference/soak.md
    #[arg(long)]
    write_report: bool,
    /// Says which parts there are, and what each would run
    #[arg(long)]
    list: bool,
}

pub fn run(options: Options) -> Result<(), String> {
    let is_wanted = |name: &str| options.only.is_empty() || options.only.iter().any(|only| only == name);
    let lengths =
        parts::Lengths { hours: options.hours, load_minutes: options.load_minutes, percent: options.length };
    let mut rows = Vec::new();
    for part in PARTS.iter().filter(|part| is_wanted(part.name)) {
        println!("\n=== {}: {}", part.name, part.what);
        if options.list {
            continue;
        }
        let since = Instant::now();
        let ended = (part.run)(&lengths);
        let row = Row::new(part, ended, since.elapsed());
        println!("=== {row}");
        rows.push(row);
        // Whatever happens to the parts that follow, this one is written down.
        if options.write_report {
            report::write(&rows, options.length)?;
        }
    }
    let failed: Vec<&str> = rows.iter().filter(|row| row.has_failed()).map(|row| row.name).collect();
    match failed.is_empty() {
        true => Ok(()),
        false => Err(format!("failed: {}", failed.join(", "))),
    }
}
