//! Three free tries in thirty days for each user, then paid runs; and whoever asks too often is turned away.
//!
//! `cargo run -p maitred-tasks --example free_tries` serves the task, is its own client, and prints what that gets.

use std::{error::Error, time::Duration};

use maitred_tasks::{
    Flow, Host, Options, Output, RateLimitExceededError, RateSpec, Task, TaskConfig, TaskError, http,
};
use serde::Deserialize;
use serde_json::{Value, json};

const MINUTE: Duration = Duration::from_secs(60);
const THIRTY_DAYS: Duration = Duration::from_secs(30 * 86_400);

/// Makes a picture larger.
struct Upscale;

#[derive(Deserialize)]
struct Params {
    image: String,
    #[serde(default)]
    paid: bool,
}

impl Task for Upscale {
    type Params = Params;

    async fn options(&self, flow: &Flow) -> Result<Options, TaskError> {
        let user = flow.meta().require_user_id()?;
        let ip = flow.meta().header("x-real-ip").unwrap_or("none");
        let abuse = RateSpec::new(format!("abuse:ip={ip}"), 8, MINUTE);
        if flow.params::<Params>()?.paid {
            flow.rate_limit().consume([abuse]).await?;
            return Ok(Options::new().credits(12).tool_id("upscale_paid"));
        }
        let tries = RateSpec::new(format!("free:user={user}"), 3, THIRTY_DAYS).label("free_tries");
        let decision =
            flow.rate_limit().consume([tries.count_successes_only(), abuse]).enforce(false).await?;
        if decision.degraded {
            return Err(TaskError::new("service_unavailable", "free tries can't be checked now", 503));
        }
        match decision.over_limit {
            true => Err(RateLimitExceededError::new(decision, maitred_tasks::Kind::Consume).into()),
            false => Ok(Options::new().credits(0)),
        }
    }

    async fn run(&self, _flow: &Flow, params: Params) -> Result<Output, TaskError> {
        match params.image.as_str() {
            "rude.png" => Err(TaskError::new("moderation_rejected", "this picture is not for us", 422)),
            image => Ok(json!({ "image": format!("large-{image}") }).into()),
        }
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let host = Host::memory().await?;
    host.register(TaskConfig::new("upscale").publish().enable_preflight(), Upscale)?;
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    let url = format!("http://{}/tasks/upscale", listener.local_addr()?);
    tokio::spawn(async move { axum::serve(listener, http::router(host)).await });

    // With the library's feature `tls` every client wants to know who does its cryptography, also one that needs none.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client = reqwest::Client::builder().no_proxy().build()?;
    let post = async |url: &str, params: Value| -> Result<u16, Box<dyn Error>> {
        let request =
            client.post(url).header("x-user-id", "ana").header("x-real-ip", "192.0.2.7").json(&params);
        let response = request.send().await?;
        let status = response.status().as_u16();
        println!("{params}: {status} {}", response.text().await?);
        Ok(status)
    };
    let (cat, rude) = (json!({ "image": "cat.png" }), json!({ "image": "rude.png" }));
    let paid = json!({ "image": "cat.png", "paid": true });

    assert_eq!(post(&url, rude).await?, 422, "rejected, so it uses up no free try");
    for _ in 0..3 {
        assert_eq!(post(&url, cat.clone()).await?, 200);
    }
    assert_eq!(post(&url, cat).await?, 429, "the fourth is one too many");
    assert_eq!(post(&format!("{url}/options"), paid.clone()).await?, 200, "what it would cost");
    for _ in 0..4 {
        assert_eq!(post(&url, paid.clone()).await?, 200);
    }
    assert_eq!(post(&url, paid).await?, 429, "nine in a minute look like abuse, paid or not");
    Ok(())
}
