//! Servers that are not there, or not what was asked for.

use std::{
    io::{Read, Write},
    net::{Shutdown, TcpListener, TcpStream},
    os::unix::fs::PermissionsExt,
    process::{Command, Stdio},
    sync::{Arc, Mutex},
};

use rustix::process::{Pid, Signal, kill_process};

use super::stage::{Stage, command, done, until};

#[test]
fn no_server_is_status_7_with_what_to_do() {
    let unreachable = done(command("http://127.0.0.1:1", &["limits", "list"]).output().unwrap());
    unreachable.fails(
        7,
        "error: no server could be reached at http://127.0.0.1:1/: Connection refused (os error 111)\n  \
         is it running? start one: maitred dev, or maitred serve\n  another server: --url URL or MAITRED_URL\n",
    );
    for args in [["acquire", "l"].as_slice(), &["release", "s"], &["run", "--limit", "l", "--", "true"]] {
        assert_eq!(done(command("http://127.0.0.1:1", args).output().unwrap()).status, 7, "{args:?}");
    }
}

#[test]
fn something_else_on_the_port_is_told() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let _ = stream.read(&mut [0; 4096]);
            let _ = stream
                .write_all(b"HTTP/1.1 404 Not Found\r\ncontent-length: 5\r\nconnection: close\r\n\r\nnope\n");
        }
    });
    let refused = done(command(&url, &["limits", "list"]).output().unwrap());
    assert_eq!(refused.status, 7);
    assert!(refused.stderr.contains("is not this server"), "{refused:?}");
}

#[test]
fn tokens_come_from_a_file_or_the_environment() {
    let token = "0123456789abcdef0123456789abcdef";
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tokens");
    std::fs::write(&path, format!("# ours\nops {token}\n")).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
    let file = path.to_str().unwrap();
    let mut server = command("", &["dev", "--listen", "127.0.0.1:0", "--log", "error", "--token-file", file]);
    let mut server = server.current_dir(folder.path()).stdout(Stdio::piped()).spawn().unwrap();
    let mut first = [0; 256];
    let read = server.stdout.as_mut().unwrap().read(&mut first).unwrap();
    let banner = String::from_utf8_lossy(&first[..read]).into_owned();
    let url = banner.split_whitespace().find(|word| word.starts_with("http://")).unwrap();

    let without = done(command(url, &["limits", "list"]).output().unwrap());
    assert_eq!(without.status, 4);
    assert!(without.stderr.contains("give the token: --token-file FILE or MAITRED_TOKEN"), "{without:?}");
    let by_file = done(command(url, &["limits", "list", "--token-file", file]).output().unwrap());
    assert_eq!(by_file.status, 0, "{by_file:?}");
    let by_environment = command(url, &["limits", "list"]).env("MAITRED_TOKEN", token).output().unwrap();
    assert_eq!(done(by_environment).stdout, by_file.stdout);
    assert!(without.stderr.contains("this server wants a token"), "{without:?}");
    let wrong = done(command(url, &["limits", "list"]).env("MAITRED_TOKEN", "wrong").output().unwrap());
    assert_eq!(wrong.status, 4);
    assert!(wrong.stderr.contains("none of this server's: wrong, revoked or expired"), "{wrong:?}");
    let missing = done(command(url, &["limits", "list", "--token-file", "no-such-file"]).output().unwrap());
    assert_eq!(missing.status, 4);
    server.kill().unwrap();
    server.wait().unwrap();
}

/// The server dies, or is stopped, under a waiting command and comes back on the same folder: the command keeps its
/// place.
#[test]
fn a_wait_survives_the_servers_end() {
    let folder = tempfile::tempdir().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = listener.local_addr().unwrap().to_string();
    drop(listener);
    let url = format!("http://{addr}");
    let start = || {
        let mut server = command("", &["serve", "--listen", &addr, "--log", "error", "--data", "data"]);
        let server = server.current_dir(folder.path()).stdout(Stdio::null()).spawn().unwrap();
        until("the server answers", || command(&url, &["limits", "list"]).output().unwrap().status.success());
        server
    };
    std::fs::write(folder.path().join("maitred.toml"), "[limits.l]\ncapacity = 1\nmax_hold = \"10m\"\n")
        .unwrap();
    let run = |args: &[&str]| done(command(&url, args).output().unwrap());
    let mut server = start();
    run(&["acquire", "l", "--slot", "a"]).prints("a\n");
    let mut waiting = command(&url, &["acquire", "l", "--slot", "b"]);
    let waiting = waiting.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    until("b waits", || run(&["limits", "list"]).stdout.starts_with("l\t1\t0\t1\t1\t"));
    for ending in [Signal::KILL, Signal::TERM] {
        kill_process(Pid::from_child(&server), ending).unwrap();
        server.wait().unwrap();
        server = start();
        until("b waits again", || run(&["limits", "list"]).stdout.starts_with("l\t1\t0\t1\t1\t"));
    }
    run(&["release", "a"]).prints("a\tyes\treleased\n");
    let taken = done(waiting.wait_with_output().unwrap());
    assert_eq!((taken.status, taken.stdout.as_str()), (0, "b\n"));
    assert!(run(&["limits", "slots", "l"]).stdout.starts_with("busy\t\tb\t"));
    server.kill().unwrap();
    server.wait().unwrap();
}

/// Between a command and its server; it can cut what goes through it.
struct Between {
    url: String,
    streams: Arc<Mutex<Vec<TcpStream>>>,
}

impl Between {
    fn start(server: &str) -> Between {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let streams = Arc::new(Mutex::new(Vec::new()));
        let (server, open) = (server.trim_start_matches("http://").to_owned(), Arc::clone(&streams));
        std::thread::spawn(move || {
            for near in listener.incoming() {
                let (near, far) = (near.unwrap(), TcpStream::connect(&server).unwrap());
                for (from, to) in [(&near, &far), (&far, &near)] {
                    let (mut from, mut to) = (from.try_clone().unwrap(), to.try_clone().unwrap());
                    std::thread::spawn(move || {
                        let _ = std::io::copy(&mut from, &mut to);
                        let _ = to.shutdown(Shutdown::Both);
                    });
                }
                open.lock().unwrap().extend([near, far]);
            }
        });
        Between { url, streams }
    }

    fn cut(&self) {
        for stream in self.streams.lock().unwrap().drain(..) {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

/// The server cannot know that a lost connection was no goodbye. The command asks anew, once, and says so.
#[test]
fn a_wait_whose_connection_is_cut_asks_anew() {
    let stage = Stage::ticking();
    stage.declare("l", 1, "10m");
    stage.acquire("l", "a", |_| ());
    let between = Between::start(&stage.url);
    let mut waiting = command(&between.url, &["acquire", "l"]);
    let waiting = waiting.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let queued = || stage.run(&["limits", "slots", "l"]).stdout.lines().nth(1).map(str::to_owned);
    until("it waits", || queued().is_some());
    let first = queued().unwrap();
    between.cut();
    until("it waits anew", || queued().is_some_and(|second| second != first));
    assert_eq!(stage.counts("l"), (1, 0, 1));
    stage.run(&["release", "a"]).prints("a\tyes\treleased\n");
    let taken = done(waiting.wait_with_output().unwrap());
    assert_eq!((taken.status, stage.state(taken.stdout.trim_end())), (0, "busy"));
    assert!(
        taken.stderr.contains("the connection was lost and the place in the queue with it; asking anew\n")
    );
}

#[test]
fn a_server_on_its_own_time_plays_no_scenarios() {
    let stage = Stage::ticking();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("story.txt");
    std::fs::write(&path, "0s advance\n").unwrap();
    let file = path.to_str().unwrap();
    let refused = stage.run(&["scenario", "--server", &stage.url, "--clock", "manual", file]);
    let told = format!(
        "the server at {} has no manual clock; start one with `maitred serve --clock manual`",
        stage.url
    );
    assert_eq!(
        (refused.status, refused.stdout.lines().next()),
        (1, Some(format!("{file}: {told}").as_str()))
    );
}

#[test]
fn a_closed_pipe_is_no_error() {
    let stage = Stage::still();
    for n in 0..300 {
        stage.declare(&format!("limit-with-a-long-name-{n:04}"), 1, "1m");
    }
    let script =
        format!("set -o pipefail; {} limits list --json | head -c 10", env!("CARGO_BIN_EXE_maitred"));
    let piped = Command::new("bash").args(["-c", &script]).env("MAITRED_URL", &stage.url).output().unwrap();
    let ended = done(piped);
    assert_eq!((ended.status, ended.stderr.as_str()), (0, ""));
}

#[test]
fn an_answer_that_could_not_be_written_is_an_error() {
    let stage = Stage::still();
    stage.declare("voice", 1, "1m");
    for args in [["limits", "list"].as_slice(), &["limits", "list", "--json"], &["completions", "bash"]] {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let ended = done(command(&stage.url, args).stdout(full).output().unwrap());
        assert_eq!(ended.status, 1, "{args:?} {ended:?}");
        assert!(
            ended.stderr.starts_with("error: the answer could not be written: No space left"),
            "{ended:?}"
        );
    }
}
