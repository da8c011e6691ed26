//! Words of strangers, as far as they get: into answers exactly, into the log and the numbers not at all.

use serde_json::{Value, json};

use super::{
    process::start_in,
    support::{Heard, Line, eventually, has, request},
};

/// Forges a line of a log and a sample, obeys a terminal, breaks out of quotes and tags; all in it has this mark.
const MARK: &str = "zwinge";
const HOSTILE: &str = "zwinge\"} 1\n{\"level\":\"INFO\",\"message\":\"zwinge\"}\r\nmaitred_zwinge{a=\"b\"} 7\n\
                       \u{1b}[2J\u{1b}]0;zwinge\u{7}\u{9b}31m\u{202e}<script>zwinge</script>\u{2028}\\";

fn longest() -> String {
    MARK.repeat(200 / MARK.len())
}

struct Talk {
    addr: std::net::SocketAddr,
}

impl Talk {
    async fn ask(&self, method: &str, path: &str, headers: &[&str], body: &str) -> Heard {
        let mut line = Line::to(self.addr).await;
        line.say(request(method, path, headers, body)).await;
        line.hear().await.expect("an answer")
    }

    async fn get(&self, path: &str) -> Value {
        self.ask("GET", path, &[], "").await.ok()
    }
}

/// A slot that holds and one that waits, an act and an end; and what is refused.
async fn say_it_everywhere(talk: &Talk) {
    for (slot, limit) in [("s1", "voice"), ("s2", "voice"), ("s3", "gpu")] {
        let fields = json!({ "slot": slot, "limit": limit, "run": format!("run-{slot}"), "confirm": "auto",
            "label": HOSTILE, "workflow": HOSTILE });
        talk.ask("POST", "/v1/slots", &[], &fields.to_string()).await.ok();
    }
    let long = json!({ "slot": "s4", "limit": "gpu", "label": longest() });
    talk.ask("POST", "/v1/slots", &[], &long.to_string()).await.ok();
    // A header cannot carry what ends it, but it can carry this.
    let said = ["Maitred-By: zwinge<svg onload=1>\"", "Maitred-Reason: zwinge \u{202e}\u{9b}31m '\"}"];
    talk.ask("PUT", "/v1/limits/gpu/capacity", &said, r#"{"capacity":2}"#).await.ok();
    talk.ask("POST", "/v1/slots/s3/release", &said, "").await.ok();
    let too_long = json!({ "slot": "s5", "limit": "gpu", "label": "z".repeat(10_000) });
    talk.ask("POST", "/v1/slots", &[], &too_long.to_string()).await.refused(400, "invalid_label");
    let zero = json!({ "slot": "s5", "limit": "gpu", "label": "zwinge\0" });
    talk.ask("POST", "/v1/slots", &[], &zero.to_string()).await.refused(400, "invalid_label");
    for (method, path) in [
        ("GET", "/v1/limits/zwinge%0A%1b%5B2J"),
        ("GET", "/zwinge%0d%0azwinge"),
        ("ZWINGE", "/v1/limits"),
        ("GET", "/v1/explain?what=zwinge%0A%22%7D"),
    ] {
        assert_ne!(talk.ask(method, path, &["X-Request-Id: zwinge zwinge"], "").await.status, 500);
    }
    let field = format!(r#"{{"zwinge{}":1}}"#, "\\u001b[2J");
    talk.ask("POST", "/v1/slots", &[], &field).await.refused(400, "invalid_body");
}

#[tokio::test(flavor = "multi_thread")]
async fn no_word_of_a_caller_is_in_the_log_or_in_the_numbers() {
    let folder = tempfile::tempdir().unwrap();
    let limits =
        "[limits.voice]\ncapacity = 1\nmax_hold = \"1h\"\n[limits.gpu]\ncapacity = 9\nmax_hold = \"1h\"\n";
    std::fs::write(folder.path().join("maitred.toml"), limits).unwrap();
    let mut process = start_in(folder.path(), &["serve", "--log", "debug"], &[]);
    let log = process.follow();
    let talk = Talk { addr: process.addr };
    say_it_everywhere(&talk).await;
    eventually("the history has the end", async || {
        talk.get("/v1/history").await["ends"].as_array().is_some_and(|ends| !ends.is_empty())
    })
    .await;
    for path in [
        "/v1/limits/voice/slots",
        "/v1/runs",
        "/v1/history",
        "/v1/explain?what=s1",
        "/v1/slots/s2",
        "/v1/runs/run-s2",
    ] {
        assert!(has(&talk.get(path).await, HOSTILE), "{path} has not exactly what was said");
    }
    assert!(has(&talk.get("/v1/audit").await, "zwinge<svg onload=1>\""));

    let numbers = talk.ask("GET", "/metrics", &[], "").await.body;
    assert!(numbers.contains("maitred_grants_total{") && !numbers.to_lowercase().contains(MARK), "{numbers}");
    process.signal("TERM");
    let (status, log) = (process.child.wait().unwrap(), log.join().unwrap());
    assert!(status.success() && log.contains("\"answered\""), "{log}");
    assert!(!log.to_lowercase().contains(MARK), "{log}");
    for line in log.lines() {
        assert!(serde_json::from_str::<Value>(line).is_ok(), "not a line of JSON: {line}");
    }
    assert!(log.chars().all(|c| c == '\n' || !c.is_control()), "{log:?}");
}
