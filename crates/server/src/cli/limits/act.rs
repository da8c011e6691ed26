//! The operator's acts on a limit: they act at once, and show what is then in force.

use maitred::format_duration;
use maitred_api::{Answer, Call, Given, LimitAnswer, LimitInfo, PreviewAnswer};

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

/// What a new capacity or max hold would do. Nothing is done.
pub async fn preview(
    session: &Session,
    limit: String,
    capacity: Given,
    max_hold: Given,
) -> Result<u8, Failure> {
    let call = Call::Preview { limit: limit.clone(), capacity, max_hold };
    let answer = match session.call(call).await {
        Ok(Answer::Preview(answer)) => answer,
        other => return Err(session.failed(other, Some(&limit)).await),
    };
    let sentences = || {
        let rows = answer.effects.iter().map(|effect| vec![format!("{limit}: {effect}")]).collect();
        Sheet { names: vec![""], rows }
    };
    session.out.print(&answer, sentences, || preview_for_pipes(&answer));
    Ok(exit::OK)
}

fn preview_for_pipes(answer: &PreviewAnswer) -> Sheet {
    let mut sheet = Sheet::new(&["name", "capacity", "max_hold_ms", "starts", "over", "never_fit"]);
    sheet.rows.push(vec![
        answer.limit.clone(),
        answer.capacity.to_string(),
        answer.max_hold_ms.to_string(),
        answer.starts.to_string(),
        answer.over.to_string(),
        answer.never_fit.to_string(),
    ]);
    sheet
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
