//! A durable limiter: near, in this process, or far, over a URL.
#![forbid(unsafe_code)]

pub mod far;
pub mod local;

pub use maitred_api as api;
