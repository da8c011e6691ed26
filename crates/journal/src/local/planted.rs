//! Defects that tests switch on, to show that they would be seen, and a count of what tests hope to meet.

use std::cell::Cell;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Defect {
    /// Recovery takes every bad record for a torn tail.
    SkipLookAhead,
    /// Recovery takes every whole record of the next position, whoever wrote it.
    SkipChain,
    /// The writer tries a flush again that has failed, and believes the second one.
    RetryFlush,
}

thread_local! {
    static PLANTED: Cell<Option<Defect>> = const { Cell::new(None) };
    static OLD_ENTRIES_MET: Cell<u64> = const { Cell::new(0) };
}

pub(crate) fn has(defect: Defect) -> bool {
    PLANTED.get() == Some(defect)
}

/// Runs `test` with the defect.
pub(crate) fn with<T>(defect: Defect, test: impl FnOnce() -> T) -> T {
    PLANTED.set(Some(defect));
    let result = test();
    PLANTED.set(None);
    result
}

/// How often an entry was whole and yet no part of the journal.
pub(crate) fn old_entries_met() -> u64 {
    OLD_ENTRIES_MET.get()
}

pub(crate) fn meet_old_entry() {
    OLD_ENTRIES_MET.set(OLD_ENTRIES_MET.get() + 1);
}
