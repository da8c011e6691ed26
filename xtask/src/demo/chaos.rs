//! When what is killed: at shares of the work done, from the seed. So a slow machine sees as many kills as a fast one.

use std::collections::VecDeque;

use crate::chance::Chance;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kill {
    Server,
    /// The worker at this seat.
    Worker(usize),
}

/// What is to be killed once so many records are done.
pub struct Chaos(VecDeque<(usize, Kill)>);

impl Chaos {
    pub fn plan(
        seed: u64,
        records: usize,
        workers: usize,
        server_kills: usize,
        worker_kills: usize,
    ) -> Chaos {
        let mut chance = Chance::new(seed, "kills");
        let mut kills = Vec::new();
        for number in 0..server_kills {
            kills.push((moment(&mut chance, records, number, server_kills), Kill::Server));
        }
        for number in 0..worker_kills {
            let seat = chance.below(workers as u64) as usize;
            kills.push((moment(&mut chance, records, number, worker_kills), Kill::Worker(seat)));
        }
        kills.sort_by_key(|(done, _)| *done);
        Chaos(kills.into())
    }

    /// The next kill whose time has come.
    pub fn next(&mut self, done: usize) -> Option<Kill> {
        let (_, kill) = self.0.pop_front_if(|(at, _)| *at <= done)?;
        Some(kill)
    }

    pub fn put_back(&mut self, kill: Kill) {
        self.0.push_front((0, kill));
    }
}

/// Somewhere in the middle nine tenths of this kill's share of the records.
fn moment(chance: &mut Chance, records: usize, number: usize, kills: usize) -> usize {
    let share = records as u64 / (kills as u64 + 1);
    (share * number as u64 + chance.between(share / 20 + 1, share + 2)) as usize
}

#[cfg(test)]
mod tests {
    use super::{Chaos, Kill};

    #[test]
    fn every_kill_comes_before_the_work_is_done() {
        for seed in 0..200 {
            let mut chaos = Chaos::plan(seed, 1_000, 8, 3, 5);
            assert_eq!(chaos.next(0), None);
            let kills: Vec<Kill> = std::iter::from_fn(|| chaos.next(999)).collect();
            assert_eq!(kills.len(), 8, "seed {seed}");
            assert_eq!(kills.iter().filter(|kill| **kill == Kill::Server).count(), 3);
        }
    }
}
