//! Hears of new records as they come: where they are and when they were written, without their contents.
//!
//! An ordered consumer pushes the headers of every message. It is a hint and no more: a consumer lives on one server
//! and may be gone without a word, so whoever waits also asks now and then.

use std::{
    collections::VecDeque,
    sync::Arc,
    time::{Duration, SystemTime},
};

use async_nats::jetstream::{
    consumer::{DeliverPolicy, push::OrderedConfig},
    stream::Stream,
};
use futures_util::StreamExt;
use tokio::sync::watch;

use crate::{Millis, Position, Stamp};

/// How many of the newest are remembered, for the writer that asks when its own was written.
const RECENT: usize = 64;
const RETRY: Duration = Duration::from_millis(100);

/// What has been heard.
#[derive(Debug, Default)]
pub(super) struct Heard {
    pub newest: Position,
    /// Nothing speaks against the consumer being there.
    pub live: bool,
    recent: VecDeque<Stamp>,
}

impl Heard {
    /// Nothing yet of what comes behind this position.
    pub fn from(newest: Position) -> Self {
        Self { newest, ..Self::default() }
    }

    /// When the record at the position was written, if it is one of the last.
    pub fn at(&self, position: Position) -> Option<Millis> {
        self.recent.iter().rev().find(|stamp| stamp.position == position).map(|stamp| stamp.at)
    }

    fn hear(&mut self, stamp: Stamp) {
        self.live = true;
        self.newest = self.newest.max(stamp.position);
        if self.recent.len() == RECENT {
            self.recent.pop_front();
        }
        self.recent.push_back(stamp);
    }
}

/// Follows the stream for ever; a consumer that ends is followed by another.
pub(super) async fn run(client: async_nats::Client, records: Stream<()>, heard: Arc<watch::Sender<Heard>>) {
    loop {
        if let Err(error) = follow(&client, &records, &heard).await {
            tracing::debug!(error, "the consumer of the journal's stream ended");
        }
        heard.send_modify(|heard| heard.live = false);
        tokio::time::sleep(RETRY).await;
    }
}

async fn follow(
    client: &async_nats::Client,
    records: &Stream<()>,
    heard: &watch::Sender<Heard>,
) -> Result<(), String> {
    let start_sequence = heard.borrow().newest + 1;
    let config = OrderedConfig {
        deliver_subject: client.new_inbox(),
        headers_only: true,
        deliver_policy: DeliverPolicy::ByStartSequence { start_sequence },
        ..OrderedConfig::default()
    };
    let consumer = records.create_consumer(config).await.map_err(|error| error.to_string())?;
    let mut messages = consumer.messages().await.map_err(|error| error.to_string())?;
    heard.send_modify(|heard| heard.live = true);
    while let Some(message) = messages.next().await {
        let message = message.map_err(|error| error.to_string())?;
        let info = message.info().map_err(|error| error.to_string())?;
        let stamp = Stamp { position: info.stream_sequence, at: millis(info.published.into()) };
        heard.send_modify(|heard| heard.hear(stamp));
    }
    Ok(())
}

/// A message's time in whole milliseconds, the same on whatever way it is learned.
pub(super) fn millis(time: SystemTime) -> Millis {
    time.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |past| past.as_millis() as Millis)
}
