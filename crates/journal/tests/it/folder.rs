//! The local journal in a real folder: who may read it, what the thread does, what is told.

use std::{
    fs::{self, Permissions},
    os::unix::fs::PermissionsExt,
    time::{Duration, Instant},
};

use bytes::Bytes;
use maitred_journal::{Journal, JournalError, Local, Options, Snapshot, verify};

fn options() -> Options {
    Options { segment_bytes: 64 << 10, ..Options::new([1; 16]) }
}

fn count(folder: &std::path::Path, begins: &str) -> usize {
    let names = fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").file_name());
    names.filter(|name| name.to_string_lossy().starts_with(begins)).count()
}

/// Waits for what another thread does.
fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !is_so() {
        assert!(begin.elapsed() < Duration::from_secs(30), "{what} within 30 s");
        std::thread::sleep(Duration::from_millis(2));
    }
}

#[tokio::test]
async fn only_the_owner_may_read() {
    let above = tempfile::tempdir().expect("a temporary folder");
    let folder = above.path().join("not/yet/there");
    let mut journal = Local::open(&folder, options()).expect("it is made");
    journal.append(0, Bytes::from_static(b"secret")).await.expect("an append");
    journal.sync().await.expect("a sync");
    let mode = |path: &std::path::Path| path.metadata().map(|found| found.permissions().mode() & 0o777);
    assert_eq!(mode(&folder).expect("it is there"), 0o700);
    let mut seen = 0;
    for entry in fs::read_dir(&folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        // The next segment is made beside us, and gets its name when it is done.
        let Ok(mode) = mode(&path) else { continue };
        assert_eq!(mode, 0o600, "{}", path.display());
        seen += 1;
    }
    assert!(seen >= 2, "a segment and the lock are there, not {seen} files");
    assert_eq!(journal.warnings(), [""; 0]);
}

#[tokio::test]
async fn a_folder_open_to_all_is_told() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).expect("it is ours");
    Local::open(folder.path(), options()).expect("a new journal");
    let warnings = Local::open(folder.path(), options()).expect("it opens").warnings();
    assert!(warnings.iter().any(|warning| warning.contains("chmod 700")), "{warnings:?}");
}

#[tokio::test]
async fn a_thread_makes_segments_ahead_and_old_ones_come_back() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut journal = Local::open(folder.path(), options()).expect("a new journal");
    until("a spare", || count(folder.path(), "spare-") == 1);
    let mut archive = journal.archive();
    for after in 0..1000 {
        journal.append(after, Bytes::from(vec![1; 1000])).await.expect("an append");
        if after % 100 == 99 {
            let position = journal.sync().await.expect("a sync");
            archive.save_snapshot(Snapshot { position, bytes: Bytes::new() }).await.expect("a snapshot");
            archive.trim(position).await.expect("a trim");
        }
    }
    // A million bytes have gone through segments of 64 KiB; those behind the older snapshot are needed.
    assert!(count(folder.path(), "segment-") <= 4, "{} segments", count(folder.path(), "segment-"));
    until("spares", || (1..=2).contains(&count(folder.path(), "spare-")));
    drop(journal);
    assert_eq!(verify(folder.path()).expect("it is whole").head, 1000);
    assert_eq!(count(folder.path(), "segment.tmp"), 0, "a half-made segment is left");
}

#[test]
fn verify_makes_nothing() {
    let above = tempfile::tempdir().expect("a temporary folder");
    let folder = above.path().join("not there");
    assert!(matches!(verify(&folder), Err(JournalError::Io { .. })));
    assert!(!folder.exists());
    assert!(matches!(verify(above.path()), Err(JournalError::Foreign { .. })));
}

/// What was removed under a running process will not be there for the next: nothing more is said to be durable.
#[tokio::test]
async fn a_removed_folder_is_not_written_to_any_more() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut journal = Local::open(folder.path(), options()).expect("a new journal");
    journal.append(0, Bytes::from_static(b"kept")).await.expect("an append");
    journal.sync().await.expect("a sync");
    fs::remove_dir_all(folder.path()).expect("it is ours");
    journal.append(1, Bytes::from_static(b"lost")).await.expect("an append");
    let refused = journal.sync().await.expect_err("nobody will find it").to_string();
    assert!(refused.contains("somebody has removed this file"), "{refused}");
    assert!(journal.append(2, Bytes::from_static(b"more")).await.is_err());
}

/// Somebody removes the lock because a server says that the folder is in use: it still is.
#[test]
fn a_removed_lock_lets_nobody_in() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let journal = Local::open(folder.path(), options()).expect("a new journal");
    fs::remove_file(folder.path().join("lock")).expect("it is there");
    let refused = Local::open(folder.path(), options()).err().expect("it is in use").to_string();
    assert!(refused.contains("in use by another process"), "{refused}");
    drop(journal);
    Local::open(folder.path(), options()).expect("nobody has it any more");
}
