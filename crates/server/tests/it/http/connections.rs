//! A peer that is slow, silent or one too many holds nothing up.

use std::time::{Duration, Instant};

use maitred_server::http::Limits;
use tokio::io::AsyncWriteExt;

use super::support::{Line, Rig, eventually, impatient, request, rig_with};

async fn impatient_rig() -> Rig {
    rig_with(|shared| shared.limits = impatient()).await
}

/// Only one kind of patience is short, so that no other can stand in for it.
async fn rig_with_patience(head_ms: u64, idle_ms: u64) -> Rig {
    rig_with(|shared| {
        shared.limits.head_within = Duration::from_millis(head_ms);
        shared.limits.idle_within = Duration::from_millis(idle_ms);
    })
    .await
}

/// Whether the server closed within two seconds, without an answer.
async fn is_closed(line: &mut Line) -> bool {
    let started = Instant::now();
    line.hear().await.is_none() && started.elapsed() < Duration::from_secs(2)
}

#[tokio::test]
async fn a_head_that_never_ends_is_cut_off() {
    let rig = rig_with_patience(300, 30_000).await;
    let mut half = rig.line().await;
    half.say("GET /v1/limits HTTP/1.1\r\nHost: local").await;
    assert!(is_closed(&mut half).await);

    let mut drip = rig.line().await;
    let started = Instant::now();
    for byte in "GET /v1/limits HTTP/1.1\r\nHost: localhost\r\nX-A: b".bytes() {
        tokio::time::sleep(Duration::from_millis(50)).await;
        if drip.0.write_all(&[byte]).await.is_err() {
            break;
        }
    }
    assert!(drip.hear().await.is_none());
    assert!(started.elapsed() < Duration::from_secs(2), "{:?}", started.elapsed());
    rig.get("/livez").await.ok();
}

#[tokio::test]
async fn an_idle_connection_is_closed_and_a_used_one_is_kept() {
    let rig = rig_with_patience(30_000, 600).await;
    let mut silent = rig.line().await;
    assert!(is_closed(&mut silent).await);

    let mut used = rig.line().await;
    for _ in 0..4 {
        tokio::time::sleep(Duration::from_millis(400)).await;
        used.say(request("GET", "/livez", &[], "")).await;
        used.hear().await.unwrap().ok();
    }
    assert!(is_closed(&mut used).await);
}

#[tokio::test]
async fn half_a_body_gets_a_408_and_changes_nothing() {
    let rig = impatient_rig().await;
    let mut line = rig.line().await;
    line.say("PUT /v1/limits/voice HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n").await;
    line.say("Content-Length: 30\r\n\r\n{\"capacity\":1,").await;
    line.hear().await.unwrap().refused(408, "request_timeout");
    rig.get("/v1/limits/voice").await.refused(404, "limit_not_found");
}

#[tokio::test]
async fn a_long_poll_outlasts_every_patience() {
    let rig = impatient_rig().await;
    rig.declare("voice", 1).await;
    rig.post("/v1/slots", r#"{"slot":"first","limit":"voice"}"#).await.ok();
    let mut waits = rig.line().await;
    waits
        .say(request("POST", "/v1/slots", &[], r#"{"slot":"second","limit":"voice","wait":"1500ms"}"#))
        .await;
    let started = Instant::now();
    assert_eq!(waits.hear().await.unwrap().ok()["state"], "queued");
    assert!(started.elapsed() >= Duration::from_millis(1400));
}

#[tokio::test]
async fn a_peer_that_never_reads_is_let_go() {
    let rig = rig_with(|shared| {
        shared.limits = Limits {
            head_within: Duration::from_secs(30),
            idle_within: Duration::from_secs(30),
            ..impatient()
        }
    })
    .await;
    for n in 0..400 {
        rig.declare(&format!("limit-{n}"), 1).await;
    }
    let greedy = rig.line().await;
    let (_never_read, mut write) = greedy.0.into_split();
    let many = request("GET", "/v1/limits", &[], "").repeat(100);
    let pushing = async { while write.write_all(many.as_bytes()).await.is_ok() {} };
    tokio::time::timeout(Duration::from_secs(20), pushing).await.expect("the server closes within 20 s");
    rig.get("/livez").await.ok();
}

#[tokio::test]
async fn connections_over_the_cap_are_told_so() {
    let rig = rig_with(|shared| shared.limits.connections = 2).await;
    let mut one = rig.line().await;
    one.say(request("GET", "/livez", &[], "")).await;
    one.hear().await.unwrap().ok();
    let mut two = rig.line().await;
    two.say(request("GET", "/livez", &[], "")).await;
    two.hear().await.unwrap().ok();
    let heard = rig.line().await.hear().await.expect("a refusal");
    assert_eq!((heard.status, heard.reason().as_str()), (503, "overloaded"));
    drop(one);
    eventually("the place of a closed connection is free", async || {
        rig.line().await.hear_after("/livez").await.is_some_and(|heard| heard.status == 200)
    })
    .await;
}

#[tokio::test]
async fn one_peer_can_be_kept_from_taking_all() {
    let rig = rig_with(|shared| shared.limits.connections_per_peer = Some(1)).await;
    let mut one = rig.line().await;
    one.say(request("GET", "/livez", &[], "")).await;
    one.hear().await.unwrap().ok();
    assert_eq!(rig.line().await.hear().await.expect("a refusal").status, 503);
}

impl super::support::Line {
    async fn hear_after(mut self, path: &str) -> Option<super::support::Heard> {
        let _ =
            tokio::io::AsyncWriteExt::write_all(&mut self.0, request("GET", path, &[], "").as_bytes()).await;
        self.hear().await
    }
}
