//! The rules of maitred as one pure, deterministic state machine.
//!
//! No I/O, no clock, no chance: [`Engine::apply`] takes the time and a command and gives back an outcome and
//! events. The same commands at the same times make the same state on every machine (T5). Nothing here fails: a
//! refusal is an [`Outcome`].
#![forbid(unsafe_code)]

pub mod bounds;
pub mod bytes;
pub mod command;
mod command_bytes;
pub mod event;
mod form;
pub mod names;
pub mod outcome;
pub mod time;
pub mod view;
