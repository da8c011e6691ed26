//! `maitred run`: holds a slot while a command runs.
//!
//! The slot is given back on every way out: the command ends, it cannot be started, a signal comes. Where the
//! server cannot be reached the release is tried again until the slot's own expiry, when there is nothing left to
//! give back. If this process itself is killed (SIGKILL), the slot comes back at its max hold.

use std::{io, process::ExitStatus, time::Duration};

use clap::Args;
use maitred_api::{Answer, Call, Reason, SlotAnswer, SlotState};
use rustix::process::{Pid, Signal, getpgrp, kill_process};
use tokio::{
    process::{Child, Command},
    time::Instant,
};

use crate::cli::{
    complete, exit,
    failure::Failure,
    output,
    session::{ConnectOptions, Session},
    signals::{self, Signals},
    waiting::{self, Wanted},
};

/// How often it is asked whether the slot is still held.
const LOOKED_AT_EVERY: Duration = Duration::from_secs(3);
/// Between asking a command to end and ending it.
const KILL_AFTER: Duration = Duration::from_secs(10);

#[derive(Args, Debug)]
#[command(after_help = HELP)]
pub struct RunArgs {
    /// The limit whose slot the command holds
    #[arg(long, value_name = "LIMIT", add = complete::limits())]
    limit: String,
    /// End the command when its slot expires or is taken from it (SIGTERM, ten seconds later SIGKILL); else it is only
    /// told on stderr
    #[arg(long)]
    kill_on_expiry: bool,
    #[command(flatten)]
    wanted: Wanted,
    #[command(flatten)]
    pub connect: ConnectOptions,
    /// The command and its arguments
    #[arg(last = true, required = true, value_name = "CMD")]
    command: Vec<String>,
}

const HELP: &str = "\
Examples:
  maitred run --limit partner-api -- curl -fsS https://partner.example/export
  maitred run --limit nightly --timeout 10m --label report -- ./report.sh
  maitred run --limit gpu --weight 4 --kill-on-expiry -- ./train

The command finds its slot in MAITRED_SLOT_ID, MAITRED_LIMIT and MAITRED_FENCE.
Signals are passed on to it, and its exit status is passed back. If somebody else releases the
slot, that is told within a few seconds; the command goes on, unless --kill-on-expiry is given.
Not started: 6 timed out waiting, 126 not executable, 127 no such command.";

pub async fn run(args: RunArgs) -> Result<u8, Failure> {
    let session = Session::open(&args.connect)?;
    let mut signals = Signals::all().map_err(|error| Failure::new(exit::FAILED, error.to_string()))?;
    let slot = waiting::wait_for_slot(&session, &args.limit, &args.wanted, &mut signals).await?;
    let held = Held { session: &session, expires: expiry(&slot), slot };
    let status = match held.start(&args) {
        Ok(child) => held.accompany(child, args.kill_on_expiry, &mut signals).await,
        Err(error) => Err(not_started(&args.command[0], &error)),
    };
    held.give_back(&mut signals).await;
    status.map(signals::passed_on)
}

fn not_started(command: &str, error: &io::Error) -> Failure {
    match error.kind() {
        io::ErrorKind::NotFound => Failure::new(exit::NO_COMMAND, format!("there is no command `{command}`")),
        _ => Failure::new(exit::NOT_EXECUTABLE, format!("`{command}` could not be executed: {error}")),
    }
}

/// The slot's expiry on this machine's own clock.
fn expiry(answer: &SlotAnswer) -> Instant {
    let left_ms = answer.slot.expires_at.unwrap_or(answer.as_of).saturating_sub(answer.as_of);
    Instant::now() + Duration::from_millis(left_ms)
}

struct Held<'a> {
    session: &'a Session,
    slot: SlotAnswer,
    expires: Instant,
}

impl Held<'_> {
    fn start(&self, args: &RunArgs) -> io::Result<Child> {
        let mut command = Command::new(&args.command[0]);
        command.args(&args.command[1..]);
        command.env("MAITRED_SLOT_ID", &self.slot.slot.slot).env("MAITRED_LIMIT", &args.limit);
        if let Some(fence) = self.slot.slot.fence {
            command.env("MAITRED_FENCE", fence.to_string());
        }
        command.spawn()
    }

    /// Passes signals on until the command ends; at the slot's expiry warns, or ends it.
    async fn accompany(
        &self,
        mut child: Child,
        kill: bool,
        signals: &mut Signals,
    ) -> Result<ExitStatus, Failure> {
        let mut next = self.expires;
        let mut stage = Stage::Holding;
        let mut taken = std::pin::pin!(self.taken());
        loop {
            tokio::select! {
                status = child.wait() => {
                    return status.map_err(|error| Failure::new(exit::FAILED, format!("the command was lost: {error}")));
                }
                signal = signals.next() => pass_on(&child, signal),
                state = &mut taken, if stage == Stage::Holding => {
                    stage = self.lost(&child, kill, stage, &format!("was {state} by somebody else"));
                    next = Instant::now() + KILL_AFTER;
                }
                () = tokio::time::sleep_until(next), if stage != Stage::Over => {
                    stage = self.lost(&child, kill, stage, "has expired");
                    next = Instant::now() + KILL_AFTER;
                }
            }
        }
    }

    /// Resolves when the slot has ended before its expiry: how. While no server answers it is held.
    async fn taken(&self) -> String {
        let look = Call::Slot { slot: self.slot.slot.slot.clone(), wait: Default::default() };
        loop {
            tokio::time::sleep(LOOKED_AT_EVERY).await;
            let Ok(Answer::Slot(answer)) = self.session.call(look.clone()).await else { continue };
            if !matches!(answer.slot.state, SlotState::Busy | SlotState::Expired) {
                return answer.slot.state.as_str().replace('_', " ");
            }
        }
    }

    fn lost(&self, child: &Child, kill: bool, stage: Stage, how: &str) -> Stage {
        let slot = &self.slot.slot.slot;
        match (kill, stage) {
            (false, _) => {
                output::note(&format!("warning: slot {slot} {how}; the command goes on without it"));
                Stage::Over
            }
            (true, Stage::Holding) => {
                output::note(&format!("warning: slot {slot} {how}; ending the command"));
                send(child, Signal::TERM);
                Stage::Ending
            }
            (true, _) => {
                send(child, Signal::KILL);
                Stage::Over
            }
        }
    }

    /// Tries until it is done or there is nothing left to give back.
    async fn give_back(&self, signals: &mut Signals) {
        let mut pause = Duration::from_millis(100);
        loop {
            let problem = match self.session.call(Call::Release { slot: self.slot.slot.slot.clone() }).await {
                Ok(Answer::Release(answer)) if answer.released || Instant::now() >= self.expires => return,
                Ok(Answer::Release(answer)) => {
                    let state = answer.state.as_str().replace('_', " ");
                    return output::note(&format!("warning: the slot was {state} before the command ended"));
                }
                Ok(_) => return,
                Err(problem) => problem,
            };
            if !matches!(problem.reason, Reason::Unknown | Reason::Unavailable | Reason::Overloaded) {
                let why = &problem.message;
                return output::note(&format!("warning: the slot was not given back: {why}"));
            }
            if pause == Duration::from_millis(800) {
                output::note("the slot cannot be given back yet, no server answers; trying until it expires");
            }
            tokio::select! {
                () = tokio::time::sleep(pause) => pause = (pause * 2).min(Duration::from_secs(5)),
                () = tokio::time::sleep_until(self.expires) => return,
                signal = signals.next() => if signals::is_ending(signal) { return },
            }
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Holding,
    /// Asked to end.
    Ending,
    /// Nothing more is done about it.
    Over,
}

/// What is typed at the terminal reaches the command without us: it is in the same process group.
fn pass_on(child: &Child, signal: Signal) {
    let may_be_typed = matches!(signal, Signal::INT | Signal::QUIT);
    if !(may_be_typed && is_in_the_foreground()) {
        send(child, signal);
    }
}

fn is_in_the_foreground() -> bool {
    let terminal = std::fs::File::open("/dev/tty");
    terminal.is_ok_and(|tty| rustix::termios::tcgetpgrp(tty).is_ok_and(|group| group == getpgrp()))
}

fn send(child: &Child, signal: Signal) {
    let pid = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
    if let Some(pid) = pid {
        // A child that has just ended cannot be told; its status is on its way.
        let _ = kill_process(pid, signal);
    }
}
