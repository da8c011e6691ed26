//! The local journal against a disk that fails. Every run says what it really met: none met is a failure. That each
//! harness sees what it is for, `cargo xtask see` shows.
//!
//! The long forms: `MAITRED_POWER_CUTS` images (20,000 otherwise), `MAITRED_SEEDS` runs with every call failing
//! (2 otherwise), `MAITRED_KILLS` killed processes (20 otherwise). `MAITRED_SEED` is the first seed of all of them.

mod bit_flips;
mod failing_calls;
mod full_disk;
mod power_cut;
mod refusals;
mod run;
mod wounds;
