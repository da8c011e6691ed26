//! Tokens that are made, taken back and expire while the server runs.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use maitred_server::token::{Grant, Role, Used, kept};
use tokio::io::AsyncReadExt;

use super::{
    roles::{Bearer, guarded, read_until},
    support::{eventually, request},
};

const LIMIT: &str = r#"{"capacity":1,"max_hold":"10m"}"#;

#[tokio::test]
async fn tokens_come_and_go_while_the_server_runs() {
    let folder = tempfile::tempdir().unwrap();
    let rig = guarded(folder.path()).await;
    rig.get("/v1/limits").await.ok(); // nobody must carry one yet
    let bearer = Bearer::of(folder.path(), Role::Read, &[]);
    eventually("a token is wanted", async || rig.get("/v1/limits").await.status == 401).await;
    bearer.ask(&rig, "GET", "/v1/limits", "").await.ok();

    let mut stream = rig.line().await;
    stream.say(request("GET", "/v1/events", &[&bearer.0], "")).await;
    let mut told = Vec::new();
    read_until(&mut stream, &mut told, "event: snapshot").await;
    kept::revoke(folder.path(), "read0").unwrap();
    let until_its_end = async { while stream.0.read_buf(&mut told).await.unwrap() > 0 && !is_over(&told) {} };
    tokio::time::timeout(Duration::from_secs(5), until_its_end).await.expect("the stream ends");
    assert!(String::from_utf8_lossy(&told).contains("the token was revoked"));
    bearer.ask(&rig, "GET", "/v1/limits", "").await.refused(401, "unauthorized");
    rig.get("/v1/limits").await.refused(401, "unauthorized");
}

/// The wait of a caller whose token is taken back ends as if it had run out; the next call is refused.
#[tokio::test]
async fn a_wait_ends_when_its_token_is_taken_back() {
    let folder = tempfile::tempdir().unwrap();
    let admin = Bearer::of(folder.path(), Role::Admin, &[]);
    let worker = Bearer::of(folder.path(), Role::Operate, &[]);
    let rig = guarded(folder.path()).await;
    admin.ask(&rig, "PUT", "/v1/limits/voice", LIMIT).await.ok();
    admin.ask(&rig, "POST", "/v1/slots", r#"{"slot":"a","limit":"voice","confirm":"auto"}"#).await.ok();
    let mut waiting = rig.line().await;
    let fields = r#"{"slot":"b","limit":"voice","confirm":"auto","wait":"60s"}"#;
    waiting.say(request("POST", "/v1/slots", &[&worker.0], fields)).await;
    let state = async |slot: &str| {
        let slot = admin.ask(&rig, "GET", &format!("/v1/slots/{slot}"), "").await.ok();
        slot["state"].as_str().unwrap_or_default().to_owned()
    };
    eventually("b waits", async || state("b").await == "queued").await;
    kept::revoke(folder.path(), "operate0").unwrap();
    let told = waiting.hear().await.expect("an answer").ok();
    assert_eq!((told["state"].as_str(), state("b").await.as_str()), (Some("queued"), "queued"), "{told}");
    worker.ask(&rig, "GET", "/v1/slots/b", "").await.refused(401, "unauthorized");
}

#[tokio::test]
async fn an_expired_token_is_refused_and_its_stream_ends() {
    let folder = tempfile::tempdir().unwrap();
    let now_ms = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis() as u64;
    let expires_at = Some(now_ms + 1_500);
    let grant = Grant { role: Role::Read, made_at: now_ms, expires_at, ..Grant::anyone() };
    let bearer = Bearer::with(folder.path(), "short", grant);
    let rig = guarded(folder.path()).await;
    bearer.ask(&rig, "GET", "/v1/limits", "").await.ok();
    let mut stream = rig.line().await;
    stream.say(request("GET", "/v1/events", &[&bearer.0], "")).await;
    let mut told = Vec::new();
    read_until(&mut stream, &mut told, "event: bye").await;
    bearer.ask(&rig, "GET", "/v1/limits", "").await.refused(401, "unauthorized");

    rig.server.stop(Duration::from_secs(5)).await;
    let used = Used::read(folder.path()).at("short", now_ms).expect("it was used");
    assert!((now_ms..now_ms + 60_000).contains(&used), "{used}");
    assert_eq!(Used::read(folder.path()).at("short", now_ms + 1), None, "another of that name was not");
}

fn is_over(told: &[u8]) -> bool {
    told.ends_with(b"0\r\n\r\n")
}

/// A page of limits holds a thousand; those of the token come behind them.
#[tokio::test]
async fn a_stream_begins_with_the_limits_of_its_token() {
    let folder = tempfile::tempdir().unwrap();
    let admin = Bearer::of(folder.path(), Role::Admin, &[]);
    let partner = Bearer::of(folder.path(), Role::Read, &["partner-"]);
    let rig = guarded(folder.path()).await;
    let name = |number| format!(r#"{{"name":"a-{number}","capacity":1,"max_hold":"10m"}}"#);
    let others: Vec<String> = (0..1_100).map(name).collect();
    let own = r#"{"name":"partner-api","capacity":5,"max_hold":"10m"}"#;
    let set = format!(r#"{{"limits":[{},{own}]}}"#, others.join(","));
    admin.ask(&rig, "PUT", "/v1/limits", &set).await.ok();
    let mut stream = rig.line().await;
    stream.say(request("GET", "/v1/events", &[&partner.0], "")).await;
    let mut told = Vec::new();
    read_until(&mut stream, &mut told, "\n\n").await;
    read_until(&mut stream, &mut told, "partner-api").await;
    assert!(!String::from_utf8_lossy(&told).contains("a-1"), "others are not told of");
}
