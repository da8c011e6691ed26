//! A graceful stop with calls hanging.

use std::time::{Duration, Instant};

use super::support::{request, rig};

#[tokio::test]
async fn hanging_calls_end_at_once_and_say_so() {
    let rig = rig().await;
    rig.declare("voice", 1).await;
    rig.post("/v1/slots", r#"{"slot":"holder","limit":"voice"}"#).await.ok();
    let mut hanging = Vec::new();
    for n in 0..20 {
        let mut line = rig.line().await;
        let body = format!(r#"{{"slot":"s{n}","limit":"voice","confirm":"auto","wait":"1h"}}"#);
        line.say(request("POST", "/v1/slots", &[], &body)).await;
        hanging.push(line);
    }
    let mut idle = rig.line().await;
    idle.say(request("GET", "/livez", &[], "")).await;
    idle.hear().await.unwrap().ok();
    let mut half = rig.line().await;
    half.say("GET /livez HTTP/1.1\r\n").await;
    super::support::eventually("all are queued", async || {
        rig.get("/v1/limits/voice").await.ok()["waiting"] == 20
    })
    .await;

    let started = Instant::now();
    rig.server.stop(Duration::from_secs(9)).await;
    for mut line in hanging {
        assert_eq!(line.hear().await.expect("an answer").ok()["state"], "queued");
    }
    assert!(idle.hear().await.is_none());
    assert!(started.elapsed() < Duration::from_secs(4), "{:?}", started.elapsed());
    assert!(half.hear().await.is_none());
    assert!(tokio::net::TcpStream::connect(rig.addr).await.is_err());
}

#[tokio::test]
async fn without_anyone_hanging_it_takes_no_time() {
    let rig = rig().await;
    rig.get("/livez").await.ok();
    let started = Instant::now();
    rig.server.stop(Duration::from_secs(9)).await;
    assert!(started.elapsed() < Duration::from_secs(2), "{:?}", started.elapsed());
}
