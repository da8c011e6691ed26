//! The limiter in this process: a journal, the engine, and the one thread that puts them together.
//!
//! `check` turns calls into commands, `sequencer` puts them in order, `follower` applies what the journal took,
//! `answer` and `reading` turn what came of it into answers; `shell` is the only part that waits for anything.

mod answer;
mod check;
mod clock;
pub mod follower;
mod metrics;
mod node;
mod open;
mod reading;
pub mod record;
pub mod sequencer;
mod shell;
mod snapshots;
pub mod timekeeper;
mod waiters;

pub use node::{BATCH_MAX, Health, Metrics, Node, NodeOptions, StartError};
