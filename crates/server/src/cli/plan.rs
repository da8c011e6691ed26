//! `maitred plan`: how many permits to give a downstream, and what each number of them does. No server is asked.

use std::time::Duration;

use clap::Args;
use maitred::plan::{Bound, Choice, Plan, PlanError, ROWS, Row};
use serde_json::json;

use crate::cli::{exit, failure::Failure};

#[derive(Args, Debug)]
#[command(after_help = HELP)]
pub struct PlanArgs {
    /// How long one call takes at the downstream when it has room
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    service_time: Duration,
    /// What a call costs beside it, outside the permit
    #[arg(long, value_name = "DURATION", value_parser = duration, default_value = "0ms")]
    overhead: Duration,
    /// The most calls the downstream ends per second
    #[arg(long, value_name = "N/s", value_parser = per_second)]
    ceiling: f64,
    /// When the caller gives up
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    timeout: Duration,
    /// How many calls there are to make
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    tasks: u64,
    /// The numbers of permits to show [default: 1,5,10,25,50,100,200,350,500]
    #[arg(long, value_name = "N,N…", value_delimiter = ',')]
    rows: Vec<u32>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

const HELP: &str = "\
Examples:
  maitred plan --service-time 40ms --overhead 3ms --ceiling 1000/s --timeout 500ms --tasks 10000
  maitred plan --service-time 2s --ceiling 5/s --timeout 30s --rows 1,5,10,20 --json

In JSON: `rows` of `permits`, `goodput_per_s`, `mean_latency_ms`, `timeouts` (a share, 0 to 1) and
`failed` (a number of tasks); `choose` with `permits` and `reason`, absent where no number helps.";

pub fn run(args: &PlanArgs) -> Result<u8, Failure> {
    let plan = Plan::new(args.service_time, args.overhead, args.ceiling, args.timeout, args.tasks);
    let rows = if args.rows.is_empty() { &ROWS[..] } else { &args.rows };
    let table = plan.table(rows).map_err(wrong)?;
    let choice = plan.choose();
    if args.json {
        let rows: Vec<_> = table.rows.iter().map(row).collect();
        println!(
            "{}",
            json!({ "tasks": table.tasks, "rows": rows, "choose": choice.as_ref().ok().map(chosen) })
        );
    } else {
        print!("{table}");
    }
    let choice = choice.map_err(wrong)?;
    if !args.json {
        println!("\n{choice}");
    }
    Ok(exit::OK)
}

fn row(row: &Row) -> serde_json::Value {
    json!({
        "permits": row.permits,
        "goodput_per_s": row.goodput_per_s,
        "mean_latency_ms": row.mean_latency_ms,
        "timeouts": row.timeouts,
        "failed": row.failed,
    })
}

fn chosen(choice: &Choice) -> serde_json::Value {
    let bound = match choice.bound {
        Bound::Ceiling => "ceiling",
        Bound::Tasks => "tasks",
        Bound::Timeout => "timeout",
        _ => "other",
    };
    json!({ "permits": choice.permits, "bound": bound, "reason": choice.to_string() })
}

/// Numbers that make no plan are a wrong use; a downstream that no number of permits helps is a failure.
fn wrong(error: PlanError) -> Failure {
    let exit = match error {
        PlanError::TimeoutTooShort { .. } | PlanError::TooMany { .. } => exit::FAILED,
        _ => exit::USAGE,
    };
    Failure::new(exit, error.to_string())
}

fn duration(text: &str) -> Result<Duration, String> {
    let ms = maitred::parse_duration(text);
    ms.map(Duration::from_millis).ok_or_else(|| "allowed: a duration such as 40ms, 2s, 1m30s".to_owned())
}

fn per_second(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix("/s").unwrap_or(text).parse();
    number.map_err(|_| "allowed: a number of calls per second, such as 1000/s".to_owned())
}
