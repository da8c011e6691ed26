//! Secrets that can be recognised are planted wherever a server or a command is given one; then everything that they
//! wrote and said is searched for them.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use maitred_server::token::{Grant, Role, kept};
use maitred_testbed::Postgres;
use serde_json::Value;

use super::{
    process::{Process, start_in},
    support::{Line, eventually, request},
};

const FILE_TOKEN: &str = "canaryfile0123456789abcdef0123456789";
const WRONG_TOKEN: &str = "canarywrong0123456789abcdef012345678";
const CALLBACK_SECRET: &str = "canarycallback0123456789abcdef01234";
const PASSWORD: &str = "canarypassword";
/// In every planted secret but the one that the server itself makes up.
const MARK: &str = "canary";
/// What the operator wrote down, with the secrets in it.
const OWN_FILES: [&str; 2] = ["tokens", "maitred.toml"];

struct Stage {
    folder: tempfile::TempDir,
    /// Made by the server's own command, so only its hash is kept.
    made: String,
    /// Every answer, and everything that commands said.
    heard: Vec<String>,
}

impl Stage {
    fn new() -> Stage {
        let folder = tempfile::tempdir().unwrap();
        let tokens = folder.path().join("tokens");
        fs::write(&tokens, format!("ops {FILE_TOKEN}\n")).unwrap();
        fs::set_permissions(&tokens, fs::Permissions::from_mode(0o600)).unwrap();
        // Port 9 of this machine discards nothing: every notice fails.
        let config = "[limits.voice]\ncapacity = 1\nmax_hold = \"1h\"\n[callbacks.app]\nnetwork = \"loopback\"\n\
                      url = \"http://127.0.0.1:9/hook?signature=canaryquery\"\nsecret_env = \"PLANTED\"\n";
        fs::write(folder.path().join("maitred.toml"), config).unwrap();
        let grant = Grant { role: Role::Admin, made_at: 1, ..Grant::anyone() };
        let made = kept::create(&folder.path().join("data"), "worker", grant).unwrap();
        Stage { folder, made, heard: Vec::new() }
    }

    fn start(&self, more: &[&str]) -> Process {
        let line = ["serve", "--data", "data", "--token-file", "tokens", "--log", "debug"];
        start_in(self.folder.path(), &[&line, more].concat(), &[("PLANTED", CALLBACK_SECRET)])
    }

    async fn ask(
        &mut self,
        process: &Process,
        method: &str,
        path: &str,
        headers: &[&str],
        body: &str,
    ) -> u16 {
        let mut line = Line::to(process.addr).await;
        line.say(request(method, path, headers, body)).await;
        let heard = line.hear().await.expect("an answer");
        self.heard.push(format!("{method} {path}\n{}\n{}", heard.head, heard.body));
        heard.status
    }

    /// What a command says, which is none of the operator's secrets. Whether it went well.
    fn run(&mut self, url: &str, token: &str, args: &[&str]) -> bool {
        let output = Command::new(env!("CARGO_BIN_EXE_maitred"))
            .args(args)
            .current_dir(self.folder.path())
            .env("XDG_CONFIG_HOME", "/nonexistent")
            .env("MAITRED_URL", url)
            .env("MAITRED_TOKEN", token)
            .output()
            .unwrap();
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        self.heard.push(format!("{args:?}\n{out}\n{err}"));
        output.status.success()
    }

    /// Nothing that was said or written has a secret in it.
    fn search(&self, log: &str) {
        let made = self.made.strip_prefix("mtd_").unwrap();
        let is_clean = |what: &str, bytes: &[u8]| {
            let text = String::from_utf8_lossy(bytes);
            for secret in [MARK, made, &base64ish(FILE_TOKEN), &base64ish(PASSWORD)] {
                assert!(!text.contains(secret), "{secret} stands in {what}: {text}");
            }
        };
        is_clean("the log", log.as_bytes());
        self.heard.iter().for_each(|heard| is_clean("an answer", heard.as_bytes()));
        let files = files(self.folder.path());
        for path in &files {
            is_clean(&path.display().to_string(), &fs::read(path).unwrap());
        }
        assert!(files.iter().any(|path| path.ends_with("history.sqlite")), "{files:?}");
    }
}

/// How a secret looks inside of `Authorization: Basic`, but for its ends.
fn base64ish(secret: &str) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let digits = |bytes: &[u8]| {
        let word = u32::from_be_bytes([0, bytes[0], bytes[1], bytes[2]]);
        [18, 12, 6, 0].map(|shift| LETTERS[(word >> shift) as usize & 63] as char)
    };
    secret.as_bytes().as_chunks::<3>().0.iter().flat_map(|chunk| digits(chunk)).collect()
}

/// Everything below the folder but what the operator wrote.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let is_own = OWN_FILES.iter().any(|own| path.ends_with(own));
        match path.is_dir() {
            true => found.extend(files(&path)),
            false if !is_own => found.push(path),
            false => {}
        }
    }
    found
}

/// Calls of every kind with the operator's token, and mistakes that put a secret where none belongs.
async fn talk(stage: &mut Stage, process: &Process) {
    let right = format!("Authorization: Bearer {FILE_TOKEN}");
    let made = format!("Authorization: Bearer {}", stage.made);
    let fields = r#"{"slot":"a","limit":"voice","run":"wrun_a"}"#;
    for headers in [[right.as_str()], [made.as_str()]] {
        assert_eq!(stage.ask(process, "POST", "/v1/slots", &headers, fields).await, 200);
        for path in ["/v1/whoami", "/v1/limits", "/v1/runs", "/v1/audit", "/v1/explain?what=a", "/metrics"] {
            assert_eq!(stage.ask(process, "GET", path, &headers, "").await, 200, "{path}");
        }
    }
    let wrong = format!("Authorization: Bearer {WRONG_TOKEN}");
    assert_eq!(stage.ask(process, "GET", "/v1/limits", &[&wrong], "").await, 401);
    let basic = format!("Authorization: Basic {}", base64ish(FILE_TOKEN));
    assert_eq!(stage.ask(process, "GET", "/v1/limits", &[&basic], "").await, 401);
    let bare = format!("X-Api-Key: {FILE_TOKEN}");
    assert_eq!(stage.ask(process, "GET", "/v1/limits", &[&bare], "").await, 401);
    let twice = [right.as_str(), "X-Request-Id: two words"];
    assert_eq!(stage.ask(process, "PUT", "/v1/limits/voice", &twice, "{").await, 400);
    let told = [&right, "Maitred-Reason: over"];
    assert_eq!(stage.ask(process, "POST", "/v1/slots/a/release", &told, "").await, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn no_secret_is_written_or_told() {
    let mut stage = Stage::new();
    let mut process = stage.start(&[]);
    let log = process.follow();
    talk(&mut stage, &process).await;
    // A token in a query is refused, and the refusal does not repeat it; nor does the log.
    let mut line = Line::to(process.addr).await;
    let right = format!("Authorization: Bearer {FILE_TOKEN}");
    line.say(request("GET", &format!("/v1/limits?token={FILE_TOKEN}"), &[&right], "")).await;
    let heard = line.hear().await.expect("an answer");
    heard.refused(400, "invalid_argument");
    stage.heard.push(heard.body);

    let url = format!("http://{}", process.addr);
    for (token, is_right) in [(FILE_TOKEN, true), (WRONG_TOKEN, false)] {
        for args in [&["doctor"][..], &["doctor", "--json"], &["limits", "list"], &["history", "--json"]] {
            assert_eq!(stage.run(&url, token, args), is_right, "{:?}", stage.heard.last());
        }
    }
    assert!(stage.run(&url, "", &["backup", "copy", "--data", "data"]), "{:?}", stage.heard.last());
    assert!(stage.run(&url, "", &["verify", "copy"]), "{:?}", stage.heard.last());
    assert!(!stage.run(&format!("http://ana:{PASSWORD}@127.0.0.1:1"), "", &["doctor"]));

    // The notice of the slot, which could not be delivered.
    tokio::time::sleep(Duration::from_millis(500)).await;
    process.signal("TERM");
    let (status, log) = (process.child.wait().unwrap(), log.join().unwrap());
    assert!(status.success(), "{log}");
    assert!(log.contains("answered") && log.contains("an app could not be called"), "{log}");
    stage.search(&log);
}

#[tokio::test(flavor = "multi_thread")]
async fn nor_is_the_password_of_a_database() {
    let server = Postgres::start().unwrap();
    let url = server.url("planted").replace("postgres@", &format!("postgres:{PASSWORD}@"));
    let mut stage = Stage::new();
    let mut process = stage.start(&["--journal", &url]);
    let log = process.follow();
    talk(&mut stage, &process).await;
    let right = format!("Authorization: Bearer {FILE_TOKEN}");
    for path in ["/readyz", "/v1/nodes"] {
        assert_eq!(stage.ask(&process, "GET", path, &[&right], "").await, 200);
    }
    server.pause(true).unwrap(); // it complains, and says where the database is
    eventually("it notices", async || stage.ask(&process, "GET", "/readyz", &[], "").await == 503).await;
    server.pause(false).unwrap();
    process.signal("TERM");
    process.child.wait().unwrap();
    let log = log.join().unwrap();
    assert!(log.lines().all(|line| serde_json::from_str::<Value>(line).is_ok()), "{log}");
    stage.search(&log);
}

/// A URL that cannot be used is told about without what may be its password.
#[test]
fn a_url_that_is_wrong_is_not_repeated() {
    let folder = tempfile::tempdir().unwrap();
    for journal in [
        "postgres://ada:canary@127.0.0.1:1/limits",
        "postgres://ada:can?ary@127.0.0.1:1/limits",
        "postgres://ada:can?canary=1@127.0.0.1:1/limits",
        "postgres://ada:x/canary@127.0.0.1:1/limits",
        "postgres://ada:canary@127.0.0.1:port/limits",
        "postgress://ada:canary@127.0.0.1/limits",
        "mysql://ada:canary@127.0.0.1/limits",
        "ada:canary@127.0.0.1",
        "nats://ada:canary@127.0.0.1:1/limits",
        "nats://ada:x?canary@127.0.0.1:1/limits",
        "nats://ada:x/canary@127.0.0.1:1/limits",
        "nats://ada:x%canary@127.0.0.1:1/limits",
    ] {
        for args in [&["serve", "--listen", "127.0.0.1:0"][..], &["scenario", "none.txt"]] {
            let output = Command::new(env!("CARGO_BIN_EXE_maitred"))
                .args(args)
                .args(["--journal", journal])
                .current_dir(folder.path())
                .output()
                .unwrap();
            let said = [output.stdout, output.stderr].map(|said| String::from_utf8(said).unwrap()).concat();
            assert!(!output.status.success() && !said.is_empty(), "{args:?} {journal}");
            assert!(!said.contains(MARK) && !said.contains("ary@"), "{args:?} {journal}: {said}");
        }
    }
}
