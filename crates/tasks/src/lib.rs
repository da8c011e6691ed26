//! Tasks with limits: a request rate, a number running at once, or both, for each user or for all.
//!
//! A task declares its limits in its preflight, [`Task::options`]. The [`Host`] runs that before every execution, as a
//! root and as a sub-task, and turns away what is past the cap with a 429: it does not run and is charged nothing.
//! Nothing is registered; limit and window are arguments of every call. When an execution ends, however it ends, the
//! host settles it: places in flight are freed, hits that count successes only are given back unless it succeeded.
//!
//! ```
//! use std::time::Duration;
//! use maitred_tasks::{ConcurrencySpec, Flow, Host, Meta, Options, Output, RateSpec, Task, TaskConfig, TaskError};
//! use serde_json::{Value, json};
//!
//! struct Describe;
//!
//! impl Task for Describe {
//!     type Params = Value;
//!
//!     async fn options(&self, flow: &Flow) -> Result<Options, TaskError> {
//!         let user = flow.meta().require_user_id()?;
//!         let a_minute = RateSpec::new(format!("user={user}"), 20, Duration::from_secs(60));
//!         flow.rate_limit().consume([a_minute.label("per_minute")]).await?;
//!         flow.rate_limit().acquire([ConcurrencySpec::new(format!("user={user}"), 1)]).await?;
//!         Ok(Options::new().credits(12))
//!     }
//!
//!     async fn run(&self, _flow: &Flow, _params: Value) -> Result<Output, TaskError> {
//!         Ok(json!({ "text": "a cat" }).into())
//!     }
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! // In this process, for a try. For real: `Host::open(folder)`, or `Host::connect(url)` for a fleet of hosts.
//! let host = Host::memory().await?;
//! host.register(TaskConfig::new("describe").publish().enable_preflight(), Describe)?;
//!
//! let ana = Meta::new().with_user_id("ana")?;
//! let output = host.execute("describe", json!({}), ana.clone()).await?;
//! assert_eq!(output.response(), Some(&json!({ "text": "a cat" })));
//!
//! let quote = host.options("describe", json!({}), ana).await?;
//! assert_eq!(quote.options.credits, Some(12));
//! assert!(!quote.rate_limit_verdict.unwrap().over_limit);
//!
//! // POST /tasks/describe and POST /tasks/describe/options.
//! let app: axum::Router = maitred_tasks::http::router(host);
//! # Ok(())
//! # }
//! ```
//!
//! # What can be relied on
//!
//! * A run ends once, at its terminal status: succeeded, failed (an error of its own, invalid parameters, a moderation
//!   rejection, a refusal in its preflight, a panic) or cancelled (the future of the execution was dropped, as when its
//!   client hangs up). The end is asked for until the limiter answers, for an hour. [`Flow::defer`] is no end.
//! * A host that dies ends nothing. Its places come back one hour after they were taken; the hits of its runs stay
//!   counted until their windows end, since nobody can say that those runs did not succeed. Deferred runs don't notice:
//!   any host of the same limiter completes them ([`Host::complete`]).
//! * A place is held for at most one hour, even by a run that goes on: a task that can run longer can't be reliably
//!   limited that way.
//! * If the limiter can't answer within the deadline (1 s by default), nothing was checked and the execution goes on:
//!   the decision is `degraded`. A task for which that is too generous looks at it and returns an error of its own.
//! * A message that is delivered twice counts twice, unless its id is passed: [`Meta::with_message_id`].
//! * The window is fixed: it starts with the first hit, and the whole allowance is fresh when it ends. A new `limit`
//!   counts at once, a new window when the running one has ended. To have it at once, change the key.
//! * The key decides who shares a counter. One that is new with every request limits nothing.
#![forbid(unsafe_code)]

mod error;
mod flow;
mod host;
pub mod http;
mod id;
mod limits;
mod meta;
mod quote;
mod run;
mod stream;
mod task;

pub use error::{ErrorBody, Kind, RateLimitExceededError, TaskError};
pub use flow::{Flow, SubQuote};
pub use host::{Charge, Completion, Host, HostError, HostOptions};
pub use limits::{ConcurrencySpec, RateLimit, RateLimitCall, RateSpec, Spec};
pub use maitred::api::{Decision as RateLimitDecision, LimitKind, RunStatus, SpecResult as RateLimitResult};
pub use meta::{HeaderNames, Meta};
pub use quote::{Quote, RateLimitVerdict};
pub use stream::TaskStream;
pub use task::{Options, Output, Task, TaskConfig};

/// The examples of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
