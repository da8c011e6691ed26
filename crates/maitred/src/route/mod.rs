//! Limits around HTTP: as a layer in front of a route, and around the client of a downstream that pushes back.
//!
//! ```
//! # use std::time::Duration;
//! use axum::{Router, http::request::Parts, routing::get};
//! use maitred::{Maitred, Spec, route::LimitLayer};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let maitred = Maitred::memory().await?;
//! maitred.declare("reports", 4, Duration::from_secs(300)).await?;
//!
//! // Twenty a minute and two at once for each user; the key is never shown to anybody, the label is.
//! let per_user = LimitLayer::by_key(&maitred, "search", |request: &Parts| {
//!     let user = request.headers.get("user-id").and_then(|id| id.to_str().ok()).unwrap_or("nobody");
//!     vec![
//!         Spec::rate(format!("user={user}"), 20, Duration::from_secs(60)).label("per_user"),
//!         Spec::place(format!("user={user}"), 2),
//!     ]
//! });
//! // Four at once for everybody, over all processes that share the limiter.
//! let few = LimitLayer::by_limit(&maitred, "reports").timeout(Duration::from_secs(2));
//!
//! let app: Router = Router::new()
//!     .route("/search", get(|| async { "found" }).layer(per_user))
//!     .route("/report", get(|| async { "a long one" }).layer(few));
//! # Ok(())
//! # }
//! ```
//!
//! What a route takes it holds to the end of the response's body, or to its headers ([`ReleaseAt`]); whatever ends it
//! first gives it back: the last byte, a panic, a client that hangs up. Over the limit it answers 429 in the form of
//! rule A3, with `Retry-After` and the header fields of a [`Dialect`]. When the limiter can't answer, keys let the
//! request through unless told otherwise ([`Degraded`]); a named limit never does.
//!
//! The other side is [`HeedLayer`]: around the client of somebody else's service, it waits as long as that service's
//! own 429 asks for.

mod body;
mod entry;
mod extract;
mod heed;
mod layer;
mod refusal;

pub use extract::{Admitted, HeldSlot, NotLimited};
pub use heed::{HeedLayer, HeedService, Pushback};
pub use maitred_api::Dialect;

pub use layer::{Degraded, LimitLayer, LimitService, ReleaseAt};
