//! Makes snapshots off the writer's path: a second engine takes the same records from the durable journal, so each
//! snapshot also proves that snapshot plus records is the state.

use maitred_journal::{Archive, Position};
use tokio::sync::watch;

use super::{
    follower::{Follower, Halt},
    open,
};

/// A snapshot is made when this many records came since the last.
pub const SNAPSHOT_EVERY: Position = 50_000;

/// Runs until the node is gone. `follower` stands where the journal was at the start.
pub async fn keep(
    mut archive: Box<dyn Archive>,
    mut head: watch::Receiver<Position>,
    every: Position,
) -> Result<(), Halt> {
    let mut follower = open::replay(&mut *archive).await?;
    let mut kept = follower.head();
    let mut before = None;
    while head.changed().await.is_ok() {
        let at = *head.borrow_and_update();
        if at < kept + every {
            continue;
        }
        open::follow(&mut follower, &mut *archive, at).await?;
        save(&follower, &mut *archive, before).await?;
        before = Some(kept);
        kept = follower.head();
    }
    Ok(())
}

/// Keeps the state, then lets go of the records that the snapshot before last already covers.
async fn save(follower: &Follower, archive: &mut dyn Archive, before: Option<Position>) -> Result<(), Halt> {
    let journal = |error: maitred_journal::JournalError| Halt::Journal(error.to_string());
    let Some(snapshot) = follower.snapshot() else { return Ok(()) };
    archive.save_snapshot(snapshot).await.map_err(journal)?;
    match before {
        Some(position) => archive.trim(position).await.map_err(journal),
        None => Ok(()),
    }
}
