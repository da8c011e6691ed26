//! What Studio and `maitred doctor` look at first: limits with their health, one over time, a change before it is made.

use axum::{Json, extract::State};
use maitred_api::{
    Call, Given, NamespacesAnswer, NodesAnswer, OverviewAnswer, OverviewFields, PreviewAnswer, SeriesAnswer,
    WhoamiAnswer,
};
use serde::Deserialize;
use utoipa::IntoParams;

use super::{
    Answered, App,
    ask::{Caller, Freshness, Path, Query, ReadHeaders},
    problem::Failure,
};

/// The limits with their health: searched, sorted, a page at a time.
///
/// How they stand is exact at `revision`; what they did (health, waits, expiries, floor) is known since the server
/// began to look, and a few records behind at the most.
#[utoipa::path(get, path = "/v1/overview", tag = "limits", params(ReadHeaders, OverviewFields, Freshness),
    responses((status = 200, body = OverviewAnswer), Failure))]
pub async fn overview(
    State(app): State<App>,
    Caller(asker): Caller,
    Query(fields): Query<OverviewFields>,
) -> Answered {
    app.ask(&asker, Call::Overview(fields)).await
}

/// How far back.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct Range {
    /// `15m`, `6h`, …: 1 m to 24 h, 1 h if absent. Steps of 10 s up to an hour, else of a minute.
    range: Option<String>,
    /// Wait until at least this revision can be seen.
    #[expect(dead_code, reason = "`Caller` reads it")]
    min_revision: Option<u64>,
}

/// What a limit did over time.
#[utoipa::path(get, path = "/v1/limits/{limit}/series", tag = "limits",
    params(("limit" = String, Path), ReadHeaders, Range), responses((status = 200, body = SeriesAnswer), Failure))]
pub async fn limit_series(
    State(app): State<App>,
    Caller(asker): Caller,
    Path(limit): Path<String>,
    Query(Range { range, .. }): Query<Range>,
) -> Answered {
    app.ask(&asker, Call::Series { limit, range: given(range) }).await
}

/// The values to try.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct Change {
    /// A whole number, or `reset`; as it is, if absent.
    capacity: Option<String>,
    /// `45m`, milliseconds, or `reset`; as it is, if absent.
    max_hold: Option<String>,
    /// Wait until at least this revision can be seen.
    #[expect(dead_code, reason = "`Caller` reads it")]
    min_revision: Option<u64>,
}

/// What a change of a limit would do. Changes nothing.
#[utoipa::path(get, path = "/v1/limits/{limit}/preview", tag = "limits",
    params(("limit" = String, Path), ReadHeaders, Change), responses((status = 200, body = PreviewAnswer), Failure))]
pub async fn preview_change(
    State(app): State<App>,
    Caller(asker): Caller,
    Path(limit): Path<String>,
    Query(Change { capacity, max_hold, .. }): Query<Change>,
) -> Answered {
    app.ask(&asker, Call::Preview { limit, capacity: given(capacity), max_hold: given(max_hold) }).await
}

fn given(text: Option<String>) -> Given {
    text.map(Given::from).unwrap_or_default()
}

/// The namespaces that exist.
#[utoipa::path(get, path = "/v1/namespaces", tag = "limits", params(ReadHeaders, Freshness),
    responses((status = 200, body = NamespacesAnswer), Failure))]
pub async fn list_namespaces(State(app): State<App>, Caller(asker): Caller) -> Answered {
    app.ask(&asker, Call::Namespaces {}).await
}

/// The servers that share the journal, as this one sees them; only this one where the journal is its own.
#[utoipa::path(get, path = "/v1/nodes", tag = "health", params(ReadHeaders, Freshness),
    responses((status = 200, body = NodesAnswer), Failure))]
pub async fn list_nodes(State(app): State<App>, Caller(asker): Caller) -> Answered {
    app.ask(&asker, Call::Nodes {}).await
}

/// What the server takes the caller for: the token's name, role and limits.
#[utoipa::path(get, path = "/v1/whoami", tag = "health", params(ReadHeaders),
    responses((status = 200, body = WhoamiAnswer), Failure))]
pub async fn whoami(Caller(asker): Caller) -> Json<WhoamiAnswer> {
    Json(WhoamiAnswer {
        name: asker.grant.name.clone(),
        role: asker.grant.role.as_str().to_owned(),
        limits: asker.grant.limits.clone(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
    })
}
