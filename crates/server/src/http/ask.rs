//! What stands around a body: the caller's headers, the path, the query.

use std::sync::Arc;

use axum::{
    extract::{FromRequestParts, rejection::PathRejection},
    http::{HeaderMap, Uri, request::Parts},
};
use maitred_api::{Context, Problem, Reason};
use serde::{Deserialize, de::DeserializeOwned};
use utoipa::IntoParams;

use super::{problem::Failure, stream::Turns};
use crate::token::Grant;

/// Where a call applies, who makes it, and what they may.
pub struct Asker {
    pub context: Context,
    pub grant: Arc<Grant>,
    /// Of the connection that the call came on.
    pub turns: Turns,
}

/// The asker, from the headers of the request.
pub struct Caller(pub Asker);

/// The headers of every call.
#[derive(IntoParams)]
#[into_params(parameter_in = Header)]
#[expect(dead_code, reason = "read for the OpenAPI document only")]
pub struct ReadHeaders {
    /// The namespace, `default` if absent.
    #[param(rename = "Maitred-Agent", required = false)]
    agent: String,
    /// Wait until at least this revision can be seen. Also accepted as the query parameter `min_revision`.
    #[param(rename = "Maitred-Min-Revision", required = false)]
    min_revision: u64,
    /// Names this request in the answer and in the log: 1 to 64 of `A-Z a-z 0-9 . _ -`. Made up if absent.
    #[param(rename = "X-Request-Id", required = false)]
    request_id: String,
}

/// The headers of every call that changes something.
#[derive(IntoParams)]
#[into_params(parameter_in = Header)]
#[expect(dead_code, reason = "read for the OpenAPI document only")]
pub struct ChangeHeaders {
    /// The namespace, `default` if absent.
    #[param(rename = "Maitred-Agent", required = false)]
    agent: String,
    /// The same id with the same content has one effect and one verdict.
    #[param(rename = "Idempotency-Key", required = false)]
    idempotency_key: String,
    /// Who asks, for the record. A named token wins over it.
    #[param(rename = "Maitred-By", required = false)]
    by: String,
    /// Why, for the record.
    #[param(rename = "Maitred-Reason", required = false)]
    reason: String,
    /// Names this request in the answer and in the log: 1 to 64 of `A-Z a-z 0-9 . _ -`. Made up if absent.
    #[param(rename = "X-Request-Id", required = false)]
    request_id: String,
}

/// The header of a change of one limit.
#[derive(IntoParams)]
#[into_params(parameter_in = Header)]
#[expect(dead_code, reason = "read for the OpenAPI document only")]
pub struct Condition {
    /// The `tag` of the limit as the caller saw it: if it has another by now, nothing is changed (412).
    #[param(rename = "If-Match", required = false)]
    if_match: String,
}

/// For reads without other parameters.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct Freshness {
    /// Wait until at least this revision can be seen.
    pub min_revision: Option<u64>,
}

/// One page of a list.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct Page {
    /// The `next` of the page before.
    pub after: Option<String>,
    /// How many at the most.
    pub most: Option<u32>,
    /// Wait until at least this revision can be seen.
    #[expect(dead_code, reason = "`Caller` reads it")]
    min_revision: Option<u64>,
}

impl<S: Send + Sync> FromRequestParts<S> for Caller {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Failure> {
        let headers = &parts.headers;
        let unguarded = || Failure::new(Reason::Internal, "nobody asked who this caller is");
        let grant = parts.extensions.get::<Arc<Grant>>().cloned().ok_or_else(unguarded)?;
        let claimed = text(headers, "maitred-by")?;
        let context = Context {
            namespace: text(headers, "maitred-agent")?,
            request_id: text(headers, "idempotency-key")?,
            by: grant.name.clone().or(claimed),
            reason: text(headers, "maitred-reason")?,
            if_match: text(headers, "if-match")?,
            min_revision: min_revision(headers, &parts.uri)?,
            // Read by `finish`, which keeps the log.
            traceparent: None,
        };
        let turns = parts.extensions.get::<Turns>().cloned().unwrap_or_default();
        Ok(Self(Asker { context, grant, turns }))
    }
}

fn min_revision(headers: &HeaderMap, uri: &Uri) -> Result<Option<u64>, Failure> {
    let asked = match uri.query() {
        Some(_) => query::<Freshness>(uri)?.min_revision,
        None => None,
    };
    let Some(header) = text(headers, "maitred-min-revision")? else {
        return Ok(asked);
    };
    match header.parse() {
        Ok(revision) => Ok(Some(asked.unwrap_or(0).max(revision))),
        Err(_) => Err(bad("the header maitred-min-revision is not a whole number")),
    }
}

/// A header as UTF-8 text. Given twice it is refused: nobody knows which one was meant.
pub fn text(headers: &HeaderMap, name: &str) -> Result<Option<String>, Failure> {
    let mut values = headers.get_all(name).iter();
    let Some(value) = values.next() else {
        return Ok(None);
    };
    if values.next().is_some() {
        return Err(bad(format!("the header {name} is given twice; give it once")));
    }
    let text = std::str::from_utf8(value.as_bytes());
    text.map(|text| Some(text.to_owned())).map_err(|_| bad(format!("the header {name} is not UTF-8 text")))
}

/// The parts of the path, decoded.
pub struct Path<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned + Send> FromRequestParts<S> for Path<T> {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Failure> {
        let found = axum::extract::Path::<T>::from_request_parts(parts, state).await;
        let refused =
            |rejection: PathRejection| bad(format!("the path cannot be read: {}", rejection.body_text()));
        found.map(|axum::extract::Path(inner)| Self(inner)).map_err(refused)
    }
}

/// The query. Parameters that a route does not have are refused before this is asked ([`super::rules`]).
pub struct Query<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for Query<T> {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Failure> {
        query(&parts.uri).map(Self)
    }
}

fn query<T: DeserializeOwned>(uri: &Uri) -> Result<T, Failure> {
    let read = axum::extract::Query::<T>::try_from_uri(uri);
    read.map(|query| query.0)
        .map_err(|rejection| bad(format!("the query cannot be read: {}", inner_words(&rejection))))
}

/// What the cause of a rejection says, without the words in front of it.
pub fn inner_words(error: &dyn std::error::Error) -> String {
    let mut cause = error;
    while let Some(next) = cause.source() {
        cause = next;
    }
    cause.to_string()
}

fn bad(message: impl Into<String>) -> Failure {
    Problem::new(Reason::InvalidArgument, message).into()
}
