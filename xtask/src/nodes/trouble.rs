//! What goes wrong, and how often it did.

use std::{collections::BTreeMap, fmt, time::Duration};

use tokio::time::sleep;

use super::store::Store;
use crate::{chance::Chance, server::Server};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    /// A server dies and comes back.
    NodeKilled,
    /// A server stands still for longer than it takes to be taken for dead.
    NodeStopped,
    /// The database, or one server of the cluster.
    StoreKilled,
    StoreStopped,
    /// Every session is ended, some of them in the middle of a commit.
    SessionsEnded,
}

/// In this order first, so that a short run has met each; then by chance.
const ROUND: [Kind; 6] = [
    Kind::SessionsEnded,
    Kind::NodeKilled,
    Kind::StoreKilled,
    Kind::NodeStopped,
    Kind::SessionsEnded,
    Kind::StoreStopped,
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

    pub async fn make(&mut self, servers: &mut [Server], store: &mut Store) -> Result<(), String> {
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
            Kind::StoreKilled => {
                let pause = Duration::from_millis(self.chance.below(1_000));
                store.kill(&mut self.chance, pause).await?;
            }
            Kind::StoreStopped => {
                let pause = Duration::from_millis(self.chance.between(500, 6_000));
                store.stop(&mut self.chance, pause).await?;
            }
            Kind::SessionsEnded => store.end_sessions(&mut self.chance).await?,
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
            Kind::StoreKilled => "stores killed",
            Kind::StoreStopped => "stores stopped for a while",
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
