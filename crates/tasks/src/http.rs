//! Tasks over HTTP.
//!
//! | Request | Answer |
//! |---|---|
//! | `POST /tasks/{name}`, parameters as JSON | `{"status":"success","response":…}`, or 202 `{"status":"deferred","run":…}` |
//! | the same with `Accept: text/event-stream` | an event `chunk` for each piece, then one `success`, `deferred` or `error` |
//! | `POST /tasks/{name}/options` | `{"status":"success","response":{"credits":…,"rateLimitVerdict":…}}` |
//! | `POST /runs/{run}/complete`, `{"status":"succeeded"}` | `{"status":"success","response":{"run":…,"settled":true}}` |
//!
//! An error is `{"status":"error","reason":…,"message":…}`; a 429 has `details`, for a rate
//! `Retry-After`, and the `RateLimit` fields of its limit. A refusal
//! in the preflight of a stream is an answer with its own status, not an event. A client that hangs up cancels its run.

use std::{
    convert::Infallible,
    pin::Pin,
    task::{Context, Poll},
};

use axum::{
    Json, Router,
    body::{Body, HttpBody},
    extract::{Path, State},
    http::{
        HeaderMap, HeaderName, HeaderValue, StatusCode,
        header::{ACCEPT, CACHE_CONTROL, CONTENT_TYPE},
    },
    response::{IntoResponse, Response},
    routing::post,
};
use bytes::Bytes;
use hyper::body::Frame;
use maitred::api::{Dialect, RunStatus};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{Completion, Host, Meta, Output, TaskError, TaskStream};

/// What clients may reach: published tasks and their quotes.
pub fn router(host: Host) -> Router {
    Router::new()
        .route("/tasks/{name}", post(execute))
        .route("/tasks/{name}/options", post(options))
        .with_state(host)
}

/// What whoever works for deferred runs may reach. Not for the public: it ends any run whose id is known.
pub fn completions(host: Host) -> Router {
    Router::new().route("/runs/{run}/complete", post(complete)).with_state(host)
}

impl IntoResponse for TaskError {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut response = (status, Json(self.body())).into_response();
        let headers = response.headers_mut();
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        if let TaskError::RateLimitExceeded(exceeded) = &self {
            let fields = exceeded.rate_fields(Dialect::default()).into_iter();
            let field =
                |(name, value): (_, String)| Some((HeaderName::from_static(name), value.parse().ok()?));
            headers.extend(fields.filter_map(field));
        }
        response
    }
}

async fn execute(
    State(host): State<Host>,
    Path(name): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Response, TaskError> {
    let is_stream = wants_events(&headers);
    let (params, meta) = request(&host, &name, headers, &body)?;
    if is_stream {
        return Ok(events(host.stream(&name, params, meta).await?));
    }
    let output = host.execute(&name, params, meta).await?;
    let status = match &output {
        Output::Response(_) => StatusCode::OK,
        Output::Deferred { .. } => StatusCode::ACCEPTED,
    };
    Ok((status, Json(Told::of(output))).into_response())
}

async fn options(
    State(host): State<Host>,
    Path(name): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Response, TaskError> {
    let (params, meta) = request(&host, &name, headers, &body)?;
    let quote = host.options(&name, params, meta).await?;
    Ok(Json(Told::Success { response: quote }).into_response())
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CompleteFields {
    status: RunStatus,
}

async fn complete(
    State(host): State<Host>,
    Path(run): Path<String>,
    body: Bytes,
) -> Result<Response, TaskError> {
    let CompleteFields { status } = serde_json::from_slice(&body).map_err(|error| {
        let allowed = r#"allowed: {"status":"succeeded"}, "failed" or "cancelled""#;
        TaskError::new("invalid_body", format!("{error}; {allowed}"), 400)
    })?;
    let settled = host.complete(&run, status).await? == Completion::Settled;
    let response = json!({ "run": run, "settled": settled });
    Ok(Json(Told::Success { response }).into_response())
}

/// What is asked, if clients may ask it.
fn request(host: &Host, task: &str, headers: HeaderMap, body: &[u8]) -> Result<(Value, Meta), TaskError> {
    if !host.is_published(task) {
        return Err(TaskError::NotFound(task.to_owned()));
    }
    let params = match body {
        [] => json!({}),
        _ => serde_json::from_slice(body)
            .map_err(|error| TaskError::InvalidParams(format!("they are no JSON: {error}")))?,
    };
    Ok((params, Meta::from_headers(host.header_names().clone(), headers)))
}

/// What is said when there is no error.
#[derive(Serialize)]
#[serde(tag = "status", rename_all = "snake_case")]
enum Told<T> {
    Success { response: T },
    Deferred { run: String },
}

impl Told<Value> {
    fn of(output: Output) -> Self {
        match output {
            Output::Response(response) => Told::Success { response },
            Output::Deferred { run } => Told::Deferred { run },
        }
    }
}

fn wants_events(headers: &HeaderMap) -> bool {
    let mut accepted = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
    accepted.any(|value| value.contains("text/event-stream"))
}

fn events(stream: TaskStream) -> Response {
    let headers = [(CONTENT_TYPE, "text/event-stream"), (CACHE_CONTROL, "no-store")];
    (headers, Body::new(Events(Some(stream)))).into_response()
}

/// A stream as server-sent events. Dropped with its connection, it takes the run with it.
struct Events(Option<TaskStream>);

impl HttpBody for Events {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let Some(stream) = &mut self.0 else { return Poll::Ready(None) };
        let event = match stream.poll_next(context) {
            Poll::Pending => return Poll::Pending,
            Poll::Ready(Some(chunk)) => event("chunk", &chunk),
            Poll::Ready(None) => self.0.take().and_then(TaskStream::ended).map(last).unwrap_or_default(),
        };
        Poll::Ready(Some(Ok(Frame::data(event))))
    }
}

fn last(result: Result<Output, TaskError>) -> Bytes {
    match result.map(Told::of) {
        Ok(told @ Told::Success { .. }) => event("success", &told),
        Ok(told @ Told::Deferred { .. }) => event("deferred", &told),
        Err(error) => event("error", &error.body()),
    }
}

/// JSON has no line ends, so one line is the whole of it.
fn event(name: &str, data: &impl Serialize) -> Bytes {
    let data = serde_json::to_string(data).unwrap_or_default();
    format!("event: {name}\ndata: {data}\n\n").into()
}
