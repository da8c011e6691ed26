//! What a handler may know of the limits it is behind.

use std::time::SystemTime;

use axum::{
    extract::FromRequestParts,
    http::{StatusCode, request::Parts},
    response::{IntoResponse, Response},
};
use maitred_api::Decision;

use crate::SlotId;

/// How this request got in, as an extractor for handlers behind a [`LimitLayer`](super::LimitLayer), or several.
///
/// ```
/// # use maitred::route::Admitted;
/// async fn handler(admitted: Admitted) -> String {
///     let left = admitted.decision.and_then(|decision| decision.results.first().map(|rate| rate.remaining));
///     format!("{} more this minute", left.unwrap_or(0))
/// }
/// ```
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Admitted {
    /// The verdict on its keys, perhaps `degraded`.
    pub decision: Option<Decision>,
    /// The run that its places belong to. It ends by itself with the response.
    pub run: Option<String>,
    /// Its slot of a named limit. It is released by itself with the response.
    pub slot: Option<HeldSlot>,
}

/// A slot that is held for a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeldSlot {
    /// Its id.
    pub id: SlotId,
    /// A number that only grows, for resources that can refuse an older holder.
    pub fence: u64,
    /// When the limiter takes it back, whatever the request does.
    pub expires_at: SystemTime,
}

impl Admitted {
    /// The one of this request, shared by all layers.
    pub(super) fn of(parts: &mut Parts) -> &mut Admitted {
        parts.extensions.get_or_insert_default()
    }
}

/// The handler is not behind a [`LimitLayer`](super::LimitLayer): a mistake in the router, answered with 500.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("this route has no LimitLayer; add one with `.layer(…)`")]
pub struct NotLimited;

impl IntoResponse for NotLimited {
    fn into_response(self) -> Response {
        tracing::error!("{self}");
        StatusCode::INTERNAL_SERVER_ERROR.into_response()
    }
}

impl<S: Sync> FromRequestParts<S> for Admitted {
    type Rejection = NotLimited;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, NotLimited> {
        parts.extensions.get::<Admitted>().cloned().ok_or(NotLimited)
    }
}
