//! A durable limiter: near, in this process, or far, over a URL.
#![forbid(unsafe_code)]

pub mod client;
pub mod far;
pub mod local;

pub use client::Client;
pub use far::{Far, FarOptions};
pub use maitred_api as api;
pub use maitred_engine::time::{format_duration, parse_duration};
pub use maitred_journal::{Memory, SystemClock};
