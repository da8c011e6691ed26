//! Who may ask for what beyond what a route says (`role_matrix`): parameters, prefixes of limits, slots over several limits.

use std::path::Path;

use maitred_server::token::{Grant, Role, Tokens, kept};
use tokio::io::AsyncReadExt;

use super::support::{Heard, Line, Rig, eventually, request, rig_with};

const LIMIT: &str = r#"{"capacity":1,"max_hold":"10m"}"#;

pub struct Bearer(pub String);

impl Bearer {
    pub fn of(folder: &Path, role: Role, limits: &[&str]) -> Bearer {
        let limits: Vec<String> = limits.iter().map(|limit| (*limit).to_owned()).collect();
        let name = format!("{}{}", role.as_str(), limits.len());
        Bearer::with(folder, &name, Grant { role, limits, made_at: 1, ..Grant::anyone() })
    }

    pub fn with(folder: &Path, name: &str, grant: Grant) -> Bearer {
        Bearer(format!("Authorization: Bearer {}", kept::create(folder, name, grant).unwrap()))
    }

    pub async fn ask(&self, rig: &Rig, method: &str, path: &str, body: &str) -> Heard {
        rig.ask(method, path, &[&self.0], body).await
    }

    async fn status(&self, rig: &Rig, method: &str, path: &str) -> u16 {
        let mut line = rig.line().await;
        let body = if method == "GET" { "" } else { "{}" };
        line.say(request(method, path, &[&self.0], body)).await;
        let mut start = [0; 12]; // HTTP/1.1 200
        line.0.read_exact(&mut start).await.unwrap();
        std::str::from_utf8(&start[9..]).unwrap().parse().unwrap()
    }
}

pub async fn guarded(folder: &Path) -> Rig {
    let tokens = Tokens::open(None, Some(folder)).unwrap();
    rig_with(|shared| {
        shared.tokens = Some(tokens);
        shared.manual_clock = false;
    })
    .await
}

#[tokio::test]
async fn what_a_call_does_counts_beyond_its_route() {
    let folder = tempfile::tempdir().unwrap();
    let [read, operate, admin] =
        [Role::Read, Role::Operate, Role::Admin].map(|role| Bearer::of(folder.path(), role, &[]));
    let rig = guarded(folder.path()).await;
    admin.ask(&rig, "PUT", "/v1/limits/voice", LIMIT).await.ok();
    // A look that waits may confirm; whole keys are for admins.
    read.ask(&rig, "GET", "/v1/slots/s?wait=1s", "").await.refused(403, "forbidden");
    read.ask(&rig, "GET", "/v1/slots/s", "").await.ok();
    for path in ["/v1/keys?reveal=true", "/v1/runs?reveal=true", "/v1/runs/r?reveal=true"] {
        operate.ask(&rig, "GET", path, "").await.refused(403, "forbidden");
        admin.ask(&rig, "GET", path, "").await.ok();
    }
    assert_eq!(read.status(&rig, "HEAD", "/v1/limits").await, 200);
    let items = r#"{"items":[{"op":"limits"},{"op":"acquire","slot":"a","limit":"voice"},
        {"op":"reset_rate","task":"t","key":"k"},{"op":"declare","name":"gpu","capacity":1,"max_hold":"1m"},
        {"op":"slot","slot":"a"}]}"#;
    let statuses = async |bearer: &Bearer| {
        let results = bearer.ask(&rig, "POST", "/v1/batch", items).await.ok();
        let results = results["results"].as_array().unwrap().clone();
        results.iter().map(|result| result["status"].as_u64().unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(statuses(&read).await, [200, 403, 403, 403, 200]);
    assert_eq!(statuses(&operate).await, [200, 200, 403, 403, 200]);
    assert_eq!(statuses(&admin).await, [200; 5]);
}

#[tokio::test]
async fn prefixes_bound_what_is_done_and_seen() {
    let folder = tempfile::tempdir().unwrap();
    let admin = Bearer::of(folder.path(), Role::Admin, &[]);
    let bounded = Bearer::of(folder.path(), Role::Operate, &["voice-"]);
    let bounded_admin = Bearer::of(folder.path(), Role::Admin, &["voice-"]);
    let rig = guarded(folder.path()).await;
    for limit in ["voice-calls", "gpu"] {
        admin.ask(&rig, "PUT", &format!("/v1/limits/{limit}"), LIMIT).await.ok();
        let fields = format!(r#"{{"slot":"s-{limit}","limit":"{limit}","run":"r","label":"l"}}"#);
        admin.ask(&rig, "POST", "/v1/slots", &fields).await.ok();
    }
    let both = r#"{"slot":"both","limits":[{"limit":"gpu"},{"limit":"voice-calls"}]}"#;
    for (method, path, body) in [
        ("GET", "/v1/limits/gpu", ""),
        ("GET", "/v1/limits/gpu/slots", ""),
        ("GET", "/v1/limits/gpu/history", ""),
        ("GET", "/v1/events?limit=gpu", ""),
        ("GET", "/v1/slots/s-gpu", ""),
        ("PUT", "/v1/limits/gpu/pause", ""),
        ("PUT", "/v1/limits/gpu/capacity", r#"{"capacity":5}"#),
        ("POST", "/v1/slots", r#"{"slot":"n","limit":"gpu"}"#),
        ("POST", "/v1/slots", both),
        ("POST", "/v1/slots/s-gpu/release", ""),
        ("POST", "/v1/runs/r/end", r#"{"status":"succeeded"}"#),
    ] {
        bounded.ask(&rig, method, path, body).await.refused(403, "forbidden");
    }
    bounded_admin.ask(&rig, "PUT", "/v1/limits", r#"{"limits":[]}"#).await.refused(403, "forbidden");
    bounded_admin.ask(&rig, "PUT", "/v1/limits/gpu", LIMIT).await.refused(403, "forbidden");
    bounded_admin.ask(&rig, "PUT", "/v1/limits/voice-mail", LIMIT).await.ok();

    let numbers = bounded.ask(&rig, "GET", "/metrics", "").await.body;
    assert!(
        numbers.contains("limit=\"voice-calls\"") && numbers.contains("# TYPE maitred_limit_slots"),
        "{numbers}"
    );
    assert!(!numbers.contains("gpu") && numbers.ends_with("# EOF\n"), "{numbers}");
    assert!(admin.ask(&rig, "GET", "/metrics", "").await.body.contains("limit=\"gpu\""));
    let limits = bounded.ask(&rig, "GET", "/v1/limits", "").await.ok();
    assert!(!limits.to_string().contains("gpu"), "{limits}");
    let explained = bounded.ask(&rig, "GET", "/v1/explain?what=r", "").await.ok();
    assert!(
        !explained.to_string().contains("gpu") && explained.to_string().contains("s-voice"),
        "{explained}"
    );
    let run = bounded.ask(&rig, "GET", "/v1/runs/r", "").await.ok();
    assert_eq!(run["slots"].as_array().map(Vec::len), Some(1));
    let found = async |query: &str| {
        let answer = bounded.ask(&rig, "GET", &format!("/v1/runs?{query}"), "").await.ok();
        answer["runs"].as_array().map(Vec::len)
    };
    assert_eq!((found("text=voice-c").await, found("text=gpu").await), (Some(1), Some(0)), "searched unseen");
    bounded.ask(&rig, "GET", "/v1/runs?limit=gpu", "").await.refused(403, "forbidden");
    bounded.ask(&rig, "PUT", "/v1/limits/voice-calls/pause", "").await.ok();
    let released = bounded.ask(&rig, "POST", "/v1/slots/s-voice-calls/release", "").await.ok();
    assert_eq!(released["released"], true);
}

/// Rates belong to tasks, whose names no prefix is about.
#[tokio::test]
async fn the_audit_of_a_token_with_prefixes_has_its_limits_and_every_rate() {
    let folder = tempfile::tempdir().unwrap();
    let admin = Bearer::of(folder.path(), Role::Admin, &[]);
    let bounded = Bearer::of(folder.path(), Role::Operate, &["voice-"]);
    let rig = guarded(folder.path()).await;
    for limit in ["gpu", "voice-calls"] {
        admin.ask(&rig, "PUT", &format!("/v1/limits/{limit}"), LIMIT).await.ok();
    }
    let hit = r#"{"task":"describe","specs":[{"key":"user-1","limit":9,"windowSeconds":60}]}"#;
    admin.ask(&rig, "POST", "/v1/admit", hit).await.ok();
    admin.ask(&rig, "DELETE", "/v1/keys?task=describe&key=user-1", "").await.ok();
    let targets = async |bearer: &Bearer| {
        let audit = bearer.ask(&rig, "GET", "/v1/audit", "").await.ok();
        let acts = audit["acts"].as_array().unwrap().clone();
        acts.iter().map(|act| act["target"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    eventually("the audit is filled", async || targets(&admin).await.len() == 3).await;
    assert_eq!(targets(&admin).await, ["describe/user…", "voice-calls", "gpu"]);
    assert_eq!(targets(&bounded).await, ["describe/user…", "voice-calls"]);
}

/// Whose prefixes do not cover all of its limits has nothing to do with a slot, and does not learn what the others are.
#[tokio::test]
async fn a_slot_over_two_limits_is_for_whoever_may_use_both() {
    let folder = tempfile::tempdir().unwrap();
    let admin = Bearer::of(folder.path(), Role::Admin, &[]);
    let one = Bearer::of(folder.path(), Role::Operate, &["voice-"]);
    let both = Bearer::of(folder.path(), Role::Operate, &["voice-", "gpu"]);
    let rig = guarded(folder.path()).await;
    for limit in ["gpu", "voice-calls"] {
        admin.ask(&rig, "PUT", &format!("/v1/limits/{limit}"), LIMIT).await.ok();
    }
    for limits in [r#"{"limit":"gpu"},{"limit":"voice-calls"}"#, r#"{"limit":"voice-calls"},{"limit":"gpu"}"#]
    {
        let fields = format!(r#"{{"slot":"mixed","limits":[{limits}],"run":"rm"}}"#);
        one.ask(&rig, "POST", "/v1/slots", &fields).await.refused(403, "forbidden");
    }
    let fields =
        r#"{"slot":"mixed","limits":[{"limit":"voice-calls"},{"limit":"gpu"}],"run":"rm","confirm":"auto"}"#;
    both.ask(&rig, "POST", "/v1/slots", fields).await.ok();
    one.ask(&rig, "POST", "/v1/slots", r#"{"slot":"w","limit":"voice-calls","run":"rw"}"#).await.ok();
    for (method, path) in [("GET", ""), ("POST", "/confirm"), ("POST", "/release"), ("POST", "/leave")] {
        one.ask(&rig, method, &format!("/v1/slots/mixed{path}"), "").await.refused(403, "forbidden");
    }
    one.ask(&rig, "POST", "/v1/runs/rm/end", r#"{"status":"failed"}"#).await.refused(403, "forbidden");
    for path in [
        "/v1/limits/voice-calls/slots",
        "/v1/slots/w/explain",
        "/v1/slots/mixed/explain",
        "/v1/explain?what=rm",
        "/v1/runs",
        "/v1/runs/rm",
        "/v1/overview",
        "/v1/limits/voice-calls/preview?capacity=1",
    ] {
        let told = one.ask(&rig, "GET", path, "").await.ok().to_string();
        let is_named = told.contains("\"slot\":\"mixed\"") || told.contains("`mixed`");
        assert!(!told.contains("gpu") && !is_named, "{path}: {told}");
    }
    let explained = both.ask(&rig, "GET", "/v1/slots/w/explain", "").await.ok();
    assert_eq!(explained["slots"][0]["waits_for"][0]["holders"][0]["slot"], "mixed", "{explained}");
    assert_eq!(both.ask(&rig, "POST", "/v1/slots/mixed/release", "").await.ok()["released"], true);
}

/// A page is filled with what the token covers, and its cursor is no name of another's limit.
#[tokio::test]
async fn pages_of_limits_are_of_those_that_are_covered() {
    let folder = tempfile::tempdir().unwrap();
    let admin = Bearer::of(folder.path(), Role::Admin, &[]);
    let bounded = Bearer::of(folder.path(), Role::Read, &["voice-"]);
    let rig = guarded(folder.path()).await;
    for limit in ["gpu", "gpu-2", "voice-a", "voice-b", "zoom"] {
        admin.ask(&rig, "PUT", &format!("/v1/limits/{limit}"), LIMIT).await.ok();
    }
    let (mut after, mut seen) = (String::new(), Vec::new());
    loop {
        let page = bounded.ask(&rig, "GET", &format!("/v1/limits?most=1{after}"), "").await.ok();
        seen.extend(page["limits"].as_array().unwrap().iter().map(|limit| limit["limit"].to_string()));
        let Some(next) = page["next"].as_str() else { break };
        assert!(next.starts_with("voice-"), "{page}");
        after = format!("&after={next}");
    }
    assert_eq!(seen, ["\"voice-a\"", "\"voice-b\""]);
    let batch = r#"{"items":[{"op":"limits","most":1}]}"#;
    let told = bounded.ask(&rig, "POST", "/v1/batch", batch).await.ok().to_string();
    assert!(told.contains("voice-a") && !told.contains("gpu"), "{told}");
}

#[tokio::test]
async fn events_of_other_limits_are_not_told() {
    let folder = tempfile::tempdir().unwrap();
    let admin = Bearer::of(folder.path(), Role::Admin, &[]);
    let bounded = Bearer::of(folder.path(), Role::Read, &["voice-"]);
    let rig = guarded(folder.path()).await;
    for limit in ["voice-calls", "gpu"] {
        admin.ask(&rig, "PUT", &format!("/v1/limits/{limit}"), LIMIT).await.ok();
    }
    let mut stream = rig.line().await;
    stream.say(request("GET", "/v1/events", &[&bounded.0], "")).await;
    let mut told = Vec::new();
    read_until(&mut stream, &mut told, "event: snapshot").await;
    for (slot, limit) in [("s-gpu", "gpu"), ("s-voice", "voice-calls")] {
        let fields = format!(r#"{{"slot":"{slot}","limit":"{limit}","confirm":"auto"}}"#);
        admin.ask(&rig, "POST", "/v1/slots", &fields).await.ok();
    }
    read_until(&mut stream, &mut told, "slot_granted").await;
    let told = String::from_utf8_lossy(&told);
    assert!(told.contains("s-voice") && !told.contains("gpu"), "{told}");
}

pub async fn read_until(stream: &mut Line, told: &mut Vec<u8>, text: &str) {
    while !String::from_utf8_lossy(told).contains(text) {
        assert!(stream.0.read_buf(told).await.unwrap() > 0, "it ended before {text}");
    }
}
