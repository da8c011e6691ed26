//! A server on a free port, and a caller that writes its own bytes.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use maitred::local::{Node, NodeOptions};
use maitred_server::http::{Limits, Server, Shared};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

pub struct Rig {
    pub server: Server,
    pub addr: SocketAddr,
}

/// A server in memory with the machine's clock.
pub async fn rig() -> Rig {
    rig_with(|_| {}).await
}

pub async fn rig_with(adjust: impl FnOnce(&mut Shared)) -> Rig {
    let node = node(false).await;
    let mut shared = Shared::new(node);
    adjust(&mut shared);
    serve(shared).await
}

pub async fn node(manual_clock: bool) -> Node {
    Node::start(NodeOptions { manual_clock, ..NodeOptions::default() }).await.unwrap()
}

pub async fn serve(shared: Shared) -> Rig {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let server = Server::start(listener, Arc::new(shared)).unwrap();
    let addr = server.addr;
    Rig { server, addr }
}

/// Patience that a test can wait out.
pub fn impatient() -> Limits {
    Limits {
        head_within: Duration::from_millis(300),
        body_within: Duration::from_millis(300),
        idle_within: Duration::from_millis(600),
        write_within: Duration::from_millis(300),
        ..Limits::default()
    }
}

/// One answer, its head in lower case.
#[derive(Debug)]
pub struct Heard {
    pub status: u16,
    pub head: String,
    pub body: String,
}

impl Heard {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error} in {self:?}"))
    }

    pub fn field(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
    }

    pub fn reason(&self) -> String {
        self.json()["reason"].as_str().unwrap_or_default().to_owned()
    }

    #[track_caller]
    pub fn ok(self) -> Value {
        assert_eq!(self.status, 200, "{self:?}");
        self.json()
    }

    /// Every problem has this shape.
    #[track_caller]
    pub fn refused(&self, status: u16, reason: &str) {
        assert_eq!((self.status, self.reason().as_str()), (status, reason), "{self:?}");
        let json = self.json();
        assert_eq!(json["status"], "error");
        assert!(!json["message"].as_str().unwrap().is_empty());
        assert_eq!(self.field("content-type"), Some("application/json"));
        assert_eq!(self.field("x-content-type-options"), Some("nosniff"));
        if status != 429 {
            assert_eq!(json["request_id"].as_str(), self.field("x-request-id"), "{self:?}");
        }
    }
}

/// The answer as the type that the OpenAPI document names, with nothing in it that the type does not have.
#[track_caller]
pub fn read<T: DeserializeOwned + Serialize>(heard: Heard) -> T {
    let json = heard.ok();
    let read: T = serde_json::from_value(json.clone()).unwrap_or_else(|error| panic!("{error} in {json}"));
    assert_eq!(serde_json::to_value(&read).unwrap(), json);
    read
}

/// A connection that writes exactly what it is told.
pub struct Line(pub TcpStream);

impl Line {
    pub async fn to(addr: SocketAddr) -> Line {
        Line(TcpStream::connect(addr).await.unwrap())
    }

    pub async fn say(&mut self, bytes: impl AsRef<[u8]>) {
        self.0.write_all(bytes.as_ref()).await.unwrap();
    }

    /// One whole answer, or what came until the server closed.
    pub async fn hear(&mut self) -> Option<Heard> {
        tokio::time::timeout(Duration::from_secs(20), self.read_answer())
            .await
            .expect("an answer or an end within 20 s")
    }

    async fn read_answer(&mut self) -> Option<Heard> {
        let mut bytes = Vec::new();
        loop {
            if let Some(heard) = parse(&bytes) {
                return Some(heard);
            }
            match self.0.read_buf(&mut bytes).await {
                Ok(0) | Err(_) => return None,
                Ok(_) => {}
            }
        }
    }
}

fn parse(bytes: &[u8]) -> Option<Heard> {
    let text = String::from_utf8_lossy(bytes);
    let (head, body) = text.split_once("\r\n\r\n")?;
    let status = head.split(' ').nth(1)?.parse().ok()?;
    let head = head.replace("\r\n", "\n").to_lowercase();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    let length: usize = if status == 304 { 0 } else { length?.parse().ok()? };
    (body.len() >= length).then(|| Heard { status, head, body: body.to_owned() })
}

/// A request as bytes. Headers are whole lines without an end.
pub fn request(method: &str, path: &str, headers: &[&str], body: &str) -> String {
    let mut text = format!("{method} {path} HTTP/1.1\r\n");
    if !headers.iter().any(|line| line.to_ascii_lowercase().starts_with("host:")) {
        text.push_str("Host: localhost\r\n");
    }
    for line in headers {
        text.push_str(&format!("{line}\r\n"));
    }
    if !body.is_empty() {
        text.push_str(&format!("Content-Length: {}\r\n", body.len()));
        if !headers.iter().any(|line| line.to_ascii_lowercase().starts_with("content-type:")) {
            text.push_str("Content-Type: application/json\r\n");
        }
    }
    text + "\r\n" + body
}

impl Rig {
    pub async fn line(&self) -> Line {
        Line::to(self.addr).await
    }

    pub async fn ask(&self, method: &str, path: &str, headers: &[&str], body: &str) -> Heard {
        let mut line = self.line().await;
        line.say(request(method, path, headers, body)).await;
        line.hear().await.expect("an answer")
    }

    pub async fn get(&self, path: &str) -> Heard {
        self.ask("GET", path, &[], "").await
    }

    pub async fn post(&self, path: &str, body: &str) -> Heard {
        self.ask("POST", path, &[], body).await
    }

    pub async fn put(&self, path: &str, body: &str) -> Heard {
        self.ask("PUT", path, &[], body).await
    }

    pub async fn delete(&self, path: &str) -> Heard {
        self.ask("DELETE", path, &[], "").await
    }

    /// A limit that is there.
    pub async fn declare(&self, limit: &str, capacity: u32) {
        let body = format!(r#"{{"capacity":{capacity},"max_hold":"10m"}}"#);
        self.put(&format!("/v1/limits/{limit}"), &body).await.ok();
    }
}

/// Asks until it is so, for a few seconds.
pub async fn eventually(what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    for _ in 0..200 {
        if is_so().await {
            return;
        }
        tokio::time::sleep(Duration::from_millis(25)).await;
    }
    panic!("{what}: not within 5 s");
}

/// Whether some text in it is exactly this.
pub fn has(json: &Value, text: &str) -> bool {
    match json {
        Value::String(own) => own == text,
        Value::Array(all) => all.iter().any(|one| has(one, text)),
        Value::Object(all) => all.values().any(|one| has(one, text)),
        _ => false,
    }
}
