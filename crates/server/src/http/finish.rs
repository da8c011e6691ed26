//! The outermost layer: every request gets an id, every answer the same dress, and both are counted.

use std::{
    future::{Future, poll_fn},
    panic::{AssertUnwindSafe, catch_unwind},
    pin::pin,
    task::Poll,
    time::Instant,
};

use axum::{
    extract::{MatchedPath, Request, State},
    http::{HeaderMap, HeaderName, HeaderValue, header},
    middleware::Next,
    response::{IntoResponse, Response},
};
use maitred_api::{Reason, is_traceparent};
use tracing::Instrument;

use super::{
    App,
    problem::{Failure, told},
};

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// How long ago what is told was the truth for sure, from a server that does not reach its journal.
const STALE_MS: HeaderName = HeaderName::from_static("maitred-stale-ms");

pub async fn finish(State(app): State<App>, request: Request, next: Next) -> Response {
    let started = Instant::now();
    let id = request_id(request.headers());
    let method = request.method().clone();
    let route = request.extensions().get::<MatchedPath>().cloned();
    let route = route.as_ref().map_or("unmatched", MatchedPath::as_str);
    let open = app.numbers.request();
    let trace = traceparent(request.headers()).map(str::to_owned);
    let trace_id = trace.as_deref().map(|trace| &trace[3..35]);
    let span = tracing::debug_span!(
        "request",
        request_id = id,
        trace_id,
        parent_id = trace.as_deref().map(|trace| &trace[36..52])
    );
    let mut response = told(answered(next.run(request)).instrument(span).await, &id);
    dress(response.headers_mut(), &id);
    if let Some(ms) = app.node.stale_ms() {
        response.headers_mut().insert(STALE_MS, HeaderValue::from(ms));
    }
    let status = response.status();
    open.answered(&method, route, status, started.elapsed());
    let took_ms = started.elapsed().as_millis() as u64;
    let code = status.as_u16();
    match code {
        500 | 504 => {
            tracing::warn!(%method, route, status = code, took_ms, request_id = id, trace_id, "answered")
        }
        _ => tracing::debug!(%method, route, status = code, took_ms, request_id = id, trace_id, "answered"),
    }
    response
}

/// The caller's id, if it is one that can stand in a log and in a header; else a new one.
fn request_id(headers: &HeaderMap) -> String {
    let given = headers.get(&REQUEST_ID).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    match (1..=64).contains(&given.len()) && given.bytes().all(fits) {
        true => given.to_owned(),
        false => uuid::Uuid::now_v7().to_string(),
    }
}

/// The trace that the caller's request belongs to, if it says so in the form that W3C gives. Said twice is not said.
fn traceparent(headers: &HeaderMap) -> Option<&str> {
    let mut given = headers.get_all("traceparent").iter();
    let (Some(trace), None) = (given.next(), given.next()) else { return None };
    trace.to_str().ok().filter(|trace| is_traceparent(trace))
}

fn dress(headers: &mut HeaderMap, id: &str) {
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    if let Ok(id) = HeaderValue::from_str(id) {
        headers.insert(REQUEST_ID, id);
    }
}

/// A handler that panics is a 500; the connection and everyone else go on.
async fn answered(handler: impl Future<Output = Response>) -> Response {
    let mut handler = pin!(handler);
    poll_fn(move |cx| match catch_unwind(AssertUnwindSafe(|| handler.as_mut().poll(cx))) {
        Ok(poll) => poll,
        Err(_) => Poll::Ready(
            Failure::new(Reason::Internal, "the server failed at this request; its log says where")
                .into_response(),
        ),
    })
    .await
}

#[cfg(test)]
mod tests {
    use super::{HeaderMap, HeaderValue, answered, request_id};

    #[test]
    fn only_ids_that_cannot_forge_anything_are_taken_over() {
        let taken = |given: &'static [u8]| {
            let mut headers = HeaderMap::new();
            headers.insert("x-request-id", HeaderValue::from_bytes(given).unwrap());
            request_id(&headers).as_bytes() == given
        };
        assert!(taken(b"01J9.a_b-c"));
        assert!(!taken(b"two words"));
        assert!(!taken(b"\xff"));
        assert!(!taken(b"0123456789012345678901234567890123456789012345678901234567890123456789"));
        assert_eq!(request_id(&HeaderMap::new()).len(), 36);
    }

    #[tokio::test]
    async fn a_panic_becomes_a_500() {
        let response = answered(async { panic!("planted") }).await;
        assert_eq!(response.status(), 500);
    }
}
