//! What was, and why something waits: history, audit and explanations.

use axum::extract::State;
use maitred_api::{AuditAnswer, AuditFields, Call, ExplainAnswer, HistoryAnswer};
use serde::Deserialize;
use utoipa::IntoParams;

use super::{
    Answered, App,
    ask::{Caller, Freshness, Path, Query, ReadHeaders},
    problem::Failure,
};

/// Which ends are wanted: those that fit everything that is given.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct Ends {
    limit: Option<String>,
    slot: Option<String>,
    run: Option<String>,
    label: Option<String>,
    /// The `next` of the page before.
    before: Option<String>,
    /// How many at the most.
    most: Option<u32>,
}

/// Slots that ended, newest first, each with its whole story.
///
/// The history is filled behind the journal and bounded; `reach` says how far it goes and how far behind it is.
#[utoipa::path(get, path = "/v1/history", tag = "history", params(ReadHeaders, Ends),
    responses((status = 200, body = HistoryAnswer), Failure))]
pub async fn list_ends(State(app): State<App>, Caller(asker): Caller, Query(ends): Query<Ends>) -> Answered {
    let Ends { limit, slot, run, label, before, most } = ends;
    app.ask(&asker, Call::History { limit, slot, run, label, before, most }).await
}

/// One page, from the newest back.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct PageBack {
    /// The `next` of the page before.
    before: Option<String>,
    /// How many at the most.
    most: Option<u32>,
}

/// Slots of this limit that ended, newest first.
#[utoipa::path(get, path = "/v1/limits/{limit}/history", tag = "history",
    params(("limit" = String, Path), ReadHeaders, PageBack),
    responses((status = 200, body = HistoryAnswer), Failure))]
pub async fn list_limit_ends(
    State(app): State<App>,
    Caller(asker): Caller,
    Path(limit): Path<String>,
    Query(PageBack { before, most }): Query<PageBack>,
) -> Answered {
    let limit = Some(limit);
    app.ask(&asker, Call::History { limit, slot: None, run: None, label: None, before, most }).await
}

/// What was changed about limits, newest first: by whom, why, and what it was before.
#[utoipa::path(get, path = "/v1/audit", tag = "history", params(ReadHeaders, AuditFields),
    responses((status = 200, body = AuditAnswer), Failure))]
pub async fn list_acts(
    State(app): State<App>,
    Caller(asker): Caller,
    Query(fields): Query<AuditFields>,
) -> Answered {
    app.ask(&asker, Call::Audit(fields)).await
}

/// What is to be explained.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct Riddle {
    /// The id of a slot, else a run, else a label.
    what: String,
    /// Wait until at least this revision can be seen.
    #[expect(dead_code, reason = "`Caller` reads it")]
    min_revision: Option<u64>,
}

/// Why a slot, a run, or what has this label is not moving: in words and in numbers.
#[utoipa::path(get, path = "/v1/explain", tag = "history", params(ReadHeaders, Riddle),
    responses((status = 200, body = ExplainAnswer), Failure))]
pub async fn explain(
    State(app): State<App>,
    Caller(asker): Caller,
    Query(riddle): Query<Riddle>,
) -> Answered {
    app.ask(&asker, Call::Explain { what: riddle.what }).await
}

/// Why this slot is not moving.
#[utoipa::path(get, path = "/v1/slots/{slot}/explain", tag = "history",
    params(("slot" = String, Path), ReadHeaders, Freshness),
    responses((status = 200, body = ExplainAnswer), Failure))]
pub async fn explain_slot(
    State(app): State<App>,
    Caller(asker): Caller,
    Path(what): Path<String>,
) -> Answered {
    app.ask(&asker, Call::Explain { what }).await
}
