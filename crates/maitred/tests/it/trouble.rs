//! A server that is gone, hangs, breaks off, answers nonsense or starts anew.

use std::time::{Duration, Instant};

use maitred::{
    AcquireError, Maitred, NextStep, Spec,
    api::{Certainty, Reason, RunStatus},
    local::{Node, NodeOptions},
};
use maitred_server::http::Server;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
};

use crate::common::{MINUTE, World, proxy::Proxy};

const DEADLINE: Duration = Duration::from_millis(400);

fn rate() -> [Spec; 1] {
    [Spec::rate("k", 10, MINUTE)]
}

fn hasty(url: &str) -> Maitred {
    Maitred::connect(url).unwrap().deadline(DEADLINE).patience(Duration::from_secs(1))
}

/// Rates go on without a verdict within their deadline. Slots are refused, and it is told whether one may be taken.
async fn judged(url: &str, certainty: Certainty) {
    let maitred = hasty(url);
    let started = Instant::now();
    let decision = maitred.consume("t", rate()).await.unwrap();
    assert!(decision.degraded && !decision.over_limit && decision.results.is_empty(), "{decision:?}");
    let verdict = maitred.admit("t").run("r").place("k", 1).check().await.unwrap();
    assert!(verdict.degraded);
    assert!(started.elapsed() < 2 * DEADLINE + Duration::from_millis(300), "{:?}", started.elapsed());

    for timeout in [Duration::ZERO, Duration::from_millis(500), MINUTE] {
        let started = Instant::now();
        let error = maitred.acquire("calls").timeout(timeout).await.unwrap_err();
        assert_eq!(error.certainty(), certainty, "{error:?}");
        assert_eq!(error.next_step(), NextStep::Retry);
        match certainty {
            Certainty::Refused => assert!(matches!(error, AcquireError::Unavailable(_)), "{error:?}"),
            Certainty::Unknown => assert!(matches!(error, AcquireError::Unknown { .. }), "{error:?}"),
        }
        // A minute of timeout does not mean a minute without any sign of life.
        assert!(started.elapsed() < Duration::from_secs(20), "{:?}", started.elapsed());
    }
}

#[tokio::test]
async fn a_server_that_is_gone() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    judged(&url, Certainty::Refused).await;
}

#[tokio::test]
async fn a_server_that_hangs() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        let mut kept = Vec::new();
        loop {
            kept.push(listener.accept().await.unwrap());
        }
    });
    judged(&url, Certainty::Unknown).await;
}

#[tokio::test]
async fn a_connection_that_is_half_open() {
    let world = World::far().await;
    world.declare("calls", 1).await;
    let proxy = Proxy::before(world.server.as_ref().unwrap().addr).await;
    let maitred = hasty(&proxy.url);
    maitred.consume("t", rate()).await.unwrap();
    proxy.freeze();
    let started = Instant::now();
    assert!(maitred.consume("t", rate()).await.unwrap().degraded);
    assert!(started.elapsed() < 2 * DEADLINE);
    // The silent connection is not used again.
    assert!(!maitred.consume("t", rate()).await.unwrap().degraded);

    proxy.freeze();
    let slot = maitred.acquire("calls").timeout(Duration::from_millis(1_500)).await.unwrap();
    assert!(slot.release().await.unwrap().released);
    world.until("calls", (0, 0, 0)).await;
    proxy.freeze_all();
    judged(&proxy.url, Certainty::Unknown).await;
}

/// Answers every request with this, and goes on.
async fn answering(answer: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            tokio::spawn(async move {
                let mut request = vec![0; 65_536];
                while stream.read(&mut request).await.is_ok_and(|n| n > 0) {
                    if stream.write_all(answer.as_bytes()).await.is_err() {
                        return;
                    }
                }
            });
        }
    });
    url
}

#[tokio::test]
async fn a_server_that_answers_500() {
    let url = answering("HTTP/1.1 500 Oops\r\ncontent-length: 4\r\n\r\noops").await;
    judged(&url, Certainty::Unknown).await;
}

#[tokio::test]
async fn a_proxy_that_answers_429() {
    let url = answering("HTTP/1.1 429 Slow\r\ncontent-length: 4\r\nretry-after: 1\r\n\r\nslow").await;
    judged(&url, Certainty::Refused).await;
}

#[tokio::test]
async fn a_proxy_that_redirects() {
    let url = answering("HTTP/1.1 302 Found\r\ncontent-length: 0\r\nlocation: /login\r\n\r\n").await;
    judged(&url, Certainty::Refused).await;
}

#[tokio::test]
async fn a_lost_answer_counts_once() {
    let world = World::far().await;
    world.declare("calls", 5).await;
    let proxy = Proxy::before(world.server.as_ref().unwrap().addr).await;
    let maitred = Maitred::connect(&proxy.url).unwrap().deadline(Duration::from_secs(5));

    proxy.lose_answers(1);
    let decision = maitred.consume("t", rate()).await.unwrap();
    assert_eq!((decision.degraded, decision.replayed, decision.results[0].used), (false, true, 1));

    proxy.lose_answers(1);
    let slot = maitred.acquire("calls").await.unwrap();
    world.until("calls", (1, 0, 0)).await;

    proxy.lose_answers(1);
    assert!(slot.release().await.unwrap().released, "the first answer is given again");
    world.until("calls", (0, 0, 0)).await;

    proxy.lose_answers(1);
    maitred.end_run("r", RunStatus::Succeeded).await.unwrap();
    assert_eq!(proxy.answers_lost(), 4, "every answer that was to be lost was lost");
}

#[tokio::test]
async fn a_lost_connection_loses_the_place_and_not_the_wait() {
    let world = World::far().await;
    world.declare("calls", 1).await;
    let proxy = Proxy::before(world.server.as_ref().unwrap().addr).await;
    let held = world.maitred.acquire("calls").await.unwrap();
    let asked = Maitred::connect(&proxy.url).unwrap().acquire("calls").timeout(MINUTE);
    let waiting = tokio::spawn(async move { asked.await });
    world.until("calls", (1, 0, 1)).await;
    for _ in 0..3 {
        let before = world.maitred.limit_slots("calls").await.unwrap().queue;
        proxy.cut();
        let started = Instant::now();
        loop {
            let now = world.maitred.limit_slots("calls").await.unwrap().queue;
            if now.len() == 1 && now[0].slot != before[0].slot {
                // What is left of its own timeout, not a whole one.
                assert!(now[0].gives_up_at <= before[0].gives_up_at.map(|at| at + 50));
                break;
            }
            assert!(started.elapsed() < Duration::from_secs(10), "it did not ask again: {now:?}");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
    drop(held);
    let slot = waiting.await.unwrap().unwrap();
    assert_eq!(world.counts("calls").await, (1, 0, 0));
    drop(slot);
    world.until("calls", (0, 0, 0)).await;
}

#[tokio::test]
async fn a_wait_survives_a_new_start_of_the_server() {
    let folder = tempfile::tempdir().unwrap();
    let options = || NodeOptions { folder: Some(folder.path().to_owned()), ..NodeOptions::default() };
    let first = Node::start(options()).await.unwrap();
    let (server, url) = crate::common::serve(first, "127.0.0.1:0").await;
    let addr = server.addr;
    let maitred = Maitred::connect(&url).unwrap();
    maitred.declare("calls", 1, MINUTE).await.unwrap();
    let held = maitred.acquire("calls").await.unwrap();
    let asked = maitred.acquire("calls").timeout(MINUTE);
    let waiting = tokio::spawn(async move { asked.await });
    while maitred.limit("calls").await.unwrap().limit.waiting == 0 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    server.stop(Duration::from_secs(5)).await;
    // Given back while nobody is there to take it.
    drop(held);
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert!(!waiting.is_finished());

    let second = Node::start(options()).await.unwrap();
    let _server: Server = crate::common::serve(second, &addr.to_string()).await.0;
    let slot = waiting.await.unwrap().unwrap();
    assert!(slot.release().await.unwrap().released);
    let info = maitred.limit("calls").await.unwrap().limit;
    assert_eq!((info.busy, info.reserved, info.waiting), (0, 0, 0));
}

#[tokio::test]
async fn what_can_not_be_given_back_is_reported() {
    let world = World::far().await;
    world.declare("calls", 2).await;
    let proxy = Proxy::before(world.server.as_ref().unwrap().addr).await;
    let maitred = Maitred::connect(&proxy.url).unwrap();
    let slot = maitred.acquire("calls").await.unwrap();
    let id = slot.id().clone();
    proxy.freeze_all();
    drop(slot);
    maitred.end_run_in_background("r", RunStatus::Failed);
    let started = Instant::now();
    let left = maitred.close(Duration::from_millis(300)).await;
    assert_eq!((left.slots, left.runs), (vec![id], vec!["r".to_owned()]));
    assert!(started.elapsed() < Duration::from_secs(2));
}

#[tokio::test]
async fn near_a_node_that_has_stopped() {
    let world = World::near().await;
    world.declare("calls", 1).await;
    let asked = world.maitred.acquire("calls");
    let held = world.maitred.acquire("calls").await.unwrap();
    let waiting = tokio::spawn(async move { asked.await });
    world.until("calls", (1, 0, 1)).await;
    world.node.stop(Duration::from_secs(5)).await;
    let error = waiting.await.unwrap().unwrap_err();
    assert_eq!(
        error.certainty(),
        Certainty::Unknown,
        "the slot stays in the queue of the journal: {error:?}"
    );
    let decision = world.maitred.consume("t", rate()).await.unwrap();
    assert!(decision.degraded);
    drop(held);
    assert_eq!(world.maitred.limits().await.unwrap_err().reason, Reason::Unavailable);
    assert_eq!(world.maitred.close(Duration::from_secs(5)).await.slots.len(), 0, "there is nobody to tell");
}
