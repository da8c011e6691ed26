//! A journal in a stream of NATS JetStream (2.15), which any number of processes share.
//!
//! # Worked example
//! Nodes A and B both know record 7, the seventh message of the stream.
//!
//! 1. A publishes under the condition that the stream's last sequence is 7. It is: the message becomes the eighth, and
//!    is acknowledged when most of the servers have it. When it was written the acknowledgement does not say; a consumer
//!    that listens to the headers of all messages does.
//! 2. B published under the same condition. The server refuses it, a conflict, and B reads behind 7.
//! 3. The acknowledgement of A's record 9 is lost: not known. A asks the leader for the ninth message. It is there:
//!    A's own bytes, or somebody else's. It is not: A publishes the same bytes under the same condition again. Should the
//!    first come after all (the client sends what it could not send when it is connected again), one of the two is
//!    refused.
//! 4. The server lets both A's and B's eighth through, as servers have done: they become the eighth and the ninth. The
//!    acknowledgement of the later one says 9 where 8 was expected. Whoever reads the records sees that the ninth does not
//!    follow the eighth: it is void, and its writer proposes again.
//!
//! # Why it is right
//! - *The order is the stream's*, and whether a record counts is decided by the records themselves. The condition only
//!   spares work; nothing depends on it.
//! - *Only the stream's leader is asked*, message by message: replicas and consumers may be behind or, after damage,
//!   differ. Before the end is believed to be the end, the leader has to show that it still is one ([`meeting`]).
//! - *A stream that has lost its end is noticed*: a message before the end that is not there, an end before what was read
//!   or written, another record where one was known, or another stream of the same name ([`link`]).
//! - *A stream that drops messages, or servers that acknowledge before they flush, are refused* ([`strength`]), unless the
//!   operator takes that on.
//!
//! # Layout
//! `<stream>` holds the records, on `<stream>.records`; `<stream>-snapshots` the chunks and manifests of snapshots;
//! `<stream>-nodes` the last sign of life of each process.

mod archive;
mod link;
mod meeting;
mod rehearsal;
mod settings;
mod snapshots;
mod streams;
mod strength;
mod tail;

use std::{sync::Arc, time::Duration};

use async_nats::jetstream::{
    self, ErrorCode,
    context::{PublishError, PublishErrorKind},
    message::PublishMessage,
};
use bytes::Bytes;

use self::{archive::JetStreamArchive, link::Link, meeting::Peers};
pub use self::{
    rehearsal::{drop_journal, move_journal, with_stream},
    settings::Settings,
};
use crate::{
    Answer, AppendError, Archive, Journal, JournalError, Meeting, Peer, Position, RECORD_BYTES_MAX, Record,
    Room, Stamp,
};

/// How often the end is looked at while the tail listens.
const POLL: Duration = Duration::from_millis(500);
/// How often while it does not.
const POLL_ALONE: Duration = Duration::from_millis(20);

/// The writer's handle of a journal in JetStream.
pub struct JetStream {
    link: Arc<Link>,
    head: Position,
    /// Up to where [`Journal::changed`] has said that there are records.
    told: Position,
    peers: Peers,
}

impl JetStream {
    /// Connects, and makes the streams where they are missing. A stream that may lose what it has acknowledged is refused
    /// unless the settings accept it.
    pub async fn open(settings: Settings) -> Result<Self, JournalError> {
        let link = Link::open(settings).await?;
        let head = link.state().await?.last;
        Ok(Self { link, head, told: head, peers: Peers::default() })
    }

    /// The server that this process is connected to, by its own name.
    pub fn server_name(&self) -> String {
        self.link.context.client().server_info().server_name
    }

    async fn append_now(&mut self, after: Position, bytes: Bytes) -> Result<Stamp, AppendError> {
        let length = bytes.len();
        assert!(length <= RECORD_BYTES_MAX, "a record of {length} bytes, and {RECORD_BYTES_MAX} is the most");
        self.verify().await?;
        let position = self.publish(after, bytes.clone()).await?;
        // The client may have sent it to a server that it found meanwhile. If that is another stream in truth, nobody
        // is answered, and the record, which names another one before it, is void for all.
        self.verify().await?;
        let unknown = |error: JournalError| AppendError::Unknown(error.to_string());
        let at = self.link.time_of(position).await.map_err(unknown)?;
        self.head = self.head.max(position);
        self.told = self.told.max(position);
        self.link.knows(&Record { position, at, bytes });
        Ok(Stamp { position, at })
    }

    async fn verify(&self) -> Result<(), AppendError> {
        self.link.verify().await.map_err(|error| match error {
            JournalError::Unreachable { .. } => AppendError::Unknown(error.to_string()),
            _ => AppendError::Broken(error.to_string()),
        })
    }

    async fn publish(&self, after: Position, bytes: Bytes) -> Result<Position, AppendError> {
        let length = bytes.len();
        let message = PublishMessage::build()
            .payload(bytes)
            .expected_stream(&self.link.settings.stream)
            .expected_last_sequence(after);
        let sent = self.link.context.send_publish(self.link.settings.subject(), message).await;
        let done = match sent {
            Ok(acknowledged) => acknowledged.await,
            Err(error) => Err(error),
        };
        done.map(|acknowledged| acknowledged.sequence).map_err(|error| match error.kind() {
            PublishErrorKind::WrongLastSequence => AppendError::Conflict { expected: after },
            _ if is_full(&error) => AppendError::Full { bytes: length },
            _ => AppendError::Unknown(describe(&error)),
        })
    }

    /// Until the tail hears of a record that was not told of, or the end, looked at now and then, says so.
    async fn changed_now(&mut self) {
        let told = self.told;
        let mut heard = self.link.heard.subscribe();
        loop {
            let pause = if heard.borrow_and_update().live { POLL } else { POLL_ALONE };
            let news = heard.wait_for(|heard| heard.newest > told);
            if let Ok(Ok(heard)) = tokio::time::timeout(pause, news).await {
                self.told = heard.newest;
                return;
            }
            match self.link.state().await {
                Ok(state) if state.last > told => {
                    self.link.doubt();
                    self.told = state.last;
                    return;
                }
                Ok(_) => {}
                // Whoever reads now finds out what it is.
                Err(error) if !matches!(error, JournalError::Unreachable { .. }) => return,
                Err(_) => tokio::time::sleep(POLL_ALONE).await,
            }
        }
    }
}

/// Whether the server refused for want of room.
fn is_full(error: &PublishError) -> bool {
    let full = [
        ErrorCode::STREAM_STORE_FAILED,
        ErrorCode::ACCOUNT_RESOURCES_EXCEEDED,
        ErrorCode::INSUFFICIENT_RESOURCES,
        ErrorCode::STORAGE_RESOURCES_EXCEEDED,
    ];
    let source =
        std::error::Error::source(error).and_then(|source| source.downcast_ref::<jetstream::Error>());
    source.is_some_and(|error| full.contains(&error.error_code()))
}

fn describe(error: &PublishError) -> String {
    match std::error::Error::source(error) {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    }
}

impl Journal for JetStream {
    fn append(&mut self, after: Position, bytes: Bytes) -> Answer<'_, Result<Stamp, AppendError>> {
        Box::pin(self.append_now(after, bytes))
    }

    /// What is acknowledged is durable.
    fn sync(&mut self) -> Answer<'_, Result<Position, JournalError>> {
        Box::pin(std::future::ready(Ok(self.head)))
    }

    fn head(&self) -> Position {
        self.head
    }

    fn room(&self) -> Room {
        self.link.room()
    }

    fn is_shared(&self) -> bool {
        true
    }

    fn meet(&mut self, me: Peer) -> Answer<'_, Result<Meeting, JournalError>> {
        Box::pin(meeting::meet(&self.link, &mut self.peers, me))
    }

    fn notes(&self) -> Vec<String> {
        self.link.notes.clone()
    }

    fn changed(&mut self) -> Answer<'_, ()> {
        Box::pin(self.changed_now())
    }

    fn archive(&self) -> Box<dyn Archive> {
        Box::new(JetStreamArchive { link: Arc::clone(&self.link) })
    }
}
