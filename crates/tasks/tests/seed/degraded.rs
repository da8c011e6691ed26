//! When the limiter cannot answer.

use std::time::{Duration, Instant};

use maitred::{Client, Far, FarOptions};
use maitred_tasks::{Completion, Flow, Host, HostOptions, Meta, Options, RunStatus, TaskConfig, TaskError};
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::common::*;

const DEADLINE: Duration = Duration::from_millis(200);

/// A host whose limiter takes connections and never answers.
async fn hanging() -> (Host, TcpListener) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let host = far(&format!("http://{}", listener.local_addr().unwrap()));
    (host, listener)
}

/// A host whose limiter is not there.
async fn gone() -> Host {
    let (host, listener) = hanging().await;
    drop(listener);
    host
}

fn far(url: &str) -> Host {
    let client = Client::Far(Far::connect(url, FarOptions::default()).unwrap());
    let host =
        Host::with_options(client, HostOptions { deadline: DEADLINE, ..HostOptions::default() }).unwrap();
    host.register(TaskConfig::new("t").publish().enable_preflight(), made(reads, body)).unwrap();
    host
}

/// Reads both kinds and says what it was told; with `strict` it does not go on without a verdict.
fn reads(flow: &Flow) -> Boxed<'_, Options> {
    Box::pin(async move {
        let params: Value = flow.params()?;
        let decision = flow.rate_limit().consume([rate("user=1", 0)]).await?;
        if decision.degraded && params["strict"] == true {
            return Err(TaskError::new("service_unavailable", "Cannot verify quota", 503));
        }
        let place = flow.rate_limit().acquire([place("user=1", 0)]).await?;
        assert!(decision.degraded && place.degraded);
        assert!(!decision.over_limit && !place.over_limit);
        assert!(decision.results.is_empty() && place.results.is_empty());
        assert_eq!((json!(decision.kind), json!(place.kind)), (json!("rate"), json!("concurrency")));
        Ok(Options::new().credits(12))
    })
}

#[tokio::test]
async fn an_outage_degrades_limiting_not_execution() {
    let (hanging, _listener) = hanging().await;
    for host in [gone().await, hanging] {
        let started = Instant::now();
        host.execute("t", json!({}), Meta::new()).await.unwrap();
        let most = 3 * DEADLINE + Duration::from_secs(5); // two calls and the end, on a busy machine
        assert!(started.elapsed() < most, "{:?}", started.elapsed());
    }
}

#[tokio::test]
async fn a_task_may_refuse_when_degraded() {
    let error = gone().await.execute("t", json!({ "strict": true }), Meta::new()).await.unwrap_err();
    assert_eq!((error.status(), error.body().reason.as_str()), (503, "service_unavailable"));
}

#[tokio::test]
async fn in_a_quote_degraded_is_read_and_not_over() {
    let quote = gone().await.options("t", json!({}), Meta::new()).await.unwrap();
    let expected =
        json!({ "credits": 12, "rateLimitVerdict": { "overLimit": false, "retryAfterSeconds": 0 } });
    assert_eq!(json!(quote), expected);
}

#[tokio::test]
async fn a_completion_without_an_answer_is_pending() {
    let completion = gone().await.complete("some-run", RunStatus::Succeeded).await.unwrap();
    assert_eq!(completion, Completion::Pending);
}

mod with_a_server {
    use std::sync::Arc;

    use maitred::{NodeOptions, local::Node};
    use maitred_server::http::{Server, Shared};
    use maitred_tasks::Output;

    use super::*;

    /// A server in this process, and a host far from it.
    async fn served() -> (World, Server) {
        let node = Node::start(NodeOptions::default()).await.unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let server = Server::start(listener, Arc::new(Shared::new(node))).unwrap();
        let url = format!("http://{}", server.addr);
        (World::over(Client::Far(Far::connect(&url, FarOptions::default()).unwrap())), server)
    }

    #[tokio::test]
    async fn far_is_as_near() {
        let (world, _server) = served().await;
        world.add("t", consume([rate("user=1", 2).label("mine").count_successes_only()]));
        world.add("u", acquire([place("user=1", 1)]));
        assert_eq!(world.run("fail").await.unwrap_err().status(), 500);
        world.ok().await.unwrap();
        world.ok().await.unwrap();
        assert_eq!(refusal(world.ok().await).1["label"], "mine");
        let verdict = json!(world.verdict().await);
        assert_eq!((&verdict["type"], &verdict["label"]), (&json!("rate"), &json!("mine")));

        let defer = json!({ "do": "defer" });
        let Output::Deferred { run } = world.host.execute("u", defer.clone(), Meta::new()).await.unwrap()
        else {
            panic!("not deferred")
        };
        assert!(is_refused(world.host.execute("u", defer, Meta::new()).await));
        world.complete(&run).await;
        world.host.execute("u", json!({}), Meta::new()).await.unwrap();
    }

    #[tokio::test]
    async fn a_client_that_hangs_up_frees_its_slot_far_too() {
        let (world, _server) = served().await;
        world.add("t", acquire([place("user=1", 1)]));
        let waits = tokio::time::timeout(Duration::from_millis(300), world.run("hang")).await;
        assert!(waits.is_err());
        world.until_counted("user=1", (0, 0)).await;
    }
}
