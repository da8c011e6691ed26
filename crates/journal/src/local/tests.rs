//! The local journal against a disk that fails. Every run says what it really met: none met is a failure.

mod bit_flips;
mod failing_calls;
mod full_disk;
mod power_cut;
mod refusals;
mod run;
mod wounds;
