//! The simulated world, and what it has found.

mod sequencer;
mod sharing;
mod simulate;
