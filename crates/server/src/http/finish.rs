//! What stands around every answer: the request gets an id, the answer the dress of all, and both are counted.

use std::{
    future::{Future, poll_fn},
    panic::{AssertUnwindSafe, catch_unwind},
    pin::pin,
    sync::Arc,
    task::Poll,
    time::Instant,
};

use axum::{
    extract::Request,
    http::{HeaderMap, HeaderName, HeaderValue, Method, header},
    response::{IntoResponse, Response},
};
use maitred_api::{Reason, is_traceparent};
use tracing::Span;

use super::{
    Shared,
    numbers::{OpenRequest, method_label},
    problem::{Failure, told},
};

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// How long ago what is told was the truth for sure, from a server that does not reach its journal.
const STALE_MS: HeaderName = HeaderName::from_static("maitred-stale-ms");

/// A request on its way. Dropped before its end, its caller has hung up.
pub struct Turn<'a> {
    app: &'a Shared,
    route: &'a Arc<str>,
    started: Instant,
    id: String,
    method: Method,
    trace: Option<String>,
    open: OpenRequest<'a>,
}

impl<'a> Turn<'a> {
    pub fn begin(app: &'a Shared, route: &'a Arc<str>, request: &Request) -> Self {
        Self {
            app,
            route,
            started: Instant::now(),
            id: given_id(request.headers()).map_or_else(|| app.request_ids.next(), str::to_owned),
            method: request.method().clone(),
            trace: traceparent(request.headers()).map(str::to_owned),
            open: app.numbers.request(),
        }
    }

    pub fn span(&self) -> Span {
        let parent_id = self.trace.as_deref().map(|trace| &trace[36..52]);
        tracing::debug_span!("request", request_id = self.id, trace_id = self.trace_id(), parent_id)
    }

    fn trace_id(&self) -> Option<&str> {
        self.trace.as_deref().map(|trace| &trace[3..35])
    }

    pub fn end(self, response: Response) -> Response {
        let mut response = told(response, &self.id);
        dress(response.headers_mut(), &self.id);
        if let Some(ms) = self.app.node.stale_ms() {
            response.headers_mut().insert(STALE_MS, HeaderValue::from(ms));
        }
        let (status, took) = (response.status(), self.started.elapsed());
        self.log(status.as_u16(), took.as_millis() as u64);
        self.open.answered(&self.method, self.route, status, took);
        response
    }

    fn log(&self, status: u16, took_ms: u64) {
        let (route, request_id, trace_id) = (&self.route, &self.id, self.trace_id());
        let method = method_label(&self.method); // it can be any word
        match status {
            500 | 504 => tracing::warn!(method, %route, status, took_ms, request_id, trace_id, "answered"),
            _ => tracing::debug!(method, %route, status, took_ms, request_id, trace_id, "answered"),
        }
    }
}

/// The caller's id, if it is one that can stand in a log and in a header.
fn given_id(headers: &HeaderMap) -> Option<&str> {
    let given = headers.get(&REQUEST_ID)?.to_str().ok()?;
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    ((1..=64).contains(&given.len()) && given.bytes().all(fits)).then_some(given)
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
pub async fn answered(handler: impl Future<Output = Response>) -> Response {
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
    use super::{HeaderMap, HeaderValue, answered, given_id};

    #[test]
    fn only_ids_that_cannot_forge_anything_are_taken_over() {
        let taken = |given: &'static [u8]| {
            let mut headers = HeaderMap::new();
            headers.insert("x-request-id", HeaderValue::from_bytes(given).unwrap());
            given_id(&headers).is_some_and(|id| id.as_bytes() == given)
        };
        assert!(taken(b"01J9.a_b-c"));
        assert!(!taken(b"two words"));
        assert!(!taken(b"\xff"));
        assert!(!taken(b"0123456789012345678901234567890123456789012345678901234567890123456789"));
        assert_eq!(given_id(&HeaderMap::new()), None);
    }

    #[tokio::test]
    async fn a_panic_becomes_a_500() {
        let response = answered(async { panic!("planted") }).await;
        assert_eq!(response.status(), 500);
    }
}
