//! The limiter over a URL: every [`Call`] as one HTTP request, every answer judged for what it proves.
//!
//! Three things can come of a call, and they are never mixed up (D2). *Done*: an answer. *Refused*: a problem
//! whose reason is certain that nothing happened, `unavailable` where no server was reached. *Unknown*: the
//! request went out and what came back proves nothing (a lost connection, a passed deadline, a proxy's 502);
//! ask again with the same id. A call that only reads is never unknown: it changed nothing.

mod events;
mod health;
mod judge;
pub(crate) mod route;
// Not only for `Far`: the server believes the same when it calls apps.
#[cfg(feature = "tls")]
#[doc(hidden)]
pub mod tls;

use std::{fmt, path::PathBuf, time::Duration};

use maitred_api::{Answer, BatchFields, BatchItem, Call, Context, Problem, Reason, is_traceparent};
use reqwest::{
    Method, Url,
    header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue, IF_MATCH},
};
use serde_json::{Value, json};

use self::route::Route;

pub use events::{FarEvents, Told};

/// How a server is reached.
#[derive(Clone)]
pub struct FarOptions {
    /// Sent as `Authorization: Bearer …`.
    pub token: Option<String>,
    /// A PEM file with roots to believe beside the platform's, for `https` (feature `tls`) with a certificate of your
    /// own making.
    pub roots: Option<PathBuf>,
    /// How long a call may take, on top of what it asked to wait.
    pub deadline: Duration,
    /// How long a connection may take to be made.
    pub connect_within: Duration,
}

impl Default for FarOptions {
    fn default() -> Self {
        Self {
            token: None,
            roots: None,
            deadline: Duration::from_secs(10),
            connect_within: Duration::from_secs(3),
        }
    }
}

impl fmt::Debug for FarOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let token = self.token.as_ref().map(|_| "(not shown)");
        f.debug_struct("FarOptions")
            .field("token", &token)
            .field("deadline", &self.deadline)
            .finish_non_exhaustive()
    }
}

/// A server somewhere. Cheap to clone; the clones share one pool of connections.
#[derive(Clone, Debug)]
pub struct Far {
    http: reqwest::Client,
    base: Url,
    authorization: Option<HeaderValue>,
    options: FarOptions,
}

const NAMESPACE: HeaderName = HeaderName::from_static("maitred-agent");
const REQUEST_ID: HeaderName = HeaderName::from_static("idempotency-key");
const BY: HeaderName = HeaderName::from_static("maitred-by");
const WHY: HeaderName = HeaderName::from_static("maitred-reason");
const TRACE: HeaderName = HeaderName::from_static("traceparent");
const MIN_REVISION: HeaderName = HeaderName::from_static("maitred-min-revision");

impl Far {
    /// Prepares to talk to the server at `url` (`http` or `https`, `HOST:PORT`, perhaps with a path in front of `/v1`).
    /// Nothing is sent yet. Refused if the URL, the token or the roots cannot be used at all.
    pub fn connect(url: &str, options: FarOptions) -> Result<Far, Problem> {
        let base = parse_url(url)?;
        let authorization = options.token.as_deref().map(bearer).transpose()?;
        let mut builder = reqwest::Client::builder()
            .redirect(reqwest::redirect::Policy::none())
            .connect_timeout(options.connect_within)
            // Shorter than servers keep an idle connection: a call must not meet one that is just being closed.
            .pool_idle_timeout(Duration::from_secs(30))
            .tcp_keepalive(Duration::from_secs(15))
            .user_agent(concat!("maitred/", env!("CARGO_PKG_VERSION")));
        #[cfg(feature = "tls")]
        {
            let believed = tls::of_scheme(base.scheme(), options.roots.as_deref())?;
            builder = builder.tls_backend_preconfigured(believed);
        }
        if is_loopback(&base) {
            builder = builder.no_proxy();
        }
        let http =
            builder.build().map_err(|error| Problem::new(Reason::InvalidArgument, error.to_string()))?;
        Ok(Far { http, base, authorization, options })
    }

    /// One call.
    ///
    /// Cancel safe as the near client is: dropping the future of an auto acquire that waits closes its connection,
    /// which the server takes as a hang-up; dropping any other changes nothing, though what was asked may happen.
    pub async fn call(&self, context: &Context, call: Call) -> Result<Answer, Problem> {
        let Some(route) = route::route(&call) else {
            return self.batch_of_one(context, call).await;
        };
        let changes = call.changes();
        let body = self.exchange(context, route, changes).await?;
        judge::answer(&call, body).ok_or_else(|| self.not_an_answer(changes))
    }

    /// The items in order, each with its own outcome. If the request itself fails, all share its problem.
    pub async fn batch(&self, context: &Context, items: Vec<BatchItem>) -> Vec<Result<Answer, Problem>> {
        let items: Vec<BatchItem> = items.into_iter().map(route::unenforced).collect();
        match self.try_batch(context, &items).await {
            Ok(results) => results,
            Err(problem) => items.iter().map(|_| Err(problem.clone())).collect(),
        }
    }

    async fn try_batch(
        &self,
        context: &Context,
        items: &[BatchItem],
    ) -> Result<Vec<Result<Answer, Problem>>, Problem> {
        let body = serde_json::to_value(BatchFields { items: items.to_vec() }).unwrap_or(Value::Null);
        let changes = items.iter().any(|item| item.call.changes());
        let answered = self.exchange(context, Route::new(Method::POST, "batch").body(body), changes).await?;
        judge::results(items, answered).ok_or_else(|| self.not_an_answer(changes))
    }

    /// A name that no path can carry (nothing, `.` or `..`) travels in a body instead.
    async fn batch_of_one(&self, context: &Context, call: Call) -> Result<Answer, Problem> {
        let item = BatchItem { id: context.request_id.clone(), call: route::without_wait(call) };
        let mut results = self.batch(context, vec![item]).await;
        results.pop().unwrap_or_else(|| Err(self.not_an_answer(true)))
    }

    /// Moves the server's manual clock and answers the time that now is.
    pub async fn advance_to(&self, at_ms: u64) -> Result<u64, Problem> {
        let mut route = Route::new(Method::POST, "clock").body(json!({ "advance_to": at_ms }));
        route.wait = Duration::from_secs(300); // a long way may have many dues on it
        let body = self.exchange(&Context::default(), route, true).await?;
        judge::now(&body).ok_or_else(|| self.not_an_answer(true))
    }

    /// The server's time in milliseconds since 1970.
    pub async fn now(&self) -> Result<u64, Problem> {
        let body = self.exchange(&Context::default(), Route::new(Method::GET, "clock"), false).await?;
        judge::now(&body).ok_or_else(|| self.not_an_answer(false))
    }

    /// Sends and reads to the end; a body that says done, or a problem.
    async fn exchange(&self, context: &Context, route: Route, changes: bool) -> Result<Value, Problem> {
        let deadline = route.wait + self.options.deadline;
        let mut request = self
            .http
            .request(route.method.clone(), route.url(&self.base))
            .headers(self.headers(context)?)
            .timeout(deadline);
        if let Some(body) = &route.body {
            request = request.json(body);
        }
        let response = request.send().await.map_err(|error| self.lost(&error, changes))?;
        let status = response.status().as_u16();
        let bytes = response.bytes().await.map_err(|error| self.lost(&error, changes))?;
        judge::body(status, &bytes).map_err(|verdict| verdict.into_problem(&self.base, changes))
    }

    fn headers(&self, context: &Context) -> Result<HeaderMap, Problem> {
        let mut headers = HeaderMap::new();
        let texts = [
            (NAMESPACE, &context.namespace, Reason::InvalidNamespace),
            (REQUEST_ID, &context.request_id, Reason::InvalidId),
            (BY, &context.by, Reason::InvalidLabel),
            (WHY, &context.reason, Reason::InvalidLabel),
            (IF_MATCH, &context.if_match, Reason::InvalidArgument),
        ];
        for (name, text, reason) in texts {
            if let Some(text) = text {
                headers.insert(name.clone(), header(&name, text, reason)?);
            }
        }
        // By the standard, one that is malformed is as good as none.
        if let Some(trace) = context.traceparent.as_ref().filter(|trace| is_traceparent(trace)) {
            headers.insert(TRACE, header(&TRACE, trace, Reason::InvalidArgument)?);
        }
        if let Some(revision) = context.min_revision {
            headers.insert(MIN_REVISION, HeaderValue::from(revision));
        }
        if let Some(authorization) = &self.authorization {
            headers.insert(AUTHORIZATION, authorization.clone());
        }
        Ok(headers)
    }

    /// What a request proves that brought no whole answer back.
    fn lost(&self, error: &reqwest::Error, changes: bool) -> Problem {
        let cause = root_cause(error);
        if error.is_connect() || error.is_builder() {
            return Problem::new(
                Reason::Unavailable,
                format!("no server could be reached at {}: {cause}", self.base),
            );
        }
        let what = if error.is_timeout() { "did not answer in time" } else { "broke off" };
        judge::unproven(changes, format!("the server at {} {what}: {cause}", self.base))
    }

    fn not_an_answer(&self, changes: bool) -> Problem {
        judge::unproven(changes, format!("what answers at {} does not speak this API", self.base))
    }
}

fn parse_url(text: &str) -> Result<Url, Problem> {
    let bad = |why: &str| match text.contains('@') {
        true => with_login(),
        false => {
            let allowed = "allowed: http://HOST:PORT or https://HOST:PORT";
            let message = format!("server URL \"{}\" {why}; {allowed}", text.escape_debug());
            Problem::new(Reason::InvalidArgument, message)
        }
    };
    let mut url = Url::parse(text).map_err(|error| bad(&format!("cannot be read ({error})")))?;
    if !url.username().is_empty() || url.password().is_some() {
        return Err(with_login());
    }
    match url.scheme() {
        "http" if url.has_host() => {}
        "https" if url.has_host() && cfg!(feature = "tls") => {}
        "https" => return Err(bad("asks for TLS, which the feature `tls` of the library gives")),
        _ => return Err(bad("is not an HTTP address")),
    }
    url.set_query(None);
    url.set_fragment(None);
    Ok(url)
}

/// The URL stands in messages and in logs, so it is not repeated.
fn with_login() -> Problem {
    let message = "the server URL has a user name or a password in it; a server is told a token, and nothing else: \
                   give it by --token-file, MAITRED_TOKEN or the options of the library";
    Problem::new(Reason::InvalidArgument, message)
}

fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let ip = host.trim_matches(['[', ']']).parse::<std::net::IpAddr>();
    host == "localhost" || ip.is_ok_and(|ip| ip.is_loopback())
}

fn bearer(token: &str) -> Result<HeaderValue, Problem> {
    let mut value = HeaderValue::from_str(&format!("Bearer {token}")).map_err(|_| {
        Problem::new(
            Reason::Unauthorized,
            "the token has characters that no token has; is it the right file?",
        )
    })?;
    value.set_sensitive(true);
    Ok(value)
}

/// Text as it is, in UTF-8: a header can carry everything but control characters.
fn header(name: &HeaderName, text: &str, reason: Reason) -> Result<HeaderValue, Problem> {
    HeaderValue::from_bytes(text.as_bytes()).map_err(|_| {
        Problem::new(
            reason,
            format!("\"{}\" cannot be sent as {name}; allowed: no control characters", text.escape_debug()),
        )
    })
}

fn root_cause(error: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(next) = cause.source() {
        cause = next;
    }
    cause.to_string()
}

#[cfg(test)]
mod tests;
