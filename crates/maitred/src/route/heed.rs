//! The other side: doing what a downstream's 429 asks for.
//!
//! A limit on the caller's side only avoids sending what would be refused; whoever owns the resource knows better. So a
//! 429, or a 503 with `Retry-After`, holds back every later call through the same layer until the time is over:
//!
//! ```text
//! call 1 ──▶ 429, Retry-After: 2       its caller gets the 429
//! call 2        waits ………… 2 s ──▶ 200
//! ```
//!
//! The refused call itself is not sent again: only its caller knows whether it may be. Nobody waits longer than the
//! layer's own bound, whatever the downstream says.

use std::{
    mem,
    pin::Pin,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};

use axum::http::{HeaderMap, StatusCode, header::RETRY_AFTER};
use jiff::{Timestamp, fmt::rfc2822};
use tokio::time::Instant;
use tower::{Layer, Service};

/// The longest that a call is held back, unless set otherwise.
const LONGEST: Duration = Duration::from_secs(60);
/// The pause after a 429 that does not say how long.
const UNSAID: Duration = Duration::from_secs(1);

/// What a response says about the load of whoever sent it.
pub trait Pushback {
    /// Its status.
    fn status(&self) -> StatusCode;
    /// Its header fields.
    fn headers(&self) -> &HeaderMap;
}

impl<B> Pushback for axum::http::Response<B> {
    fn status(&self) -> StatusCode {
        axum::http::Response::status(self)
    }

    fn headers(&self) -> &HeaderMap {
        axum::http::Response::headers(self)
    }
}

impl Pushback for reqwest::Response {
    fn status(&self) -> StatusCode {
        reqwest::Response::status(self)
    }

    fn headers(&self) -> &HeaderMap {
        reqwest::Response::headers(self)
    }
}

/// Holds calls to one downstream back while it asks for that. Make one for each downstream; what it learns is shared
/// by all its clones and services.
#[derive(Clone, Debug)]
pub struct HeedLayer {
    gate: Arc<Gate>,
    longest: Duration,
    unsaid: Duration,
}

#[derive(Debug, Default)]
struct Gate {
    opens_at: Mutex<Option<Instant>>,
    rejected: AtomicU64,
}

impl Default for HeedLayer {
    fn default() -> Self {
        Self { gate: Arc::default(), longest: LONGEST, unsaid: UNSAID }
    }
}

impl HeedLayer {
    /// For one downstream.
    pub fn new() -> HeedLayer {
        HeedLayer::default()
    }

    /// The longest that any call is held back, whatever the downstream says. 60 s if not set.
    #[must_use]
    pub fn longest(mut self, longest: Duration) -> Self {
        self.longest = longest;
        self
    }

    /// The pause after a 429 without `Retry-After`. 1 s if not set.
    #[must_use]
    pub fn unsaid(mut self, pause: Duration) -> Self {
        self.unsaid = pause;
        self
    }

    /// How many answers pushed back so far. Above zero with a limit in place: the limit is too high, or there are
    /// more of it than you think.
    pub fn rejected(&self) -> u64 {
        self.gate.rejected.load(Ordering::Relaxed)
    }

    async fn opened(&self) {
        let most = Instant::now() + self.longest;
        loop {
            let opens_at = *self.gate.opens_at.lock().unwrap_or_else(PoisonError::into_inner);
            let now = Instant::now();
            match opens_at {
                Some(opens_at) if now < opens_at && now < most => {
                    tokio::time::sleep_until(opens_at.min(most)).await;
                }
                _ => return,
            }
        }
    }

    fn heed(&self, response: &impl Pushback) {
        let said = response.headers().get(RETRY_AFTER).and_then(|text| retry_after(text.to_str().ok()?));
        let pause = match response.status() {
            StatusCode::TOO_MANY_REQUESTS => said.unwrap_or(self.unsaid),
            StatusCode::SERVICE_UNAVAILABLE if said.is_some() => said.unwrap_or_default(),
            _ => return,
        };
        self.gate.rejected.fetch_add(1, Ordering::Relaxed);
        let opens_at = Instant::now() + pause.min(self.longest);
        let mut gate = self.gate.opens_at.lock().unwrap_or_else(PoisonError::into_inner);
        *gate = Some(gate.map_or(opens_at, |before| before.max(opens_at)));
    }
}

/// Seconds, or a date in the form of HTTP; one that is past is no wait.
fn retry_after(text: &str) -> Option<Duration> {
    if let Ok(seconds) = text.parse::<u64>() {
        return Some(Duration::from_secs(seconds));
    }
    let at = rfc2822::DateTimeParser::new().parse_timestamp(text).ok()?;
    let wait_ms = at.as_millisecond().saturating_sub(Timestamp::now().as_millisecond());
    Some(Duration::from_millis(u64::try_from(wait_ms).unwrap_or(0)))
}

impl<S> Layer<S> for HeedLayer {
    type Service = HeedService<S>;

    fn layer(&self, inner: S) -> HeedService<S> {
        HeedService { inner, layer: self.clone() }
    }
}

/// A client behind a [`HeedLayer`].
#[derive(Clone, Debug)]
pub struct HeedService<S> {
    inner: S,
    layer: HeedLayer,
}

impl<S, R> Service<R> for HeedService<S>
where
    S: Service<R> + Clone + Send + 'static,
    S::Response: Pushback,
    S::Future: Send,
    R: Send + 'static,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<S::Response, S::Error>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: R) -> Self::Future {
        let later = self.inner.clone();
        let mut inner = mem::replace(&mut self.inner, later);
        let layer = self.layer.clone();
        Box::pin(async move {
            layer.opened().await;
            let response = inner.call(request).await?;
            layer.heed(&response);
            Ok(response)
        })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use jiff::{Timestamp, fmt::rfc2822};

    use super::retry_after;

    #[test]
    fn seconds_dates_and_nonsense() {
        assert_eq!(retry_after("120"), Some(Duration::from_secs(120)));
        assert_eq!(retry_after("0"), Some(Duration::ZERO));
        assert_eq!(retry_after("Sun, 06 Nov 1994 08:49:37 GMT"), Some(Duration::ZERO));
        let soon = Timestamp::now() + Duration::from_secs(90);
        let text = rfc2822::DateTimePrinter::new().timestamp_to_rfc9110_string(&soon).unwrap();
        let wait = retry_after(&text).unwrap();
        assert!(wait > Duration::from_secs(85) && wait <= Duration::from_secs(90), "{text}: {wait:?}");
        for nonsense in ["", "soon", "-1", "1.5", "99999999999999999999999", "Sun, 06 Nov"] {
            assert_eq!(retry_after(nonsense), None, "{nonsense}");
        }
    }
}
