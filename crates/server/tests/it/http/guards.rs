//! Host, origin and token, on every route.

use std::{fs, os::unix::fs::PermissionsExt};

use maitred_server::token::Tokens;

use super::support::{Rig, rig, rig_with};

const BODY: &str = r#"{"capacity":1,"max_hold":"1m"}"#;
const SECRET: &str = "0123456789abcdef0123456789abcdef";

#[tokio::test]
async fn only_names_of_this_server_are_answered_for() {
    let rig = rig_with(|shared| shared.allowed_hosts = vec!["limits.example".to_owned()]).await;
    for host in ["localhost", "127.0.0.1:80", "[::1]:7654", "limits.example", "LIMITS.example:443"] {
        rig.ask("GET", "/v1/limits", &[&format!("Host: {host}")], "").await.ok();
    }
    for path in ["/v1/limits", "/livez", "/readyz", "/metrics", "/nowhere"] {
        let heard = rig.ask("GET", path, &["Host: evil.test"], "").await;
        heard.refused(421, "wrong_host");
        assert!(!heard.body.contains("evil"));
    }
    rig.ask("GET", "/v1/limits", &["Host: localhost", "Host: localhost"], "")
        .await
        .refused(421, "wrong_host");
    rig.ask("GET", "http://localhost/v1/limits", &[], "").await.refused(421, "wrong_host");
    let mut line = rig.line().await;
    line.say("GET /v1/limits HTTP/1.1\r\n\r\n").await;
    line.hear().await.unwrap().refused(421, "wrong_host");
}

/// Headers that browsers send for a page of another origin.
const FOREIGN: [&str; 6] = [
    "Origin: http://evil.test",
    "Origin: http://localhost:3000",
    "Origin: null",
    "Origin: ",
    "Sec-Fetch-Site: cross-site",
    "Sec-Fetch-Site: same-site",
];

#[tokio::test]
async fn a_page_of_another_origin_changes_nothing() {
    let rig = rig().await;
    for header in FOREIGN {
        rig.ask("PUT", "/v1/limits/voice", &[header], BODY).await.refused(403, "forbidden");
        rig.ask("POST", "/v1/slots/s/release", &[header], "").await.refused(403, "forbidden");
        rig.ask("GET", "/v1/slots/s?wait=1s", &[header], "").await.refused(403, "forbidden");
        let read = rig.ask("GET", "/v1/limits", &[header], "").await;
        assert!(read.field("access-control-allow-origin").is_none());
    }
    let preflight = rig.ask("OPTIONS", "/v1/limits", &["Origin: http://evil.test"], "").await;
    preflight.refused(403, "forbidden");
    assert!(preflight.field("access-control-allow-origin").is_none());
    rig.get("/v1/limits/voice").await.refused(404, "limit_not_found");

    let own = ["Host: localhost:7654", "Origin: http://localhost:7654", "Sec-Fetch-Site: same-origin"];
    rig.ask("PUT", "/v1/limits/voice", &own, BODY).await.ok();
}

async fn with_tokens() -> Rig {
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    fs::write(&file, format!("ops {SECRET}\n")).unwrap();
    let tokens = Tokens::open(Some(file.path()), None).unwrap();
    rig_with(|shared| shared.tokens = Some(tokens)).await
}

#[tokio::test]
async fn without_a_token_only_probes_are_answered() {
    let rig = with_tokens().await;
    let wrong = format!("Authorization: Bearer {}", SECRET.replace('0', "1"));
    let basic = format!("Authorization: Basic {SECRET}");
    for (method, path) in [
        ("GET", "/v1/limits"),
        ("PUT", "/v1/limits"),
        ("GET", "/metrics"),
        ("GET", "/openapi.json"),
        ("GET", "/x"),
    ] {
        for headers in [vec![], vec![wrong.as_str()], vec![basic.as_str()]] {
            let heard = rig.ask(method, path, &headers, "").await;
            heard.refused(401, "unauthorized");
            assert_eq!(heard.field("www-authenticate"), Some("bearer"));
        }
    }
    for path in ["/livez", "/healthz", "/readyz"] {
        rig.get(path).await.ok();
    }
    let right = format!("Authorization: Bearer {SECRET}");
    for path in ["/v1/limits", "/openapi.json"] {
        rig.ask("GET", path, &[&right], "").await.ok();
    }
    assert_eq!(rig.ask("GET", "/metrics", &[&right], "").await.status, 200);
    rig.ask("PUT", "/v1/limits/voice", &[&right], BODY).await.ok();
}
