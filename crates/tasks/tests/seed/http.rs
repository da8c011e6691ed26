//! What reaches the client.

use axum::Router;
use maitred_tasks::{Flow, Options, Output, RateSpec, TaskConfig, TaskError, http};
use reqwest::{Response, StatusCode, header::RETRY_AFTER};
use serde_json::{Value, json};

use crate::common::*;

struct Site {
    url: String,
    http: reqwest::Client,
}

impl Site {
    async fn of(world: &World) -> Site {
        let app: Router = http::router(world.host.clone()).merge(http::completions(world.host.clone()));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(async move { axum::serve(listener, app).await });
        let _ = rustls::crypto::ring::default_provider().install_default();
        Site { url, http: reqwest::Client::builder().no_proxy().build().unwrap() }
    }

    async fn post(&self, path: &str, body: Value) -> Response {
        let request = self.http.post(format!("{}{path}", self.url)).header("x-user-id", "7").json(&body);
        request.send().await.unwrap()
    }

    async fn told(&self, path: &str, body: Value) -> (u16, Value) {
        let response = self.post(path, body).await;
        (response.status().as_u16(), response.json().await.unwrap())
    }
}

#[tokio::test]
async fn the_429_looks_as_documented() {
    let free_tries = RateSpec::new("free:user=1", 3, MINUTE).label("free_tries");
    let world = World::with(consume([free_tries, rate("abuse:ip=1", 100)])).await;
    let site = Site::of(&world).await;
    for _ in 0..3 {
        let (status, body) = site.told("/tasks/t", json!({})).await;
        assert_eq!((status, body), (200, json!({ "status": "success", "response": { "done": true } })));
    }
    world.pass(18).await;
    let response = site.post("/tasks/t", json!({})).await;
    assert_eq!(response.status(), StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(response.headers()[RETRY_AFTER], "42");
    assert_eq!(response.headers()["ratelimit-policy"], r#""free_tries";q=3;w=60"#);
    assert_eq!(response.headers()["ratelimit"], r#""free_tries";r=0;t=42"#);
    let mut body: Value = response.json().await.unwrap();
    assert!(body["message"].as_str().is_some_and(|message| !message.is_empty()));
    body["message"] = json!("…");
    let expected = json!({
        "status": "error",
        "reason": "rate_limit_exceeded",
        "message": "…",
        "details": { "retryAfterSeconds": 42, "limit": 3, "label": "free_tries" },
    });
    assert_eq!(body, expected);
}

#[tokio::test]
async fn a_concurrency_429_has_no_wait() {
    let world = World::with(acquire([place("user=1", 1).label("at_once")])).await;
    let site = Site::of(&world).await;
    let _run = world.deferred().await;
    let response = site.post("/tasks/t", json!({})).await;
    assert_eq!(response.status(), StatusCode::TOO_MANY_REQUESTS);
    assert!(!response.headers().contains_key(RETRY_AFTER));
    assert_eq!(response.headers()["ratelimit-policy"], r#""at_once";q=1;qu="concurrent-requests""#);
    assert_eq!(response.headers()["ratelimit"], r#""at_once";r=0"#);
    let body: Value = response.json().await.unwrap();
    assert_eq!(body["reason"], "concurrency_limit_exceeded");
    assert_eq!(body["details"], json!({ "retryAfterSeconds": null, "limit": 1, "label": "at_once" }));
}

#[tokio::test]
async fn a_429_names_the_label_of_the_limit_that_rejected() {
    let specs = [rate("a", 5).label("a"), rate("b", 0).label("b"), rate("c", 5).label("c")];
    let world = World::with(consume(specs)).await;
    assert_eq!(refusal(world.ok().await).1["label"], "b");
}

#[tokio::test]
async fn the_key_is_never_sent() {
    let world = World::with(|flow| {
        Box::pin(async move {
            flow.rate_limit().consume([rate("secret-key", 0)]).await?;
            Ok(Options::new())
        })
    })
    .await;
    let site = Site::of(&world).await;
    for path in ["/tasks/t", "/tasks/t/options"] {
        let response = site.post(path, json!({})).await;
        let headers = format!("{:?}", response.headers());
        let body = response.text().await.unwrap();
        assert!(!body.contains("secret") && !headers.contains("secret"), "{headers} {body}");
        assert!(!body.contains("label"), "a limit without a label contributes nothing: {body}");
    }
}

#[tokio::test]
async fn the_quote_looks_as_documented() {
    let free_tries = RateSpec::new("free:user=1", 1, MINUTE).label("free_tries");
    let world = World::with(consume([free_tries])).await;
    let site = Site::of(&world).await;
    world.ok().await.unwrap();
    world.pass(18).await;
    let verdict =
        json!({ "type": "rate", "overLimit": true, "retryAfterSeconds": 42, "label": "free_tries" });
    let expected = json!({ "status": "success", "response": { "credits": 12, "rateLimitVerdict": verdict } });
    assert_eq!(site.told("/tasks/t/options", json!({})).await, (200, expected));
}

#[tokio::test]
async fn headers_reach_the_preflight() {
    let world = World::with(|flow| {
        Box::pin(async move {
            let key = format!("user={}", flow.meta().require_user_id()?);
            flow.rate_limit().consume([rate(&key, 1)]).await?;
            Ok(Options::new())
        })
    })
    .await;
    let site = Site::of(&world).await;
    assert_eq!(site.post("/tasks/t", json!({})).await.status(), 200);
    assert_eq!(world.counted("user=7").await, (1, 0));
    let nobody = site.http.post(format!("{}/tasks/t", site.url)).send().await.unwrap();
    assert_eq!(nobody.status(), 400);
}

#[tokio::test]
async fn errors_of_tasks_keep_their_status() {
    let world = World::with(free).await;
    let site = Site::of(&world).await;
    for (what, status, reason) in [
        ("fail", 500, "internal"),
        ("misread", 400, "invalid_params"),
        ("moderate", 422, "moderation_rejected"),
        ("panic", 500, "internal"),
    ] {
        let (told, body) = site.told("/tasks/t", json!({ "do": what })).await;
        assert_eq!((told, &body["status"], &body["reason"]), (status, &json!("error"), &json!(reason)));
        assert!(!body.to_string().contains("as told"), "what is private stays so: {body}");
    }
    let broken = site.http.post(format!("{}/tasks/t", site.url)).body("{").send().await.unwrap();
    assert_eq!(broken.status(), 400);
}

#[tokio::test]
async fn only_published_tasks_are_there_for_clients() {
    let world = World::with(free).await;
    world.host.register(TaskConfig::new("inner").enable_preflight(), made(free, body)).unwrap();
    let site = Site::of(&world).await;
    for path in ["/tasks/inner", "/tasks/inner/options", "/tasks/missing"] {
        let (status, body) = site.told(path, json!({})).await;
        assert_eq!((status, &body["reason"]), (404, &json!("task_not_found")), "{path}");
    }
}

#[tokio::test]
async fn a_deferred_run_is_completed_over_http() {
    let world = World::with(acquire([place("user=1", 1)])).await;
    let site = Site::of(&world).await;
    let (status, body) = site.told("/tasks/t", json!({ "do": "defer" })).await;
    assert_eq!((status, &body["status"]), (202, &json!("deferred")));
    let run = body["run"].as_str().unwrap();
    assert_eq!(site.post("/tasks/t", json!({})).await.status(), 429);
    let path = format!("/runs/{run}/complete");
    assert_eq!(site.told(&path, json!({ "status": "done" })).await.0, 400);
    let told = site.told(&path, json!({ "status": "succeeded" })).await;
    let expected = json!({ "status": "success", "response": { "run": run, "settled": true } });
    assert_eq!(told, (200, expected));
    assert_eq!(site.post("/tasks/t", json!({})).await.status(), 200);
}

/// Emits three pieces, then ends as told.
fn emits(flow: &Flow, params: Value) -> Boxed<'_, Output> {
    Box::pin(async move {
        for piece in 1..=3 {
            flow.emit(json!({ "piece": piece })).await;
        }
        body(flow, params).await
    })
}

async fn streaming(world: &World, what: Value) -> Response {
    let site = Site::of(world).await;
    let request = site.http.post(format!("{}/tasks/t", site.url)).header("accept", "text/event-stream");
    request.json(&what).send().await.unwrap()
}

#[tokio::test]
async fn a_stream_is_pieces_and_an_end() {
    let world = World::new().await;
    world.task("t", made(consume([rate("user=1", 2)]), emits));
    let pieces = "event: chunk\ndata: {\"piece\":1}\n\nevent: chunk\ndata: {\"piece\":2}\n\nevent: chunk\ndata: {\"piece\":3}\n\n";
    let text = streaming(&world, json!({})).await.text().await.unwrap();
    let end = "event: success\ndata: {\"status\":\"success\",\"response\":{\"done\":true}}\n\n";
    assert_eq!(text, format!("{pieces}{end}"));

    let text = streaming(&world, json!({ "do": "moderate" })).await.text().await.unwrap();
    let end = text.strip_prefix(pieces).unwrap();
    assert!(end.starts_with("event: error\ndata: {") && end.contains("moderation_rejected"), "{end}");

    let refused = streaming(&world, json!({})).await;
    assert_eq!(refused.status(), 429, "a refusal has its own status");
}

#[tokio::test]
async fn a_stream_that_nobody_reads_any_more_is_cancelled() {
    let world = World::new().await;
    world.task("t", made(acquire([place("user=1", 1)]), emits));
    let mut response = streaming(&world, json!({ "do": "hang" })).await;
    assert!(response.chunk().await.unwrap().is_some());
    assert_eq!(world.counted("user=1").await, (0, 1));
    drop(response);
    world.until_counted("user=1", (0, 0)).await;
}

#[tokio::test]
async fn a_client_that_hangs_up_cancels_its_run() {
    let world = World::with(acquire([place("user=1", 1)])).await;
    let site = Site::of(&world).await;
    let request = site.http.post(format!("{}/tasks/t", site.url)).json(&json!({ "do": "hang" })).send();
    let hung_up = tokio::time::timeout(std::time::Duration::from_millis(300), request).await;
    assert!(hung_up.is_err());
    drop(hung_up);
    world.until_counted("user=1", (0, 0)).await;
}

#[tokio::test]
async fn the_error_of_a_task_is_an_answer() {
    let error = TaskError::new("teapot", "short and stout", 418);
    let response = axum::response::IntoResponse::into_response(error);
    assert_eq!(response.status().as_u16(), 418);
    assert_eq!(TaskError::new("odd", "no error at all", 200).status(), 500);
}
