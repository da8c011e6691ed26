//! What goes wrong, and how often it did.

use std::{collections::BTreeMap, fmt, time::Duration};

use maitred_testbed::Postgres;
use tokio::time::sleep;

use crate::{chance::Chance, server::Server};

const SESSIONS: &str =
    "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name = 'maitred'";

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    /// A server dies and comes back.
    NodeKilled,
    /// A server stands still for longer than it takes to be taken for dead.
    NodeStopped,
    DatabaseKilled,
    DatabaseStopped,
    /// Every session is ended, some of them in the middle of a commit.
    SessionsEnded,
}

/// In this order first, so that a short run has met each; then by chance.
const ROUND: [Kind; 6] = [
    Kind::SessionsEnded,
    Kind::NodeKilled,
    Kind::DatabaseKilled,
    Kind::NodeStopped,
    Kind::SessionsEnded,
    Kind::DatabaseStopped,
];

pub struct Trouble {
    chance: Chance,
    made: BTreeMap<Kind, u32>,
    count: usize,
}

impl Trouble {
    pub fn new(chance: Chance) -> Trouble {
        Trouble { chance, made: BTreeMap::new(), count: 0 }
    }

    pub fn was_made(&self) -> bool {
        self.count > 0
    }

    pub async fn make(&mut self, servers: &mut [Server], database: &mut Postgres) -> Result<(), String> {
        let kind = ROUND.get(self.count).copied().unwrap_or_else(|| *self.chance.pick(&ROUND));
        let which = self.chance.below(servers.len() as u64) as usize;
        match kind {
            Kind::NodeKilled => {
                servers[which].kill().await?;
                sleep(Duration::from_millis(self.chance.below(1_500))).await;
                servers[which].start_again().await?;
            }
            Kind::NodeStopped => {
                servers[which].pause(true)?;
                sleep(Duration::from_millis(self.chance.between(500, 7_000))).await;
                servers[which].pause(false)?;
            }
            Kind::DatabaseKilled => {
                database.kill()?;
                sleep(Duration::from_millis(self.chance.below(1_000))).await;
                tokio::task::block_in_place(|| database.start_again())?;
            }
            Kind::DatabaseStopped => {
                database.pause(true)?;
                sleep(Duration::from_millis(self.chance.between(500, 6_000))).await;
                database.pause(false)?;
            }
            Kind::SessionsEnded => {
                for _ in 0..5 {
                    tokio::task::block_in_place(|| database.sql(SESSIONS))?;
                    sleep(Duration::from_millis(self.chance.below(40))).await;
                }
            }
        }
        for server in servers {
            if let Some(why) = server.ended_by_itself() {
                return Err(format!("after {kind:?}: {why}"));
            }
        }
        *self.made.entry(kind).or_default() += 1;
        self.count += 1;
        Ok(())
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = |kind: &Kind| match kind {
            Kind::NodeKilled => "servers killed",
            Kind::NodeStopped => "servers stopped for a while",
            Kind::DatabaseKilled => "databases killed",
            Kind::DatabaseStopped => "databases stopped for a while",
            Kind::SessionsEnded => "times all sessions ended",
        };
        let made: Vec<String> =
            self.made.iter().map(|(kind, count)| format!("{count} {}", words(kind))).collect();
        match made.is_empty() {
            true => f.write_str("none"),
            false => f.write_str(&made.join(", ")),
        }
    }
}
