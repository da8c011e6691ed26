use axum::{Json, extract::State};
use maitred_api::{Answer, Call, DoneAnswer, KeysAnswer, RunInfo};
use serde::Deserialize;
use utoipa::IntoParams;

use super::{
    Answered, App,
    allowed::has_role,
    ask::{Asker, Caller, ChangeHeaders, Query, ReadHeaders},
    body::NoFields,
    problem::Failure,
};
use crate::token::Role;

/// Which keys are wanted.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct KeyPage {
    /// Together with `key`: this one only, even if nothing is counted.
    task: Option<String>,
    key: Option<String>,
    /// The `next` of the page before.
    after: Option<String>,
    /// How many at the most.
    most: Option<u32>,
    /// Show whole keys. Without it a list shows their first letters: a key can name a person. Needs the role admin.
    #[serde(default)]
    reveal: bool,
    /// Wait until at least this revision can be seen.
    #[expect(dead_code, reason = "`Caller` reads it")]
    min_revision: Option<u64>,
}

/// Keys that are counted or held: all by page, masked unless `reveal`; or one.
#[utoipa::path(get, path = "/v1/keys", tag = "admission", params(ReadHeaders, KeyPage),
    responses((status = 200, body = KeysAnswer), Failure))]
pub async fn list_keys(
    State(app): State<App>,
    Caller(asker): Caller,
    Query(page): Query<KeyPage>,
) -> Answered {
    let KeyPage { task, key, after, most, reveal, .. } = page;
    may_reveal(&asker, reveal)?;
    let is_known = key.is_some();
    let Json(answer) = app.ask(&asker, Call::Keys { task, key, after, most }).await?;
    Ok(Json(if reveal || is_known { answer } else { masked(answer) }))
}

/// Whole keys are for admins.
pub fn may_reveal(asker: &Asker, reveal: bool) -> Result<(), Failure> {
    let needed = if reveal { Role::Admin } else { Role::Read };
    has_role(&asker.grant, needed).map_err(Failure::from)
}

/// The answer without what its keys may tell of persons.
pub fn masked(mut answer: Answer) -> Answer {
    let places = |run: &mut RunInfo| run.places.iter_mut().for_each(|place| mask(&mut place.key));
    match &mut answer {
        Answer::Keys(keys) => keys.keys.iter_mut().for_each(|info| mask(&mut info.key)),
        Answer::Runs(runs) => runs.runs.iter_mut().for_each(places),
        Answer::Run(run) => places(&mut run.run),
        _ => {}
    }
    answer
}

fn mask(key: &mut String) {
    const SHOWN: usize = 4;
    let shown = if key.chars().count() > SHOWN { SHOWN } else { 0 };
    *key = key.chars().take(shown).chain(['…']).collect();
}

/// One rate key.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct OneKey {
    task: String,
    key: String,
}

/// Forgets what is counted against a rate key: its window is over. Places in flight stay.
#[utoipa::path(delete, path = "/v1/keys", tag = "admission", params(ChangeHeaders, OneKey),
    responses((status = 200, body = DoneAnswer), Failure))]
pub async fn reset_rate(
    State(app): State<App>,
    Caller(asker): Caller,
    Query(OneKey { task, key }): Query<OneKey>,
    _: NoFields,
) -> Answered {
    app.ask(&asker, Call::ResetRate { task, key }).await
}
