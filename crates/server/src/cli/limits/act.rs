//! The operator's acts on a limit: they act at once, and show what is then in force.

use maitred::format_duration;
use maitred_api::{Call, LimitAnswer, LimitInfo};

use crate::cli::{
    exit,
    failure::Failure,
    limits::show::{self, list_for_pipes},
    output::Sheet,
    session::Session,
};

pub async fn run(session: &Session, name: &str, call: Call) -> Result<u8, Failure> {
    let act = call.clone();
    let answer = match session.call(call).await {
        Ok(maitred_api::Answer::Limit(answer)) => answer,
        Ok(_) => session.limit(name).await?,
        Err(problem) => return Err(session.explain(problem, Some(name)).await),
    };
    show_limit(session, &act, &answer);
    Ok(exit::OK)
}

fn show_limit(session: &Session, act: &Call, answer: &LimitAnswer) {
    let limit = &answer.limit;
    let sentence = || Sheet { names: vec![""], rows: vec![vec![sentence(act, limit)]] };
    session.out.print(answer, sentence, || list_for_pipes(std::slice::from_ref(limit), answer.as_of));
}

fn sentence(act: &Call, limit: &LimitInfo) -> String {
    let told = match act {
        Call::SetCapacity { .. } => {
            format!("capacity is now {}, declared: {}", limit.capacity, limit.declared_capacity)
        }
        Call::ResetCapacity { .. } => format!("capacity is {} again, as declared", limit.capacity),
        Call::SetMaxHold { .. } => format!(
            "max hold is now {} for slots granted from here on, declared: {}",
            format_duration(limit.max_hold_ms),
            format_duration(limit.declared_max_hold_ms)
        ),
        Call::ResetMaxHold { .. } => {
            format!("max hold is {} again, as declared", format_duration(limit.max_hold_ms))
        }
        Call::Pause { .. } => "paused; nothing is granted until `maitred limits resume`".to_owned(),
        _ => "resumed".to_owned(),
    };
    format!("{}: {told}   ({} used, {} waiting)", limit.limit, show::usage(limit), limit.waiting)
}
