//! The yardstick of the HTTP figures: axum routes that take the same JSON and give it back, in a process of their own.
//!
//! The same runtime, the same number of threads and the same library as the server; no limiter, no journal, no
//! checks. What the server does beyond that is the difference.

use std::net::SocketAddr;

use axum::{
    Json, Router,
    extract::Path,
    routing::{get, post},
    serve::ListenerExt,
};
use serde::{Deserialize, Serialize};
use tokio::net::TcpListener;

use crate::figure::Trouble;

/// As it is sent to `POST /v1/slots`.
#[derive(Serialize, Deserialize)]
struct Acquire {
    slot: String,
    limit: String,
    label: String,
    confirm: String,
    wait: String,
}

/// As it is sent to `POST /v1/admit`.
#[derive(Serialize, Deserialize)]
struct Admit {
    task: String,
    specs: Vec<Spec>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Spec {
    key: String,
    limit: u64,
    window_seconds: u64,
}

/// A release has no body; what comes back names the slot, as the server's answer does.
#[derive(Serialize)]
struct Released {
    slot: String,
    released: bool,
}

/// Serves until the process is killed.
pub fn serve(addr: SocketAddr) -> Result<(), Trouble> {
    let routes = Router::new()
        .route("/readyz", get(async || "ready"))
        .route("/v1/slots", post(async |Json(fields): Json<Acquire>| Json(fields)))
        .route(
            "/v1/slots/{slot}/release",
            post(async |Path(slot): Path<String>| Json(Released { slot, released: true })),
        )
        .route("/v1/admit", post(async |Json(fields): Json<Admit>| Json(fields)));
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let listener = TcpListener::bind(addr).await?;
        let listener = listener.tap_io(|tcp| drop(tcp.set_nodelay(true)));
        Ok(axum::serve(listener, routes).await?)
    })
}
