//! Text of strangers: a terminal shows it and never obeys it, a pipe cannot be broken by it, and `--json` tells it exactly.

use maitred::Client;
use maitred_api::{Call, Context};
use rustix::process::{Signal, kill_process};
use serde_json::Value;

use super::{
    stage::{Done, Stage, command, done, until, write},
    terminal::Terminal,
    watch::Watch,
};
use crate::http::support::has;

/// Clears a screen, sets its title, colours by a one-byte introducer, turns the direction, forges a row, hides.
const HOSTILE: &str =
    "a\u{1b}[2J\u{1b}]0;owned\u{7}\u{9b}31m\u{202e}b\r\nbusy\tforged\u{7f}\u{200b}<b>\u{2028}c";
/// What must not come out anywhere. Our own colours and the cursor's moves are none of these.
const OBEYED: [&str; 10] = [
    "\u{1b}[2J",
    "\u{1b}]",
    "\u{7}",
    "\u{9b}",
    "\u{202e}",
    "\u{7f}",
    "\u{200b}",
    "\u{2028}",
    "\nbusy\tforged",
    "a\u{1b}",
];

/// A slot that holds and one that waits, an act and an end, all with hostile words.
fn stage() -> Stage {
    let stage = Stage::still();
    stage.declare("voice", 1, "45m");
    stage.declare("gone", 1, "45m");
    for slot in ["s1", "s2"] {
        stage.acquire("voice", slot, |fields| {
            fields.run = Some(format!("run-{slot}"));
            fields.label = Some(HOSTILE.to_owned());
            fields.workflow = Some(HOSTILE.to_owned());
        });
    }
    stage.acquire("gone", "s3", |fields| fields.label = Some(HOSTILE.to_owned()));
    let hostile = Some(HOSTILE.to_owned());
    let context = Context { by: hostile.clone(), reason: hostile, ..Context::default() };
    let acts = [
        Call::SetCapacity { limit: "gone".to_owned(), capacity: 3u32.into() },
        Call::Release { slot: "s3".to_owned() },
    ];
    for act in acts {
        stage.runtime.block_on(Client::Near(stage.node.clone()).call(&context, act)).unwrap();
    }
    until("the history has the end", || {
        let history = stage.run(&["history", "--json"]).json();
        history["ends"].as_array().is_some_and(|ends| !ends.is_empty())
    });
    stage
}

/// Every command that shows what others wrote, and whether it shows these words.
const COMMANDS: [(&[&str], bool); 12] = [
    (&["limits", "list"], false),
    (&["limits", "show", "gone"], false),
    (&["limits", "slots", "voice"], true),
    (&["runs", "list"], true),
    (&["runs", "show", "run-s2"], true),
    (&["explain", "s1"], false),
    (&["explain", "s3"], true),
    (&["explain", HOSTILE], true),
    (&["history"], true),
    (&["audit"], true),
    (&["doctor"], false),
    (&["explain", "nobody\u{1b}[2J\u{9b}"], false),
];

#[track_caller]
fn is_tame(args: &[&str], text: &str) {
    for obeyed in OBEYED {
        assert!(!text.contains(obeyed), "{args:?} shows {obeyed:?}: {text:?}");
    }
}

#[test]
fn a_terminal_shows_it_and_does_not_obey_it() {
    let stage = stage();
    for (args, shows) in COMMANDS {
        let (_, seen) = Terminal::run(&stage, 2_000, args).end();
        is_tame(args, &seen);
        assert_eq!(
            seen.contains("a\\u{1b}[2J\\u{1b}]0;owned\\u{7}\\u{9b}31m\\u{202e}b"),
            shows,
            "{args:?}: {seen}"
        );
        let (_, json) = Terminal::run(&stage, 80, &[args, &["--json"]].concat()).end();
        is_tame(args, &json);
    }
}

#[test]
fn a_pipe_has_one_line_for_each_row() {
    let stage = stage();
    for (args, _) in COMMANDS {
        let Done { stdout, stderr, .. } = stage.run(args);
        is_tame(args, &(stdout + &stderr));
    }
    assert_eq!(stage.run(&["limits", "slots", "voice"]).stdout.lines().count(), 2);
    assert_eq!(stage.run(&["history"]).stdout.lines().count(), 1);
}

#[test]
fn json_has_exactly_what_was_written() {
    let stage = stage();
    for (args, shows) in COMMANDS {
        let Done { stdout, stderr, .. } = stage.run(&[args, &["--json"]].concat());
        is_tame(args, &(stdout.clone() + &stderr));
        if shows {
            let json: Value = serde_json::from_str(&stdout).unwrap();
            assert!(has(&json, HOSTILE), "{args:?}: {stdout}");
        }
    }
}

#[test]
fn what_is_watched_is_told_line_by_line() {
    let stage = Stage::still();
    stage.declare("voice", 1, "10m");
    let [pipe, json] =
        [&["limits", "watch"][..], &["limits", "watch", "--json"]].map(|args| Watch::of(stage.command(args)));
    let snapshot = json.says();
    until("both listen", || stage.node.listeners() == 2);
    stage.acquire("voice", "w", |fields| fields.label = Some(HOSTILE.to_owned()));
    stage.call(Call::Release { slot: "w".to_owned() }).unwrap();
    let [(_granted, row), (_, told)] = [&pipe, &json].map(|watch| (watch.says(), watch.says()));
    assert!(row.contains("\tw\t") && row.contains("\\r\\nbusy\\tforged"), "{row:?}");
    [&row, &snapshot, &told].into_iter().for_each(|line| is_tame(&["limits", "watch"], line));
    assert!(has(&serde_json::from_str(&told).unwrap(), HOSTILE), "{told}");
}

/// The operator is asked about a slot in words that nobody else put there.
#[test]
fn a_question_is_put_in_our_own_words() {
    let stage = stage();
    let mut terminal = Terminal::run(&stage, 2_000, &["limits", "release", "s1"]);
    let asked = terminal.read_to("[y/N] ");
    is_tame(&["limits", "release"], &asked);
    assert!(asked.contains("label a\\u{1b}[2J"), "{asked:?}");
    terminal.types("n\n");
    assert_eq!(terminal.end().0, 5, "nothing was released");
    let failed = done(stage.command(&["limits", "pause", "voi\u{1b}[2J\u{9b}"]).output().unwrap());
    is_tame(&["limits", "pause"], &failed.stderr);
}

/// A server's own log, as somebody reads it who started it on a terminal.
#[test]
fn a_log_on_a_terminal_has_no_word_of_a_caller() {
    let folder = tempfile::tempdir().unwrap();
    write(&folder.path().join("maitred.toml"), "[limits.voice]\ncapacity = 1\nmax_hold = \"1h\"\n");
    let mut serve = command("", &["serve", "--listen", "127.0.0.1:0", "--log", "debug"]);
    serve.current_dir(folder.path());
    let mut terminal = Terminal::start(serve, 2_000);
    let seen = terminal.read_to("maitred limits list");
    let url =
        seen.split("listens on ").nth(1).and_then(|rest| rest.split_whitespace().next()).unwrap().to_owned();
    let pid = terminal.pid();
    // Meanwhile the terminal is read, so that its server is not held up by what nobody takes.
    let caller = std::thread::spawn(move || {
        let label = ["acquire", "voice", "--slot", "s", "--label", HOSTILE];
        let took = done(command(&url, &label).output().unwrap());
        let refused = done(command(&url, &["explain", HOSTILE]).output().unwrap());
        kill_process(pid, Signal::TERM).unwrap();
        (took.status, refused.status)
    });
    let (status, log) = terminal.end();
    assert_eq!((caller.join().unwrap(), status), ((0, 0), 0), "{log}");
    is_tame(&["serve"], &log);
    assert!(log.contains("answered") && !log.contains("owned") && !log.contains("forged"), "{log}");
}
