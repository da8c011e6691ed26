//! Hosts the workflows, and starts them when somebody posts.
//!
//! See README.md for its routes and variables.
#![forbid(unsafe_code)]

mod programs;

use std::{env, error::Error, sync::Arc, time::Duration};

use axum::{
    Json, Router,
    extract::{Path, State},
    http::StatusCode,
    routing::{get, post},
};
use maitred::Maitred;
use maitred_workflows::{Run, RunError, Workflows, sqlite};
use serde_json::Value;
use tokio::net::TcpListener;

type Hosted = State<Arc<Workflows>>;
type Refused = (StatusCode, String);

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    // The engine reports every turn of every run.
    let filter = env::var("LOG").unwrap_or_else(|_| "info,duroxide=error,sqlx=error".to_owned());
    tracing_subscriber::fmt().with_env_filter(filter).init();
    let maitred = match env::var("MAITRED_URL") {
        Ok(url) => Maitred::connect(&url)?,
        Err(_) => Maitred::open("maitred-data").await?,
    };
    let limits = programs::LIMITS.into_iter();
    let declared = limits
        .fold(Workflows::builder(maitred.clone()), |declared, (name, capacity, max_hold)| {
            declared.limit(name, capacity, max_hold)
        });
    let calls = env::var("CALLS").unwrap_or_else(|_| "calls".to_owned());
    let store = sqlite(env::var("RUNS").unwrap_or_else(|_| "runs.db".to_owned())).await?;
    let workflows = Arc::new(programs::programs(declared, calls.into()).start(store).await?);

    let listener =
        TcpListener::bind(env::var("LISTEN").unwrap_or_else(|_| "127.0.0.1:8080".to_owned())).await?;
    println!("listens on http://{}", listener.local_addr()?);
    axum::serve(listener, routes(Arc::clone(&workflows)))
        .with_graceful_shutdown(async { drop(tokio::signal::ctrl_c().await) })
        .await?;
    if let Ok(workflows) = Arc::try_unwrap(workflows) {
        workflows.stop(Duration::from_secs(5)).await;
    }
    maitred.close(Duration::from_secs(5)).await;
    Ok(())
}

fn routes(workflows: Arc<Workflows>) -> Router {
    Router::new()
        .route("/{workflow}/{run}", post(start))
        .route("/runs", get(list))
        .route("/runs/{run}", get(show).delete(cancel))
        .with_state(workflows)
}

/// Asking twice is starting once: the run's id makes sure of it.
async fn start(
    State(workflows): Hosted,
    Path((workflow, run)): Path<(String, String)>,
    body: String,
) -> Result<StatusCode, Refused> {
    let input: Value =
        serde_json::from_str(&body).map_err(|error| (StatusCode::BAD_REQUEST, error.to_string()))?;
    workflows.start(&workflow, run, &input).await.map_err(refused)?;
    Ok(StatusCode::ACCEPTED)
}

async fn list(State(workflows): Hosted) -> Result<Json<Vec<String>>, Refused> {
    workflows.runs().await.map(Json).map_err(refused)
}

async fn show(State(workflows): Hosted, Path(run): Path<String>) -> Result<Json<Run>, Refused> {
    workflows.run(&run).await.map(Json).map_err(refused)
}

async fn cancel(State(workflows): Hosted, Path(run): Path<String>) -> Result<Json<bool>, Refused> {
    workflows.cancel(&run, "cancelled over HTTP").await.map(Json).map_err(refused)
}

fn refused(error: RunError) -> Refused {
    let status = match error {
        RunError::NoWorkflow { .. } | RunError::NoRun(_) => StatusCode::NOT_FOUND,
        RunError::BadRun { .. } | RunError::Input(_) => StatusCode::BAD_REQUEST,
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    };
    (status, error.to_string())
}
