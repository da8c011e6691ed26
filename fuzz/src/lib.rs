//! Hostile bytes for whatever reads bytes: each module is a target that a fuzzer calls again and again, with bytes that
//! it makes from what has led to new code before.
//!
//! # Worked example
//! `record` is given 30 bytes. [`Entry::decode`](maitred::local::record::Entry::decode) refuses them: nothing more is
//! asked, but that it gave a reason. Or it reads a batch of three commands: then these must be written as exactly the same
//! 30 bytes, an engine must carry them out, and be the same engine after its own snapshot was read. Whatever
//! is otherwise panics, and the fuzzer keeps the bytes.
//!
//! The targets are ordinary functions, so what was found once is repeated by an ordinary test (`tests/corpus.rs`),
//! without any fuzzer: it gives them every file below `fuzz/corpus`. Nothing here depends on time or chance.
#![forbid(unsafe_code)]

pub mod body;
pub mod commands;
pub mod folder;
pub mod planted;
pub mod record;
pub mod snapshot;
pub mod text;

mod cast;
mod chance;
mod folder_edits;
mod sound;
mod steps;

/// Something that reads bytes.
pub struct Target {
    pub name: &'static str,
    /// What must hold whatever the bytes are. Panics if it does not.
    pub run: fn(&[u8]),
    /// What the fuzzer begins with: bytes that are read to their end.
    pub seeds: fn() -> Vec<Vec<u8>>,
}

pub const TARGETS: &[Target] = &[
    Target { name: "record", run: record::run, seeds: record::seeds },
    Target { name: "snapshot", run: snapshot::run, seeds: snapshot::seeds },
    Target { name: "folder", run: folder::run, seeds: folder::seeds },
    Target { name: "body", run: body::run, seeds: body::seeds },
    Target { name: "text", run: text::run, seeds: text::seeds },
    Target { name: "commands", run: commands::run, seeds: commands::seeds },
];
