//! The example project as a process: started, killed with SIGKILL, started again on the same files and port.

use std::{
    fs::{self, OpenOptions},
    path::{Path, PathBuf},
    process::Stdio,
    time::{Duration, Instant},
};

use maitred_testbed::free_port;
use serde_json::Value;
use tokio::process::{Child, Command};

use super::in_folder;

const READY_WITHIN: Duration = Duration::from_secs(60);

pub struct Host {
    program: PathBuf,
    folder: PathBuf,
    limiter: String,
    port: u16,
    child: Option<Child>,
}

impl Host {
    pub async fn start(program: &Path, folder: &Path, limiter: &str) -> Result<Host, String> {
        fs::create_dir_all(folder.join("calls")).map_err(|error| in_folder(folder, &error))?;
        // The server's port is the first free one, so this is another.
        let port = free_port()?;
        let mut host = Host {
            program: program.to_owned(),
            folder: folder.to_owned(),
            limiter: limiter.to_owned(),
            port,
            child: None,
        };
        host.start_again().await?;
        Ok(host)
    }

    /// The folder that plays the provider.
    pub fn calls(&self) -> PathBuf {
        self.folder.join("calls")
    }

    pub fn poster(&self) -> Poster {
        // reqwest comes without a maker of keys, even where it needs none.
        let _ = rustls::crypto::ring::default_provider().install_default();
        Poster { http: reqwest::Client::new(), url: format!("http://127.0.0.1:{}", self.port) }
    }

    pub fn process_id(&self) -> Option<u32> {
        self.child.as_ref()?.id()
    }

    pub async fn kill(&mut self) -> Result<(), String> {
        let Some(mut child) = self.child.take() else { return Ok(()) };
        child.kill().await.map_err(|error| format!("the program could not be killed: {error}"))
    }

    /// Starts it and waits until it answers; tells how long that took.
    pub async fn start_again(&mut self) -> Result<Duration, String> {
        let since = Instant::now();
        let log = OpenOptions::new().create(true).append(true).open(self.folder.join("host.log"));
        let log = log.map_err(|error| in_folder(&self.folder, &error))?;
        let errors = log.try_clone().map_err(|error| in_folder(&self.folder, &error))?;
        let child = Command::new(&self.program)
            .current_dir(&self.folder)
            .env("MAITRED_URL", &self.limiter)
            .env("LISTEN", format!("127.0.0.1:{}", self.port))
            .stdin(Stdio::null())
            .stdout(log)
            .stderr(errors)
            .kill_on_drop(true)
            .spawn()
            .map_err(|error| format!("{} could not be started: {error}", self.program.display()))?;
        self.child = Some(child);
        let poster = self.poster();
        while poster.get("runs/nobody").await.is_none() {
            if since.elapsed() > READY_WITHIN {
                return Err(format!("the program did not answer in time; see {}", self.folder.display()));
            }
            if let Some(Ok(Some(status))) = self.child.as_mut().map(Child::try_wait) {
                return Err(format!("the program ended ({status}); see {}/host.log", self.folder.display()));
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        Ok(since.elapsed())
    }
}

/// Whoever posts to the program, again and again until it answers.
#[derive(Clone)]
pub struct Poster {
    http: reqwest::Client,
    url: String,
}

impl Poster {
    pub async fn start(&self, workflow: &str, run: &str, input: Value) {
        loop {
            let sent = self.http.post(format!("{}/{workflow}/{run}", self.url)).body(input.to_string());
            match sent.timeout(Duration::from_secs(5)).send().await {
                Ok(answer) if answer.status().is_success() => return,
                _ => tokio::time::sleep(Duration::from_millis(30)).await,
            }
        }
    }

    /// None if nobody answers.
    pub async fn get(&self, path: &str) -> Option<Value> {
        let sent = self.http.get(format!("{}/{path}", self.url)).timeout(Duration::from_secs(5)).send().await;
        Some(sent.ok()?.json().await.unwrap_or_default())
    }

    /// What the run answered.
    pub async fn until_ended(&self, run: &str) -> Result<Value, String> {
        loop {
            let now = self.get(&format!("runs/{run}")).await.unwrap_or_default();
            match now["status"].as_str() {
                Some("succeeded") => {
                    let output = now["output"].as_str().unwrap_or_default();
                    return serde_json::from_str(output).map_err(|error| format!("{run}: {error}"));
                }
                Some("running") | None => tokio::time::sleep(Duration::from_millis(50)).await,
                Some(_) => return Err(format!("run {run} did not succeed: {now}")),
            }
        }
    }
}
