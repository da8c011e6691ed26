//! The limiter in this process: a journal, the engine, and the one task that puts them together.

mod node;

pub use node::{Health, Metrics, Node, NodeOptions, StartError};
