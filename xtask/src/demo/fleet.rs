//! The worker processes: this same executable, started again with another task.

use std::{env, os::unix::process::ExitStatusExt, path::PathBuf, process::Stdio};

use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader},
    process::{Child, ChildStdin, Command},
    sync::{mpsc, oneshot},
};

use super::{
    ledger::Life,
    talk::{Job, Said},
};

const SIGKILL: i32 = 9;

/// How workers are started.
pub struct Fleet {
    pub executable: PathBuf,
    pub server: String,
    pub partner: String,
    pub unguarded: bool,
    pub heard: mpsc::UnboundedSender<(Life, Heard)>,
}

/// What comes from a worker.
pub enum Heard {
    Said(Said),
    /// The last three: it is gone, and everything it had said was heard before.
    Killed,
    WentHome,
    /// In its own last words.
    Failed(String),
}

/// A worker that lives. Without jobs (the sender dropped) it ends by itself.
pub struct Worker {
    pub life: Life,
    pub jobs: mpsc::UnboundedSender<Job>,
    kill: Option<oneshot::Sender<()>>,
}

impl Worker {
    /// SIGKILL. What it said until then is still heard.
    pub fn kill(&mut self) {
        if let Some(kill) = self.kill.take() {
            let _ = kill.send(());
        }
    }

    pub fn is_being_killed(&self) -> bool {
        self.kill.is_none()
    }
}

impl Fleet {
    /// The path is taken once: a build that goes on beside this may replace the file.
    pub fn executable() -> Result<PathBuf, String> {
        env::current_exe().map_err(|error| format!("this executable cannot be found: {error}"))
    }

    pub fn start(&self, life: Life) -> Result<Worker, String> {
        let mut command = Command::new(&self.executable);
        command.args(["demo-worker", "--server", &self.server, "--partner", &self.partner]);
        command.args(["--name", &format!("worker-{}", life.0)]);
        if self.unguarded {
            command.arg("--unguarded");
        }
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .map_err(|error| format!("a worker could not be started: {error}"))?;
        let (jobs, handed) = mpsc::unbounded_channel();
        let (kill, killed) = oneshot::channel();
        if let Some(stdin) = child.stdin.take() {
            tokio::spawn(hand_over(stdin, handed));
        }
        tokio::spawn(listen(life, child, killed, self.heard.clone()));
        Ok(Worker { life, jobs, kill: Some(kill) })
    }
}

async fn hand_over(mut stdin: ChildStdin, mut jobs: mpsc::UnboundedReceiver<Job>) {
    while let Some(job) = jobs.recv().await {
        let line = serde_json::to_string(&job).unwrap_or_default() + "\n";
        if stdin.write_all(line.as_bytes()).await.is_err() {
            return; // killed; the parent hears of it elsewhere
        }
    }
}

async fn listen(
    life: Life,
    mut child: Child,
    killed: oneshot::Receiver<()>,
    heard: mpsc::UnboundedSender<(Life, Heard)>,
) {
    let (Some(stdout), Some(stderr)) = (child.stdout.take(), child.stderr.take()) else { return };
    let errors = tokio::spawn(async move {
        let mut lines = BufReader::new(stderr).lines();
        let mut last = String::new();
        while let Ok(Some(line)) = lines.next_line().await {
            last = line;
        }
        last
    });
    let saying = heard.clone();
    let said = tokio::spawn(async move {
        let mut lines = BufReader::new(stdout).lines();
        while let Ok(Some(line)) = lines.next_line().await {
            if let Ok(said) = serde_json::from_str(&line) {
                let _ = saying.send((life, Heard::Said(said)));
            }
        }
    });
    let status = tokio::select! {
        Ok(()) = killed => child.kill().await.and(child.wait().await),
        status = child.wait() => status,
    };
    let _ = said.await;
    let last_words = errors.await.unwrap_or_default();
    let end = match status {
        Ok(status) if status.success() => Heard::WentHome,
        Ok(status) if status.signal() == Some(SIGKILL) => Heard::Killed,
        Ok(status) => Heard::Failed(format!("worker {} ended by itself ({status}): {last_words}", life.0)),
        Err(error) => Heard::Failed(format!("worker {}: {error}", life.0)),
    };
    let _ = heard.send((life, end));
}
