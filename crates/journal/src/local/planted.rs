//! Defects that tests switch on, to show that they would be seen.

use std::cell::Cell;

thread_local! {
    static SKIP_LOOK_AHEAD: Cell<bool> = const { Cell::new(false) };
}

pub(crate) fn skips_look_ahead() -> bool {
    SKIP_LOOK_AHEAD.get()
}

/// Runs `test` with a recovery that takes every bad record for a torn tail.
pub(crate) fn without_look_ahead<T>(test: impl FnOnce() -> T) -> T {
    SKIP_LOOK_AHEAD.set(true);
    let result = test();
    SKIP_LOOK_AHEAD.set(false);
    result
}
