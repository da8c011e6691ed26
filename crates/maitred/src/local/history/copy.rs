//! A copy of the history, also of one that is being filled.

use std::path::Path;

use rusqlite::{Connection, OpenFlags};

use super::{HistoryError, store::make_private};

/// Copies the file as it is at one instant to `to`, which must not be there. Where nothing is, there is nothing to copy.
pub fn copy(file: &Path, to: &Path) -> Result<(), HistoryError> {
    if !file.exists() {
        return Ok(());
    }
    make_private(to);
    let connection = Connection::open_with_flags(file, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    connection.execute("VACUUM INTO ?1", [to.to_string_lossy()])?;
    Ok(())
}
