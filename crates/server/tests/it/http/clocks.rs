//! The clock's routes, which only a server with a manual clock has.

use maitred_server::http::Shared;
use serde_json::json;

use super::support::{node, rig, serve};

#[tokio::test]
async fn time_moves_when_it_is_told_to() {
    let shared = Shared { manual_clock: true, ..Shared::new(node(true).await) };
    let rig = serve(shared).await;
    rig.put("/v1/limits/voice", r#"{"capacity":1,"max_hold":"5m"}"#).await.ok();
    rig.post("/v1/slots", r#"{"slot":"s","limit":"voice","confirm":"auto"}"#).await.ok();
    let now = rig.get("/v1/clock").await.ok()["now"].as_u64().unwrap();
    let moved = rig.post("/v1/clock", r#"{"advance":"4m59s"}"#).await.ok();
    assert_eq!(moved, json!({ "now": now + 299_000 }));
    assert_eq!(rig.get("/v1/slots/s").await.ok()["state"], "busy");
    let to = format!(r#"{{"advance_to":{}}}"#, now + 300_000);
    assert_eq!(rig.post("/v1/clock", &to).await.ok()["now"], now + 300_000);
    assert_eq!(rig.get("/v1/slots/s").await.ok()["state"], "expired");
    for bad in ["{}", r#"{"advance":"5m","advance_to":1}"#, r#"{"advance":"1.5s"}"#, r#"{"advance":[]}"#] {
        rig.post("/v1/clock", bad).await.refused(400, "invalid_argument");
    }
    let earlier = rig.post("/v1/clock", r#"{"advance_to":1}"#).await.ok();
    assert_eq!(earlier["now"], now + 300_000);
}

#[tokio::test]
async fn other_servers_do_not_have_it() {
    let rig = rig().await;
    rig.get("/v1/clock").await.refused(404, "not_found");
}
