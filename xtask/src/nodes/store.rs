//! What the servers have in common: one PostgreSQL, or three servers of NATS that are one cluster.

use std::{path::PathBuf, sync::Arc, time::Duration};

use maitred_testbed::{NatsCluster, NatsOptions, Network, Postgres};
use tokio::{task::block_in_place, time::sleep};

use crate::chance::Chance;

const SESSIONS: &str =
    "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name = 'maitred'";

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Kind {
    Postgres,
    Nats,
}

enum Engine {
    Postgres(Postgres),
    Nats(NatsCluster),
}

pub struct Store {
    engine: Engine,
    /// None where none may be made.
    network: Option<Arc<Network>>,
    may_forget: bool,
}

impl Store {
    /// In a network with so many lines, if one can be made.
    pub fn start(kind: Kind, lines: u8, nats_server: Option<PathBuf>) -> Result<Store, String> {
        let network = Network::new(lines)?.map(Arc::new);
        let may_forget = nats_server.is_some();
        let engine = match (kind, &network) {
            (Kind::Postgres, Some(network)) => Engine::Postgres(Postgres::start_in(Arc::clone(network))?),
            (Kind::Postgres, None) => Engine::Postgres(Postgres::start()?),
            (Kind::Nats, network) => Engine::Nats(nats(nats_server, network.clone())?),
        };
        Ok(Store { engine, network, may_forget })
    }

    /// The journal of this name, over a line of the network.
    pub fn url(&self, line: u8, journal: &str) -> String {
        match (&self.engine, &self.network) {
            (Engine::Postgres(server), Some(_)) => server.url_over(line, journal),
            (Engine::Postgres(server), None) => server.url(journal),
            (Engine::Nats(cluster), _) => cluster.url_over(line, journal),
        }
    }

    pub fn network(&self) -> Option<&Network> {
        self.network.as_deref()
    }

    /// It acknowledges before it flushes.
    pub fn may_forget(&self) -> bool {
        self.may_forget
    }

    /// Kills it, or one server of it, and starts it again after the pause.
    pub async fn kill(&mut self, chance: &mut Chance, pause: Duration) -> Result<(), String> {
        match &mut self.engine {
            Engine::Postgres(server) => {
                server.kill()?;
                sleep(pause).await;
                block_in_place(|| server.start_again())
            }
            Engine::Nats(cluster) => {
                let which = chance.below(cluster.servers.len() as u64) as usize;
                cluster.servers[which].kill()?;
                sleep(pause).await;
                block_in_place(|| cluster.servers[which].start_again())
            }
        }
    }

    /// Stops it, or one server of it, where it is, for this long.
    pub async fn stop(&mut self, chance: &mut Chance, pause: Duration) -> Result<(), String> {
        match &mut self.engine {
            Engine::Postgres(server) => {
                server.pause(true)?;
                sleep(pause).await;
                server.pause(false)
            }
            Engine::Nats(cluster) => {
                let which = chance.below(cluster.servers.len() as u64) as usize;
                cluster.servers[which].pause(true)?;
                sleep(pause).await;
                cluster.servers[which].pause(false)
            }
        }
    }

    /// Ends every session of PostgreSQL a few times, or kills each server of NATS, one after the other.
    pub async fn end_sessions(&mut self, chance: &mut Chance) -> Result<(), String> {
        match &mut self.engine {
            Engine::Postgres(server) => {
                for _ in 0..5 {
                    block_in_place(|| server.sql(SESSIONS))?;
                    sleep(Duration::from_millis(chance.below(40))).await;
                }
            }
            Engine::Nats(cluster) => {
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

/// Of another version, only what every version knows is set.
fn nats(program: Option<PathBuf>, network: Option<Arc<Network>>) -> Result<NatsCluster, String> {
    let options = NatsOptions { network, ..NatsOptions::default() };
    NatsCluster::start_as(&match program {
        None => options,
        program => NatsOptions { program, jetstream: String::new(), ..options },
    })
}
