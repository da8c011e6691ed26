//! Every hold under way and when it began, oldest first: a doubly linked list in a slab.
//!
//! Taking, giving back and asking for the oldest cost the same however many there are; memory is that of the most
//! holds there ever were at once. Links are numbers of nodes, [`NONE`] ends a chain. Free nodes are chained by `newer`.

use std::time::Duration;

use tokio::time::Instant;

const NONE: u32 = u32::MAX;

/// Names one hold until it ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct HoldKey(u32);

struct Node {
    since: Instant,
    permits: u32,
    older: u32,
    newer: u32,
}

pub(crate) struct Holds {
    nodes: Vec<Node>,
    free: u32,
    oldest: u32,
    newest: u32,
}

impl Holds {
    pub(crate) fn new() -> Self {
        Self { nodes: Vec::new(), free: NONE, oldest: NONE, newest: NONE }
    }

    pub(crate) fn begin(&mut self, since: Instant, permits: u32) -> HoldKey {
        let node = Node { since, permits, older: self.newest, newer: NONE };
        let at = self.place(node);
        match self.newest {
            NONE => self.oldest = at,
            newest => self.nodes[newest as usize].newer = at,
        }
        self.newest = at;
        HoldKey(at)
    }

    /// Ends a hold; the answer is how many permits it held.
    pub(crate) fn end(&mut self, HoldKey(at): HoldKey) -> u32 {
        let Node { older, newer, permits, .. } = self.nodes[at as usize];
        match older {
            NONE => self.oldest = newer,
            older => self.nodes[older as usize].newer = newer,
        }
        match newer {
            NONE => self.newest = older,
            newer => self.nodes[newer as usize].older = older,
        }
        self.nodes[at as usize].newer = self.free;
        self.free = at;
        permits
    }

    pub(crate) fn oldest(&self, now: Instant) -> Option<Duration> {
        (self.oldest != NONE).then(|| now.saturating_duration_since(self.nodes[self.oldest as usize].since))
    }

    /// How many permits are in holds that have lasted at least `age`.
    pub(crate) fn permits_older_than(&self, age: Duration, now: Instant) -> u64 {
        let mut at = self.oldest;
        let mut permits = 0;
        while at != NONE {
            let node = &self.nodes[at as usize];
            if now.saturating_duration_since(node.since) < age {
                break;
            }
            permits += u64::from(node.permits);
            at = node.newer;
        }
        permits
    }

    fn place(&mut self, node: Node) -> u32 {
        if self.free == NONE {
            self.nodes.push(node);
            return (self.nodes.len() - 1) as u32;
        }
        let at = self.free;
        self.free = self.nodes[at as usize].newer;
        self.nodes[at as usize] = node;
        at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn the_oldest_is_found_whatever_ends_first() {
        let start = Instant::now();
        let mut holds = Holds::new();
        let keys: Vec<_> = (0..4).map(|second| holds.begin(start + second * SECOND, second + 1)).collect();
        let now = start + 10 * SECOND;
        assert_eq!(holds.oldest(now), Some(10 * SECOND));
        assert_eq!(holds.end(keys[1]), 2);
        assert_eq!(holds.permits_older_than(8 * SECOND, now), 1 + 3);
        assert_eq!(holds.end(keys[0]), 1);
        assert_eq!(holds.oldest(now), Some(8 * SECOND));
        assert_eq!(holds.end(keys[3]), 4);
        assert_eq!(holds.end(keys[2]), 3);
        assert_eq!(holds.oldest(now), None);
    }

    #[test]
    fn places_are_used_again() {
        let now = Instant::now();
        let mut holds = Holds::new();
        for _ in 0..1000 {
            let (first, second) = (holds.begin(now, 1), holds.begin(now, 1));
            holds.end(first);
            holds.end(second);
        }
        assert_eq!(holds.nodes.len(), 2);
    }
}
