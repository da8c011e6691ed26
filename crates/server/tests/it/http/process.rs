//! The binary itself: what it says at the start, and what signals do to it.

use std::{
    fs,
    io::{BufRead, BufReader, Read},
    net::SocketAddr,
    path::Path,
    process::{Child, ChildStdout, Command, ExitStatus, Stdio},
    thread::{JoinHandle, spawn},
    time::{Duration, Instant},
};

use super::support::{Line, eventually, request};

pub struct Process {
    pub child: Child,
    stdout: BufReader<ChildStdout>,
    pub addr: SocketAddr,
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub fn start(folder: &Path, line: &[&str]) -> Process {
    start_in(folder, line, &[])
}

pub fn start_in(folder: &Path, line: &[&str], environment: &[(&str, &str)]) -> Process {
    start_by(Command::new(env!("CARGO_BIN_EXE_maitred")), folder, line, environment)
}

/// By a command that runs the binary with the arguments it is given.
fn start_by(mut command: Command, folder: &Path, line: &[&str], environment: &[(&str, &str)]) -> Process {
    let mut child = command
        .args(line)
        .args(["--listen", "127.0.0.1:0"])
        .current_dir(folder)
        .envs(environment.iter().copied())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let mut first = String::new();
    stdout.read_line(&mut first).unwrap();
    let (words, addr) = first.trim().split_once("://").unwrap_or_else(|| panic!("{first:?}"));
    assert!(words.starts_with("maitred "));
    Process { child, addr: addr.parse().unwrap(), stdout }
}

impl Process {
    pub fn signal(&self, name: &str) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args(["-s", name, &pid]).status().unwrap().success());
    }

    /// Reads along what it says on stderr, so that a full pipe does not stop it; all of it once it has ended.
    pub fn follow(&mut self) -> JoinHandle<String> {
        let mut stderr = self.child.stderr.take().unwrap();
        spawn(move || {
            let mut said = String::new();
            stderr.read_to_string(&mut said).unwrap();
            said
        })
    }

    /// Its end, and everything it said on stderr.
    pub fn end(&mut self) -> (ExitStatus, String) {
        let mut said = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        (self.child.wait().unwrap(), said)
    }

    async fn ask(&self, method: &str, path: &str, body: &str) -> super::support::Heard {
        let mut line = Line::to(self.addr).await;
        line.say(request(method, path, &[], body)).await;
        line.hear().await.expect("an answer")
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_stops_in_time_with_calls_hanging_and_keeps_what_it_said() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("maitred.toml"), "[limits.voice]\ncapacity = 1\nmax_hold = \"1h\"\n")
        .unwrap();
    let mut process = start(folder.path(), &["serve"]);
    process.ask("POST", "/v1/slots", r#"{"slot":"held","limit":"voice","confirm":"auto"}"#).await.ok();
    let mut hanging = Line::to(process.addr).await;
    hanging.say(request("POST", "/v1/slots", &[], r#"{"slot":"next","limit":"voice","wait":"1h"}"#)).await;
    eventually("the slot is queued", async || {
        process.ask("GET", "/v1/slots/next", "").await.ok()["state"] == "queued"
    })
    .await;

    let started = Instant::now();
    process.signal("TERM");
    assert_eq!(hanging.hear().await.expect("an answer").ok()["state"], "queued");
    let (status, said) = process.end();
    assert!(status.success(), "{status} {said}");
    assert!(started.elapsed() < Duration::from_secs(10), "{:?}", started.elapsed());
    for line in said.lines() {
        assert!(serde_json::from_str::<serde_json::Value>(line).is_ok(), "not a line of JSON: {line}");
    }
    assert!(said.contains("SIGTERM") && said.contains("default: 1 added (voice)"), "{said}");

    let again = start(folder.path(), &["serve"]);
    assert_eq!(again.ask("GET", "/v1/slots/held", "").await.ok()["state"], "busy");
    assert_eq!(again.ask("GET", "/v1/slots/next", "").await.ok()["state"], "queued");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hang_up_signal_loads_the_limits_again() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("maitred.toml");
    let limits = |capacity: u32| format!("[limits.voice]\ncapacity = {capacity}\nmax_hold = \"1h\"\n");
    fs::write(&file, limits(1)).unwrap();
    let mut process = start(folder.path(), &["dev"]);
    let mut rest = String::new();
    for _ in 0..4 {
        process.stdout.read_line(&mut rest).unwrap();
    }
    assert!(
        rest.contains("thrown away") && rest.contains("maitred limits list --url http://127.0.0.1:"),
        "{rest}"
    );

    let capacity = async || process.ask("GET", "/v1/limits/voice", "").await.ok()["capacity"].as_u64();
    assert_eq!(capacity().await, Some(1));
    fs::write(&file, limits(4)).unwrap();
    process.signal("HUP");
    eventually("the new capacity", async || capacity().await == Some(4)).await;
    fs::write(&file, limits(0)).unwrap();
    process.signal("HUP");
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(capacity().await, Some(4));
    process.signal("INT");
    let (status, said) = process.end();
    assert!(status.success());
    assert!(
        said.contains("capacity is 0; allowed") && said.contains("the limits stay as they are"),
        "{said}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hang_up_signal_loads_the_callbacks_again() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let (file, secret) = (folder.path().join("maitred.toml"), folder.path().join("secret"));
    fs::write(&secret, "0123456789abcdef0123456789abcdef").unwrap();
    fs::set_permissions(&secret, fs::Permissions::from_mode(0o600)).unwrap();
    let callback = |name: &str, network: &str| {
        format!(
            "[limits.voice]\ncapacity = 1\nmax_hold = \"1h\"\n[callbacks.{name}]\n\
             url = \"http://127.0.0.1:9/x\"\nnetwork = \"{network}\"\nsecret_file = \"secret\"\n"
        )
    };
    fs::write(&file, callback("first", "loopback")).unwrap();
    let mut process = start(folder.path(), &["dev"]);
    let calls = async |name: &str| {
        let metrics = process.ask("GET", "/metrics", "").await.body;
        metrics.contains(&format!("maitred_callback_calls_total{{target=\"{name}\""))
    };
    assert!(calls("first").await);
    fs::write(&file, callback("second", "loopback")).unwrap();
    process.signal("HUP");
    eventually("the new target", async || calls("second").await).await;
    fs::write(&file, callback("third", "public")).unwrap();
    process.signal("HUP");
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert!(!calls("third").await);
    process.signal("INT");
    let (_, said) = process.end();
    assert!(
        said.contains("callback `third`: url: ") && said.contains("the callbacks stay as they are"),
        "{said}"
    );
    assert!(!said.contains("0123456789abcdef"), "{said}");
}

/// Half a body holds the first stop up, for as long as it may; the second signal does not ask.
#[tokio::test(flavor = "multi_thread")]
async fn a_second_signal_ends_it_now() {
    let folder = tempfile::tempdir().unwrap();
    let mut process = start(folder.path(), &["dev"]);
    let mut half = Line::to(process.addr).await;
    half.say("POST /v1/slots HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n").await;
    half.say("Content-Length: 100\r\n\r\n{").await;
    tokio::time::sleep(Duration::from_millis(200)).await;
    let started = Instant::now();
    process.signal("TERM");
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    assert!(process.child.try_wait().unwrap().is_none(), "it waits for the body");
    process.signal("TERM");
    let (status, said) = process.end();
    assert_eq!(status.code(), Some(1), "{said}");
    assert!(said.contains("stopping at once") && started.elapsed() < Duration::from_secs(4), "{said}");
}

#[test]
fn what_keeps_it_from_starting_is_said_and_is_status_2() {
    let folder = tempfile::tempdir().unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_maitred"))
        .args(["serve", "--listen", "0.0.0.0:0"])
        .current_dir(folder.path())
        .output()
        .unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("--token-file") && output.stdout.is_empty(), "{said}");
    assert!(!folder.path().join("maitred-data").exists());
}

/// Whoever reads the log may stop reading: calls are answered, and what was lost of the log is said afterwards.
#[tokio::test(flavor = "multi_thread")]
async fn a_log_that_nobody_reads_holds_nobody_up() {
    let folder = tempfile::tempdir().unwrap();
    let mut process = start(folder.path(), &["dev", "--log", "debug"]);
    let mut line = Line::to(process.addr).await;
    // Some 250 bytes a call: a pipe and the queue behind it are full long before the end.
    for _ in 0..8_000 {
        line.say(request("GET", "/livez", &[], "")).await;
        line.hear().await.expect("an answer").ok();
    }
    let log = process.follow();
    tokio::time::sleep(Duration::from_millis(500)).await;
    process.signal("TERM");
    assert!(process.child.wait().unwrap().success());
    let log = log.join().unwrap();
    assert!(log.contains("lines of this log were lost") && log.contains("SIGTERM"), "{}", log.len());
    for line in log.lines() {
        assert!(serde_json::from_str::<serde_json::Value>(line).is_ok(), "not a line of JSON: {line}");
    }
}

/// Whoever opens more connections than there may be files is refused, and the journal can still open its own.
#[tokio::test(flavor = "multi_thread")]
async fn connections_do_not_take_the_last_open_file() {
    let folder = tempfile::tempdir().unwrap();
    let mut few_files = Command::new("sh");
    few_files.args(["-c", "ulimit -n 64; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_maitred")]);
    let mut process = start_by(few_files, folder.path(), &["dev"], &[]);
    let mut lines = Vec::new();
    for _ in 0..80 {
        lines.push(Line::to(process.addr).await);
    }
    let refused = lines.last_mut().unwrap().hear().await.expect("an answer");
    assert_eq!((refused.status, refused.reason().as_str()), (503, "overloaded"));
    let first = lines.first_mut().unwrap();
    first.say(request("GET", "/metrics", &[], "")).await;
    let metrics = first.hear().await.expect("an answer").body;
    let open = metrics.lines().find_map(|line| line.strip_prefix("process_open_fds "));
    assert!(open.unwrap().parse::<u32>().unwrap() <= 62, "{open:?} of 64");
    process.signal("TERM");
    let (_, said) = process.end();
    assert!(said.contains("fewer connections are taken than wanted"), "{said}");
}
