use std::{
    fmt, mem,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use axum::{
    BoxError,
    body::{Body, HttpBody},
    http::{HeaderName, HeaderValue, Method, Request, Response, request::Parts},
};
use bytes::Bytes;
use tower::{Layer, Service};

use super::{
    body,
    entry::{Entered, Entry},
};
use crate::{Maitred, Spec, api::Dialect};

/// Says that a request went through without being checked.
const DEGRADED: HeaderName = HeaderName::from_static("maitred-degraded");

/// Until when a route holds what it took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReleaseAt {
    /// To the end of the response's body: a download counts until it is over.
    #[default]
    Body,
    /// To the headers of the response.
    Headers,
}

/// What a route does when its keys can't be checked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Degraded {
    /// It goes on, with the header field `maitred-degraded: 1` in the response.
    #[default]
    Open,
    /// It answers 503 with `Retry-After: 1`.
    Closed,
}

/// A limit in front of a route. Cheap to clone.
#[derive(Clone)]
pub struct LimitLayer {
    pub(super) maitred: Maitred,
    pub(super) what: What,
    pub(super) degraded: Degraded,
    pub(super) dialect: Dialect,
    release_at: ReleaseAt,
}

type MakeSpecs = Arc<dyn Fn(&Parts) -> Vec<Spec> + Send + Sync>;

#[derive(Clone)]
pub(super) enum What {
    Keys { task: String, specs: MakeSpecs },
    Named { limit: String, timeout: Duration, label: Option<String> },
}

impl LimitLayer {
    /// Counts every request against the specs that the closure makes of it, all or none; a request without specs is not
    /// limited. The task is the name that the counters are kept under.
    ///
    /// Places, and rates that count successes only, are settled at the end of the response: with status 100 to 399 it
    /// has succeeded, else failed; a client that hung up before the end has cancelled.
    pub fn by_key(
        maitred: &Maitred,
        task: impl Into<String>,
        specs: impl Fn(&Parts) -> Vec<Spec> + Send + Sync + 'static,
    ) -> LimitLayer {
        Self::new(maitred, What::Keys { task: task.into(), specs: Arc::new(specs) })
    }

    /// Every request takes a slot of this limit. It does not wait for one, unless [`LimitLayer::timeout`] says so.
    pub fn by_limit(maitred: &Maitred, limit: impl Into<String>) -> LimitLayer {
        Self::new(maitred, What::Named { limit: limit.into(), timeout: Duration::ZERO, label: None })
    }

    fn new(maitred: &Maitred, what: What) -> LimitLayer {
        LimitLayer {
            maitred: maitred.clone(),
            what,
            degraded: Degraded::default(),
            dialect: Dialect::default(),
            release_at: ReleaseAt::default(),
        }
    }

    /// How long a request may wait for a slot of a named limit, in the order of arrival. Keys never wait.
    #[must_use]
    pub fn timeout(mut self, wait: Duration) -> Self {
        if let What::Named { timeout, .. } = &mut self.what {
            *timeout = wait;
        }
        self
    }

    /// What a refusal calls a named limit. Without a label it is not named. Specs have labels of their own.
    #[must_use]
    pub fn label(mut self, text: impl Into<String>) -> Self {
        if let What::Named { label, .. } = &mut self.what {
            *label = Some(text.into());
        }
        self
    }

    /// What to do when keys can't be checked: open, unless told otherwise. A named limit is always closed.
    #[must_use]
    pub fn degraded(mut self, degraded: Degraded) -> Self {
        self.degraded = degraded;
        self
    }

    /// Until when it holds what it took: the end of the body, unless told otherwise.
    #[must_use]
    pub fn release_at(mut self, release_at: ReleaseAt) -> Self {
        self.release_at = release_at;
        self
    }

    /// Which header fields a 429 has: those of the draft, unless told otherwise.
    #[must_use]
    pub fn dialect(mut self, dialect: Dialect) -> Self {
        self.dialect = dialect;
        self
    }
}

impl fmt::Debug for LimitLayer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let of = match &self.what {
            What::Keys { task, .. } => task,
            What::Named { limit, .. } => limit,
        };
        f.debug_struct("LimitLayer").field("of", of).finish_non_exhaustive()
    }
}

impl<S> Layer<S> for LimitLayer {
    type Service = LimitService<S>;

    fn layer(&self, inner: S) -> LimitService<S> {
        LimitService { inner, layer: self.clone() }
    }
}

/// A service behind a [`LimitLayer`].
#[derive(Clone, Debug)]
pub struct LimitService<S> {
    inner: S,
    layer: LimitLayer,
}

impl<S, B, R> Service<Request<B>> for LimitService<S>
where
    S: Service<Request<B>, Response = Response<R>> + Clone + Send + 'static,
    S::Future: Send,
    B: Send + 'static,
    R: HttpBody<Data = Bytes> + Send + 'static,
    R::Error: Into<BoxError>,
{
    type Response = Response<Body>;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, S::Error>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        // The clone is not known to be ready, so it stays behind.
        let later = self.inner.clone();
        let mut inner = mem::replace(&mut self.inner, later);
        let layer = self.layer.clone();
        Box::pin(async move {
            let (mut parts, body) = request.into_parts();
            let entered = match layer.enter(&mut parts).await {
                Entry::In(entered) => entered,
                Entry::Out(refusal) => return Ok(refusal),
            };
            let method = parts.method.clone();
            match inner.call(Request::from_parts(parts, body)).await {
                Ok(response) => Ok(layer.answered(*entered, &method, response)),
                Err(error) => {
                    entered.pass.fail();
                    Err(error)
                }
            }
        })
    }
}

impl LimitLayer {
    fn answered<R>(&self, entered: Entered, method: &Method, response: Response<R>) -> Response<Body>
    where
        R: HttpBody<Data = Bytes> + Send + 'static,
        R::Error: Into<BoxError>,
    {
        let Entered { mut pass, degraded } = entered;
        pass.answered(response.status());
        // The body of an answer to HEAD is never read.
        let to_headers = self.release_at == ReleaseAt::Headers || method == Method::HEAD;
        let mut response = match to_headers {
            true => {
                pass.end();
                response.map(Body::new)
            }
            false => body::held(response, pass),
        };
        if degraded {
            response.headers_mut().insert(DEGRADED, HeaderValue::from_static("1"));
        }
        response
    }
}
