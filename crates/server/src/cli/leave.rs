//! `maitred leave`: takes a waiting slot out of the queue, for scripts. It acts at once.

use clap::Args;
use maitred_api::{Answer, Call, SlotState};

use crate::cli::{
    exit,
    failure::Failure,
    output::Sheet,
    release::unknown,
    session::{ConnectOptions, Session},
};

#[derive(Args, Debug)]
#[command(after_help = HELP)]
pub struct LeaveArgs {
    /// The id of the slot
    slot: String,
    #[command(flatten)]
    pub connect: ConnectOptions,
}

const HELP: &str = "\
Examples:
  maitred leave 0198f3c2-…
  maitred limits slots voice-calls        # who waits

It can be repeated safely: a slot that has ended stays as it is (exit status 0). One that was
granted is exit status 5: it is given back by `maitred release`. An id that nobody knows is exit
status 3. In a pipe, tab-separated: slot, state.";

pub async fn run(args: LeaveArgs) -> Result<u8, Failure> {
    let session = Session::open(&args.connect)?;
    let slot = args.slot;
    let answer = match session.call(Call::Leave { slot: slot.clone() }).await {
        Ok(Answer::Slot(answer)) => answer,
        other => return Err(session.failed(other, None).await),
    };
    let state = answer.slot.state;
    if state == SlotState::Unknown {
        return Err(unknown(&session, &slot));
    }
    if state.is_granted() {
        let told = format!("slot `{slot}` is {}, so it waits no more", state.as_str());
        let failure = Failure::new(exit::REFUSED, told);
        return Err(failure.hint(format!("give it back: maitred release {slot}")));
    }
    let word = state.as_str().replace('_', " ");
    let people = || match state {
        SlotState::Left => Sheet { names: vec![""], rows: vec![vec![format!("{slot} has left the queue")]] },
        _ => Sheet { names: vec![""], rows: vec![vec![format!("{slot} is {word} already")]] },
    };
    let pipes =
        || Sheet { names: vec!["slot", "state"], rows: vec![vec![slot.clone(), state.as_str().to_owned()]] };
    session.out.print(&answer, people, pipes);
    Ok(exit::OK)
}
