//! What `options()` says about limits: `flow.rate_limit().consume(…)`, `.acquire(…)`, `.admit(…)`.

use std::{pin::Pin, time::Duration};

use maitred::api::{Decision, SpecFields};

use crate::{Flow, RateLimitExceededError, TaskError, flow::Phase, quote::RateLimitVerdict};

/// A request rate: at most `limit` in a window.
#[derive(Clone, Debug, PartialEq)]
pub struct RateSpec(SpecFields);

impl RateSpec {
    /// The key is the discriminator alone, such as `user=123`: 1 to 256 of `A-Z a-z 0-9 . _ = @ | / : -`. The task's
    /// name is kept beside it. The window is a whole number of seconds, 1 s to 400 days.
    pub fn new(key: impl Into<String>, limit: u64, window: Duration) -> Self {
        let window_seconds = match window.subsec_nanos() {
            0 => window.as_secs().into(),
            _ => window.as_secs_f64().to_string().into(), // refused by the limiter, which says what is allowed
        };
        Self(SpecFields { key: key.into(), limit: limit.into(), window_seconds, ..SpecFields::default() })
    }

    /// What the caller is told this limit is called. Without one it learns only that something was hit.
    #[must_use]
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.0.label = Some(label.into());
        self
    }

    /// Counts completed executions only: the hit counts from the start, so that parallel requests can't slip past, and
    /// is given back if the run ends other than succeeded.
    #[must_use]
    pub fn count_successes_only(mut self) -> Self {
        self.0.count_successes_only = true;
        self
    }

    /// How much one call counts, 1 if not set.
    #[must_use]
    pub fn cost(mut self, cost: u64) -> Self {
        self.0.cost = cost.into();
        self
    }
}

/// At most `limit` executions at once.
#[derive(Clone, Debug, PartialEq)]
pub struct ConcurrencySpec(SpecFields);

impl ConcurrencySpec {
    /// For the key see [`RateSpec::new`].
    pub fn new(key: impl Into<String>, limit: u64) -> Self {
        Self(SpecFields { key: key.into(), limit: limit.into(), ..SpecFields::default() })
    }

    /// What the caller is told this limit is called.
    #[must_use]
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.0.label = Some(label.into());
        self
    }
}

/// One of either kind, for [`RateLimit::admit`].
#[derive(Clone, Debug, PartialEq)]
pub enum Spec {
    /// So many in a window.
    Rate(RateSpec),
    /// So many at once.
    Concurrency(ConcurrencySpec),
}

impl From<RateSpec> for Spec {
    fn from(spec: RateSpec) -> Self {
        Spec::Rate(spec)
    }
}

impl From<ConcurrencySpec> for Spec {
    fn from(spec: ConcurrencySpec) -> Self {
        Spec::Concurrency(spec)
    }
}

impl From<Spec> for SpecFields {
    fn from(spec: Spec) -> Self {
        match spec {
            Spec::Rate(RateSpec(fields)) | Spec::Concurrency(ConcurrencySpec(fields)) => fields,
        }
    }
}

/// The limits of a task: [`Flow::rate_limit`].
#[derive(Clone, Copy, Debug)]
pub struct RateLimit<'a> {
    pub(crate) flow: &'a Flow,
}

impl<'a> RateLimit<'a> {
    /// Counts one hit against every key, or none if any is over. At most 16 in a call.
    pub fn consume(self, specs: impl IntoIterator<Item = RateSpec>) -> RateLimitCall<'a> {
        self.admit(specs)
    }

    /// Takes one place in flight of every key, or none if any has no room. The host gives them back when the run ends,
    /// at the latest one hour after they were taken.
    pub fn acquire(self, specs: impl IntoIterator<Item = ConcurrencySpec>) -> RateLimitCall<'a> {
        self.admit(specs)
    }

    /// Both in one call: everything is counted and taken, or nothing.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use maitred_tasks::{ConcurrencySpec, Flow, RateSpec, Spec, TaskError};
    /// # async fn options(flow: &Flow) -> Result<(), TaskError> {
    /// let a_minute = RateSpec::new("user=7", 20, Duration::from_secs(60));
    /// let at_once = ConcurrencySpec::new("user=7", 1);
    /// flow.rate_limit().admit([Spec::from(a_minute), at_once.into()]).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn admit<S: Into<Spec>>(self, specs: impl IntoIterator<Item = S>) -> RateLimitCall<'a> {
        let specs = specs.into_iter().map(|spec| spec.into().into()).collect();
        RateLimitCall { flow: self.flow, specs, enforce: true }
    }
}

/// A question of the limiter; await it.
///
/// Over the limit it is an error that becomes a 429, unless [`enforce`](RateLimitCall::enforce) says otherwise. In a
/// quote it is never one: the same limits are read, nothing is counted or taken, and the verdict goes into the quote.
///
/// Forgotten, it is told by the compiler:
///
/// ```compile_fail
/// #![deny(unused_must_use)]
/// # use maitred_tasks::{ConcurrencySpec, Flow};
/// # fn main() {}
/// fn options(flow: &Flow) {
///     flow.rate_limit().acquire([ConcurrencySpec::new("user=7", 1)]); // no `.await`
/// }
/// ```
///
/// # Errors
/// Over the limit and enforced; a spec that no limiter takes; a call outside of `options()`.
///
/// # Cancel safety
/// What was asked may still be counted; whatever the run holds is given back at its end.
#[must_use = "nothing is checked until it is awaited"]
#[derive(Clone, Debug)]
pub struct RateLimitCall<'a> {
    flow: &'a Flow,
    specs: Vec<SpecFields>,
    enforce: bool,
}

impl RateLimitCall<'_> {
    /// Whether over the limit is an error (true, if not called) or comes back as a decision. It does not change what is
    /// counted: an allowed hit always is, a rejected one never.
    pub fn enforce(mut self, enforce: bool) -> Self {
        self.enforce = enforce;
        self
    }

    async fn decided(self) -> Result<Decision, TaskError> {
        let Self { flow, specs, enforce } = self;
        if flow.phase() == Phase::Body {
            return Err(TaskError::internal(
                "limits are declared in options(), where the quote sees them too",
            ));
        }
        let is_quote = flow.phase() == Phase::Quote;
        let decision = flow.ask(specs).await.map_err(TaskError::Limit)?;
        match (is_quote, enforce) {
            (true, true) => flow.blame(RateLimitVerdict::of(&decision)),
            (false, true) if decision.over_limit => {
                return Err(RateLimitExceededError::enforced(decision).into());
            }
            _ => {}
        }
        Ok(decision)
    }
}

impl<'a> IntoFuture for RateLimitCall<'a> {
    type Output = Result<Decision, TaskError>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send + 'a>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.decided())
    }
}
