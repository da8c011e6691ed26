use std::time::Duration;

use maitred_api::ConfirmMode;
use rustix::process::{Pid, Signal, kill_process};

use super::stage::{Stage, done, until};

#[test]
fn an_acquired_slot_is_busy_and_outlives_the_command() {
    let stage = Stage::still();
    stage.declare("l", 2, "10m");
    let taken = stage.run(&["acquire", "l", "--label", "call-77", "--run", "r1"]);
    assert_eq!((taken.status, taken.stderr.as_str()), (0, ""));
    let id = taken.stdout.trim_end();
    let slot = stage.slot(id).slot;
    assert_eq!(
        (slot.state.as_str(), slot.label.as_deref(), slot.run.as_deref()),
        ("busy", Some("call-77"), Some("r1"))
    );

    stage.run(&["acquire", "l", "--slot", "mine"]).prints("mine\n");
    stage.run(&["acquire", "l", "--slot", "mine"]).prints("mine\n");
    assert_eq!(stage.counts("l"), (2, 0, 0));
    let json = stage.run(&["acquire", "l", "--slot", "mine", "--json"]).json();
    assert_eq!((json["state"].as_str(), json["fence"].as_u64()), (Some("busy"), Some(2)));

    stage.run(&["release", "mine"]).prints("mine\tyes\treleased\n");
    stage.run(&["release", "mine"]).prints("mine\tno\treleased\n");
    stage.run(&["acquire", "l", "--slot", "mine"]).fails(
        1,
        "error: slot `mine` has ended: released\n  ask for another: leave --slot out, or give another id\n",
    );
    assert_eq!(stage.run(&["release", "nobody"]).status, 3);
}

#[test]
fn weights_and_conflicts_are_the_limiters_to_judge() {
    let stage = Stage::still();
    stage.declare("l", 4, "10m");
    stage.run(&["acquire", "l", "--weight", "3", "--slot", "a"]).prints("a\n");
    assert_eq!(stage.counts("l"), (3, 0, 0));
    assert_eq!(stage.run(&["acquire", "l", "--weight", "5"]).status, 5);
    assert_eq!(stage.run(&["acquire", "l", "--weight", "0"]).status, 2);
    let conflict = stage.run(&["acquire", "l", "--slot", "a"]);
    assert_eq!((conflict.status, conflict.stdout.as_str()), (5, ""));
    assert!(conflict.stderr.starts_with("error: this id was used before with other content"), "{conflict:?}");
}

#[test]
fn a_wait_that_runs_out_is_told_apart() {
    let stage = Stage::ticking();
    stage.declare("l", 1, "10m");
    stage.acquire("l", "a", |_| ());
    stage
        .run(&["acquire", "l", "--no-wait"])
        .fails(6, "error: no slot of `l` is free now\n  who holds what: maitred limits slots l\n");
    let waited = stage.run(&["acquire", "l", "--timeout", "2500ms"]);
    assert_eq!((waited.status, waited.stdout.as_str()), (6, ""));
    let lines: Vec<&str> = waited.stderr.lines().collect();
    assert!(lines[0].starts_with("waiting for `l`: position 1 of 1, 00:0"), "{waited:?}");
    assert!(lines[1].starts_with("error: no slot of `l` was free within the timeout (waited "), "{waited:?}");
    assert_eq!(stage.counts("l"), (1, 0, 0));

    let silent = stage.run(&["acquire", "l", "--timeout", "700ms", "--json"]);
    let told: serde_json::Value = serde_json::from_str(&silent.stderr).unwrap();
    assert_eq!((silent.status, told["exit_code"].as_u64()), (6, Some(6)));
}

#[test]
fn the_next_in_line_gets_the_slot_while_it_waits() {
    let stage = Stage::ticking();
    stage.declare("l", 1, "10m");
    stage.acquire("l", "a", |_| ());
    let waiting = stage.spawn(&["acquire", "l", "--slot", "b"]);
    until("b waits", || stage.counts("l").2 == 1);
    stage.run(&["release", "a"]).prints("a\tyes\treleased\n");
    let taken = done(waiting.wait_with_output().unwrap());
    assert_eq!((taken.status, taken.stdout.as_str()), (0, "b\n"));
    assert_eq!(stage.state("b"), "busy");
}

#[test]
fn an_interrupted_wait_leaves_the_queue() {
    for (signal, status) in [(Signal::INT, 130), (Signal::TERM, 143)] {
        let stage = Stage::ticking();
        stage.declare("l", 1, "10m");
        stage.acquire("l", "a", |_| ());
        stage.acquire("l", "other", |fields| fields.confirm = ConfirmMode::Holder);
        let waiting = stage.spawn(&["acquire", "l", "--slot", "b"]);
        until("b waits", || stage.counts("l").2 == 2);
        kill_process(Pid::from_child(&waiting), signal).unwrap();
        let left = done(waiting.wait_with_output().unwrap());
        assert_eq!((left.status, left.stdout.as_str()), (status, ""));
        assert!(left.stderr.ends_with("error: interrupted: left the queue\n"), "{left:?}");
        assert_eq!(stage.state("b"), "left");
        assert_eq!(stage.counts("l"), (1, 0, 1));
    }
}

/// Nobody said goodbye, but the connection is closed: the server knows that the caller is gone.
#[test]
fn a_killed_wait_leaves_the_queue_too() {
    let stage = Stage::ticking();
    stage.declare("l", 1, "10m");
    stage.acquire("l", "a", |_| ());
    let mut waiting = stage.spawn(&["acquire", "l", "--slot", "b"]);
    until("b waits", || stage.counts("l").2 == 1);
    waiting.kill().unwrap();
    waiting.wait().unwrap();
    until("b has left", || stage.state("b") == "left");
    std::thread::sleep(Duration::from_millis(50));
    assert_eq!(stage.counts("l"), (1, 0, 0));
}
