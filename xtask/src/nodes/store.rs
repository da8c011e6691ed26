//! What the servers have in common: one PostgreSQL, or three servers of NATS that are one cluster.

use std::time::Duration;

use maitred_testbed::{NatsCluster, Postgres};
use tokio::{task::block_in_place, time::sleep};

use crate::chance::Chance;

const SESSIONS: &str =
    "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name = 'maitred'";

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Kind {
    Postgres,
    Nats,
}

pub enum Store {
    Postgres(Postgres),
    Nats(NatsCluster),
}

impl Store {
    pub fn start(kind: Kind) -> Result<Store, String> {
        match kind {
            Kind::Postgres => Postgres::start().map(Store::Postgres),
            Kind::Nats => NatsCluster::start().map(Store::Nats),
        }
    }

    /// A URL for the journal of this name.
    pub fn url(&self, journal: &str) -> String {
        match self {
            Store::Postgres(server) => server.url(journal),
            Store::Nats(cluster) => cluster.url(journal),
        }
    }

    /// Kills it, or one server of it, and starts it again after the pause.
    pub async fn kill(&mut self, chance: &mut Chance, pause: Duration) -> Result<(), String> {
        match self {
            Store::Postgres(server) => {
                server.kill()?;
                sleep(pause).await;
                block_in_place(|| server.start_again())
            }
            Store::Nats(cluster) => {
                let which = chance.below(cluster.servers.len() as u64) as usize;
                cluster.servers[which].kill()?;
                sleep(pause).await;
                block_in_place(|| cluster.servers[which].start_again())
            }
        }
    }

    /// Stops it, or one server of it, where it is, for this long.
    pub async fn stop(&mut self, chance: &mut Chance, pause: Duration) -> Result<(), String> {
        match self {
            Store::Postgres(server) => {
                server.pause(true)?;
                sleep(pause).await;
                server.pause(false)
            }
            Store::Nats(cluster) => {
                let which = chance.below(cluster.servers.len() as u64) as usize;
                cluster.servers[which].pause(true)?;
                sleep(pause).await;
                cluster.servers[which].pause(false)
            }
        }
    }

    /// Ends every session of PostgreSQL a few times, or kills each server of NATS, one after the other.
    pub async fn end_sessions(&mut self, chance: &mut Chance) -> Result<(), String> {
        match self {
            Store::Postgres(server) => {
                for _ in 0..5 {
                    block_in_place(|| server.sql(SESSIONS))?;
                    sleep(Duration::from_millis(chance.below(40))).await;
                }
            }
            Store::Nats(cluster) => {
                for server in &mut cluster.servers {
                    server.kill()?;
                    block_in_place(|| server.start_again())?;
                    sleep(Duration::from_millis(chance.below(500))).await;
                }
            }
        }
        Ok(())
    }
}
