//! What is true, and then everything that happens, as server-sent events.
//!
//! ```text
//! event: snapshot          what is true at revision 41
//! id: 41
//! data: {"limits":[…],"revision":41,…}
//!
//! event: events            what happened in record 42
//! id: 42
//! data: [{"revision":42,"kind":"slot_granted",…}]
//!
//! :                        nothing happened for 15 s
//! ```
//!
//! Whoever comes back with the last id goes on behind it. Between the node and the caller stand two bounds: the node
//! keeps its last few thousand records and forgets the oldest, and here no more than [`AHEAD`] messages are made
//! before the caller has taken one. So a caller that reads slowly loses its place (`event: reset`, then a new
//! snapshot), and one that reads nothing is cut by the connection's patience; neither holds up anybody.

use std::{
    convert::Infallible,
    pin::Pin,
    task::{Context as Turn, Poll},
    time::Duration,
};

use axum::{
    body::Body,
    extract::State,
    http::{HeaderMap, HeaderValue, header},
    response::Response,
};
use bytes::Bytes;
use hyper::body::Frame;
use maitred::local::{LiveEvents, Scope, TooFarBehind};
use maitred_api::{LiveEvent, LiveSnapshot, Problem, Reason};
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::{sync::mpsc, time::sleep};
use utoipa::IntoParams;

use super::{
    App,
    allowed::{covers, told, told_first},
    ask::{Asker, Caller, Query, ReadHeaders, text},
    problem::Failure,
};

/// Messages that are ready and not yet taken.
const AHEAD: usize = 4;
/// How long the last message may wait for the caller to take one before it.
const BYE_WITHIN: Duration = Duration::from_secs(1);

/// What a stream is about and where it begins.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct Asked {
    /// Of this limit only; else of the whole namespace.
    limit: Option<String>,
    /// Go on behind this revision instead of with a snapshot. The header `Last-Event-ID` does the same and wins.
    after: Option<u64>,
    /// Wait until at least this revision can be seen.
    #[expect(dead_code, reason = "`Caller` reads it")]
    min_revision: Option<u64>,
}

/// What is true, and then everything that happens, as it becomes durable: a stream of server-sent events.
///
/// `snapshot` comes first: the limits, or the slots of the one limit. Then one `events` for each revision at which
/// something happened, its data a list. `reset` says that the caller fell too far behind or came back too late; a new
/// `snapshot` follows. `bye` is the last: the server stops, or the stream cannot go on; its data says why. The `id` is
/// the revision. A comment comes every 15 s. Events are hints: the state of a slot is the truth.
#[utoipa::path(get, path = "/v1/events", tag = "events", params(ReadHeaders, LastEventId, Asked),
    responses((status = 200, body = String, content_type = "text/event-stream"), Failure))]
pub async fn stream_events(
    State(app): State<App>,
    Caller(asker): Caller,
    Query(asked): Query<Asked>,
    headers: HeaderMap,
) -> Result<Response, Failure> {
    let after = resumed(&headers)?.or(asked.after);
    let known = match after {
        Some(after) if after > app.node.health().await.revision => None, // of another journal than this one
        other => other,
    };
    if let Some(limit) = &asked.limit {
        covers(&asker.grant, limit)?;
    }
    let scope = Scope { limit: asked.limit, prefixes: asker.grant.limits.clone() };
    let (snapshot, events) = app.node.listen(&asker.context, scope.clone(), known).await?;
    let (sender, messages) = mpsc::channel(AHEAD);
    let teller = Teller { app: App::clone(&app), asker, scope, told: sender };
    tokio::spawn(teller.tell(after.is_some() && snapshot.is_some(), snapshot, events));
    app.numbers.open_streams.inc();
    Ok(answer(Told { messages, app }))
}

/// Where a stream was left.
#[derive(IntoParams)]
#[into_params(parameter_in = Header)]
#[expect(dead_code, reason = "read for the OpenAPI document only")]
pub struct LastEventId {
    /// The last `id` that was seen: the stream goes on behind it.
    #[param(rename = "Last-Event-ID", required = false)]
    last_event_id: u64,
}

fn resumed(headers: &HeaderMap) -> Result<Option<u64>, Failure> {
    let wrong = |_| {
        Failure::new(
            Reason::InvalidArgument,
            "Last-Event-ID is not an id of this stream; allowed: a revision",
        )
    };
    let given = text(headers, "last-event-id")?.filter(|id| !id.is_empty());
    given.map(|id| id.parse().map_err(wrong)).transpose()
}

/// Marks an answer whose body goes on: its request is being worked on until the body ends.
#[derive(Clone, Copy)]
pub struct GoesOn;

fn answer(told: Told) -> Response {
    let mut response = Response::new(Body::new(told));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    response.extensions_mut().insert(GoesOn);
    response
}

/// The messages as a body. Dropped when the caller hangs up, or when its connection is cut.
struct Told {
    messages: mpsc::Receiver<Bytes>,
    app: App,
}

impl hyper::body::Body for Told {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        turn: &mut Turn<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.get_mut().messages.poll_recv(turn).map(|message| message.map(|bytes| Ok(Frame::data(bytes))))
    }
}

impl Drop for Told {
    fn drop(&mut self) {
        self.app.numbers.open_streams.dec();
    }
}

struct Teller {
    app: App,
    asker: Asker,
    scope: Scope,
    told: mpsc::Sender<Bytes>,
}

/// Why a stream ends.
enum End {
    /// The caller is gone.
    HungUp,
    /// The caller is told why.
    Bye(String),
}

enum Heard {
    Events(u64, Vec<LiveEvent>),
    Nothing,
    TooFarBehind,
    Stopped,
    HungUp,
    Revoked,
}

impl Teller {
    async fn tell(self, was_away: bool, snapshot: Option<LiveSnapshot>, events: LiveEvents) {
        match self.tell_all(was_away, snapshot, events).await {
            End::HungUp => {}
            // Whoever takes nothing does not learn why it ended.
            End::Bye(why) => {
                let bye = message("bye", None, &json!({ "reason": why }));
                let _ = tokio::time::timeout(BYE_WITHIN, self.told.send(bye)).await;
            }
        }
    }

    async fn tell_all(&self, was_away: bool, first: Option<LiveSnapshot>, mut events: LiveEvents) -> End {
        if let Err(end) = self.begin(was_away, first).await {
            return end;
        }
        loop {
            let told = match self.hear(&mut events).await {
                Heard::Events(revision, list) => self.send_events(revision, list).await,
                Heard::Nothing => self.send(Bytes::from_static(b":\n\n")).await,
                Heard::Stopped => Err(stopped()),
                Heard::HungUp => Err(End::HungUp),
                Heard::Revoked => Err(End::Bye("the token was revoked".to_owned())),
                Heard::TooFarBehind => {
                    match self.app.node.listen(&self.asker.context, self.scope.clone(), None).await {
                        Ok((snapshot, anew)) => {
                            events = anew;
                            self.begin(true, snapshot).await
                        }
                        Err(Problem { message, .. }) => Err(End::Bye(message)),
                    }
                }
            };
            if let Err(end) = told {
                return end;
            }
        }
    }

    async fn begin(&self, was_away: bool, snapshot: Option<LiveSnapshot>) -> Result<(), End> {
        if was_away {
            let why = "too much happened since; what is true now follows";
            self.send(message("reset", None, &json!({ "reason": why }))).await?;
        }
        match snapshot {
            Some(snapshot) => {
                let snapshot = told_first(&self.asker.grant, snapshot);
                self.send(message("snapshot", Some(revision(&snapshot)), &snapshot)).await
            }
            None => self.send(Bytes::from_static(b":\n\n")).await, // so that it is seen to be open
        }
    }

    async fn send_events(&self, revision: u64, events: Vec<LiveEvent>) -> Result<(), End> {
        let events = told(&self.asker.grant, events);
        if events.is_empty() {
            return Ok(());
        }
        self.send(message("events", Some(revision), &events)).await
    }

    async fn hear(&self, events: &mut LiveEvents) -> Heard {
        let mut draining = self.app.draining.subscribe();
        tokio::select! {
            heard = events.next() => match heard {
                Ok(Some((revision, list))) => Heard::Events(revision, list),
                Ok(None) => Heard::Stopped,
                Err(TooFarBehind) => Heard::TooFarBehind,
            },
            _ = draining.wait_for(|draining| *draining) => Heard::Stopped,
            () = self.told.closed() => Heard::HungUp,
            () = self.revoked() => Heard::Revoked,
            () = sleep(self.app.limits.comment_every) => Heard::Nothing,
        }
    }

    async fn revoked(&self) {
        match &self.app.tokens {
            Some(tokens) => tokens.revoked(&self.asker.grant).await,
            None => std::future::pending().await,
        }
    }

    /// Waits until the caller has taken enough to make room, or the server stops.
    async fn send(&self, message: Bytes) -> Result<(), End> {
        let mut draining = self.app.draining.subscribe();
        tokio::select! {
            biased;
            sent = self.told.send(message) => sent.map_err(|_| End::HungUp),
            _ = draining.wait_for(|draining| *draining) => Err(stopped()),
        }
    }
}

fn stopped() -> End {
    End::Bye("the server stops; come back with the last id".to_owned())
}

fn revision(snapshot: &LiveSnapshot) -> u64 {
    match snapshot {
        LiveSnapshot::Limit(slots) => slots.revision,
        LiveSnapshot::Limits(limits) => limits.revision,
    }
}

/// JSON has no line breaks of its own, so its data is one line.
fn message(event: &str, id: Option<u64>, data: &impl Serialize) -> Bytes {
    let id = id.map(|id| format!("id: {id}\n")).unwrap_or_default();
    let data = serde_json::to_string(data).unwrap_or_default();
    Bytes::from(format!("event: {event}\n{id}data: {data}\n\n"))
}
