//! The project as somebody runs it who has just copied it.

use std::{
    io::{BufRead, BufReader},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use serde_json::{Value, json};

struct Program {
    child: Child,
    url: String,
}

impl Program {
    fn start(folder: &std::path::Path) -> Program {
        let mut child = Command::new(env!("CARGO_BIN_EXE_calls"))
            .current_dir(folder)
            .env("LISTEN", "127.0.0.1:0")
            .env_remove("MAITRED_URL")
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let url =
            lines.map_while(Result::ok).find_map(|line| Some(line.split_once("listens on ")?.1.to_owned()));
        Program { child, url: url.expect("it says where it listens") }
    }

    async fn post(&self, path: &str, body: Value) -> u16 {
        let sent = reqwest::Client::new().post(format!("{}/{path}", self.url)).body(body.to_string()).send();
        sent.await.unwrap().status().as_u16()
    }

    async fn run(&self, run: &str) -> Value {
        let sent = reqwest::get(format!("{}/runs/{run}", self.url)).await.unwrap();
        sent.json().await.unwrap_or_default()
    }

    async fn until(&self, run: &str, status: &str) -> Value {
        let started = Instant::now();
        loop {
            let now = self.run(run).await;
            if now["status"] == status {
                return serde_json::from_str(now["output"].as_str().unwrap_or("null")).unwrap_or_default();
            }
            assert!(started.elapsed() < Duration::from_secs(60), "{run} is {now}, not {status}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

#[tokio::test]
async fn the_seeds_three_workflows() {
    // reqwest comes without a maker of keys, even where it needs none.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let folder = tempfile::tempdir().unwrap();
    let program = Program::start(folder.path());
    for call in 1..=21 {
        let id = format!("call-{call}");
        assert_eq!(program.post(&format!("place_call/{id}"), json!({ "callId": id })).await, 202);
        if call <= 20 {
            let placed = program.until(&id, "succeeded").await;
            assert_eq!(placed["slotId"], format!("wf/{id}/1/1"));
        }
    }
    let waits = "Esperando hueco · voice-calls";
    let started = Instant::now();
    while program.run("call-21").await["note"] != waits {
        assert!(started.elapsed() < Duration::from_secs(30), "{}", program.run("call-21").await);
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    // Killed while it waits.
    drop(program);
    let program = Program::start(folder.path());
    assert_eq!(program.run("call-21").await["steps"][0]["state"], "open");
    assert_eq!(program.post("call_ended/e-1", json!({ "slotId": "wf/call-3/1/1" })).await, 202);
    assert_eq!(program.until("e-1", "succeeded").await, json!({ "released": true }));
    program.until("call-21", "succeeded").await;
    assert_eq!(std::fs::read_dir(folder.path().join("calls")).unwrap().count(), 21);

    assert_eq!(program.post("export_report/r-1", json!({ "reportId": "november" })).await, 202);
    assert_eq!(program.until("r-1", "succeeded").await, json!({ "file": "november.pdf" }));
    assert_eq!(program.post("no_such/r-1", json!({})).await, 404);
}
