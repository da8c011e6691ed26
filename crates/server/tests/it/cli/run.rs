use std::{
    io::{BufRead, BufReader},
    process::{Child, Stdio},
};

use rustix::process::{Pid, Signal, kill_process};

use super::stage::{Stage, done, until};

#[test]
fn the_slot_is_held_while_the_command_runs_and_its_status_is_passed_back() {
    let stage = Stage::still();
    stage.declare("l", 1, "10m");
    let script = "echo \"$MAITRED_SLOT_ID $MAITRED_LIMIT $MAITRED_FENCE\"; exit 42";
    let ran = stage.run(&["run", "--limit", "l", "--slot", "s", "--", "sh", "-c", script]);
    assert_eq!((ran.status, ran.stdout.as_str(), ran.stderr.as_str()), (42, "s l 1\n", ""));
    assert_eq!(stage.state("s"), "released");

    let mut child =
        stage.spawn(&["run", "--limit", "l", "--slot", "t", "--label", "x", "--", "sleep", "100"]);
    until("t is busy", || stage.state("t") == "busy");
    assert_eq!(stage.slot("t").slot.label.as_deref(), Some("x"));
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(143));
    assert_eq!(stage.state("t"), "released");
}

#[test]
fn a_command_that_cannot_start_gives_the_slot_back() {
    let stage = Stage::still();
    stage.declare("l", 1, "10m");
    let none = "error: there is no command `no-such-command`\n";
    stage.run(&["run", "--limit", "l", "--slot", "a", "--", "no-such-command"]).fails(127, none);
    let folder = stage.run(&["run", "--limit", "l", "--slot", "b", "--", "/"]);
    assert_eq!(folder.status, 126);
    assert!(folder.stderr.starts_with("error: `/` could not be executed: "), "{folder:?}");
    assert_eq!((stage.state("a"), stage.state("b")), ("released", "released"));
}

#[test]
fn without_a_slot_the_command_does_not_run() {
    let stage = Stage::still();
    stage.declare("l", 1, "10m");
    stage.acquire("l", "a", |_| ());
    stage
        .run(&["run", "--limit", "l", "--no-wait", "--", "echo", "ran"])
        .fails(6, "error: no slot of `l` is free now\n  who holds what: maitred limits slots l\n");
}

/// A child that says when it is ready for signals, and which one came.
const LISTENER: &str =
    "trap 'echo usr1' USR1; trap 'echo hup; exit 7' HUP; echo ready; while :; do sleep 0.05; done";

fn first_line(child: &mut Child) -> BufReader<std::process::ChildStdout> {
    let mut lines = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    lines.read_line(&mut line).unwrap();
    assert_eq!(line, "ready\n");
    lines
}

#[test]
fn signals_are_passed_on() {
    let stage = Stage::still();
    stage.declare("l", 1, "10m");
    let mut child = stage.spawn(&["run", "--limit", "l", "--slot", "s", "--", "sh", "-c", LISTENER]);
    let mut lines = first_line(&mut child);
    let mut line = String::new();
    kill_process(Pid::from_child(&child), Signal::USR1).unwrap();
    lines.read_line(&mut line).unwrap();
    kill_process(Pid::from_child(&child), Signal::HUP).unwrap();
    lines.read_line(&mut line).unwrap();
    assert_eq!(line, "usr1\nhup\n");
    assert_eq!(child.wait().unwrap().code(), Some(7));
    assert_eq!(stage.state("s"), "released");
}

#[test]
fn a_command_outlives_its_slot_unless_it_is_to_be_ended() {
    let stage = Stage::ticking();
    stage.declare("l", 1, "700ms");
    let warned = stage.run(&["run", "--limit", "l", "--slot", "a", "--", "sh", "-c", "sleep 1.2; exit 9"]);
    assert_eq!(warned.status, 9);
    assert_eq!(warned.stderr, "warning: slot a has expired; the command goes on without it\n");

    let ended = stage.run(&["run", "--limit", "l", "--slot", "b", "--kill-on-expiry", "--", "sleep", "100"]);
    assert_eq!(ended.status, 143);
    assert_eq!(ended.stderr, "warning: slot b has expired; ending the command\n");
    assert_eq!(stage.state("b"), "expired");
}

#[test]
fn a_slot_that_an_operator_took_away_is_told_at_the_end() {
    let stage = Stage::still();
    stage.declare("l", 1, "10m");
    let script = "echo ready; read line; exit 0";
    let mut command = stage.command(&["run", "--limit", "l", "--slot", "s", "--", "sh", "-c", script]);
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let _lines = first_line(&mut child);
    stage.run(&["limits", "release", "s", "--yes"]).prints("s\tyes\treleased\n");
    drop(child.stdin.take());
    let ended = done(child.wait_with_output().unwrap());
    assert_eq!(ended.stderr, "warning: the slot was released before the command ended\n");
    assert_eq!(ended.status, 0);
}

/// The server is gone when the command ends: the release is tried until the slot's own expiry, and no longer.
#[test]
fn a_release_is_tried_until_the_slot_expires() {
    let stage = Stage::ticking();
    stage.declare("l", 1, "4s");
    let mut child = stage.spawn(&[
        "run",
        "--limit",
        "l",
        "--slot",
        "s",
        "--",
        "sh",
        "-c",
        "echo ready; sleep 0.5; exit 3",
    ]);
    let _lines = first_line(&mut child);
    let started = std::time::Instant::now();
    drop(stage);
    let ended = done(child.wait_with_output().unwrap());
    assert_eq!(ended.status, 3);
    assert!(ended.stderr.contains("no server answers; trying until it expires"), "{ended:?}");
    assert!((2_000..15_000).contains(&started.elapsed().as_millis()), "{:?}", started.elapsed());
}

/// An operator releases the slot of a command that runs: it is told, and ends only where that was asked for.
#[test]
fn a_slot_that_is_taken_away_is_told() {
    let stage = Stage::still();
    stage.declare("l", 2, "10m");
    let told = stage.spawn(&["run", "--limit", "l", "--slot", "told", "--", "sleep", "5"]);
    let killed =
        stage.spawn(&["run", "--limit", "l", "--slot", "killed", "--kill-on-expiry", "--", "sleep", "100"]);
    until("both are busy", || stage.state("told") == "busy" && stage.state("killed") == "busy");
    for slot in ["told", "killed"] {
        stage.run(&["limits", "release", slot, "--yes"]);
    }
    let killed = done(killed.wait_with_output().unwrap());
    let ending = "warning: slot killed was released by somebody else; ending the command";
    assert_eq!(killed.status, 143, "{killed:?}");
    assert!(killed.stderr.starts_with(ending), "{killed:?}");
    let told = done(told.wait_with_output().unwrap());
    assert_eq!(told.status, 0, "{told:?}");
    let goes_on = "warning: slot told was released by somebody else; the command goes on without it\n";
    assert!(told.stderr.starts_with(goes_on), "{told:?}");
}
