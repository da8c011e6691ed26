//! Programs and servers as processes, ended by SIGKILL wherever they are.
//!
//! The processes are this test binary, told to be one of the two: `host` and `server` are tests that nobody runs but
//! [`Process`].

use std::{
    env,
    net::TcpListener,
    path::Path,
    process::{Child, Command, Stdio},
    time::Duration,
};

use clap::Parser;
use maitred::{Maitred, NodeOptions};
use maitred_server::serve::{ServeOptions, serve as serve_until_it_ends};
use maitred_workflows::{Store, Workflow, Workflows, duroxide, sqlite};
use serde_json::json;

use crate::common::*;

struct Process(Child);

impl Process {
    fn start(role: &str, folder: &Path, settings: &[(&str, &str)]) -> Process {
        let mut command = Command::new(env::current_exe().unwrap());
        command.args(["--exact", &format!("kill::{role}"), "--ignored", "--nocapture"]).current_dir(folder);
        command.envs(settings.iter().copied()).stdout(Stdio::null());
        Process(command.spawn().unwrap())
    }

    fn kill(self) {}
}

impl Drop for Process {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

#[derive(Parser)]
struct Line {
    #[command(flatten)]
    options: ServeOptions,
}

#[test]
#[ignore = "a process of the other tests"]
fn server() {
    let listen = env::var("LISTEN").unwrap();
    serve_until_it_ends(Line::parse_from(["serve", "--listen", &listen]).options).unwrap();
}

/// Near in a folder, or far.
async fn limiter(url: Option<&str>) -> Maitred {
    match url {
        Some(url) => Maitred::connect(url).unwrap(),
        None => {
            let options = NodeOptions { folder: Some("near".into()), ..NodeOptions::default() };
            Maitred::open_with(options).await.unwrap()
        }
    }
}

/// In a database, or in a file.
async fn runs() -> Store {
    match env::var("RUNS") {
        #[cfg(feature = "postgres")]
        Ok(url) => maitred_workflows::postgres(&url, "runs").await.unwrap(),
        _ => sqlite("runs.db").await.unwrap(),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "a process of the other tests"]
async fn host() {
    let maitred = limiter(env::var("URL").ok().as_deref()).await;
    let _running = Workflows::builder(maitred)
        .limit(VOICE, 1, 10 * MINUTE)
        .workflow("call", async |workflow: Workflow, call: String| {
            let slot = workflow.acquire_slot(VOICE).await?;
            workflow.step::<()>("dial", &call).await?;
            workflow.dequeue_event("ended").await;
            Ok::<_, String>(workflow.release_slot(slot.id).await?)
        })
        .step("dial", async |_: maitred_workflows::Step, call: String| {
            std::fs::create_dir_all("calls")
                .and_then(|()| std::fs::write(format!("calls/{call}"), ""))
                .unwrap();
            Ok(())
        })
        .start(runs().await)
        .await
        .unwrap();
    std::future::pending::<()>().await;
}

/// The runs as they stand in the store, looked at from outside of the host.
struct Looker(duroxide::Client);

impl Looker {
    async fn start(&self, run: &str) {
        self.0.start_orchestration(run, "call", json!(run).to_string()).await.unwrap();
    }

    async fn until_waiting(&self, run: &str) {
        eventually(&format!("{run} waits"), async || match self.0.get_orchestration_status(run).await {
            Ok(duroxide::OrchestrationStatus::Running { custom_status, .. }) => {
                custom_status.as_deref() == Some(HOOK)
            }
            _ => false,
        })
        .await;
    }

    async fn end_call(&self, run: &str) {
        self.0.enqueue_event(run, "ended", "").await.unwrap();
        eventually(&format!("{run} is over"), async || {
            let status = self.0.get_orchestration_status(run).await;
            matches!(status, Ok(duroxide::OrchestrationStatus::Completed { output, .. }) if output == "true")
        })
        .await;
    }
}

async fn until_dialled(folder: &Path, run: &str) {
    let call = folder.join("calls").join(run);
    eventually(&format!("{run} is dialled"), async || call.exists()).await;
}

#[tokio::test]
async fn near_a_host_killed_while_runs_wait_goes_on_with_them() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let mut host = Process::start("host", folder, &[]);
    let looker = Looker(duroxide::Client::new(sqlite(folder.join("runs.db")).await.unwrap()));
    for run in ["a", "b", "c"] {
        looker.start(run).await;
        if run == "a" {
            until_dialled(folder, run).await;
        } else {
            looker.until_waiting(run).await;
        }
    }
    for (run, next) in [("a", "b"), ("b", "c")] {
        host.kill();
        host = Process::start("host", folder, &[]);
        looker.end_call(run).await;
        until_dialled(folder, next).await;
    }
    looker.end_call("c").await;
    host.kill();
    let slots = Maitred::open(folder.join("near")).await.unwrap().limit_slots(VOICE).await.unwrap();
    assert!(slots.holders.is_empty() && slots.queue.is_empty(), "{slots:?}");
}

#[tokio::test]
async fn far_server_and_host_are_killed_in_turns() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let addr = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let (url, server_settings) = (format!("http://{addr}"), [("LISTEN", addr.as_str())]);
    let host_settings = [("URL", url.as_str())];
    let mut server = Process::start("server", folder, &server_settings);
    let mut host = Process::start("host", folder, &host_settings);
    let looker = Looker(duroxide::Client::new(sqlite(folder.join("runs.db")).await.unwrap()));
    looker.start("a").await;
    until_dialled(folder, "a").await;
    for run in ["b", "c", "d"] {
        looker.start(run).await;
        looker.until_waiting(run).await;
    }

    // The server dies while runs wait, and the slot is given back while it is away.
    server.kill();
    looker.0.enqueue_event("a", "ended", "").await.unwrap();
    tokio::time::sleep(Duration::from_millis(500)).await;
    server = Process::start("server", folder, &server_settings);
    looker.end_call("a").await;
    until_dialled(folder, "b").await;

    // The host dies; a run that waits is cancelled, and one slot goes on, while nobody hosts them.
    host.kill();
    looker.0.cancel_instance("c", "just so").await.unwrap();
    Maitred::connect(&url).unwrap().release(&"wf/b/1/1".parse().unwrap()).await.unwrap();
    host = Process::start("host", folder, &host_settings);
    until_dialled(folder, "d").await;
    assert!(!folder.join("calls/c").exists());

    // Both at once.
    host.kill();
    server.kill();
    let server = Process::start("server", folder, &server_settings);
    let host = Process::start("host", folder, &host_settings);
    looker.end_call("d").await;
    let limiter = Maitred::connect(&url).unwrap();
    eventually("no slot is left", async || {
        limiter.limit_slots(VOICE).await.is_ok_and(|all| all.holders.is_empty() && all.queue.is_empty())
    })
    .await;
    host.kill();
    server.kill();
}

/// Two hosts share their runs. One is killed while they wait, and the other goes on with all of them.
#[cfg(feature = "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_postgres_one_of_two_hosts_is_killed() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let database = tokio::task::spawn_blocking(maitred_testbed::Postgres::start).await.unwrap().unwrap();
    let addr = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let (url, runs) = (format!("http://{addr}"), crate::common::database(&database));
    let _server = Process::start("server", folder, &[("LISTEN", addr.as_str())]);
    let settings = [("URL", url.as_str()), ("RUNS", runs.as_str())];
    let [first, second] = [(); 2].map(|()| Process::start("host", folder, &settings));
    let store = maitred_workflows::postgres(&runs, "runs").await.unwrap();
    let looker = Looker(duroxide::Client::new(store));
    let names = ["a", "b", "c", "d"];
    for run in names {
        looker.start(run).await;
        if run == "a" {
            until_dialled(folder, run).await;
        } else {
            looker.until_waiting(run).await;
        }
    }
    looker.end_call("a").await;
    until_dialled(folder, "b").await;
    first.kill();
    for (run, next) in [("b", Some("c")), ("c", Some("d")), ("d", None)] {
        looker.end_call(run).await;
        if let Some(next) = next {
            until_dialled(folder, next).await;
        }
    }
    second.kill();
    let slots = Maitred::connect(&url).unwrap().limit_slots(VOICE).await.unwrap();
    assert!(slots.holders.is_empty() && slots.queue.is_empty(), "{slots:?}");
}
