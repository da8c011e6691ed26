use std::{fs, os::unix::fs::MetadataExt, path::Path};

/// Tells a file from its successor, also behind a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp(u64, i64, i64, u64);

impl Stamp {
    /// None where there is no file.
    pub fn of(file: &Path) -> Option<Stamp> {
        let about = fs::metadata(file).ok()?;
        Some(Stamp(about.ino(), about.mtime(), about.mtime_nsec(), about.len()))
    }
}
