//! `maitred release`: gives a slot back, for scripts. It acts at once.

use clap::Args;
use maitred_api::{Answer, Call, ReleaseAnswer, SlotState};

use crate::cli::{
    exit,
    failure::Failure,
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
An id that nobody knows is exit status 3.";

pub async fn from_args(args: ReleaseArgs) -> Result<u8, Failure> {
    run(&Session::open(&args.connect)?, &args.slot).await
}

pub async fn run(session: &Session, slot: &str) -> Result<u8, Failure> {
    let answer = match session.call(Call::Release { slot: slot.to_owned() }).await {
        Ok(Answer::Release(answer)) => answer,
        other => return Err(session.failed(other, None).await),
    };
    if answer.state == SlotState::Unknown {
        let message = format!("no slot `{slot}` is known in namespace `{}`", session.namespace());
        let failure = Failure::new(exit::NOT_FOUND, message);
        return Err(failure
            .hint("it may have ended more than a day ago")
            .hint("who holds what: maitred limits slots LIMIT"));
    }
    let people = || Sheet { names: vec![""], rows: vec![vec![sentence(&answer)]] };
    session.out.print(&answer, people, || row(&answer));
    Ok(exit::OK)
}

fn sentence(answer: &ReleaseAnswer) -> String {
    match (answer.released, answer.state) {
        (true, _) => format!("released {}", answer.slot),
        (false, SlotState::Queued) => format!("not released: {} is still queued", answer.slot),
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
