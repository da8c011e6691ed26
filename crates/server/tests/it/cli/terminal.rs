//! What a person sees: the same commands on a terminal of their own.

use std::{
    fs::File,
    io::{Read, Write},
    process::{Child, Command},
};

use maitred_api::ConfirmMode;
use rustix::{
    process::Pid,
    pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt},
    termios::{Winsize, tcsetwinsize},
};

use super::stage::{Stage, until};

/// A terminal, and the command that runs on it.
pub struct Terminal {
    master: File,
    child: Child,
}

impl Terminal {
    pub fn run(stage: &Stage, columns: u16, args: &[&str]) -> Terminal {
        Self::start(stage.command(args), columns)
    }

    pub fn start(mut command: Command, columns: u16) -> Terminal {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let size = Winsize { ws_row: 40, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&master, size).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap();
        let slave = File::options().read(true).write(true).open(name.to_str().unwrap()).unwrap();
        command.stdin(slave.try_clone().unwrap()).stdout(slave.try_clone().unwrap()).stderr(slave);
        command.env("TERM", "xterm").env_remove("NO_COLOR").env_remove("CLICOLOR_FORCE");
        Terminal { child: command.spawn().unwrap(), master: File::from(master) }
    }

    pub fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    /// Reads until this is on the screen.
    pub fn read_to(&mut self, text: &str) -> String {
        let mut seen = Vec::new();
        let mut piece = [0; 1024];
        while !String::from_utf8_lossy(&seen).contains(text) {
            let n = self
                .master
                .read(&mut piece)
                .unwrap_or_else(|_| panic!("{:?}", String::from_utf8_lossy(&seen)));
            seen.extend_from_slice(&piece[..n]);
        }
        String::from_utf8_lossy(&seen).into_owned()
    }

    pub fn types(&mut self, text: &str) {
        self.master.write_all(text.as_bytes()).unwrap();
    }

    /// The exit status, and the rest of what was shown.
    pub fn end(mut self) -> (i32, String) {
        let mut seen = Vec::new();
        let mut piece = [0; 1024];
        // The other side of a terminal that nobody holds any more is an error, not an end.
        while let Ok(n @ 1..) = self.master.read(&mut piece) {
            seen.extend_from_slice(&piece[..n]);
        }
        let status = self.child.wait().unwrap().code().unwrap_or(-1);
        (status, String::from_utf8_lossy(&seen).replace("\r\n", "\n"))
    }
}

fn shown(stage: &Stage, columns: u16, args: &[&str]) -> String {
    let (status, seen) = Terminal::run(stage, columns, args).end();
    assert_eq!(status, 0, "{seen}");
    anstream::adapter::strip_str(&seen).to_string()
}

fn stage() -> Stage {
    let stage = Stage::still();
    stage.declare("voice-calls", 2, "45m");
    stage.declare("gpu", 8, "1h");
    stage.declare("off", 1, "1m");
    stage.acquire("voice-calls", "v1", |fields| {
        fields.run = Some("run-1".to_owned());
        fields.label = Some("call\u{1b}[31m77".to_owned());
    });
    stage.acquire("gpu", "g1", |fields| fields.weight = 6u64.into());
    stage.run(&["limits", "capacity", "gpu", "4"]);
    stage.run(&["limits", "pause", "off"]);
    stage.advance("4m");
    stage.acquire("voice-calls", "v2", |fields| fields.confirm = ConfirmMode::Holder);
    stage.acquire("voice-calls", "v3", |fields| fields.run = Some("run-3".to_owned()));
    stage.advance("70s");
    stage
}

#[test]
fn limits_are_aligned_columns() {
    let stage = stage();
    let expected = "NAME          USE               WAITING  OLDEST WAIT  MAX HOLD  SOURCE\n\
                    gpu           6 of 4, draining  0        -            1h        override (declared: 8)\n\
                    off (paused)  0/1               0        -            1m        declared\n\
                    voice-calls   1/2 +1 reserved   1        1m 10s       45m       declared\n";
    assert_eq!(shown(&stage, 100, &["limits", "list"]), expected);
    for line in shown(&stage, 60, &["limits", "list"]).lines() {
        assert!(line.chars().count() <= 60, "{line}");
    }
    assert!(shown(&stage, 60, &["limits", "list"]).contains('…'));
}

#[test]
fn slots_say_who_holds_since_when_and_until_when() {
    let stage = stage();
    let expected = "STATE     SLOT  RUN    LABEL             WEIGHT  SINCE   ENDS\n\
                    busy      v1    run-1  call\\u{1b}[31m77  1       5m 10s  expires in 39m 50s\n\
                    reserved  v2    -      -                 1       1m 10s  lapses in 50s\n\
                    queued 1  v3    run-3  -                 1       1m 10s  gives up in 23h 58m\n";
    assert_eq!(shown(&stage, 100, &["limits", "slots", "voice-calls"]), expected);
}

#[test]
fn one_limit_is_told_in_words() {
    let stage = stage();
    let expected = "limit         voice-calls\n\
                    use           1/2 +1 reserved\n\
                    waiting       1, the first for 1m 10s\n\
                    capacity      2\n\
                    max hold      45m\n\
                    longest held  5m 10s\n";
    assert_eq!(shown(&stage, 100, &["limits", "show", "voice-calls"]), expected);
    let told = shown(&stage, 100, &["limits", "capacity", "gpu", "5"]);
    assert_eq!(told, "gpu: capacity is now 5, declared: 8   (6 of 5, draining used, 0 waiting)\n");
}

#[test]
fn an_empty_namespace_says_what_to_do() {
    let stage = Stage::still();
    let told = shown(&stage, 100, &["limits", "list"]);
    assert!(
        told.ends_with("no limits in namespace `default`; declare some: maitred apply -f limits.toml\n"),
        "{told}"
    );
}

#[test]
fn a_release_is_asked_about_with_who_is_next() {
    let stage = stage();
    for (answer, status, state) in [("n\n", 5, "busy"), ("\n", 5, "busy"), ("y\n", 0, "released")] {
        let mut terminal = Terminal::run(&stage, 100, &["limits", "release", "v1"]);
        let asked = terminal.read_to("[y/N] ").replace("\r\n", "\n");
        assert_eq!(
            asked,
            "Slot v1 of `voice-calls` is busy, for 5m 10s, run run-1, label call\\u{1b}[31m77.\n\
             Next in the queue of `voice-calls`: slot v3, run run-3.\n\
             The work itself is not stopped. Release the slot? [y/N] "
        );
        terminal.types(answer);
        let (ended, rest) = terminal.end();
        assert_eq!((ended, stage.state("v1")), (status, state), "{rest}");
    }
}

#[test]
fn a_wait_shows_its_place_on_one_line() {
    let stage = Stage::ticking();
    stage.declare("l", 1, "10m");
    stage.acquire("l", "a", |_| ());
    let mut terminal = Terminal::run(&stage, 100, &["acquire", "l", "--slot", "b", "--timeout", "30m"]);
    let line = terminal.read_to("gives up in");
    assert!(line.contains("\r\u{1b}[Kwaiting for `l`: position 1 of 1, 00:0"), "{line:?}");
    until("b waits", || stage.counts("l").2 == 1);
    stage.run(&["release", "a"]);
    let (status, rest) = terminal.end();
    assert_eq!(status, 0);
    assert!(rest.ends_with("\r\u{1b}[Kb\n"), "{rest:?}");
}

#[test]
fn a_short_wait_shows_nothing() {
    let stage = Stage::still();
    stage.declare("l", 1, "10m");
    let (status, seen) = Terminal::run(&stage, 100, &["acquire", "l", "--slot", "a"]).end();
    assert_eq!((status, seen.as_str()), (0, "a\n"));
}

/// What is typed reaches the command by itself, being on the same terminal: it must not come twice.
#[test]
fn what_is_typed_reaches_the_command_once() {
    let stage = Stage::still();
    stage.declare("l", 1, "10m");
    let script =
        "trap 'echo typed' INT; echo ready; n=0; while [ $n -lt 10 ]; do sleep 0.1; n=$((n+1)); done; exit 5";
    let held = stage.command(&["run", "--limit", "l", "--slot", "s", "--", "sh", "-c", script]);
    let mut command = Command::new("setsid");
    command.args(["--ctty", "--wait"]).arg(held.get_program()).args(held.get_args());
    command.env("MAITRED_URL", &stage.url);
    let mut terminal = Terminal::start(command, 100);
    terminal.read_to("ready");
    terminal.types("\u{3}");
    let (status, rest) = terminal.end();
    assert_eq!(rest.matches("typed").count(), 1, "{rest:?}");
    assert_eq!((status, stage.state("s")), (5, "released"));
}

#[test]
fn the_top_is_drawn_again_and_leaves_the_screen_as_it_was() {
    let stage = Stage::still();
    stage.declare("idle", 2, "10m");
    stage.declare("wanted", 1, "10m");
    stage.acquire("wanted", "a", |_| ());
    stage.acquire("wanted", "b", |_| ());
    let mut top = Terminal::run(&stage, 80, &["limits", "top", "--every", "100ms"]);
    let first = top.read_to("idle");
    assert!(
        first.contains("\x1b[?1049h") && first.find("wanted") < first.find("idle"),
        "the longest queue first: {first:?}"
    );
    stage.declare("new", 1, "10m");
    top.read_to("new");
    rustix::process::kill_process(rustix::process::Pid::from_child(&top.child), rustix::process::Signal::INT)
        .unwrap();
    let (status, rest) = top.end();
    assert!(status == 0 && rest.ends_with("\x1b[?1049l"), "{rest:?}");
}

#[test]
fn an_explanation_is_never_cut() {
    let stage = Stage::still();
    stage.declare("voice-calls", 1, "10m");
    stage.acquire("voice-calls", "a", |_| ());
    stage.acquire("voice-calls", "b", |_| ());
    let told = shown(&stage, 40, &["explain", "b"]);
    assert!(
        !told.contains('…') && told.lines().all(|line| line.len() <= 40) && told.lines().count() > 3,
        "{told}"
    );
    assert!(told.replace("\n ", "").contains("at the latest"), "{told}");
}
