//! A count of what tests hope to meet.

use std::cell::Cell;

thread_local! {
    static OLD_ENTRIES_MET: Cell<u64> = const { Cell::new(0) };
}

/// How often an entry was whole and yet no part of the journal.
pub(crate) fn old_entries_met() -> u64 {
    OLD_ENTRIES_MET.get()
}

pub(crate) fn meet_old_entry() {
    OLD_ENTRIES_MET.set(OLD_ENTRIES_MET.get() + 1);
}
