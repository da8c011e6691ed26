//! `maitred acquire`: takes a slot and prints its id. The slot outlives the command.

use clap::Args;

use crate::cli::{
    complete, exit,
    failure::Failure,
    output::Sheet,
    session::{ConnectOptions, Session},
    signals::Signals,
    waiting::{self, Wanted},
};

#[derive(Args, Debug)]
#[command(after_help = HELP)]
pub struct AcquireArgs {
    /// The limit
    #[arg(add = complete::limits())]
    limit: String,
    #[command(flatten)]
    wanted: Wanted,
    #[command(flatten)]
    pub connect: ConnectOptions,
}

const HELP: &str = "\
Examples:
  slot=$(maitred acquire voice-calls --timeout 30m --label call-77)
  maitred acquire partner-api --no-wait || echo 'busy, later'
  maitred acquire nightly --slot nightly-2026-08-01    # may be repeated: the same slot

It prints the slot's id once the slot is busy. Whoever knows it gives it back: maitred release ID.
Until then it counts, at the longest for the limit's max hold. Ctrl-C leaves the queue.
Exit status 6: timed out.";

pub async fn run(args: AcquireArgs) -> Result<u8, Failure> {
    let session = Session::open(&args.connect)?;
    let mut signals = Signals::ending().map_err(|error| Failure::new(exit::FAILED, error.to_string()))?;
    let answer = waiting::wait_for_slot(&session, &args.limit, &args.wanted, &mut signals).await?;
    let id = || Sheet { names: vec![""], rows: vec![vec![answer.slot.slot.clone()]] };
    match session.out.json {
        true => session.out.json(&answer),
        false => session.out.print(&answer, id, id),
    }
    Ok(exit::OK)
}
