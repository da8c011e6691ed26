//! S7a over HTTP: a caller that is on the line for an auto slot and closes its connection has left.

use std::time::Duration;

use super::{
    roles::read_until,
    support::{Line, Rig, eventually, request, rig},
};

async fn full(rig: &Rig) {
    rig.declare("voice", 1).await;
    rig.post("/v1/slots", r#"{"slot":"holder","limit":"voice","confirm":"auto"}"#).await.ok();
}

async fn waiting(rig: &Rig, body: &str, slot: &str) -> Line {
    let mut line = rig.line().await;
    line.say(request("POST", "/v1/slots", &[], body)).await;
    eventually("the slot is queued", async || state(rig, slot).await == "queued").await;
    line
}

async fn state(rig: &Rig, slot: &str) -> String {
    rig.get(&format!("/v1/slots/{slot}")).await.ok()["state"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn who_closes_the_connection_has_left() {
    let rig = rig().await;
    full(&rig).await;
    let gone = waiting(&rig, r#"{"slot":"gone","limit":"voice","confirm":"auto","wait":"1h"}"#, "gone").await;
    let mut stays =
        waiting(&rig, r#"{"slot":"stays","limit":"voice","confirm":"auto","wait":"1h"}"#, "stays").await;
    drop(gone);
    eventually("the slot is left", async || state(&rig, "gone").await == "left").await;
    rig.post("/v1/slots/holder/release", "").await.ok();
    assert_eq!(stays.hear().await.unwrap().ok()["state"], "busy");
    let metrics = rig.get("/metrics").await.body;
    assert!(metrics.contains("maitred_http_hang_ups_total 1\n"), "{metrics}");
}

#[tokio::test]
async fn who_says_no_more_has_hung_up_as_well() {
    let rig = rig().await;
    full(&rig).await;
    let mut half =
        waiting(&rig, r#"{"slot":"half","limit":"voice","confirm":"auto","wait":"1h"}"#, "half").await;
    tokio::io::AsyncWriteExt::shutdown(&mut half.0).await.unwrap();
    eventually("the slot is left", async || state(&rig, "half").await == "left").await;
}

/// Some clients end a body with a line break, and some send the next request along: hyper then reads no more.
#[tokio::test]
async fn who_sent_more_and_closes_has_left_too() {
    let rig = rig().await;
    full(&rig).await;
    let next = request("GET", "/livez", &[], "");
    for (slot, more) in [("break", "\r\n"), ("next", next.as_str()), ("half", "GET /li")] {
        let body = format!(r#"{{"slot":"{slot}","limit":"voice","confirm":"auto","wait":"1h"}}"#);
        let mut gone = rig.line().await;
        gone.say(request("POST", "/v1/slots", &[], &body) + more).await;
        eventually("the slot is queued", async || state(&rig, slot).await == "queued").await;
        drop(gone);
        eventually("the slot is left", async || state(&rig, slot).await == "left").await;
    }
    let metrics = rig.get("/metrics").await.body;
    assert!(metrics.contains("maitred_http_hang_ups_total 3\n"), "{metrics}");
}

#[tokio::test]
async fn what_was_sent_during_a_wait_is_answered_after_it() {
    let rig = rig().await;
    full(&rig).await;
    let body = r#"{"slot":"next","limit":"voice","confirm":"auto","wait":"1h"}"#;
    let mut waits = waiting(&rig, body, "next").await;
    // Larger than what hyper reads at once, and in pieces.
    let long = request("POST", "/v1/slots/nobody/release", &[], &format!("{{}}{}", " ".repeat(50_000)));
    for piece in long.as_bytes().chunks(20_000) {
        waits.say(piece).await;
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(state(&rig, "next").await, "queued");
    rig.post("/v1/slots/holder/release", "").await.ok();
    let mut told = Vec::new();
    read_until(&mut waits, &mut told, r#""released":false"#).await;
    let told = String::from_utf8_lossy(&told);
    assert_eq!(
        (told.matches("HTTP/1.1 200").count(), told.contains(r#""state":"busy""#)),
        (2, true),
        "{told}"
    );
}

#[tokio::test]
async fn who_confirms_by_hand_has_only_lost_a_connection() {
    let rig = rig().await;
    full(&rig).await;
    let gone = waiting(&rig, r#"{"slot":"gone","limit":"voice","wait":"1h"}"#, "gone").await;
    drop(gone);
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert_eq!(state(&rig, "gone").await, "queued");
    rig.post("/v1/slots/holder/release", "").await.ok();
    assert_eq!(state(&rig, "gone").await, "reserved");
}

#[tokio::test]
async fn a_grant_wakes_the_one_who_waits() {
    let rig = rig().await;
    full(&rig).await;
    let mut waits = waiting(&rig, r#"{"slot":"next","limit":"voice","wait":"1h"}"#, "next").await;
    let mut looks = rig.line().await;
    looks.say(request("GET", "/v1/slots/next?wait=1h", &[], "")).await;
    rig.post("/v1/slots/holder/release", "").await.ok();
    assert_eq!(waits.hear().await.unwrap().ok()["state"], "reserved");
    assert_eq!(looks.hear().await.unwrap().ok()["state"], "reserved");
}
