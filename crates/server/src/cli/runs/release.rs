//! `maitred runs release`: an operator gives back all that a run holds.

use maitred_api::{Answer, Call, SlotInfo};
use serde_json::json;

use crate::cli::{
    exit,
    failure::{Failure, Own},
    limits::{can_ask, is_agreed},
    session::Session,
    text,
};

pub async fn run(session: &Session, run: &str, yes: bool) -> Result<u8, Failure> {
    if !yes {
        can_ask(&format!("releasing the slots of run `{run}`"))?;
    }
    let held = held(session, run).await?;
    if held.is_empty() {
        let failure = Failure::new(exit::NOT_FOUND, format!("run `{run}` holds no slots"));
        return Err(failure.hint(format!("what it held: maitred history --run {run}")));
    }
    if !yes && !is_agreed(&question(run, &held)) {
        return Err(Failure::new(exit::REFUSED, "nothing was released").because(Own::NotConfirmed));
    }
    let mut released = Vec::new();
    for slot in held {
        match session.call(Call::Release { slot: slot.slot.clone() }).await {
            Ok(Answer::Release(answer)) if answer.released => released.push(slot.slot),
            // It has ended meanwhile.
            Ok(Answer::Release(_)) => {}
            other => {
                let told = format!("{} released before", text::count(released.len(), "slot"));
                return Err(session.failed(other, None).await.hint(told));
            }
        }
    }
    match session.out.json {
        true => session.out.json(&json!({ "run": run, "released": released })),
        false => session.out.line(&format!("released {}", text::count(released.len(), "slot"))),
    }
    Ok(exit::OK)
}

async fn held(session: &Session, run: &str) -> Result<Vec<SlotInfo>, Failure> {
    let slots = match session.call(Call::Run { run: run.to_owned() }).await {
        Ok(Answer::Run(answer)) => answer.run.slots,
        other => return Err(session.failed(other, None).await),
    };
    Ok(slots.into_iter().filter(|slot| slot.state.is_granted()).collect())
}

fn question(run: &str, held: &[SlotInfo]) -> String {
    let line = |slot: &SlotInfo| {
        let limits: Vec<&str> = slot.limits.iter().map(|share| share.limit.as_str()).collect();
        format!("  {} of {}, {}\n", text::safe(&slot.slot), limits.join(" and "), slot.state.as_str())
    };
    let lines: String = held.iter().map(line).collect();
    let count = text::count(held.len(), "slot");
    format!(
        "Run {} holds {count}:\n{lines}The work itself is not stopped. Release them? [y/N] ",
        text::safe(run)
    )
}
