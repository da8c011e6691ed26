//! Ten thousand open event streams whose readers read nothing: the writer waits for none of them.

use std::time::{Duration, Instant};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::{io::AsyncReadExt, net::TcpStream, task::JoinSet};

use super::support::{Line, Rig, request, rig};

const STREAMS: u64 = 10_000;
/// A call is answered within this while all of them are told of each.
const WITHIN: Duration = Duration::from_secs(3);

/// As many files as this process may open: from here on, all that it ever may.
pub fn open_files() -> u64 {
    let now = getrlimit(Resource::Nofile);
    let most = now.maximum.unwrap_or(1 << 20);
    setrlimit(Resource::Nofile, Rlimit { current: Some(most), maximum: now.maximum }).unwrap();
    most
}

/// How long the slowest of ten calls took, one after the other, while others are a burden.
pub async fn longest_of_ten_calls(rig: &Rig) -> Duration {
    let mut longest = Duration::ZERO;
    for number in 0..10 {
        let began = Instant::now();
        let body = format!(r#"{{"slot":"s-{number}","limit":"voice","confirm":"auto"}}"#);
        rig.post("/v1/slots", &body).await.ok();
        rig.post(&format!("/v1/slots/s-{number}/release"), "").await.ok();
        longest = longest.max(began.elapsed() / 2);
    }
    longest
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_thousand_readers_that_do_not_read_hold_nobody_up() {
    let wanted = STREAMS.min((open_files() - 500) / 2); // both ends of each are here
    let rig = rig().await;
    rig.declare("voice", 1).await;
    let addr = rig.addr;
    let mut opening = JoinSet::new();
    for first in 0..16 {
        opening.spawn(async move {
            let mut open = Vec::new();
            for _ in (first..wanted).step_by(16) {
                let mut line = Line::to(addr).await;
                line.say(request("GET", "/v1/events", &[], "")).await;
                let mut head = [0; 15];
                line.0.read_exact(&mut head).await.unwrap();
                assert_eq!(&head, b"HTTP/1.1 200 OK");
                open.push(line.0);
            }
            open
        });
    }
    let open: Vec<TcpStream> = opening.join_all().await.into_iter().flatten().collect();
    assert_eq!(open.len() as u64, wanted);
    assert!(wanted >= 2_000, "{wanted} streams say nothing");
    let longest = longest_of_ten_calls(&rig).await;
    assert!(longest < WITHIN, "{longest:?} with {wanted} streams");
    rig.server.stop(Duration::from_secs(9)).await;
}
