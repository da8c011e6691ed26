//! What was published, for those who listen. A slow listener loses its place, never anybody's time.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard},
};

use maitred_journal::Position;
use tokio::sync::broadcast;

use super::sequencer::Published;

/// Records kept for listeners that come back, and how far a listener may fall behind.
const KEPT: usize = 4_096;

pub struct Stream {
    recent: Mutex<VecDeque<Arc<Published>>>,
    sender: broadcast::Sender<Arc<Published>>,
}

/// The listener was away for longer than is kept: it must look at everything anew.
#[derive(Debug, PartialEq, Eq)]
pub struct TooFarBehind;

/// What came after a position, and what comes.
pub struct Listener {
    backlog: VecDeque<Arc<Published>>,
    receiver: broadcast::Receiver<Arc<Published>>,
}

impl Stream {
    pub fn new() -> Self {
        Self { recent: Mutex::default(), sender: broadcast::Sender::new(KEPT) }
    }

    /// Never waits for a listener.
    pub fn publish(&self, published: Arc<Published>) {
        let mut recent = self.recent();
        if recent.len() == KEPT {
            recent.pop_front();
        }
        recent.push_back(Arc::clone(&published));
        // Without listeners nobody takes it; it is in `recent`.
        let _ = self.sender.send(published);
    }

    /// From the record behind `after`, or from now on.
    pub fn listen(&self, after: Option<Position>) -> Result<Listener, TooFarBehind> {
        let recent = self.recent();
        let receiver = self.sender.subscribe();
        let Some(after) = after else {
            return Ok(Listener { backlog: VecDeque::new(), receiver });
        };
        let oldest = recent.front().map_or(Position::MAX, |published| published.position);
        let newest = recent.back().map_or(0, |published| published.position);
        if after + 1 < oldest && after < newest || recent.is_empty() && after > 0 {
            return Err(TooFarBehind);
        }
        let backlog = recent.iter().filter(|published| published.position > after).cloned().collect();
        Ok(Listener { backlog, receiver })
    }

    pub fn listeners(&self) -> usize {
        self.sender.receiver_count()
    }

    fn recent(&self) -> MutexGuard<'_, VecDeque<Arc<Published>>> {
        self.recent.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

impl Listener {
    /// What comes next; none when the node has stopped. Cancel safe.
    pub async fn next(&mut self) -> Result<Option<Arc<Published>>, TooFarBehind> {
        if let Some(published) = self.backlog.pop_front() {
            return Ok(Some(published));
        }
        match self.receiver.recv().await {
            Ok(published) => Ok(Some(published)),
            Err(broadcast::error::RecvError::Closed) => Ok(None),
            Err(broadcast::error::RecvError::Lagged(_)) => Err(TooFarBehind),
        }
    }
}

#[cfg(test)]
mod tests {
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
        (1..=KEPT as Position + 10).for_each(|position| stream.publish(published(position)));
        assert!(stream.listen(Some(5)).is_err());
        assert!(stream.listen(Some(10)).is_ok());
        let mut slow = stream.listen(None).expect("from now on");
        (1..=KEPT as Position + 10).for_each(|position| stream.publish(published(5_000 + position)));
        assert!(slow.next().await.is_err());
    }
}
