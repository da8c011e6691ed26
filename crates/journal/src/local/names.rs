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

/// Far beyond any number of a segment or a record, and far from where one more would overflow.
pub(crate) const NUMBER_MAX: u64 = 1 << 53;

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
        if let Some(number) = number_in(&name, "segment-", ".log", segment) {
            self.segments.insert(number, name);
        } else if let Some(number) = number_in(&name, "spare-", ".log", spare) {
            self.spares.insert(number, name);
        } else if let Some(position) = number_in(&name, "snapshot-", ".snap", snapshot) {
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

/// Only the name that a number is given stands for it, or a second file (`segment-7.log`) could take its place.
fn number_in(name: &str, before: &str, behind: &str, named: fn(u64) -> String) -> Option<u64> {
    let digits = name.strip_prefix(before)?.strip_suffix(behind)?;
    let number = digits.parse().ok().filter(|number| *number <= NUMBER_MAX)?;
    (named(number) == name).then_some(number)
}
