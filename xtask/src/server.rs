//! One `maitred serve` as a process: started, killed with SIGKILL, started again on the same folder and port.

use std::{
    fs::{self, File, OpenOptions},
    io,
    path::{Path, PathBuf},
    process::Stdio,
    time::{Duration, Instant},
};

use maitred::{
    Far, FarOptions,
    api::{Call, Context},
};
use maitred_testbed::free_port;
use rustix::process::{Pid, Signal, kill_process};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    process::{Child, Command},
};

/// A start on a folder of any size must not take longer.
const READY_WITHIN: Duration = Duration::from_secs(30);

pub struct Server {
    binary: PathBuf,
    folder: PathBuf,
    port: u16,
    /// Where its journal is.
    journal: Vec<String>,
    child: Option<Child>,
    far: Far,
}

impl Server {
    /// Starts on `folder`, with the limits of `limits_toml`, and waits until it takes calls.
    pub async fn start(binary: &Path, folder: &Path, limits_toml: &str) -> Result<Server, String> {
        Self::start_on(binary, folder, limits_toml, &["--data", "data"]).await
    }

    /// With its journal elsewhere.
    pub async fn start_on(
        binary: &Path,
        folder: &Path,
        limits_toml: &str,
        journal: &[&str],
    ) -> Result<Server, String> {
        fs::create_dir_all(folder).map_err(|error| in_folder(folder, &error))?;
        fs::write(folder.join("maitred.toml"), limits_toml).map_err(|error| in_folder(folder, &error))?;
        let port = free_port()?;
        let far = Far::connect(&format!("http://127.0.0.1:{port}"), FarOptions::default())
            .map_err(|problem| problem.to_string())?;
        let journal = journal.iter().map(|&word| word.to_owned()).collect();
        let mut server =
            Server { binary: binary.to_owned(), folder: folder.to_owned(), port, journal, child: None, far };
        server.start_again().await?;
        Ok(server)
    }

    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    pub fn far(&self) -> Far {
        self.far.clone()
    }

    /// Where the journal lies.
    pub fn data(&self) -> PathBuf {
        self.folder.join("data")
    }

    /// SIGKILL, and the end of the process. Nothing it had not made durable is there afterwards.
    pub async fn kill(&mut self) -> Result<(), String> {
        let Some(mut child) = self.child.take() else { return Ok(()) };
        child.kill().await.map_err(|error| format!("the server could not be killed: {error}"))
    }

    /// SIGTERM, and the end of the process.
    pub async fn end(&mut self) -> Result<(), String> {
        self.signal(Signal::TERM)?;
        let Some(mut child) = self.child.take() else { return Ok(()) };
        let ended = tokio::time::timeout(READY_WITHIN, child.wait()).await;
        match ended.map_err(|_| "the server does not end".to_owned())? {
            Ok(status) if status.success() => Ok(()),
            other => Err(format!("the server ended with {other:?}:\n{}", self.last_words())),
        }
    }

    /// With the next start it is this binary.
    pub fn replace(&mut self, binary: &Path) {
        self.binary = binary.to_owned();
    }

    /// A number that it tells of itself.
    pub async fn gauge(&self, name: &str) -> Result<u64, String> {
        let text = get(self.port, "/metrics").await.map_err(|error| format!("{}: {error}", self.url()))?;
        let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.parse().ok());
        value.ok_or_else(|| format!("the server tells no {name}"))
    }

    pub fn pid(&self) -> Option<u32> {
        self.child.as_ref().and_then(Child::id)
    }

    /// SIGSTOP, or SIGCONT.
    pub fn pause(&self, paused: bool) -> Result<(), String> {
        self.signal(if paused { Signal::STOP } else { Signal::CONT })
    }

    fn signal(&self, signal: Signal) -> Result<(), String> {
        let pid = self.child.as_ref().and_then(Child::id).and_then(|pid| Pid::from_raw(pid as i32));
        pid.map_or(Ok(()), |pid| kill_process(pid, signal)).map_err(|error| format!("the server: {error}"))
    }

    /// Starts it and waits until it takes calls; tells how long that took.
    pub async fn start_again(&mut self) -> Result<Duration, String> {
        let since = Instant::now();
        let output = self.log().map_err(|error| in_folder(&self.folder, &error))?;
        let errors = output.try_clone().map_err(|error| in_folder(&self.folder, &error))?;
        let child = Command::new(&self.binary)
            .args(["serve", "--config", "maitred.toml"])
            .args(&self.journal)
            .args(["--listen", &format!("127.0.0.1:{}", self.port)])
            .current_dir(&self.folder)
            .stdin(Stdio::null())
            .stdout(output)
            .stderr(errors)
            .kill_on_drop(true)
            .spawn()
            .map_err(|error| format!("{} could not be started: {error}", self.binary.display()))?;
        self.child = Some(child);
        self.until_ready(since).await?;
        Ok(since.elapsed())
    }

    async fn until_ready(&mut self, since: Instant) -> Result<(), String> {
        let question = Call::Limits { after: None, most: Some(1), prefixes: Vec::new() };
        loop {
            let Err(problem) = self.far.call(&Context::default(), question.clone()).await else {
                return Ok(());
            };
            if let Some(Ok(Some(status))) = self.child.as_mut().map(Child::try_wait) {
                return Err(format!("the server ended while it started ({status}):\n{}", self.last_words()));
            }
            if since.elapsed() > READY_WITHIN {
                let within = READY_WITHIN.as_secs();
                return Err(format!("no answer within {within} s: {problem}\n{}", self.last_words()));
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    /// Why it is not there any more, if it ended by itself.
    pub fn ended_by_itself(&mut self) -> Option<String> {
        let status = self.child.as_mut()?.try_wait().ok()??;
        Some(format!("the server ended by itself ({status}):\n{}", self.last_words()))
    }

    fn log(&self) -> io::Result<File> {
        OpenOptions::new().create(true).append(true).open(self.folder.join("server.log"))
    }

    fn last_words(&self) -> String {
        let text = fs::read_to_string(self.folder.join("server.log")).unwrap_or_default();
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(12)..].join("\n")
    }
}

/// The whole answer as text.
async fn get(port: u16, path: &str) -> io::Result<String> {
    let mut tcp = TcpStream::connect(("127.0.0.1", port)).await?;
    let request = format!("GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n");
    tcp.write_all(request.as_bytes()).await?;
    let mut answer = String::new();
    tcp.read_to_string(&mut answer).await?;
    Ok(answer)
}

fn in_folder(folder: &Path, error: &io::Error) -> String {
    format!("{}: {error}", folder.display())
}
