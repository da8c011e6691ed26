//! What commands say of a mistake, and what programs read of it.

use std::os::unix::fs::PermissionsExt;

use super::stage::{Stage, command, done};

fn problem(stage: &Stage, args: &[&str]) -> (i32, serde_json::Value) {
    let done = stage.run(args);
    assert_eq!(done.stdout, "", "{args:?}");
    let told = serde_json::from_str(&done.stderr).unwrap_or_else(|error| panic!("{args:?} {error} {done:?}"));
    (done.status, told)
}

#[test]
fn a_paused_limit_is_said_to_be_paused() {
    let stage = Stage::ticking();
    stage.declare("l", 2, "10m");
    stage.run(&["limits", "pause", "l"]);
    stage.run(&["acquire", "l", "--no-wait"]).fails(
        6,
        "error: `l` is paused: nothing is granted until it is resumed\n  \
         by whom and why: maitred audit --limit l --act paused\n  grant again: maitred limits resume l\n",
    );
    let waited = stage.run(&["acquire", "l", "--timeout", "1500ms"]);
    assert!(waited.stderr.starts_with("waiting for `l`, which is paused: position 1 of 1, "), "{waited:?}");
}

#[test]
fn a_command_line_that_cannot_be_read_is_json_where_json_is_asked_for() {
    let stage = Stage::still();
    for args in [
        ["limits", "show", "--json"].as_slice(),
        &["limits", "list", "--json", "--bogus"],
        &["limits", "--json"],
        &["token", "create", "two words", "--role", "read", "--json"],
    ] {
        let (status, told) = problem(&stage, args);
        let is = (told["status"].as_str(), told["reason"].as_str(), told["exit_code"].as_u64());
        assert_eq!((status, is), (2, (Some("error"), Some("invalid_argument"), Some(2))), "{args:?}");
    }
    let (_, told) = problem(&stage, &["limits", "list", "--json", "--bogus"]);
    assert_eq!(told["message"], "unexpected argument '--bogus' found");
    let theirs = stage.run(&["run", "--bogus", "--", "cargo", "--json"]);
    assert!(theirs.status == 2 && theirs.stderr.starts_with("error: unexpected argument"), "{theirs:?}");
    assert!(stage.run(&["limits", "--help", "--json"]).stdout.contains("Usage: "));
}

#[test]
fn what_only_commands_say_has_a_reason_of_its_own() {
    let stage = Stage::ticking();
    stage.declare("l", 1, "10m");
    stage.acquire("l", "a", |_| ());
    stage.acquire("l", "b", |_| ());
    for (args, status, reason) in [
        (["acquire", "l", "--no-wait", "--json"].as_slice(), 6, "timed_out"),
        (&["release", "nobody", "--json"], 3, "not_found"),
        (&["limits", "release", "a", "--json"], 5, "not_confirmed"),
        (&["runs", "release", "r", "--json"], 5, "not_confirmed"),
        (&["release", "b", "--json"], 5, "still_queued"),
        (&["apply", "-f", "/nonexistent", "--json"], 2, "invalid_argument"),
        (&["run", "--limit", "l", "--json", "--", "no-such-command"], 127, "no_command"),
    ] {
        if status == 127 {
            stage.run(&["release", "a"]);
            stage.run(&["leave", "b"]);
        }
        let (is, told) = problem(&stage, args);
        assert_eq!((is, told["reason"].as_str()), (status, Some(reason)), "{args:?}");
    }
}

#[test]
fn a_slot_that_waits_is_not_released_but_leaves() {
    let stage = Stage::still();
    stage.declare("l", 1, "10m");
    stage.acquire("l", "a", |_| ());
    stage.acquire("l", "b", |_| ());
    let told = "error: slot `b` is still queued and holds nothing to give back\n  take it out of the queue: \
                maitred leave b\n";
    stage.run(&["release", "b"]).fails(5, told);
    stage.run(&["limits", "release", "b", "--yes"]).fails(5, told);
    assert_eq!(stage.state("b"), "queued");
    stage.run(&["leave", "b"]).prints("b\tleft\n");
    stage.run(&["leave", "b"]).prints("b\tleft\n");
    stage
        .run(&["leave", "a"])
        .fails(5, "error: slot `a` is busy, so it waits no more\n  give it back: maitred release a\n");
    assert_eq!((stage.state("a"), stage.run(&["leave", "nobody"]).status), ("busy", 3));
}

#[test]
fn a_duration_without_a_unit_is_taken_and_told() {
    let stage = Stage::ticking();
    stage.declare("l", 1, "10m");
    let note = "note: 45 is 45 milliseconds; 45s or 45m would be seconds or minutes\n";
    for args in [
        ["limits", "max-hold", "l", "45"].as_slice(),
        &["limits", "max-hold", "l", "45", "--dry-run"],
        &["acquire", "l", "--timeout", "45"],
    ] {
        let done = stage.run(args);
        assert_eq!((done.status, done.stderr.as_str()), (0, note), "{args:?}");
    }
    assert_eq!(stage.run(&["limits", "max-hold", "l", "45", "--json"]).stderr, "");
    assert_eq!(stage.run(&["limits", "max-hold", "l", "45s"]).stderr, "");
}

#[test]
fn a_token_that_has_expired_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let token = |args: &[&str]| {
        let data = ["--data", folder.path().to_str().unwrap(), "--json"];
        done(command("", &[&["token"], args, &data].concat()).output().unwrap()).json()
    };
    token(&["create", "old", "--role", "read", "--expires", "1ms"]);
    token(&["create", "new", "--role", "read", "--expires", "1d"]);
    std::thread::sleep(std::time::Duration::from_millis(5));
    let listed = token(&["ls"]);
    let expired = |at: usize| listed["tokens"][at]["expired"].as_bool();
    assert_eq!((expired(0), expired(1)), (Some(true), Some(false)), "{listed}");
}

#[test]
fn manual_pages_make_their_folder() {
    let folder = tempfile::tempdir().unwrap();
    let man1 = folder.path().join("share/man/man1");
    let made = done(command("", &["man", man1.to_str().unwrap()]).output().unwrap());
    assert_eq!((made.status, man1.join("maitred.1").exists()), (0, true), "{made:?}");
}

#[test]
fn an_agent_that_could_not_be_used_is_not_added() {
    let config = tempfile::tempdir().unwrap();
    let token = config.path().join("token");
    std::fs::write(&token, "0123456789abcdef0123456789abcdef\n").unwrap();
    std::fs::set_permissions(&token, std::fs::Permissions::from_mode(0o600)).unwrap();
    let maitred = |args: &[&str]| {
        let mut command = command("", args);
        command.env_remove("MAITRED_URL").env("XDG_CONFIG_HOME", config.path());
        done(command.output().unwrap())
    };
    for (args, status) in [
        (["bad name", "--url", "http://127.0.0.1:1"], 2),
        (["dev", "--url", "notaurl"], 2),
        (["dev", "--namespace", "Not This"], 2),
        (["dev", "--token-file", "/nonexist"], 4),
        (["dev", "--ca", "/nonexist"], 2),
    ] {
        assert_eq!(maitred(&[&["agent", "add"], &args[..]].concat()).status, status, "{args:?}");
    }
    maitred(&["agent", "ls"]).prints("");
    let token = token.to_str().unwrap();
    assert_eq!(maitred(&["agent", "add", "dev", "--token-file", token]).status, 0);
    std::fs::remove_file(token).unwrap();
    let gone = maitred(&["limits", "list"]);
    assert_eq!(gone.status, 4);
    assert!(gone.stderr.ends_with("\n  agent `dev` names it: maitred agent ls\n"), "{gone:?}");
}

#[test]
fn an_act_that_is_none_is_refused_with_those_that_are() {
    let stage = Stage::still();
    let refused = stage.run(&["audit", "--act", "max-hold"]);
    assert_eq!(refused.status, 2);
    for act in ["declared", "max_hold", "rate_reset", "released"] {
        assert!(refused.stderr.contains(act), "{refused:?}");
        assert_eq!(stage.run(&["audit", "--act", act]).status, 0);
    }
}

#[test]
fn a_server_that_is_spoken_to_in_the_wrong_way_is_said_to_be_there() {
    let stage = Stage::still();
    let other = done(command(&stage.url.replace("http:", "https:"), &["limits", "list"]).output().unwrap());
    assert_eq!(other.status, 7);
    assert!(other.stderr.ends_with("\n  no TLS is spoken there; begin the URL with http://\n"), "{other:?}");
}

#[test]
fn a_url_with_a_path_is_told_apart_from_a_missing_thing() {
    let stage = Stage::still();
    let refused = done(command(&format!("{}/foo", stage.url), &["limits", "list"]).output().unwrap());
    let hint = "\n  --url names the server alone, without a path: http://127.0.0.1:7654\n";
    assert!(refused.status == 3 && refused.stderr.contains(hint), "{refused:?}");
}
