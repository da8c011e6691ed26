//! The library as a program uses it, near and far.

mod cancellation;
mod clock;
mod common;
mod conditions;
mod conformance;
mod journal_trouble;
mod looking_back;
mod nested;
mod node;
mod overview;
mod postgres;
mod route;
mod runtimes;
mod stuck_history;
mod trouble;
