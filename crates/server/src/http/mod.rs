//! The HTTP API, version 1.
//!
//! A request passes, from the outside in: [`listen`] (connections, their number and their patience), [`door`], which
//! asks in turn [`finish`] (its id, the shape of errors, counting), [`guard`] (host, origin, token) and [`rules`]
//! (role, query parameters), and its handler: parse, one [`Call`], one answer. Nothing here decides anything about
//! limits.

mod admit;
mod allowed;
mod ask;
mod batch;
mod body;
mod clock;
mod door;
mod events;
mod finish;
mod guard;
mod health;
mod keys;
mod limits;
mod listen;
mod looking_back;
mod numbers;
mod overview;
mod problem;
mod request_ids;
mod router;
mod rules;
mod runs;
mod slots;
mod stream;
mod studio;

use std::{sync::Arc, time::Duration};

use axum::Json;
use maitred::local::Node;
use maitred_api::{Answer, Call};
use tokio::sync::watch;

pub use listen::Server;
pub use router::openapi_json;

use crate::{
    hosted::Hosted,
    tls::Certificates,
    token::{Grant, Tokens},
};
use ask::Asker;
use numbers::Numbers;
use problem::Failure;
use request_ids::RequestIds;

/// What the handlers share.
pub type App = Arc<Shared>;

pub struct Shared {
    pub node: Node,
    pub tokens: Option<Tokens>,
    /// Where the server speaks TLS itself.
    pub tls: Option<Certificates>,
    /// Lower-case names without port that the `Host` header may carry, beside those of loopback.
    pub allowed_hosts: Vec<String>,
    pub limits: Limits,
    /// Adds the clock's routes.
    pub manual_clock: bool,
    /// It was told to stop: not ready any more.
    pub draining: watch::Sender<bool>,
    pub numbers: Numbers,
    pub request_ids: RequestIds,
    /// The engine that runs in this process, if one does.
    pub hosted: Option<Arc<dyn Hosted>>,
}

/// How many connections there may be and how patient the server is with each.
#[derive(Clone, Debug)]
pub struct Limits {
    pub connections: usize,
    pub connections_per_peer: Option<usize>,
    /// From the first byte of a request to the end of its headers.
    pub head_within: Duration,
    /// From the end of the headers to the end of the body.
    pub body_within: Duration,
    /// How long a connection may stay open between two requests.
    pub idle_within: Duration,
    /// How long a peer may take nothing of what is being sent to it.
    pub write_within: Duration,
    /// How often an event stream says that it is alive.
    pub comment_every: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 10_240,
            connections_per_peer: None,
            head_within: Duration::from_secs(10),
            body_within: Duration::from_secs(10),
            idle_within: Duration::from_secs(60),
            write_within: Duration::from_secs(10),
            comment_every: Duration::from_secs(15),
        }
    }
}

/// What every handler of a call answers.
type Answered = Result<Json<Answer>, Failure>;

impl Shared {
    pub fn new(node: Node) -> Self {
        Self {
            node,
            tokens: None,
            tls: None,
            allowed_hosts: Vec::new(),
            limits: Limits::default(),
            manual_clock: false,
            draining: watch::Sender::new(false),
            numbers: Numbers::default(),
            request_ids: RequestIds::default(),
            hosted: None,
        }
    }

    /// Takes over the files that have changed: tokens and certificate.
    fn reload_files(&self) {
        self.tokens.iter().for_each(Tokens::tick);
        self.tls.iter().for_each(Certificates::reload);
    }

    /// Resolves when the caller may not ask any more.
    async fn revoked(&self, grant: &Grant) {
        match &self.tokens {
            Some(tokens) => tokens.revoked(grant).await,
            None => std::future::pending().await,
        }
    }

    async fn ask(&self, asker: &Asker, call: Call) -> Answered {
        self.allow(asker, &call).await?;
        let call = allowed::bounded(&asker.grant, call);
        let waits = call.waits() || asker.context.min_revision.is_some();
        let mut answering = self.node.call(&asker.context, call);
        let answered = match waits {
            false => answering.await,
            true => {
                asker.turns.wait();
                tokio::select! {
                    biased;
                    answered = &mut answering => answered,
                    () = self.revoked(&asker.grant) => {
                        answering.end_wait();
                        answering.await
                    }
                }
            }
        };
        let answer = answered?;
        Ok(Json(allowed::shown(&asker.grant, answer)))
    }
}
