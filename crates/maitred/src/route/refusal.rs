//! The answers that a request gets instead of its own.

use axum::{
    body::Body,
    http::{
        HeaderName, HeaderValue, Response, StatusCode,
        header::{CACHE_CONTROL, CONTENT_TYPE},
    },
};
use maitred_api::{Dialect, LimitAnswer, Over, Problem, RateFields, Reason};
use serde_json::json;

use super::layer::LimitLayer;
use crate::{AcquireError, NextStep, RateLimitExceeded, next_step};

/// The 429 of keys.
pub(super) fn exceeded(dialect: Dialect, exceeded: &RateLimitExceeded) -> Response<Body> {
    answer(&exceeded.problem(), exceeded.rate_fields(dialect))
}

/// The 429 of a named limit.
pub(super) async fn no_slot(layer: &LimitLayer, limit: &str, label: Option<&str>) -> Response<Body> {
    let capacity = capacity(layer, limit).await;
    let named = label.map(|label| format!(" `{label}`")).unwrap_or_default();
    let message =
        format!("the concurrency limit{named} is reached; it frees when a running request finishes");
    let mut details = json!({ "retryAfterSeconds": null, "limit": capacity });
    if let Some(label) = label {
        details["label"] = json!(label);
    }
    let over = capacity.map(|quota| Over { label, quota, remaining: 0, rate: None });
    let fields = over.map(|over| over.fields(layer.dialect)).unwrap_or_default();
    answer(&Problem::new(Reason::ConcurrencyLimitExceeded, message).with_details(details), fields)
}

/// What the limit is, if that can be had in time: the refusal does not depend on it.
async fn capacity(layer: &LimitLayer, limit: &str) -> Option<u64> {
    let asked = tokio::time::timeout(layer.maitred.deadline, layer.maitred.limit(limit)).await;
    asked.ok()?.ok().map(|LimitAnswer { limit, .. }| u64::from(limit.capacity))
}

/// The limiter could not say yes: 503, unless the fault is in how the route was set up.
pub(super) fn no_answer_of_a_limit(error: &AcquireError) -> Response<Body> {
    match error.next_step() {
        NextStep::Retry | NextStep::Wait => {
            tracing::warn!(%error, "a request was turned away: no slot without an answer");
            unavailable()
        }
        NextStep::Fix | NextStep::GiveUp => {
            tracing::error!(%error, "a request could not be limited");
            broken()
        }
    }
}

/// The closure made something of the request that no limit takes.
pub(super) fn misfit(problem: &Problem) -> Response<Body> {
    tracing::error!(%problem, "a request could not be limited");
    match (problem.reason, next_step(problem)) {
        (Reason::InvalidKey, _) => {
            let message = "this request carries something that makes no key; a key has only A-Z a-z 0-9 . _ = @ | / : -";
            answer(&Problem::new(Reason::InvalidKey, message), RateFields::new())
        }
        (_, NextStep::Wait | NextStep::Retry) => unavailable(),
        _ => broken(),
    }
}

pub(super) fn unavailable() -> Response<Body> {
    let message = "the limit of this route can't be checked now; try again in a moment";
    answer(&Problem::new(Reason::Unavailable, message), vec![("retry-after", "1".to_owned())])
}

fn broken() -> Response<Body> {
    answer(
        &Problem::new(Reason::Internal, "the limit of this route is not set up rightly"),
        RateFields::new(),
    )
}

fn answer(problem: &Problem, fields: RateFields) -> Response<Body> {
    let body = serde_json::to_vec(problem).unwrap_or_default();
    let mut response = Response::new(Body::from(body));
    *response.status_mut() =
        StatusCode::from_u16(problem.reason.http_status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    for (name, value) in fields {
        headers.extend(value.parse().ok().map(|value: HeaderValue| (HeaderName::from_static(name), value)));
    }
    response
}
