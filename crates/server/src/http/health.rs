use std::sync::Arc;

use axum::{
    Extension, Json,
    extract::State,
    http::{StatusCode, header},
    response::IntoResponse,
};
use maitred_api::{LiveAnswer, ReadyAnswer};

use super::{App, allowed, problem::Failure};
use crate::{tls::Certificates, token::Grant};

/// The process runs.
#[utoipa::path(get, path = "/livez", tag = "health", responses((status = 200, body = LiveAnswer)))]
pub async fn live() -> Json<LiveAnswer> {
    Json(LiveAnswer { live: true, version: env!("CARGO_PKG_VERSION").to_owned() })
}

/// The same as `/livez`.
#[utoipa::path(get, path = "/healthz", tag = "health", responses((status = 200, body = LiveAnswer)))]
pub async fn healthy() -> Json<LiveAnswer> {
    live().await
}

/// Whether the server takes calls: 200, or 503 with the reasons.
#[utoipa::path(get, path = "/readyz", tag = "health",
    responses((status = 200, body = ReadyAnswer), (status = 503, body = ReadyAnswer)))]
pub async fn ready(State(app): State<App>) -> (StatusCode, Json<ReadyAnswer>) {
    let health = app.node.health().await;
    let draining = *app.draining.borrow();
    let mut notes = health.notes;
    notes.extend(app.tls.as_ref().and_then(Certificates::note));
    if draining {
        notes.push("the server was told to stop".to_owned());
    }
    let ready = health.ready && !draining;
    let status = if ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    let answer = ReadyAnswer {
        ready,
        draining,
        notes,
        horizon: health.horizon,
        remembered_timed: health.remembered_timed,
        remembered_other: health.remembered_other,
        revision: health.revision,
        as_of: health.as_of,
    };
    (status, Json(answer))
}

/// Numbers in the text form of OpenMetrics, which Prometheus reads. A token with prefixes sees those of its limits.
#[utoipa::path(get, path = "/metrics", tag = "health",
    responses((status = 200, body = String, content_type = "application/openmetrics-text"), Failure))]
pub async fn metrics(State(app): State<App>, Extension(grant): Extension<Arc<Grant>>) -> impl IntoResponse {
    let text = app.node.metrics().await.text + &app.numbers.text(app.tls.as_ref());
    let text = allowed::told_in_numbers(&grant, text);
    ([(header::CONTENT_TYPE, "application/openmetrics-text; version=1.0.0; charset=utf-8")], text)
}

/// This API as an OpenAPI document.
#[utoipa::path(get, path = "/openapi.json", tag = "health", responses((status = 200, body = Object), Failure))]
pub async fn openapi() -> impl IntoResponse {
    ([(header::CONTENT_TYPE, "application/json")], super::openapi_json())
}
