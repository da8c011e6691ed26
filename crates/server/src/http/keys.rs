use axum::extract::State;
use maitred_api::{Call, DoneAnswer, KeysAnswer};
use serde::Deserialize;
use utoipa::IntoParams;

use super::{
    Answered, App,
    ask::{Caller, ChangeHeaders, Query, ReadHeaders},
    body::NoFields,
    problem::Failure,
};

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
    /// Wait until at least this revision can be seen.
    #[expect(dead_code, reason = "`Caller` reads it")]
    min_revision: Option<u64>,
}

/// Keys that are counted or held: all, by page, or one.
#[utoipa::path(get, path = "/v1/keys", tag = "admission", params(ReadHeaders, KeyPage),
    responses((status = 200, body = KeysAnswer), Failure))]
pub async fn list_keys(
    State(app): State<App>,
    Caller(context): Caller,
    Query(page): Query<KeyPage>,
) -> Answered {
    let KeyPage { task, key, after, most, .. } = page;
    app.ask(&context, Call::Keys { task, key, after, most }).await
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
    Caller(context): Caller,
    Query(OneKey { task, key }): Query<OneKey>,
    _: NoFields,
) -> Answered {
    app.ask(&context, Call::ResetRate { task, key }).await
}
