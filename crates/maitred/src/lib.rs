//! A durable limiter: how many at once, and how many in a window, for one process or for all of them.
//!
//! A named limit is a queue with a capacity: whoever asks waits in order of arrival, holds a slot while it works, and
//! gives it back. What was answered survives a crash and a power loss. Keys (`user=7`, 20 a minute, one at a time) need
//! no declaration at all. The limiter runs *near*, in this process on a journal in a folder, or *far*, as the server
//! `maitred`; programs can't tell the difference.
//!
//! ```standalone_crate
//! use std::time::Duration;
//!
//! use maitred::Maitred;
//!
//! #[tokio::main]
//! async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! #   let folder = tempfile::tempdir()?;
//! #   std::env::set_current_dir(folder.path())?;
//!     // Near. For far, change this one line: let maitred = Maitred::connect("http://127.0.0.1:7654")?;
//!     let maitred = Maitred::open("maitred-data").await?;
//!
//!     // At most 20 calls at once; a slot that nobody gives back is free again after 45 minutes.
//!     maitred.declare("voice-calls", 20, Duration::from_secs(45 * 60)).await?;
//!
//!     // Waits its turn, holds a slot while the body runs, gives it back whatever happens in there.
//!     let minutes = maitred.with_limit("voice-calls", async |slot| call_ana(slot.fence()).await).await?;
//!     println!("Ana talked for {minutes} minutes");
//!
//!     // Twenty a minute for each user: an error over the limit, with the seconds to wait.
//!     let decision = maitred.admit("describe-image").rate("user=7", 20, Duration::from_secs(60)).await?;
//!     println!("{} left in this minute", decision.results[0].remaining);
//!
//!     maitred.close(Duration::from_secs(5)).await;
//!     Ok(())
//! }
//!
//! async fn call_ana(_fence: u64) -> u32 {
//!     3
//! }
//! ```
//!
//! # What there is
//!
//! | You want | Use |
//! |---|---|
//! | a slot while something runs | [`Maitred::with_limit`], or [`Maitred::acquire`] for a guard |
//! | work that starts here and ends elsewhere | [`Slot::detach`] here, [`Maitred::release`] there |
//! | several limits at once, without deadlock | [`Acquire::and`] |
//! | so many in a window, so many at once for each key, all or none | [`Maitred::admit`] |
//! | the same in front of an HTTP route, or a client that heeds a 429 | [`route`](crate#features) |
//! | a limit for this process alone, without a journal | [`permits`] |
//! | how many to allow | [`plan`] |
//!
//! # What can be relied on
//!
//! * A [`Slot`] is given back once, on return, error, panic and cancellation: its `Drop` hands it to a thread of the
//!   client, which asks until the limiter answers or the slot has expired. No drop blocks or needs a runtime.
//! * Dropping any waiting call leaves nothing behind: it leaves the queue, and a grant that raced it is given back.
//! * A far call whose answer is lost is made again with the same id, so it takes one slot and counts one hit. A
//!   connection that breaks while its caller waits costs the place in the queue, not the wait.
//! * The limiter's clock alone decides when a wait is over and when a slot expires.
//! * Without an answer nobody gets a slot ([`AcquireError`] says whether one may have been taken), while rates and keys
//!   go on after a deadline, `degraded`: an outage degrades limiting, not execution.
//!
//! Every error says what to do next ([`NextStep`]: fix, wait, retry, give up) and what is certain
//! ([`Certainty`](api::Certainty): refused, or unknown).
//!
//! # Features
//!
//! * `tower` (off by default): the module `route` with tower layers for both sides of HTTP and an axum extractor.
//! * `tls` (off by default): `https` for a server elsewhere, by rustls with `ring`. It makes every `reqwest` client of the
//!   program speak TLS: one that is given no provider wants the process to have one, as
//!   `rustls::crypto::ring::default_provider().install_default()` makes it.
#![forbid(unsafe_code)]

pub mod client;
pub mod far;
pub mod local;

mod acquire;
mod admit;
mod error;
mod events;
mod limiter;
mod line;
mod nested;
mod operate;
mod releaser;
#[cfg(feature = "tower")]
pub mod route;
mod slot;

pub use acquire::Acquire;
pub use admit::{Admit, Spec};
pub use client::Client;
pub use error::{AcquireError, AdmitError, NextStep, RateLimitExceeded, next_step};
pub use events::Events;
pub use far::{Far, FarOptions};
pub use limiter::Maitred;
pub use local::{NodeOptions, StartError};
pub use maitred_api as api;
pub use maitred_engine::{
    names::SlotId,
    time::{format_duration, parse_duration},
};
// What `NodeOptions::memory` is made of; the server's scenario player uses it.
#[cfg(feature = "jetstream")]
pub use maitred_journal::jetstream;
#[cfg(feature = "postgres")]
pub use maitred_journal::postgres;
pub use maitred_journal::{Memory, SystemClock};
// Is the journal in a folder whole, and a copy of it. For the command line.
pub use local::copy_history;
pub use maitred_journal::{JournalError, Verified, copy as copy_journal, verify};
pub use maitred_permits::{permits, plan};
pub use releaser::Leftovers;
pub use slot::{Released, Slot};

/// The examples of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
