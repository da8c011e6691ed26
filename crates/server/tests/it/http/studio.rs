//! Studio's files and the shell for its links: for everybody, under a strict policy, behind the guards of every route.

use maitred_server::token::{Grant, Role, Tokens, kept};

use super::support::{rig, rig_with};

#[tokio::test]
async fn every_path_below_it_is_the_shell_or_a_file() {
    let rig = rig().await;
    let shell = rig.get("/studio").await;
    assert_eq!(shell.status, 200);
    assert!(shell.body.contains("/studio/assets/index.js"), "{}", shell.body);
    for link in ["/studio/", "/studio/limits/voice-calls?range=6h", "/studio/runs/a%2Fb", "/studio/v1/limits"]
    {
        let heard = rig.get(link).await;
        assert_eq!((heard.status, &heard.body), (200, &shell.body), "{link}");
    }
    for (path, kind) in [
        ("assets/index.js", "text/javascript; charset=utf-8"),
        ("assets/index.css", "text/css; charset=utf-8"),
        ("theme.js", "text/javascript; charset=utf-8"),
        ("icon.svg", "image/svg+xml"),
    ] {
        let heard = rig.get(&format!("/studio/{path}")).await;
        assert_eq!((heard.status, heard.field("content-type")), (200, Some(kind)));
        assert!(!heard.body.is_empty() && heard.body != shell.body, "{path}");
    }
}

#[tokio::test]
async fn nothing_from_elsewhere_and_nothing_inline() {
    let rig = rig().await;
    let shell = rig.get("/studio").await;
    let policy = shell.field("content-security-policy").unwrap();
    assert!(
        policy.starts_with("default-src 'none'") && policy.contains("frame-ancestors 'none'"),
        "{policy}"
    );
    assert!(!policy.contains("unsafe") && !policy.contains("http"), "{policy}");
    assert_eq!(shell.field("x-content-type-options"), Some("nosniff"));
    assert!(!shell.body.contains("<style") && !shell.body.contains("style="), "{}", shell.body);
    assert_eq!(shell.body.matches("<script").count(), shell.body.matches(" src=\"/studio/").count());
}

#[tokio::test]
async fn a_browser_that_has_it_is_not_sent_it_again() {
    let rig = rig().await;
    let first = rig.get("/studio/assets/index.js").await;
    assert_eq!(first.field("cache-control"), Some("no-cache"));
    let tag = format!("If-None-Match: {}", first.field("etag").unwrap());
    let second = rig.ask("GET", "/studio/assets/index.js", &[&tag], "").await;
    assert_eq!((second.status, second.body.as_str()), (304, ""));
    let other = rig.ask("GET", "/studio/assets/index.css", &[&tag], "").await;
    assert_eq!(other.status, 200);
}

#[tokio::test]
async fn it_is_only_looked_at_and_only_here() {
    let rig = rig().await;
    for method in ["POST", "PUT", "DELETE"] {
        rig.ask(method, "/studio/limits", &[], "").await.refused(405, "method_not_allowed");
    }
    rig.ask("GET", "/studio", &["Host: evil.test"], "").await.refused(421, "wrong_host");
}

#[tokio::test]
async fn it_needs_no_token_and_shows_nothing_without_one() {
    let folder = tempfile::tempdir().unwrap();
    let secret = {
        let grant =
            Grant { role: Role::Read, limits: vec!["voice".to_owned()], made_at: 1, ..Grant::anyone() };
        kept::create(folder.path(), "ana", grant).unwrap()
    };
    let tokens = Tokens::open(None, Some(folder.path())).unwrap();
    let rig = rig_with(|shared| shared.tokens = Some(tokens)).await;
    assert_eq!(rig.get("/studio/limits").await.status, 200);
    assert_eq!(rig.get("/studio/assets/index.js").await.status, 200);
    rig.get("/studiox").await.refused(401, "unauthorized");
    rig.get("/v1/whoami").await.refused(401, "unauthorized");
    let me = rig.ask("GET", "/v1/whoami", &[&format!("Authorization: Bearer {secret}")], "").await.ok();
    assert_eq!(
        (me["name"].as_str(), me["role"].as_str(), &me["limits"][0]),
        (Some("ana"), Some("read"), &"voice".into())
    );
}
