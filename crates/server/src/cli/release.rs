//! `maitred release`: gives a slot back, for scripts. It acts at once.

use clap::Args;
use maitred_api::{Answer, Call, ReleaseAnswer, SlotState};

use crate::cli::{
    exit,
    failure::{Failure, Own},
    output::Sheet,
    session::{ConnectOptions, Session},
};

#[derive(Args, Debug)]
#[command(after_help = HELP)]
pub struct ReleaseArgs {
    /// The id of the slot
    slot: String,
    #[command(flatten)]
    pub connect: ConnectOptions,
}

const HELP: &str = "\
Examples:
  slot=$(maitred acquire voice-calls) && { dial; maitred release \"$slot\"; }
  maitred release 0198f3c2-… --json

It can be repeated safely: a slot that has ended says so, and nothing changes (exit status 0).
One that still waits is exit status 5: it leaves the queue by `maitred leave`. An id that
nobody knows is exit status 3.";

pub async fn from_args(args: ReleaseArgs) -> Result<u8, Failure> {
    run(&Session::open(&args.connect)?, &args.slot).await
}

pub async fn run(session: &Session, slot: &str) -> Result<u8, Failure> {
    let answer = match session.call(Call::Release { slot: slot.to_owned() }).await {
        Ok(Answer::Release(answer)) => answer,
        other => return Err(session.failed(other, None).await),
    };
    if answer.state == SlotState::Unknown {
        return Err(unknown(session, slot));
    }
    if !answer.released && answer.state == SlotState::Queued {
        let message = format!("slot `{slot}` is still queued and holds nothing to give back");
        let failure = Failure::new(exit::REFUSED, message).because(Own::StillQueued);
        return Err(failure.hint(format!("take it out of the queue: maitred leave {slot}")));
    }
    let people = || Sheet { names: vec![""], rows: vec![vec![sentence(&answer)]] };
    session.out.print(&answer, people, || row(&answer));
    Ok(exit::OK)
}

pub fn unknown(session: &Session, slot: &str) -> Failure {
    let message = format!("no slot `{slot}` is known in namespace `{}`", session.namespace());
    Failure::new(exit::NOT_FOUND, message)
        .hint("it may have ended more than a day ago")
        .hint("who holds what: maitred limits slots LIMIT")
}

fn sentence(answer: &ReleaseAnswer) -> String {
    match (answer.released, answer.state) {
        (true, _) => format!("released {}", answer.slot),
        (false, state) => {
            format!("not released: {} is {} already", answer.slot, state.as_str().replace('_', " "))
        }
    }
}

fn row(answer: &ReleaseAnswer) -> Sheet {
    let mut sheet = Sheet::new(&["slot", "released", "state"]);
    let released = if answer.released { "yes" } else { "no" };
    sheet.rows.push(vec![answer.slot.clone(), released.to_owned(), answer.state.as_str().to_owned()]);
    sheet
}
