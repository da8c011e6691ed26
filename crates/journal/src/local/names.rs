//! The names of the files, and what a folder holds by its names.

use std::{collections::BTreeMap, io};

use crate::{Disk, Position};

pub(crate) const IDENTITY: &str = "journal";
pub(crate) const LOCK: &str = "lock";
/// Half-made files end so, and are removed at the next start.
const HALF_MADE: &str = ".tmp";
pub(crate) const IDENTITY_HALF_MADE: &str = "journal.tmp";
pub(crate) const SEGMENT_HALF_MADE: &str = "segment.tmp";
pub(crate) const SNAPSHOT_HALF_MADE: &str = "snapshot.tmp";

pub(crate) fn segment(number: u64) -> String {
    format!("segment-{number:016}.log")
}

pub(crate) fn spare(number: u64) -> String {
    format!("spare-{number:016}.log")
}

pub(crate) fn snapshot(position: Position) -> String {
    format!("snapshot-{position:020}.snap")
}

/// The names of one folder, sorted by what they stand for.
#[derive(Default)]
pub(crate) struct Names {
    pub identity: bool,
    pub segments: BTreeMap<u64, String>,
    pub spares: BTreeMap<u64, String>,
    pub snapshots: BTreeMap<Position, String>,
    pub half_made: Vec<String>,
    /// Files that are none of ours.
    pub others: Vec<String>,
}

impl Names {
    pub(crate) fn read(disk: &dyn Disk) -> io::Result<Self> {
        let mut names = Self::default();
        for name in disk.list()? {
            names.sort(name);
        }
        names.others.sort();
        Ok(names)
    }

    fn sort(&mut self, name: String) {
        if let Some(number) = number_in(&name, "segment-", ".log") {
            self.segments.insert(number, name);
        } else if let Some(number) = number_in(&name, "spare-", ".log") {
            self.spares.insert(number, name);
        } else if let Some(position) = number_in(&name, "snapshot-", ".snap") {
            self.snapshots.insert(position, name);
        } else if [IDENTITY_HALF_MADE, SEGMENT_HALF_MADE, SNAPSHOT_HALF_MADE].contains(&name.as_str()) {
            debug_assert!(name.ends_with(HALF_MADE));
            self.half_made.push(name);
        } else if name == IDENTITY {
            self.identity = true;
        } else if name != LOCK {
            self.others.push(name);
        }
    }
}

fn number_in(name: &str, before: &str, behind: &str) -> Option<u64> {
    let digits = name.strip_prefix(before)?.strip_suffix(behind)?;
    digits.bytes().all(|digit| digit.is_ascii_digit()).then(|| digits.parse().ok()).flatten()
}
