//! A store, and servers over it.

use std::{path::Path, time::Instant};

use tempfile::TempDir;

use super::{Options, store::Store};
use crate::server::Server;

/// What they share.
pub const JOURNAL: &str = "together";
/// Servers that come later, besides those that are there from the beginning.
const LATER: u8 = 2;

/// Line 0 is the harness's own.
pub fn line_of(server: usize) -> u8 {
    server as u8 + 1
}

pub struct Stage {
    // Gone before the store is.
    pub servers: Vec<Server>,
    pub store: Store,
    folder: TempDir,
    /// What all times are told by.
    pub clock: Instant,
}

impl Stage {
    /// As many servers as the options say, all of them ready.
    pub async fn set(options: &Options, binary: &Path, limits: &str) -> Result<Stage, String> {
        let folder = tempfile::Builder::new().prefix("maitred-nodes-").tempdir();
        let folder = folder.map_err(|error| error.to_string())?;
        let lines = 1 + options.nodes as u8 + LATER;
        let store = Store::start(options.on, lines, options.nats_server.clone())?;
        if store.network().is_none() {
            println!("no right to make network namespaces here: nothing is cut off");
        }
        let mut stage = Stage { servers: Vec::new(), store, folder, clock: Instant::now() };
        for number in 0..options.nodes {
            let is_apart = options.split && number + 1 == options.nodes;
            let journal = if is_apart { "apart" } else { JOURNAL };
            let server = stage.server(number as u8, binary, limits, journal).await?;
            stage.servers.push(server);
        }
        Ok(stage)
    }

    /// A server with a folder and a line of its own.
    pub async fn server(
        &self,
        number: u8,
        binary: &Path,
        limits: &str,
        journal: &str,
    ) -> Result<Server, String> {
        let folder = self.folder.path().join(format!("node-{number}"));
        let url = self.store.url(line_of(number as usize), journal);
        let mut words = vec!["--data", "data", "--journal", &url];
        if self.store.may_forget() {
            words.push("--accept-weaker-durability");
        }
        Server::start_on(binary, &folder, limits, &words).await
    }

    pub fn now_us(&self) -> u64 {
        self.clock.elapsed().as_micros() as u64
    }

    /// Why one of the servers is not there any more, if it ended by itself.
    pub fn ended_by_itself(&mut self) -> Option<String> {
        self.servers.iter_mut().find_map(Server::ended_by_itself)
    }
}
