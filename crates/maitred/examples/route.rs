//! A route with limits for each user: `cargo run -p maitred --features tower --example route`.
//!
//! It serves itself, asks five times as one user and once as another, and prints what they get.

use std::{error::Error, time::Duration};

use axum::{Router, http::request::Parts, routing::get};
use maitred::{
    Maitred, Spec,
    route::{Admitted, LimitLayer},
};

const MINUTE: Duration = Duration::from_secs(60);

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let maitred = Maitred::memory().await?;
    let per_user = LimitLayer::by_key(&maitred, "search", |request: &Parts| {
        let user = request.headers.get("user-id").and_then(|id| id.to_str().ok()).unwrap_or("nobody");
        vec![Spec::rate(format!("user={user}"), 3, MINUTE).label("per_user")]
    });
    let app = Router::new().route("/search", get(search).layer(per_user));

    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    let url = format!("http://{}/search", listener.local_addr()?);
    tokio::spawn(async move { axum::serve(listener, app).await });

    // With the library's feature `tls` every client wants to know who does its cryptography, also one that needs none.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let http = reqwest::Client::new();
    let mut refused = 0;
    for user in ["ana", "ana", "ana", "ana", "ana", "ben"] {
        let response = http.get(&url).header("user-id", user).send().await?;
        let status = response.status();
        refused += u32::from(status.as_u16() == 429);
        println!("{user}: {status}  {}", response.text().await?);
    }
    assert_eq!(refused, 2);
    Ok(())
}

async fn search(admitted: Admitted) -> String {
    let left = admitted.decision.and_then(|decision| Some(decision.results.first()?.remaining));
    format!("found; {} more this minute", left.unwrap_or(0))
}
