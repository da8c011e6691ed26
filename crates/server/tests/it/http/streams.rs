//! The event stream: how it begins, goes on, is resumed, and what becomes of a caller that does not read.

use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::io::AsyncReadExt;

use super::support::{Line, Rig, eventually, impatient, request, rig, rig_with};

/// One message.
#[derive(Debug, PartialEq)]
struct Message {
    event: String,
    id: Option<u64>,
    data: Value,
}

/// An open stream, its chunks taken apart.
struct Listener {
    line: Line,
    bytes: Vec<u8>,
    text: String,
    head: String,
}

impl Listener {
    async fn to(rig: &Rig, path: &str, headers: &[&str]) -> Listener {
        let mut line = rig.line().await;
        line.say(request("GET", path, headers, "")).await;
        let mut listener = Listener { line, bytes: Vec::new(), text: String::new(), head: String::new() };
        listener.read_head().await;
        listener
    }

    async fn read_head(&mut self) {
        let end = loop {
            if let Some(at) = self.bytes.windows(4).position(|four| four == b"\r\n\r\n") {
                break at + 4;
            }
            assert!(self.read().await, "the stream ended in its head");
        };
        self.head = String::from_utf8(self.bytes.drain(..end).collect()).unwrap().to_lowercase();
    }

    async fn read(&mut self) -> bool {
        let read = self.line.0.read_buf(&mut self.bytes);
        let read = tokio::time::timeout(Duration::from_secs(20), read).await.expect("something within 20 s");
        read.is_ok_and(|count| count > 0)
    }

    /// The next block between empty lines: a message or a comment; none at the end.
    async fn block(&mut self) -> Option<String> {
        loop {
            if let Some(end) = self.text.find("\n\n") {
                let block = self.text.drain(..end + 2).collect::<String>();
                return Some(block.trim_end().to_owned());
            }
            match chunk(&mut self.bytes) {
                Some(text) => self.text.push_str(&text),
                None if !self.read().await => return None,
                None => {}
            }
        }
    }

    async fn next(&mut self) -> Option<Message> {
        loop {
            let block = self.block().await?;
            let field =
                |name: &str| block.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
            if let Some(event) = field("event") {
                let data = serde_json::from_str(field("data").unwrap()).unwrap();
                let id = field("id").map(|id| id.parse().unwrap());
                return Some(Message { event: event.to_owned(), id, data });
            }
        }
    }

    async fn expect(&mut self, event: &str) -> Message {
        let message = self.next().await.expect("a message");
        assert_eq!(message.event, event, "{message:?}");
        message
    }
}

fn chunk(bytes: &mut Vec<u8>) -> Option<String> {
    let end = bytes.windows(2).position(|two| two == b"\r\n")?;
    let size = usize::from_str_radix(std::str::from_utf8(&bytes[..end]).unwrap(), 16).unwrap();
    let whole = end + 2 + size + 2;
    (bytes.len() >= whole).then(|| {
        let chunk = bytes.drain(..whole).collect::<Vec<_>>();
        String::from_utf8(chunk[end + 2..end + 2 + size].to_vec()).unwrap()
    })
}

async fn acquire(rig: &Rig, limit: &str, slot: &str) {
    let fields = format!(r#"{{"slot":"{slot}","limit":"{limit}","confirm":"auto"}}"#);
    rig.post("/v1/slots", &fields).await.ok();
}

async fn metric(rig: &Rig, name: &str) -> String {
    let text = rig.get("/metrics").await.body;
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    line.unwrap_or_else(|| panic!("{name} is missing")).to_owned()
}

#[tokio::test]
async fn it_begins_with_what_is_and_goes_on_with_what_happens() {
    let rig = rig().await;
    rig.declare("voice", 1).await;
    rig.declare("gpu", 1).await;
    let mut all = Listener::to(&rig, "/v1/events", &[]).await;
    let mut one = Listener::to(&rig, "/v1/events?limit=voice", &[]).await;
    for field in [
        "content-type: text/event-stream\r\n",
        "cache-control: no-store\r\n",
        "x-accel-buffering: no\r\n",
        "transfer-encoding: chunked\r\n",
    ] {
        assert!(all.head.contains(field), "{field} is missing in {}", all.head);
    }
    let snapshot = all.expect("snapshot").await;
    assert_eq!(snapshot.data["limits"].as_array().map(Vec::len), Some(2));
    assert_eq!(snapshot.id, snapshot.data["revision"].as_u64());
    assert_eq!(one.expect("snapshot").await.data["limit"]["limit"], "voice");

    acquire(&rig, "gpu", "g").await;
    acquire(&rig, "voice", "v").await;
    let granted = all.expect("events").await;
    assert_eq!((&granted.data[0]["kind"], &granted.data[0]["slot"]), (&"slot_granted".into(), &"g".into()));
    assert_eq!(granted.id, granted.data[0]["revision"].as_u64());
    assert_eq!(one.expect("events").await.data[0]["slot"], "v");
    assert_eq!(all.expect("events").await.data[0]["slot"], "v");
    assert_eq!(metric(&rig, "maitred_http_open_streams").await, "2");
    drop((all, one));
    eventually("nobody listens", async || metric(&rig, "maitred_http_open_streams").await == "0").await;
}

/// A slot over several limits is told to whoever listens to any of them, from the question to the end.
#[tokio::test]
async fn a_slot_over_several_limits_is_told_under_each() {
    let rig = rig().await;
    for limit in ["gpu", "voice", "other"] {
        rig.declare(limit, 1).await;
    }
    let mut listeners = Vec::new();
    for limit in ["gpu", "voice", "other"] {
        let mut listener = Listener::to(&rig, &format!("/v1/events?limit={limit}"), &[]).await;
        listener.expect("snapshot").await;
        listeners.push(listener);
    }
    let both = r#""limits":[{"limit":"gpu"},{"limit":"voice"}]"#;
    for slot in ["s", "t"] {
        rig.post("/v1/slots", &format!(r#"{{"slot":"{slot}",{both}}}"#)).await.ok();
    }
    rig.post("/v1/slots/s/confirm", "").await.ok();
    rig.post("/v1/slots/s/release", "").await.ok();
    acquire(&rig, "other", "last").await;
    for listener in &mut listeners[..2] {
        let mut kinds = Vec::new();
        while kinds.len() < 5 {
            let told = listener.expect("events").await.data;
            for event in told.as_array().unwrap() {
                assert_eq!(event["limits"], serde_json::json!(["gpu", "voice"]), "{event}");
                kinds.push(event["kind"].as_str().unwrap().to_owned());
            }
        }
        let wanted = ["slot_granted", "slot_queued", "slot_confirmed", "slot_ended", "slot_granted"];
        assert_eq!(kinds, wanted);
    }
    assert_eq!(listeners[2].expect("events").await.data[0]["slot"], "last", "and to nobody else");
}

async fn open_streams(rig: &Rig) -> u64 {
    metric(rig, "maitred_http_open_streams").await.parse().unwrap()
}

#[tokio::test]
async fn whoever_comes_back_goes_on_behind_the_last_id() {
    let rig = rig().await;
    rig.declare("voice", 9).await;
    let mut first = Listener::to(&rig, "/v1/events", &[]).await;
    let seen = first.expect("snapshot").await.id.unwrap();
    drop(first);
    acquire(&rig, "voice", "a").await;
    acquire(&rig, "voice", "b").await;
    let mut by_header = Listener::to(&rig, "/v1/events?after=0", &[&format!("Last-Event-ID: {seen}")]).await;
    let a = by_header.expect("events").await;
    assert_eq!(a.data[0]["slot"], "a");
    let mut by_query = Listener::to(&rig, &format!("/v1/events?after={}", a.id.unwrap()), &[]).await;
    assert_eq!(by_query.expect("events").await.data[0]["slot"], "b");
    rig.ask("GET", "/v1/events", &["Last-Event-ID: x"], "").await.refused(400, "invalid_argument");
    rig.get("/v1/events?limit=nobody").await.refused(404, "limit_not_found");
}

#[tokio::test]
async fn an_id_of_another_journal_begins_anew() {
    let rig = rig().await;
    rig.declare("voice", 1).await;
    let mut listener = Listener::to(&rig, "/v1/events?after=999999", &[]).await;
    listener.expect("reset").await;
    listener.expect("snapshot").await;
}

#[tokio::test]
async fn while_nothing_happens_it_says_that_it_is_alive() {
    let rig = rig_with(|shared| {
        shared.limits = impatient();
        shared.limits.comment_every = Duration::from_millis(100);
    })
    .await;
    let mut listener = Listener::to(&rig, "/v1/events", &[]).await;
    listener.expect("snapshot").await;
    let started = Instant::now();
    // Longer than an idle connection may stay open: a stream is not idle.
    while started.elapsed() < Duration::from_millis(1_200) {
        assert_eq!(listener.block().await.as_deref(), Some(":"));
    }
}

#[tokio::test]
async fn a_stop_says_bye_and_ends_the_stream() {
    let rig = rig().await;
    let mut listener = Listener::to(&rig, "/v1/events", &[]).await;
    listener.expect("snapshot").await;
    let started = Instant::now();
    rig.server.stop(Duration::from_secs(9)).await;
    let bye = listener.expect("bye").await;
    assert!(bye.data["reason"].as_str().unwrap().contains("stops"), "{bye:?}");
    assert_eq!(listener.next().await, None);
    assert!(started.elapsed() < Duration::from_secs(4), "{:?}", started.elapsed());
}

#[tokio::test]
async fn a_caller_that_never_reads_is_cut_and_holds_nobody_up() {
    let rig = rig_with(|shared| shared.limits = impatient()).await;
    rig.declare("voice", 1).await;
    acquire(&rig, "voice", "holder").await;
    let mut line = rig.line().await;
    rustix::net::sockopt::set_socket_recv_buffer_size(&line.0, 4_096).unwrap();
    line.say(request("GET", "/v1/events", &[], "")).await;
    eventually("it is open", async || open_streams(&rig).await == 1).await;
    let started = Instant::now();
    let label = "x".repeat(200);
    for round in 0.. {
        // Each ends at once, which is told with its label.
        let item = |n| {
            format!(
                r#"{{"op":"acquire","slot":"{round}-{n}","limit":"voice","label":"{label}","timeout":0}}"#
            )
        };
        let items: Vec<String> = (0..400).map(item).collect();
        let results = rig.post("/v1/batch", &format!(r#"{{"items":[{}]}}"#, items.join(","))).await.ok();
        assert_eq!(results["results"][399]["body"]["state"], "timed_out", "{}", results["results"][399]);
        if open_streams(&rig).await == 0 {
            return; // cut
        }
        assert!(started.elapsed() < Duration::from_secs(60), "it is never cut");
    }
}
