//! A durable limiter: near, in this process, or far, over a URL.
#![forbid(unsafe_code)]

pub mod client;
pub mod far;
pub mod local;

mod acquire;
mod admit;
mod error;
mod limiter;
mod line;
mod operate;
mod releaser;
#[cfg(feature = "tower")]
pub mod route;
mod slot;

pub use acquire::Acquire;
pub use admit::{Admit, Spec};
pub use client::Client;
pub use error::{AcquireError, AdmitError, NextStep, RateLimitExceeded, next_step};
pub use far::{Far, FarOptions};
pub use limiter::Maitred;
pub use local::{NodeOptions, StartError};
pub use maitred_api as api;
pub use maitred_engine::{
    names::SlotId,
    time::{format_duration, parse_duration},
};
// What `NodeOptions::memory` is made of; the server's scenario player uses it.
pub use maitred_journal::{Memory, SystemClock};
pub use maitred_permits::{permits, plan};
pub use releaser::Leftovers;
pub use slot::{Released, Slot};
