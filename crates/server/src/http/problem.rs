//! How a problem leaves the server. A handler answers a [`Failure`]; the outermost layer ([`super::finish`]) gives
//! it the id of the request and makes JSON of it, so that no error has another shape, whoever raised it.

use std::collections::BTreeMap;

use axum::{
    http::{
        HeaderName, HeaderValue, StatusCode,
        header::{CONTENT_TYPE, RETRY_AFTER},
    },
    response::{IntoResponse, Response},
};
use maitred_api::{Problem, Reason};
use utoipa::{
    IntoResponses,
    openapi::{Content, Ref, RefOr, ResponseBuilder},
};

/// What is refused for want of room, or at the stop, may work in a moment; nobody knows when.
const SOON: HeaderValue = HeaderValue::from_static("1");

/// A problem with the header fields that go with it.
#[derive(Clone, Debug)]
pub struct Failure {
    pub problem: Problem,
    pub fields: Vec<(HeaderName, HeaderValue)>,
}

impl Failure {
    pub fn new(reason: Reason, message: impl Into<String>) -> Self {
        Problem::new(reason, message).into()
    }

    pub fn with_field(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.fields.push((name, value));
        self
    }
}

impl From<Problem> for Failure {
    fn from(problem: Problem) -> Self {
        Self { problem, fields: Vec::new() }
    }
}

impl IntoResponse for Failure {
    /// Without a body: the problem travels beside it, and [`told`] puts it in.
    fn into_response(self) -> Response {
        let mut response = status_of(self.problem.reason).into_response();
        response.headers_mut().extend(self.fields);
        if response.status() == StatusCode::SERVICE_UNAVAILABLE {
            response.headers_mut().entry(RETRY_AFTER).or_insert(SOON);
        }
        response.extensions_mut().insert(self.problem);
        response
    }
}

fn status_of(reason: Reason) -> StatusCode {
    StatusCode::from_u16(reason.http_status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
}

/// The response with its problem as the body. A 429 keeps to the body that clients of rate limits know, so it
/// has no request id there.
pub fn told(mut response: Response, request_id: &str) -> Response {
    let Some(mut problem) = problem_in(&mut response) else {
        return response;
    };
    if problem.reason.http_status() != 429 {
        problem.request_id = Some(request_id.to_owned());
    }
    let mut told = (response.status(), axum::Json(problem)).into_response();
    for (name, value) in response.headers() {
        if name != "content-type" && name != "content-length" {
            told.headers_mut().append(name.clone(), value.clone());
        }
    }
    told
}

fn problem_in(response: &mut Response) -> Option<Problem> {
    let status = response.status();
    response.extensions_mut().remove::<Problem>().or_else(|| {
        let failed = status.is_client_error() || status.is_server_error();
        // Readiness says in a shape of its own why it is not ready.
        let is_told = response.headers().get(CONTENT_TYPE).is_some_and(|kind| kind == "application/json");
        (failed && !is_told)
            .then(|| Problem::new(Reason::Internal, format!("the server answered {status} without a reason")))
    })
}

impl IntoResponses for Failure {
    fn responses() -> BTreeMap<String, RefOr<utoipa::openapi::response::Response>> {
        let problem = |text: &str| {
            let content = Content::new(Some(RefOr::Ref(Ref::from_schema_name("Problem"))));
            RefOr::T(ResponseBuilder::new().description(text).content("application/json", content).build())
        };
        BTreeMap::from([
            ("4XX".to_owned(), problem("Refused: nothing happened. `reason` says why.")),
            ("5XX".to_owned(), problem("Not done, or for `unknown` and `internal` perhaps done: ask again.")),
        ])
    }
}
