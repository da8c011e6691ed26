//! The limiter in this process: a journal, the engine, and the one thread that puts them together.
//!
//! `check` turns calls into commands, `sequencer` puts them in order, `follower` applies what the journal took,
//! `answer` and `reading` turn what came of it into answers; `shell` is the only part that waits for anything;
//! `shadow` is a second engine behind it that fills the `history` and makes snapshots.

pub mod answer;
mod answering;
mod awake;
pub mod check;
mod clock;
mod explain;
pub mod follower;
mod history;
mod live;
mod looking_back;
mod metrics;
mod node;
mod open;
mod overview;
mod preview;
mod reading;
pub mod record;
mod runs;
mod seen;
pub mod sequencer;
mod series;
mod shadow;
mod shell;
mod start;
mod steps;
mod stream;
pub mod timekeeper;
mod waiters;

pub use answering::Answering;
pub use history::copy as copy_history;
pub use looking_back::{LiveEvents, Scope};
pub use node::{BATCH_MAX, Health, Metrics, Node};
pub use start::{NodeOptions, StartError};
pub use stream::TooFarBehind;
