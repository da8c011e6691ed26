//! A server in this process, and commands that talk to it.

use std::{
    path::Path,
    process::{Child, Command, Output, Stdio},
    sync::Arc,
    time::{Duration, Instant},
};

use maitred::{
    Client,
    local::{Node, NodeOptions},
};
use maitred_api::{AcquireFields, Answer, Call, ConfirmMode, Context, NamedLimit, Problem, SlotAnswer};
use maitred_server::http::{Server, Shared};
use tokio::runtime::Runtime;

pub struct Stage {
    pub runtime: Runtime,
    pub node: Node,
    pub url: String,
    _server: Server,
}

/// What a command did.
#[derive(Debug, PartialEq, Eq)]
pub struct Done {
    pub status: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Stage {
    /// A server whose clock stands still.
    pub fn still() -> Stage {
        Self::start(true)
    }

    /// A server on this machine's clock.
    pub fn ticking() -> Stage {
        Self::start(false)
    }

    fn start(manual_clock: bool) -> Stage {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let (node, server) = runtime.block_on(async {
            let node = Node::start(NodeOptions { manual_clock, ..NodeOptions::default() }).await.unwrap();
            let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
            let shared = Shared { manual_clock, ..Shared::new(node.clone()) };
            (node, Server::start(listener, Arc::new(shared)).unwrap())
        });
        let url = format!("http://{}", server.addr);
        Stage { runtime, node, url, _server: server }
    }

    pub fn command(&self, args: &[&str]) -> Command {
        command(&self.url, args)
    }

    pub fn run(&self, args: &[&str]) -> Done {
        done(self.command(args).output().unwrap())
    }

    pub fn spawn(&self, args: &[&str]) -> Child {
        self.command(args).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    pub fn call(&self, call: Call) -> Result<Answer, Problem> {
        self.runtime.block_on(Client::Near(self.node.clone()).call(&Context::default(), call))
    }

    pub fn declare(&self, name: &str, capacity: u32, max_hold: &str) {
        let (name, capacity, max_hold) = (name.to_owned(), capacity.into(), max_hold.into());
        self.call(Call::Declare(NamedLimit { name, capacity, max_hold })).unwrap();
    }

    /// Takes a slot, busy at once if there is room.
    pub fn acquire(&self, limit: &str, slot: &str, change: impl FnOnce(&mut AcquireFields)) -> SlotAnswer {
        let mut fields = AcquireFields {
            slot: Some(slot.to_owned()),
            limit: Some(limit.to_owned()),
            confirm: ConfirmMode::Auto,
            ..AcquireFields::default()
        };
        change(&mut fields);
        match self.call(Call::Acquire(fields)).unwrap() {
            Answer::Slot(answer) => answer,
            other => panic!("{other:?}"),
        }
    }

    pub fn slot(&self, slot: &str) -> SlotAnswer {
        match self.call(Call::Slot { slot: slot.to_owned(), wait: Default::default() }).unwrap() {
            Answer::Slot(answer) => answer,
            other => panic!("{other:?}"),
        }
    }

    pub fn state(&self, slot: &str) -> &'static str {
        self.slot(slot).slot.state.as_str()
    }

    /// The limit's use: busy, reserved, waiting.
    pub fn counts(&self, limit: &str) -> (u64, u64, u32) {
        match self.call(Call::Limit { limit: limit.to_owned() }).unwrap() {
            Answer::Limit(answer) => (answer.limit.busy, answer.limit.reserved, answer.limit.waiting),
            other => panic!("{other:?}"),
        }
    }

    pub fn advance(&self, by: &str) {
        let by_ms = maitred::parse_duration(by).unwrap();
        self.runtime.block_on(async {
            let now = self.node.now().await;
            self.node.advance_to(now + by_ms).await.unwrap();
        });
    }
}

/// The binary, with nothing of this machine's environment that it listens to.
pub fn command(url: &str, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_maitred"));
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("MAITRED_")) {
        command.env_remove(name);
    }
    command.env("XDG_CONFIG_HOME", "/nonexistent");
    command.args(args).env("MAITRED_URL", url).env("USER", "ops").stdin(Stdio::null());
    command
}

pub fn done(output: Output) -> Done {
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Done {
        status: output.status.code().unwrap_or(-1),
        stdout: text(output.stdout),
        stderr: text(output.stderr),
    }
}

impl Done {
    /// What went well prints nothing on stderr.
    #[track_caller]
    pub fn prints(&self, stdout: &str) {
        assert_eq!((self.status, self.stderr.as_str(), self.stdout.as_str()), (0, "", stdout));
    }

    /// What failed prints nothing on stdout.
    #[track_caller]
    pub fn fails(&self, status: i32, stderr: &str) {
        let shown = without_request(&self.stderr);
        assert_eq!((self.status, self.stdout.as_str(), shown.as_str()), (status, "", stderr));
    }

    #[track_caller]
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

/// Request ids differ from call to call.
fn without_request(stderr: &str) -> String {
    stderr.lines().filter(|line| !line.starts_with("  (request ")).map(|line| format!("{line}\n")).collect()
}

/// Waits for something that a process beside this one brings about.
#[track_caller]
pub fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let started = Instant::now();
    while !holds() {
        assert!(started.elapsed() < Duration::from_secs(20), "in vain waited until {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

pub fn write(path: &Path, text: &str) {
    std::fs::write(path, text).unwrap();
}
