#![cfg(feature = "tower")]
//! Limits in front of routes, over real connections.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use axum::{
    Router,
    body::Body,
    http::{HeaderMap, StatusCode, request::Parts},
    routing::get,
};
use bytes::Bytes;
use maitred::{
    Maitred, Spec,
    api::RunStatus,
    route::{Admitted, Degraded, Dialect, HeedLayer, LimitLayer, ReleaseAt},
};
use tokio::{net::TcpListener, sync::mpsc};
use tower::{Layer, Service, ServiceExt};

use crate::common::{MINUTE, World};

fn http_client() -> reqwest::Client {
    // With the feature `tls` every client wants to know who does its cryptography, also one that needs none.
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::new()
}

/// Serves the routes, and tells where.
async fn served(router: Router) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    url
}

async fn asked(url: &str, user: &str) -> (StatusCode, HeaderMap, serde_json::Value) {
    let request = http_client().get(url).header("user-id", user).timeout(Duration::from_secs(20));
    let response = request.send().await.unwrap();
    let (status, headers) = (response.status(), response.headers().clone());
    let text = response.text().await.unwrap();
    (status, headers, serde_json::from_str(&text).unwrap_or(serde_json::Value::String(text)))
}

fn user(request: &Parts) -> String {
    format!("user={}", request.headers["user-id"].to_str().unwrap())
}

fn header<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name).map(|value| value.to_str().unwrap())
}

/// A route whose body the test writes, piece by piece.
fn streaming() -> (Router, mpsc::UnboundedReceiver<mpsc::UnboundedSender<Bytes>>) {
    let (opened, bodies) = mpsc::unbounded_channel();
    let handler = move || {
        let opened = opened.clone();
        async move {
            let (writer, pieces) = mpsc::unbounded_channel::<Bytes>();
            opened.send(writer).unwrap();
            Body::new(Pieces(pieces))
        }
    };
    (Router::new().route("/", get(handler)), bodies)
}

struct Pieces(mpsc::UnboundedReceiver<Bytes>);

impl axum::body::HttpBody for Pieces {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        mut self: std::pin::Pin<&mut Self>,
        context: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Result<hyper::body::Frame<Bytes>, Self::Error>>> {
        self.0.poll_recv(context).map(|piece| piece.map(|piece| Ok(hyper::body::Frame::data(piece))))
    }
}

#[tokio::test]
async fn a_rate_by_key_answers_429_in_the_documented_form() {
    let world = World::near().await;
    let layer = LimitLayer::by_key(&world.maitred, "search", |request| {
        vec![Spec::rate(user(request), 2, MINUTE).label("per_user")]
    });
    let handler =
        |admitted: Admitted| async move { admitted.decision.unwrap().results[0].remaining.to_string() };
    let url = served(Router::new().route("/", get(handler)).layer(layer)).await;
    assert_eq!(asked(&url, "7").await.2, 1);
    assert_eq!(asked(&url, "7").await.2, 0);
    assert_eq!(asked(&url, "8").await.0, StatusCode::OK, "another key has an allowance of its own");

    let (status, headers, body) = asked(&url, "7").await;
    assert_eq!(status, StatusCode::TOO_MANY_REQUESTS);
    assert_eq!((&body["status"], &body["reason"]), (&"error".into(), &"rate_limit_exceeded".into()));
    let wait = body["details"]["retryAfterSeconds"].as_u64().unwrap();
    assert!((1..=60).contains(&wait));
    assert_eq!(
        body["details"],
        serde_json::json!({"retryAfterSeconds": wait, "limit": 2, "label": "per_user"})
    );
    assert_eq!(header(&headers, "retry-after"), Some(wait.to_string().as_str()));
    assert_eq!(header(&headers, "ratelimit-policy"), Some("\"per_user\";q=2;w=60"));
    assert_eq!(header(&headers, "ratelimit"), Some(format!("\"per_user\";r=0;t={wait}").as_str()));
    assert_eq!(header(&headers, "cache-control"), Some("no-store"));
    assert!(!body.to_string().contains("user="), "the key is never told");

    assert_eq!(asked(&url, "no good").await.0, StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn a_named_limit_is_held_to_the_end_of_the_body() {
    let world = World::far().await;
    world.declare("reports", 1).await;
    let layer = LimitLayer::by_limit(&world.maitred, "reports").label("reports");
    let (router, mut bodies) = streaming();
    let url = served(router.layer(layer)).await;

    let mut first = http_client().get(&url).send().await.unwrap();
    assert_eq!(first.status(), StatusCode::OK);
    let writer = bodies.recv().await.unwrap();
    writer.send("half".into()).unwrap();
    assert_eq!(first.chunk().await.unwrap().unwrap(), "half");
    assert_eq!(world.counts("reports").await, (1, 0, 0), "headers and half the body are out");

    let (status, headers, body) = asked(&url, "7").await;
    assert_eq!(status, StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(body["reason"], "concurrency_limit_exceeded");
    let details = serde_json::json!({"retryAfterSeconds": null, "limit": 1, "label": "reports"});
    assert_eq!(body["details"], details);
    assert_eq!(header(&headers, "retry-after"), None);
    assert_eq!(header(&headers, "ratelimit-policy"), Some("\"reports\";q=1;qu=\"concurrent-requests\""));
    assert_eq!(header(&headers, "ratelimit"), Some("\"reports\";r=0"));

    drop(writer);
    assert!(first.chunk().await.unwrap().is_none());
    world.until("reports", (0, 0, 0)).await;
}

#[tokio::test]
async fn a_client_that_hangs_up_gives_back() {
    let world = World::near().await;
    world.declare("reports", 1).await;
    let layer = LimitLayer::by_limit(&world.maitred, "reports");
    let (router, mut bodies) = streaming();
    let url = served(router.layer(layer)).await;
    let response = http_client().get(&url).send().await.unwrap();
    let writer = bodies.recv().await.unwrap();
    world.until("reports", (1, 0, 0)).await;
    drop(response);
    // The server notices when it writes.
    let started = Instant::now();
    while writer.send("more".into()).is_ok() {
        assert!(started.elapsed() < Duration::from_secs(10), "the body was not dropped");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    world.until("reports", (0, 0, 0)).await;
}

#[tokio::test]
async fn to_the_headers_where_that_is_asked_for() {
    let world = World::near().await;
    world.declare("reports", 1).await;
    let layer = LimitLayer::by_limit(&world.maitred, "reports").release_at(ReleaseAt::Headers);
    let (router, mut bodies) = streaming();
    let url = served(router.layer(layer)).await;
    let _open = http_client().get(&url).send().await.unwrap();
    let _writer = bodies.recv().await.unwrap();
    world.until("reports", (0, 0, 0)).await;
}

#[tokio::test]
async fn a_request_may_wait_for_its_slot() {
    let world = World::near().await;
    world.declare("reports", 1).await;
    let held = world.maitred.acquire("reports").await.unwrap();
    let layer = LimitLayer::by_limit(&world.maitred, "reports").timeout(MINUTE);
    let inside = |admitted: Admitted| async move { admitted.slot.unwrap().fence.to_string() };
    let url = served(Router::new().route("/", get(inside)).layer(layer)).await;
    let asking = tokio::spawn(async move { asked(&url, "7").await });
    world.until("reports", (1, 0, 1)).await;
    let fence = held.fence();
    held.release().await.unwrap();
    assert!(asking.await.unwrap().2.as_u64().unwrap() > fence);
    world.until("reports", (0, 0, 0)).await;

    // Who hangs up while it waits leaves the queue.
    let held = world.maitred.acquire("reports").await.unwrap();
    let layer = LimitLayer::by_limit(&world.maitred, "reports").timeout(MINUTE);
    let url = served(Router::new().route("/", get(|| async {})).layer(layer)).await;
    let asking = tokio::spawn(async move { asked(&url, "7").await });
    world.until("reports", (1, 0, 1)).await;
    asking.abort();
    world.until("reports", (1, 0, 0)).await;
    drop(held);
}

#[tokio::test]
async fn places_and_successes_are_settled_with_the_response() {
    let world = World::near().await;
    let layer = LimitLayer::by_key(&world.maitred, "make", |request| {
        vec![Spec::rate(user(request), 2, MINUTE).successes_only(), Spec::place(user(request), 1)]
    });
    let (router, mut bodies) = streaming();
    let failing = Router::new().route("/fails", get(|| async { StatusCode::IM_A_TEAPOT }));
    let url = served(router.merge(failing).layer(layer)).await;

    let mut first = http_client().get(&url).header("user-id", "7").send().await.unwrap();
    let writer = bodies.recv().await.unwrap();
    assert_eq!(asked(&url, "7").await.2["reason"], "concurrency_limit_exceeded");
    drop(writer);
    while first.chunk().await.unwrap().is_some() {}

    // The place is free again, and the failures that follow spend nothing of the second try.
    for _ in 0..5 {
        until_allowed(&world.maitred, 2).await;
        assert_eq!(asked(&format!("{url}/fails"), "7").await.0, StatusCode::IM_A_TEAPOT);
    }
    until_allowed(&world.maitred, 2).await;
    let open = http_client().get(&url).header("user-id", "7").send().await.unwrap();
    drop(bodies.recv().await.unwrap());
    drop(open.bytes().await.unwrap());
    let started = Instant::now();
    while asked(&url, "7").await.2["reason"] != "rate_limit_exceeded" {
        assert!(started.elapsed() < Duration::from_secs(10), "two successes used up the rate");
    }
}

/// Waits until the background has settled what was before: one hit of two is spent, and the place is free.
async fn until_allowed(maitred: &Maitred, limit: u64) {
    let started = Instant::now();
    loop {
        let ask = maitred.admit("make").run("observer");
        let verdict = ask.rate("user=7", limit, MINUTE).place("user=7", 1).check().await.unwrap();
        if !verdict.over_limit {
            assert_eq!(verdict.results[0].used, 1 + 1, "the success is kept, the failures are given back");
            return;
        }
        assert!(started.elapsed() < Duration::from_secs(10), "{verdict:?}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn a_limiter_that_is_gone_opens_keys_and_closes_limits() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let gone = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let maitred = Maitred::connect(&gone).unwrap().deadline(Duration::from_millis(200));
    let specs = |request: &Parts| vec![Spec::rate(user(request), 1, MINUTE)];
    let open = LimitLayer::by_key(&maitred, "t", specs);
    let closed = LimitLayer::by_key(&maitred, "t", specs).degraded(Degraded::Closed);
    let named = LimitLayer::by_limit(&maitred, "reports");
    let url = served(
        Router::new()
            .route("/open", get(|| async { "in" }).layer(open))
            .route("/closed", get(|| async { "in" }).layer(closed))
            .route("/named", get(|| async { "in" }).layer(named)),
    )
    .await;
    let (status, headers, body) = asked(&format!("{url}/open"), "7").await;
    assert_eq!(
        (status, header(&headers, "maitred-degraded"), body),
        (StatusCode::OK, Some("1"), "in".into())
    );
    for route in ["closed", "named"] {
        let (status, headers, body) = asked(&format!("{url}/{route}"), "7").await;
        assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE, "{route}");
        assert_eq!(header(&headers, "retry-after"), Some("1"));
        assert_eq!(body["reason"], "unavailable");
    }
}

#[tokio::test]
async fn other_dialects_and_what_is_set_up_wrongly() {
    let world = World::near().await;
    let specs = |_: &Parts| vec![Spec::rate("all", 0, MINUTE).label("none")];
    let layer = |dialect| LimitLayer::by_key(&world.maitred, "t", specs).dialect(dialect);
    let unlimited = LimitLayer::by_key(&world.maitred, "t", |_| vec![]);
    let url = served(
        Router::new()
            .route("/off", get(|| async {}).layer(layer(Dialect::Off)))
            .route("/legacy", get(|| async {}).layer(layer(Dialect::Legacy)))
            .route("/unlimited", get(|| async { "in" }).layer(unlimited))
            .route("/nope", get(|| async {}).layer(LimitLayer::by_limit(&world.maitred, "nope")))
            .route("/bare", get(|_: Admitted| async {})),
    )
    .await;
    let (status, headers, _) = asked(&format!("{url}/off"), "7").await;
    assert_eq!((status, header(&headers, "ratelimit")), (StatusCode::TOO_MANY_REQUESTS, None));
    let (_, headers, _) = asked(&format!("{url}/legacy"), "7").await;
    assert_eq!(header(&headers, "x-ratelimit-limit"), Some("0"));
    assert_eq!(asked(&format!("{url}/unlimited"), "7").await.2, "in");
    assert_eq!(asked(&format!("{url}/nope"), "7").await.0, StatusCode::INTERNAL_SERVER_ERROR);
    assert_eq!(asked(&format!("{url}/bare"), "7").await.0, StatusCode::INTERNAL_SERVER_ERROR);
}

#[tokio::test]
async fn a_handler_that_panics_gives_back() {
    let world = World::near().await;
    world.declare("reports", 1).await;
    let layer = LimitLayer::by_limit(&world.maitred, "reports");
    let handler = || async {
        if true {
            panic!("on purpose")
        }
    };
    let url = served(Router::new().route("/", get(handler)).layer(layer)).await;
    assert!(http_client().get(&url).send().await.is_err());
    world.until("reports", (0, 0, 0)).await;
    // A place is ended as cancelled.
    let layer = LimitLayer::by_key(&world.maitred, "t", |_| vec![Spec::place("k", 1)]);
    let url = served(Router::new().route("/", get(handler)).layer(layer)).await;
    assert!(http_client().get(&url).send().await.is_err());
    let started = Instant::now();
    while world.maitred.acquire_keys("t", "r", [Spec::place("k", 1)]).await.is_err() {
        assert!(started.elapsed() < Duration::from_secs(10), "the place was not freed");
    }
    world.maitred.end_run("r", RunStatus::Succeeded).await.unwrap();
}

/// A downstream that refuses the first so many requests.
async fn refusing(first: usize, retry_after: Option<&'static str>) -> String {
    let seen = Arc::new(AtomicUsize::new(0));
    let handler = move || {
        let refuse = seen.fetch_add(1, Ordering::SeqCst) < first;
        async move {
            let status = if refuse { StatusCode::TOO_MANY_REQUESTS } else { StatusCode::OK };
            let mut headers = HeaderMap::new();
            if let Some(seconds) = retry_after.filter(|_| refuse) {
                headers.insert("retry-after", seconds.parse().unwrap());
            }
            (status, headers)
        }
    };
    served(Router::new().route("/", get(handler))).await
}

async fn timed(
    client: &mut (impl Service<reqwest::Request, Response = reqwest::Response, Error = reqwest::Error> + Send),
    url: &str,
) -> (StatusCode, Duration) {
    let started = Instant::now();
    let request = reqwest::Request::new(reqwest::Method::GET, url.parse().unwrap());
    let response = client.ready().await.unwrap().call(request).await.unwrap();
    (response.status(), started.elapsed())
}

#[tokio::test]
async fn a_downstream_is_left_alone_until_its_time_is_over() {
    let heed = HeedLayer::new();
    let url = refusing(1, Some("1")).await;
    let mut client = heed.layer(http_client());
    let mut other = client.clone();
    let (status, took) = timed(&mut client, &url).await;
    assert!(status == StatusCode::TOO_MANY_REQUESTS && took < Duration::from_millis(900));
    let (both, one) = tokio::join!(timed(&mut client, &url), timed(&mut other, &url));
    for (status, took) in [both, one] {
        assert_eq!(status, StatusCode::OK);
        assert!(took >= Duration::from_millis(900), "{took:?}");
    }
    assert_eq!(heed.rejected(), 1);
}

#[tokio::test]
async fn nobody_waits_longer_than_the_own_bound() {
    let heed = HeedLayer::new().longest(Duration::from_millis(200));
    let url = refusing(1, Some("3600")).await;
    let mut client = heed.layer(http_client());
    timed(&mut client, &url).await;
    let (status, took) = timed(&mut client, &url).await;
    assert_eq!(status, StatusCode::OK);
    assert!(took >= Duration::from_millis(150) && took < Duration::from_secs(5), "{took:?}");

    let heed = HeedLayer::new().unsaid(Duration::from_millis(300));
    let url = refusing(1, None).await;
    let mut client = heed.layer(http_client());
    timed(&mut client, &url).await;
    assert!(timed(&mut client, &url).await.1 >= Duration::from_millis(250));
}
