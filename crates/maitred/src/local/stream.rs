//! What was published, for those who listen. A slow listener loses its place, never anybody's time.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard},
};

use maitred_journal::Position;
use tokio::sync::watch;

use super::sequencer::Published;

/// Records kept for listeners that come back, and how far a listener may fall behind.
const RECORDS_KEPT: usize = 4_096;
/// The same in events, which are what costs memory: one record may have thousands, of up to a kilobyte each.
const EVENTS_KEPT: usize = 131_072;

pub struct Stream {
    recent: Arc<Mutex<Recent>>,
    newest: watch::Sender<Position>,
}

/// The last records, as many as both bounds allow, and the newest whatever it has.
#[derive(Default)]
struct Recent {
    records: VecDeque<Arc<Published>>,
    events: usize,
    /// The last record that is not kept any more.
    forgotten: Position,
}

/// The listener was away for longer than is kept: it must look at everything anew.
#[derive(Debug, PartialEq, Eq)]
pub struct TooFarBehind;

/// What came after a position, and what comes. It holds nothing itself.
pub struct Listener {
    recent: Arc<Mutex<Recent>>,
    newest: watch::Receiver<Position>,
    seen: Position,
}

impl Recent {
    fn push(&mut self, published: Arc<Published>) {
        self.events += published.events.len();
        self.records.push_back(published);
        while self.records.len() > RECORDS_KEPT || self.events > EVENTS_KEPT && self.records.len() > 1 {
            let Some(oldest) = self.records.pop_front() else { return };
            self.events -= oldest.events.len();
            self.forgotten = oldest.position;
        }
    }

    fn newest(&self) -> Position {
        self.records.back().map_or(0, |published| published.position)
    }

    fn behind(&self, position: Position) -> Result<Option<&Arc<Published>>, TooFarBehind> {
        if position < self.forgotten {
            return Err(TooFarBehind);
        }
        let at = self.records.partition_point(|published| published.position <= position);
        Ok(self.records.get(at))
    }
}

impl Stream {
    pub fn new() -> Self {
        Self { recent: Arc::default(), newest: watch::Sender::new(0) }
    }

    /// Never waits for a listener.
    pub fn publish(&self, published: Arc<Published>) {
        let position = published.position;
        locked(&self.recent).push(published);
        self.newest.send_replace(position);
    }

    /// From the record behind `after`, or from now on.
    pub fn listen(&self, after: Option<Position>) -> Result<Listener, TooFarBehind> {
        let newest = self.newest.subscribe();
        let recent = locked(&self.recent);
        if let Some(after) = after {
            let oldest = recent.records.front().map_or(Position::MAX, |published| published.position);
            let is_gone = after < oldest.saturating_sub(1) && after < recent.newest();
            if is_gone || recent.records.is_empty() && after > 0 {
                return Err(TooFarBehind);
            }
        }
        let seen = after.unwrap_or(recent.newest());
        Ok(Listener { recent: Arc::clone(&self.recent), newest, seen })
    }

    pub fn listeners(&self) -> usize {
        self.newest.receiver_count()
    }
}

impl Listener {
    /// What comes next; none when the node has stopped. Cancel safe.
    pub async fn next(&mut self) -> Result<Option<Arc<Published>>, TooFarBehind> {
        loop {
            let next = locked(&self.recent).behind(self.seen)?.map(Arc::clone);
            if let Some(published) = next {
                self.seen = published.position;
                return Ok(Some(published));
            }
            if self.newest.changed().await.is_err() {
                return Ok(None);
            }
        }
    }
}

fn locked(recent: &Mutex<Recent>) -> MutexGuard<'_, Recent> {
    recent.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

#[cfg(test)]
mod tests {
    use maitred_engine::{
        event::{Event, EventKind},
        names::{LimitName, Namespace},
    };

    use super::*;

    fn published(position: Position) -> Arc<Published> {
        Arc::new(Published { position, ..Published::default() })
    }

    #[tokio::test]
    async fn a_listener_that_comes_back_goes_on_where_it_was() {
        let stream = Stream::new();
        (1..=5).for_each(|position| stream.publish(published(position)));
        let mut listener = stream.listen(Some(3)).expect("3 is kept");
        stream.publish(published(6));
        for position in [4, 5, 6] {
            assert_eq!(listener.next().await.unwrap().map(|published| published.position), Some(position));
        }
    }

    #[tokio::test]
    async fn one_that_was_away_too_long_is_told_so() {
        let stream = Stream::new();
        (1..=RECORDS_KEPT as Position + 10).for_each(|position| stream.publish(published(position)));
        assert!(stream.listen(Some(5)).is_err());
        assert!(stream.listen(Some(10)).is_ok());
        let mut slow = stream.listen(None).expect("from now on");
        (1..=RECORDS_KEPT as Position + 10).for_each(|position| stream.publish(published(5_000 + position)));
        assert!(slow.next().await.is_err());
    }

    #[tokio::test]
    async fn records_with_many_events_are_fewer() {
        let event = Event {
            at: 0,
            kind: EventKind::LimitPaused {
                namespace: Namespace::default(),
                limit: LimitName::parse("voice").expect("a name"),
            },
        };
        let large = |position| {
            let events = vec![event.clone(); EVENTS_KEPT / 2];
            Arc::new(Published { position, events, ..Published::default() })
        };
        let stream = Stream::new();
        let mut slow = stream.listen(None).expect("from now on");
        (1..=3).for_each(|position| stream.publish(large(position)));
        let kept = |stream: &Stream| {
            let recent = locked(&stream.recent);
            (recent.records.len(), recent.events)
        };
        assert_eq!(kept(&stream), (2, EVENTS_KEPT));
        assert!(slow.next().await.is_err() && stream.listen(Some(0)).is_err());
        let mut listener = stream.listen(Some(1)).expect("what came behind it is kept");
        let events = vec![event.clone(); EVENTS_KEPT + 1];
        stream.publish(Arc::new(Published { position: 4, events, ..Published::default() }));
        assert_eq!(kept(&stream), (1, EVENTS_KEPT + 1), "the newest, whatever it has");
        assert!(listener.next().await.is_err());
        let mut listener = stream.listen(Some(3)).expect("it is kept");
        assert_eq!(listener.next().await.unwrap().map(|published| published.position), Some(4));
        drop(stream);
        assert!(listener.next().await.unwrap().is_none());
    }
}
