//! `maitred limits release`: an operator gives a slot back by hand.

use std::io::{self, BufRead, IsTerminal, Write};

use maitred_api::{SlotAnswer, SlotState};

use crate::cli::{
    exit,
    failure::{Failure, Own},
    release,
    session::Session,
    text,
};

pub async fn run(session: &Session, slot: &str, yes: bool) -> Result<u8, Failure> {
    if !yes {
        can_ask(&format!("releasing slot `{slot}`"))?;
        let answer = session.slot(slot).await?;
        if answer.slot.state.is_granted() && !is_agreed(&question(session, &answer).await?) {
            return Err(Failure::new(exit::REFUSED, "nothing was released").because(Own::NotConfirmed));
        }
    }
    release::run(session, slot).await
}

/// Who holds it, who is next, and what a release does not do.
async fn question(session: &Session, answer: &SlotAnswer) -> Result<String, Failure> {
    let slot = &answer.slot;
    let limits: Vec<String> = slot.limits.iter().map(|share| format!("`{}`", share.limit)).collect();
    let held = slot.granted_at.map(|at| text::span(answer.as_of.saturating_sub(at))).unwrap_or_default();
    let mut question = format!(
        "Slot {} of {} is {}, for {held}{}{}.\n",
        slot.slot,
        limits.join(" and "),
        slot.state.as_str(),
        named(", run ", slot.run.as_deref()),
        named(", label ", slot.label.as_deref()),
    );
    question.push_str(&next_in_line(session, answer).await?);
    question.push_str("The work itself is not stopped. Release the slot? [y/N] ");
    Ok(question)
}

fn named(before: &str, name: Option<&str>) -> String {
    name.map(|name| format!("{before}{}", text::safe(name))).unwrap_or_default()
}

async fn next_in_line(session: &Session, answer: &SlotAnswer) -> Result<String, Failure> {
    let mut lines = String::new();
    for share in &answer.slot.limits {
        let limit = session.limit(&share.limit).await?.limit;
        let held = limit.busy_slots + limit.reserved_slots;
        let queue = session.limit_slots(&share.limit, held, Some(1)).await?.queue;
        let next = queue.iter().find(|waiting| waiting.state == SlotState::Queued);
        lines.push_str(&match next {
            Some(next) => {
                let run = named(", run ", next.run.as_deref());
                format!("Next in the queue of `{}`: slot {}{run}.\n", share.limit, next.slot)
            }
            None => format!("Nobody waits for `{}`.\n", share.limit),
        });
    }
    Ok(lines)
}

/// Refused where nobody could answer.
pub fn can_ask(what: &str) -> Result<(), Failure> {
    if io::stdin().is_terminal() && io::stderr().is_terminal() {
        return Ok(());
    }
    let message = format!("{what} is not confirmed, and there is no terminal to ask on");
    Err(Failure::new(exit::REFUSED, message).because(Own::NotConfirmed).hint("confirm it: --yes"))
}

pub fn is_agreed(question: &str) -> bool {
    let mut err = anstream::stderr().lock();
    let asked = err.write_all(question.as_bytes()).and_then(|()| err.flush());
    let mut answer = String::new();
    let read = io::stdin().lock().read_line(&mut answer);
    asked.is_ok() && read.is_ok() && matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes")
}
