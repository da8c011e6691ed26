//! Bad input gets a 4xx with a reason, in words that say what is allowed, and changes nothing.

use super::support::{Rig, rig};

/// What stands before and must stand after.
async fn state(rig: &Rig) -> Vec<serde_json::Value> {
    let mut all = Vec::new();
    for path in ["/v1/limits", "/v1/runs", "/v1/keys", "/v1/limits/voice/slots"] {
        let mut json = rig.get(path).await.ok();
        json.as_object_mut().unwrap().remove("as_of");
        json.as_object_mut().unwrap().remove("revision");
        all.push(json);
    }
    all
}

/// Method, path, body, status, reason, a word of the message.
type Case = (&'static str, &'static str, &'static str, u16, &'static str, &'static str);

const BODIES: &[Case] = &[
    ("PUT", "/v1/limits/voice", "", 415, "unsupported_media_type", "application/json"),
    ("PUT", "/v1/limits/voice", "{", 400, "invalid_body", "EOF"),
    ("PUT", "/v1/limits/voice", "[]x", 400, "invalid_body", "line 1"),
    ("PUT", "/v1/limits/voice", "7", 400, "invalid_body", "LimitFields"),
    ("PUT", "/v1/limits/voice", r#"{"capacity":3,"max_hold":"1m"} {}"#, 400, "invalid_body", "trailing"),
    (
        "PUT",
        "/v1/limits/voice",
        r#"{"capacity":3,"max_hold":"1m","prio":1}"#,
        400,
        "invalid_body",
        "`capacity` or `max_hold`",
    ),
    (
        "PUT",
        "/v1/limits/voice",
        r#"{"capacity":3,"capacity":4,"max_hold":"1m"}"#,
        400,
        "invalid_body",
        "duplicate field `capacity`",
    ),
    ("PUT", "/v1/limits", r#"{"limits":{}}"#, 400, "invalid_body", "limits: invalid type"),
    ("PUT", "/v1/limits", r#"{"limits":[{"name":7}]}"#, 400, "invalid_body", "limits[0].name"),
    ("PUT", "/v1/limits", "{}", 400, "invalid_body", "missing field `limits`"),
    (
        "POST",
        "/v1/slots",
        r#"{"limit":"voice","confirm":"always"}"#,
        400,
        "invalid_body",
        "`holder` or `auto`",
    ),
    ("POST", "/v1/slots", r#"{"limit":"voice","slott":"s"}"#, 400, "invalid_body", "unknown field `slott`"),
    ("POST", "/v1/slots/s/release", r#"{"force":true}"#, 400, "invalid_body", "unknown field `force`"),
    ("PUT", "/v1/limits/voice/pause", "null", 400, "invalid_body", "null"),
    ("POST", "/v1/runs/r/end", r#"{"status":"done"}"#, 400, "invalid_body", "`succeeded`"),
    (
        "POST",
        "/v1/admit",
        r#"{"task":"t","specs":[{"key":"k","limit":1,"window":3}]}"#,
        400,
        "invalid_body",
        "`windowSeconds`",
    ),
    (
        "POST",
        "/v1/admit",
        r#"{"task":"t","specs":[{"key":"k","limit":1,"limit":2}]}"#,
        400,
        "invalid_body",
        "duplicate field",
    ),
    ("POST", "/v1/batch", r#"{"items":[{"op":"fly"}]}"#, 400, "invalid_body", "items[0]"),
    (
        "POST",
        "/v1/batch",
        r#"{"items":[{"op":"pause","limit":"voice","x":1}]}"#,
        400,
        "invalid_body",
        "unknown field `x`",
    ),
    (
        "POST",
        "/v1/batch",
        r#"{"items":[{"op":"pause","limit":"a","limit":"b"}]}"#,
        400,
        "invalid_body",
        "duplicate field",
    ),
];

const VALUES: &[Case] = &[
    ("PUT", "/v1/limits/Voice", r#"{"capacity":1,"max_hold":"1m"}"#, 400, "invalid_limit_name", "a-z"),
    ("PUT", "/v1/limits/voice", r#"{"capacity":0,"max_hold":"1m"}"#, 400, "invalid_capacity", "1 to 100000"),
    ("PUT", "/v1/limits/voice", r#"{"capacity":2.5,"max_hold":"1m"}"#, 400, "invalid_capacity", "2.5"),
    ("PUT", "/v1/limits/voice", r#"{"max_hold":"1m"}"#, 400, "invalid_capacity", "voice"),
    ("PUT", "/v1/limits/voice", r#"{"capacity":1,"max_hold":"1.5h"}"#, 400, "invalid_max_hold", "45m"),
    ("PUT", "/v1/limits/voice/max-hold", r#"{"max_hold":"31d"}"#, 400, "invalid_max_hold", "30d"),
    ("PUT", "/v1/limits/nobody/capacity", r#"{"capacity":5}"#, 404, "limit_not_found", "nobody"),
    ("POST", "/v1/slots", r#"{"limit":"voice","timeout":"soon"}"#, 400, "invalid_timeout", "400d"),
    ("POST", "/v1/slots", r#"{"limit":"voice","weight":-1}"#, 400, "invalid_weight", "voice"),
    ("POST", "/v1/slots", r#"{"limit":"voice","weight":4}"#, 409, "never_fits", "voice"),
    ("POST", "/v1/slots", r#"{"limit":"voice","wait":[]}"#, 400, "invalid_wait", "30s"),
    ("POST", "/v1/slots", r#"{"limit":"voice","slot":"a b"}"#, 400, "invalid_id", "A-Z"),
    ("POST", "/v1/slots", "{}", 400, "invalid_limit_name", "limit"),
    ("POST", "/v1/admit", r#"{"task":"t","specs":[]}"#, 400, "invalid_argument", "spec"),
    ("POST", "/v1/admit", r#"{"task":"t","specs":[{"key":"k","limit":1}]}"#, 400, "invalid_run", "run"),
    ("DELETE", "/v1/keys?task=t", "", 400, "invalid_argument", "missing field `key`"),
    ("GET", "/v1/limits?most=-1", "", 400, "invalid_argument", "most"),
    ("GET", "/v1/limits?moist=1", "", 400, "invalid_argument", "after, most, min_revision"),
    ("GET", "/v1/limits?most=1&most=2", "", 400, "invalid_argument", "twice"),
    ("POST", "/v1/slots?wait=5s", r#"{"limit":"voice"}"#, 400, "invalid_argument", "none"),
    ("GET", "/v1/limits/%ff", "", 400, "invalid_argument", "UTF-8"),
    ("GET", "/v1/slots/s?wait=never", "", 400, "invalid_wait", "30s"),
    ("GET", "/v1/limits/a/b/c", "", 404, "not_found", "/openapi.json"),
    ("GET", "/", "", 404, "not_found", "/v1"),
    ("POST", "/v1/clock", r#"{"advance":"1s"}"#, 404, "not_found", "/v1"),
    ("PATCH", "/v1/limits/voice", "{}", 405, "method_not_allowed", "Allow"),
    ("GET", "/v1/admit", "", 405, "method_not_allowed", "GET"),
];

#[tokio::test]
async fn a_table_of_bad_requests() {
    let rig = rig().await;
    rig.declare("voice", 3).await;
    rig.post("/v1/slots", r#"{"slot":"held","limit":"voice","run":"r","confirm":"auto"}"#).await.ok();
    let before = state(&rig).await;
    for (method, path, body, status, reason, word) in BODIES.iter().chain(VALUES) {
        let heard = rig.ask(method, path, &[], body).await;
        let shown = format!("{method} {path} {body} => {heard:?}");
        assert_eq!((heard.status, heard.reason().as_str()), (*status, *reason), "{shown}");
        assert!(heard.json()["message"].as_str().unwrap().contains(word), "{word} is not in {shown}");
        heard.refused(*status, reason);
    }
    assert_eq!(state(&rig).await, before);
}

#[tokio::test]
async fn bytes_that_are_no_text_and_headers_that_are_no_json() {
    let rig = rig().await;
    let mut line = rig.line().await;
    let head = "PUT /v1/limits/voice HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 16\r\n\r\n";
    line.say(head).await;
    line.say(b"{\"capacity\":\"\xff\"}").await;
    line.hear().await.unwrap().refused(400, "invalid_body");

    let body = r#"{"capacity":1,"max_hold":"1m"}"#;
    for kind in [
        "text/plain",
        "application/x-www-form-urlencoded",
        "application/json; charset=latin-1",
        "application/jsonp",
    ] {
        let heard = rig.ask("PUT", "/v1/limits/voice", &[&format!("Content-Type: {kind}")], body).await;
        heard.refused(415, "unsupported_media_type");
    }
    let zipped = ["Content-Type: application/json", "Content-Encoding: gzip"];
    rig.ask("PUT", "/v1/limits/voice", &zipped, body).await.refused(415, "unsupported_media_type");
    let twice = ["Maitred-Agent: a", "Maitred-Agent: b"];
    rig.ask("PUT", "/v1/limits/voice", &twice, body).await.refused(400, "invalid_argument");
    rig.ask("PUT", "/v1/limits/voice", &["Maitred-Agent: NO"], body).await.refused(400, "invalid_namespace");
    rig.ask("GET", "/v1/limits", &["Maitred-Min-Revision: x"], "").await.refused(400, "invalid_argument");
    rig.get("/v1/limits/voice").await.refused(404, "limit_not_found");
    let plain = "application/json; charset=UTF-8";
    rig.ask("PUT", "/v1/limits/voice", &[&format!("Content-Type: {plain}")], body).await.ok();
}

#[tokio::test]
async fn a_body_that_is_too_large_is_refused_and_its_sender_hears_so() {
    let rig = rig().await;
    let label = "x".repeat(64 * 1024);
    let large = format!(r#"{{"limit":"voice","label":"{label}"}}"#);
    rig.post("/v1/slots", &large).await.refused(413, "body_too_large");
    rig.post("/v1/slots", &" ".repeat(900 * 1024)).await.refused(413, "body_too_large");

    let mut line = rig.line().await;
    line.say("POST /v1/slots HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n").await;
    line.say("Transfer-Encoding: chunked\r\n\r\n").await;
    for _ in 0..20 {
        line.say(format!("2000\r\n{}\r\n", " ".repeat(0x2000))).await;
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    line.say("0\r\n\r\n").await;
    line.hear().await.unwrap().refused(413, "body_too_large");

    let pause = r#"{"op":"pause","limit":"nobody"}"#;
    let batch = |items: usize| format!(r#"{{"items":[{}]}}"#, vec![pause; items].join(","));
    assert!(batch(900).len() < 64 * 1024 && batch(1_000).len() * 40 < 2 * 1024 * 1024);
    let padded = format!("{}{}", " ".repeat(100_000), batch(1));
    rig.post("/v1/batch", &padded).await.ok();
    rig.post("/v1/batch", &" ".repeat(2 * 1024 * 1024 + 1)).await.refused(413, "body_too_large");
}

#[tokio::test]
async fn headers_have_bounds() {
    let rig = rig().await;
    let many: Vec<String> = (0..70).map(|n| format!("X-{n}: 1")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    rig.ask("GET", "/v1/limits", &many, "").await.refused(431, "headers_too_large");
    let long = format!("X-Long: {}", "x".repeat(20_000));
    rig.ask("GET", "/v1/limits", &[&long], "").await.refused(431, "headers_too_large");
    let longer = format!("X-Long: {}", "x".repeat(100_000));
    assert_eq!(rig.ask("GET", "/v1/limits", &[&longer], "").await.status, 431);
}

/// What hyper cannot read it answers by itself, before any handler; that too has the shape of every problem.
#[tokio::test]
async fn what_is_no_request_gets_a_problem_too() {
    let rig = rig().await;
    for (bytes, status, reason) in [
        ("nonsense\r\n\r\n", 400, "invalid_argument"),
        ("GET /v1/limits HTTP/9.9\r\n\r\n", 400, "invalid_argument"),
        ("GET /v1/limits HTTP/1.1\r\nno colon\r\n\r\n", 400, "invalid_argument"),
        ("POST /v1/slots HTTP/1.1\r\nHost: localhost\r\nContent-Length: x\r\n\r\n", 400, "invalid_argument"),
    ] {
        let mut line = rig.line().await;
        line.say(bytes).await;
        line.hear().await.unwrap_or_else(|| panic!("no answer to {bytes:?}")).refused(status, reason);
        assert!(line.hear().await.is_none(), "and the connection is closed");
    }
    let mut line = rig.line().await;
    line.say(format!("GET / HTTP/1.1\r\nHost: localhost\r\nX-Long: {}\r\n\r\n", "x".repeat(70_000))).await;
    line.hear().await.expect("an answer").refused(431, "headers_too_large");
    // After an answer of ours on the same connection.
    let mut line = rig.line().await;
    line.say(super::support::request("GET", "/livez", &[], "")).await;
    line.hear().await.expect("an answer").ok();
    line.say("nonsense\r\n\r\n").await;
    line.hear().await.expect("an answer").refused(400, "invalid_argument");
}
