//! Thousands of peers that say half of what they have to say, or take nothing of what they are told: the others are
//! answered meanwhile, each of the thousands costs little, and all are gone when the patience is over.

use std::time::{Duration, Instant};

use maitred_server::http::Limits;
use tokio::{io::AsyncWriteExt, task::JoinSet};

use super::{
    many_streams::{longest_of_ten_calls, open_files},
    support::{Line, Rig, eventually, impatient, request, rig_with},
};

const PEERS: u64 = 3_000;
/// Both ends of each connection are in this process, and the allocator's slack with them.
const BYTES_EACH_MOST: u64 = 48 * 1024;
/// A call of somebody else while they are all there.
const ANSWERED_WITHIN: Duration = Duration::from_secs(2);
const PATIENCE: Duration = Duration::from_secs(15);

async fn patient_rig() -> Rig {
    rig_with(|shared| {
        shared.limits = Limits {
            head_within: PATIENCE,
            body_within: PATIENCE,
            idle_within: Duration::from_secs(120),
            ..Limits::default()
        }
    })
    .await
}

async fn number(rig: &Rig, name: &str) -> u64 {
    let text = rig.get("/metrics").await.body;
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    line.unwrap_or_else(|| panic!("{name} is missing in {text}")).parse().unwrap()
}

/// Opens as many, 16 at a time, each saying this and no more.
async fn open(rig: &Rig, count: u64, says: &str) -> Vec<Line> {
    let mut opening = JoinSet::new();
    for first in 0..16 {
        let (addr, says) = (rig.addr, says.to_owned());
        opening.spawn(async move {
            let mut open = Vec::new();
            for _ in (first..count).step_by(16) {
                let mut line = Line::to(addr).await;
                line.say(&says).await;
                open.push(line);
            }
            open
        });
    }
    opening.join_all().await.into_iter().flatten().collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn thousands_who_say_half_of_it_hold_nobody_up_and_are_let_go() {
    let peers = PEERS.min(open_files() / 2 - 250);
    let rig = patient_rig().await;
    rig.declare("voice", 1).await;
    let before = number(&rig, "process_resident_memory_bytes").await;
    let head = "GET /v1/limits HTTP/1.1\r\nHost: localhost\r\nX-Never";
    let body = "POST /v1/slots HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 90\r\n\r\n{";
    let (heads, bodies) = (open(&rig, peers / 2, head).await, open(&rig, peers / 2, body).await);
    let all = (heads.len() + bodies.len()) as u64;
    eventually("all are there", async || number(&rig, "maitred_http_open_connections").await > all).await;
    let longest = longest_of_ten_calls(&rig).await;
    assert!(longest < ANSWERED_WITHIN, "{longest:?} beside {all}");
    let grown = number(&rig, "process_resident_memory_bytes").await.saturating_sub(before);
    assert!(grown < all * BYTES_EACH_MOST, "{grown} bytes for {all} peers");

    let began = Instant::now();
    while number(&rig, "maitred_http_open_connections").await > 1 {
        assert!(began.elapsed() < PATIENCE * 2, "they are still there");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    for mut line in heads.into_iter().take(5) {
        assert!(line.hear().await.is_none(), "a head that did not come is not answered");
    }
    for mut line in bodies.into_iter().take(5) {
        line.hear().await.expect("an answer").refused(408, "request_timeout");
    }
}

/// A byte now and then is no body: the patience is for the whole of it.
#[tokio::test]
async fn a_body_that_drips_is_not_waited_for() {
    let rig = rig_with(|shared| shared.limits = impatient()).await;
    let mut line = rig.line().await;
    line.say("PUT /v1/limits/voice HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n").await;
    line.say("Content-Length: 33\r\n\r\n").await;
    let began = Instant::now();
    for byte in r#"{"capacity":1,"max_hold":"10m"   }"#.bytes() {
        tokio::time::sleep(Duration::from_millis(50)).await;
        if line.0.write_all(&[byte]).await.is_err() {
            break;
        }
    }
    // Told so, or cut off while it went on talking.
    if let Some(heard) = line.hear().await {
        heard.refused(408, "request_timeout");
    }
    assert!(began.elapsed() < Duration::from_secs(3), "{:?}", began.elapsed());
    rig.get("/v1/limits/voice").await.refused(404, "limit_not_found");
}

/// Chunks of one byte are a body like any other: bounded in time and in size.
#[tokio::test]
async fn chunks_without_end_are_cut_off() {
    let rig = rig_with(|shared| shared.limits = impatient()).await;
    let mut line = rig.line().await;
    let head = "POST /v1/slots HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n";
    line.say(head).await;
    let began = Instant::now();
    while line.0.write_all(b"1\r\n \r\n").await.is_ok() {
        assert!(began.elapsed() < Duration::from_secs(5), "it is still listened to");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    rig.get("/livez").await.ok();
}

/// Requests are sent and answers never taken, by many at once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_who_never_read_are_let_go_and_cost_no_more_than_their_buffers() {
    const GREEDY: usize = 30;
    let rig = rig_with(|shared| {
        shared.limits = Limits { write_within: Duration::from_millis(1_500), ..Limits::default() }
    })
    .await;
    rig.declare("voice", 1).await;
    for n in 0..200 {
        rig.declare(&format!("limit-{n}"), 1).await;
    }
    let before = number(&rig, "process_resident_memory_bytes").await;
    let mut pushing = JoinSet::new();
    for _ in 0..GREEDY {
        let addr = rig.addr;
        pushing.spawn(async move {
            let many = request("GET", "/v1/limits?most=200", &[], "").repeat(200);
            let (_never_read, mut write) = Line::to(addr).await.0.into_split();
            while write.write_all(many.as_bytes()).await.is_ok() {}
        });
    }
    let longest = longest_of_ten_calls(&rig).await;
    assert!(longest < ANSWERED_WITHIN * 2, "{longest:?} beside {GREEDY}");
    let all = tokio::time::timeout(Duration::from_secs(40), pushing.join_all()).await;
    assert_eq!(all.expect("the server closes all").len(), GREEDY);
    // An answer under way, what hyper keeps of requests to come, and the strings of this test.
    let grown = number(&rig, "process_resident_memory_bytes").await.saturating_sub(before);
    assert!(grown < (GREEDY as u64) * 1024 * 1024, "{grown} bytes");
}
