//! A limiter in memory whose clock is moved by hand, and an app that answers as it is told to.

use std::{
    collections::{BTreeMap, VecDeque},
    net::SocketAddr,
    sync::{Arc, Mutex, MutexGuard},
    time::Duration,
};

use axum::{
    Json, Router,
    body::Body,
    extract::State,
    http::{HeaderMap, StatusCode},
    response::{IntoResponse, Response},
    routing::post,
    serve::Listener,
};
use maitred::local::{Node, NodeOptions};
use maitred_api::{AcquireFields, Answer, Call, Context, NamedLimit, SlotState};
use maitred_server::{
    callbacks::{CallbackNumbers, Callbacks, TargetFields, targets},
    http::Shared,
};
use serde_json::{Value, json};
use tokio::net::TcpListener;

pub const SECRET: &str = "0123456789abcdef0123456789abcdef";

/// What the app says, and what it was told.
#[derive(Default)]
pub struct Script {
    /// Answers to the next notices; `woken` when there are no more.
    pub notices: VecDeque<Reply>,
    /// How its runs stand; `not_found` if a run is not here.
    pub runs: BTreeMap<String, &'static str>,
    pub is_silent_about_runs: bool,
    pub told: Vec<Value>,
    /// How often it was asked how its runs stand.
    pub asked: usize,
    pub authorizations: Vec<String>,
}

#[derive(Clone)]
pub enum Reply {
    Status(u16, Value),
    Redirect(u16, String),
}

#[derive(Clone)]
pub struct App {
    pub addr: SocketAddr,
    script: Arc<Mutex<Script>>,
}

impl App {
    pub async fn start() -> App {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        Self::on(listener.local_addr().unwrap(), listener)
    }

    pub fn on(addr: SocketAddr, listener: impl Listener<Addr = SocketAddr>) -> App {
        let app = App { addr, script: Arc::default() };
        let router = Router::new().route("/maitred", post(answer)).with_state(app.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        app
    }

    pub fn url(&self) -> String {
        format!("http://{}/maitred", self.addr)
    }

    pub fn script(&self) -> MutexGuard<'_, Script> {
        self.script.lock().unwrap()
    }

    /// The states that were told of a slot.
    pub fn told_of(&self, slot: &str) -> Vec<String> {
        let script = self.script();
        let of_slot = script.told.iter().filter(|body| body["slot"] == slot);
        of_slot.map(|body| body["state"].as_str().unwrap_or_default().to_owned()).collect()
    }
}

async fn answer(State(app): State<App>, headers: HeaderMap, Json(body): Json<Value>) -> Response {
    let mut script = app.script();
    let authorization = headers["authorization"].to_str().unwrap_or_default();
    script.authorizations.push(authorization.to_owned());
    script.told.push(body.clone());
    if body["type"] == "runs" {
        if script.is_silent_about_runs {
            return StatusCode::INTERNAL_SERVER_ERROR.into_response();
        }
        script.asked += 1;
        let asked = body["runs"].as_array().unwrap().iter().map(|run| run.as_str().unwrap());
        let states = asked.map(|run| (run, script.runs.get(run).copied().unwrap_or("not_found")));
        return Json(json!({ "runs": states.collect::<BTreeMap<_, _>>() })).into_response();
    }
    match script.notices.pop_front() {
        None => Json(json!({ "woken": true })).into_response(),
        Some(Reply::Status(status, body)) => {
            (StatusCode::from_u16(status).unwrap(), Json(body)).into_response()
        }
        Some(Reply::Redirect(status, to)) => {
            Response::builder().status(status).header("location", to).body(Body::empty()).unwrap()
        }
    }
}

/// `maitred.toml` of a test, as its fields.
pub fn target(url: &str) -> TargetFields {
    let network = maitred_server::callbacks::Network::Loopback;
    let secret_file = Some(secret_file());
    TargetFields { url: url.to_owned(), network, secret_file, ..TargetFields::default() }
}

fn secret_file() -> std::path::PathBuf {
    use std::os::unix::fs::PermissionsExt;
    let (mut file, path) = tempfile::NamedTempFile::new().unwrap().keep().unwrap();
    std::io::Write::write_all(&mut file, SECRET.as_bytes()).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
    path
}

pub struct Rig {
    pub node: Node,
    pub numbers: CallbackNumbers,
    callbacks: Callbacks,
}

impl Rig {
    /// A limit `calls` of capacity 1, and nobody called back yet.
    pub async fn start() -> Rig {
        let options = NodeOptions { manual_clock: true, ..NodeOptions::default() };
        let node = Node::start(options).await.unwrap();
        let numbers = Shared::new(node.clone()).numbers.callbacks; // as in a server
        let rig = Rig { node, numbers, callbacks: Callbacks::default() };
        let (name, capacity, max_hold) = ("calls".to_owned(), 1u32.into(), "10m".into());
        rig.call(Call::Declare(NamedLimit { name, capacity, max_hold })).await;
        rig
    }

    /// As a server that was started anew: it looks around at once.
    pub fn call_back(&mut self, fields: &[TargetFields]) {
        let named = fields.iter().enumerate().map(|(index, fields)| (format!("app-{index}"), fields.clone()));
        let targets = targets(&named.collect(), "maitred.toml").unwrap();
        self.callbacks = Callbacks::start(&self.node, targets, &self.numbers).unwrap();
        fields.iter().filter_map(|fields| fields.secret_file.as_ref()).for_each(|file| {
            let _ = std::fs::remove_file(file);
        });
        assert_eq!(self.callbacks.namespaces(), 1);
    }

    pub async fn call(&self, call: Call) -> Answer {
        self.node.call(&Context::default(), call).await.unwrap()
    }

    pub async fn acquire(&self, slot: &str, run: &str) -> SlotState {
        self.acquire_with(slot, run, |_| {}).await
    }

    pub async fn acquire_with(
        &self,
        slot: &str,
        run: &str,
        adjust: impl FnOnce(&mut AcquireFields),
    ) -> SlotState {
        let (slot, run) = (Some(slot.to_owned()), Some(run.to_owned()));
        let mut fields =
            AcquireFields { slot, run, limit: Some("calls".to_owned()), ..AcquireFields::default() };
        adjust(&mut fields);
        self.state(Call::Acquire(fields)).await
    }

    pub async fn confirm(&self, slot: &str) -> SlotState {
        self.state(Call::Confirm { slot: slot.to_owned() }).await
    }

    pub async fn slot(&self, slot: &str) -> SlotState {
        self.state(Call::Slot { slot: slot.to_owned(), wait: Default::default() }).await
    }

    async fn state(&self, call: Call) -> SlotState {
        match self.call(call).await {
            Answer::Slot(answer) => answer.slot.state,
            other => panic!("{other:?}"),
        }
    }

    pub async fn release(&self, slot: &str) {
        self.call(Call::Release { slot: slot.to_owned() }).await;
    }

    pub async fn advance(&self, ms: u64) {
        let now = self.node.now().await;
        self.node.advance_to(now + ms).await.unwrap();
    }
}

/// Asks until it is so, for a few seconds.
pub async fn eventually(what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    for _ in 0..400 {
        if is_so().await {
            return;
        }
        tokio::time::sleep(Duration::from_millis(25)).await;
    }
    panic!("{what}: not within 10 s");
}
