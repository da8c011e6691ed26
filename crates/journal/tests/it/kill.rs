//! `kill -9` in the middle of it: what a process has acknowledged is there afterwards.
//!
//! The test starts itself again as a child, which appends, flushes, and only then says so; the parent kills it at
//! some moment, opens the folder, and compares. Each child goes on where the one before was killed. A killed
//! process loses nothing that the kernel has, so this says nothing about flushes: the simulated disk does.

use std::{
    io::{BufRead, BufReader, Write},
    path::Path,
    process::{Child, Command, Stdio},
    time::Duration,
};

use bytes::Bytes;
use maitred_journal::{Journal, JournalError, Local, Options, Position, Snapshot, verify};

const FOLDER: &str = "MAITRED_JOURNAL_CHILD";

fn open(folder: &Path) -> Local {
    let options = Options { segment_bytes: 128 << 10, ..Options::new([5; 16]) };
    Local::open(folder, options).unwrap_or_else(|error| panic!("{error}"))
}

/// What record `position` must hold.
fn record(position: Position) -> Bytes {
    Bytes::from(format!("record {position}; ").repeat(1 + (position * 31 % 97) as usize))
}

fn state(position: Position) -> Snapshot {
    Snapshot { position, bytes: Bytes::from(format!("state {position}; ").repeat(200)) }
}

/// The child: not a test of its own.
#[tokio::test]
async fn child() {
    let Some(folder) = std::env::var_os(FOLDER) else { return };
    let mut journal = open(Path::new(&folder));
    let mut archive = journal.archive();
    let mut out = std::io::stdout();
    for group in 1.. {
        for _ in 0..1 + group % 4 {
            let head = journal.head();
            journal.append(head, record(head + 1)).await.expect("an append");
        }
        let promised = journal.sync().await.expect("a sync");
        writeln!(out, "\npromised {promised}").expect("the parent listens");
        out.flush().expect("the parent listens");
        if group % 50 == 0 {
            archive.save_snapshot(state(promised)).await.expect("a snapshot");
            archive.trim(promised).await.expect("a trim");
        }
    }
}

fn start_child(folder: &Path) -> Child {
    let program = std::env::current_exe().expect("this test");
    let mut command = Command::new(program);
    command.args(["--exact", "kill::child", "--nocapture"]).env(FOLDER, folder);
    command.stdout(Stdio::piped()).stderr(Stdio::inherit()).spawn().expect("the child starts")
}

/// Lets a child work for a while, kills it, and returns the last position that it acknowledged.
fn kill_after(folder: &Path, after: Duration) -> Position {
    let mut child = start_child(folder);
    let lines = BufReader::new(child.stdout.take().expect("it is piped")).lines();
    let reader = std::thread::spawn(move || {
        let promised = lines.map_while(Result::ok);
        promised.filter_map(|line| line.strip_prefix("promised ")?.parse().ok()).last().unwrap_or(0)
    });
    std::thread::sleep(after);
    child.kill().expect("it is there to be killed");
    let status = child.wait().expect("it ends");
    assert!(!status.success(), "the child ended by itself: {status}");
    reader.join().expect("the reader ends")
}

/// Reads everything and compares it; returns the head.
async fn check(folder: &Path, promised: Position) -> Position {
    verify(folder).unwrap_or_else(|error| panic!("{error}"));
    let journal = open(folder);
    let mut archive = journal.archive();
    let snapshot = archive.snapshot().await.expect("a snapshot");
    let base = snapshot.as_ref().map_or(0, |snapshot| snapshot.position);
    assert!(snapshot.is_none_or(|snapshot| snapshot == state(base)), "the snapshot of {base} is another one");
    let mut head = base;
    loop {
        let records = archive.read(head, 100_000).await.expect("a read");
        if records.is_empty() {
            break;
        }
        for found in records {
            head += 1;
            assert_eq!((found.position, found.bytes), (head, record(head)));
        }
    }
    assert!(head >= promised, "{promised} was acknowledged, and the journal ends at {head}");
    head
}

#[tokio::test]
async fn what_a_killed_process_has_acknowledged_is_there() {
    let kills: u64 = std::env::var("MAITRED_KILLS").map_or(20, |kills| kills.parse().expect("a number"));
    let folder = tempfile::tempdir().expect("a temporary folder");
    let folder = folder.path().join("journal");
    let (mut promised, mut head, mut in_flight) = (0, 0, 0);
    for kill in 0..kills {
        // From before it has opened the folder until it has written for a while.
        let acknowledged = kill_after(&folder, Duration::from_millis(1 + kill * 37 % 120));
        promised = promised.max(acknowledged).max(head);
        if !folder.join("journal").exists() {
            continue;
        }
        head = check(&folder, promised).await;
        in_flight += u64::from(head > promised);
    }
    println!(
        "{kills} kills, {promised} records acknowledged, {in_flight} kills with records not yet acknowledged"
    );
    assert!(promised > kills, "the children hardly wrote anything");
}

#[tokio::test]
async fn a_folder_that_another_process_has_open() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let folder = folder.path().join("journal");
    let mut child = start_child(&folder);
    let mut lines = BufReader::new(child.stdout.take().expect("it is piped")).lines();
    lines.find(|line| line.as_ref().is_ok_and(|line| line.starts_with("promised"))).expect("it writes").ok();
    let refused = Local::open(&folder, Options::new([5; 16])).err();
    let verified = verify(&folder);
    child.kill().expect("it is there to be killed");
    child.wait().expect("it ends");
    let message = refused.expect("it is refused").to_string();
    assert!(message.contains(&format!("process {}", child.id())), "{message}");
    assert!(matches!(verified, Err(JournalError::Locked { .. })));
    drop(open(&folder));
}
