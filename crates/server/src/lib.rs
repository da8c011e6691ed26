//! The server and the command line of maitred, as a library so that tests can start them in their own process.
#![forbid(unsafe_code)]

pub mod callbacks;
pub mod cli;
pub mod config;
pub mod deploy;
#[cfg(feature = "workflows")]
mod example;
pub mod hosted;
pub mod http;
pub mod logging;
pub mod scenario;
pub mod serve;
mod stamp;
pub mod tls;
pub mod token;
