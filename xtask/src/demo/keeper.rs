//! Kills the server and starts it again, beside the foreman's loop.

use std::{path::Path, time::Duration};

use tokio::{task::JoinHandle, time::sleep};

use crate::{chance::Chance, server::Server};

pub struct Keeper {
    /// At home, or away being killed and started.
    server: Option<Server>,
    away: Option<JoinHandle<Result<(Server, Duration), String>>>,
    chance: Chance,
    pub kills: usize,
    /// The longest time from the kill to the first answer.
    pub longest_down: Duration,
}

impl Keeper {
    pub async fn start(binary: &Path, folder: &Path, limits_toml: &str, seed: u64) -> Result<Keeper, String> {
        let server = Server::start(binary, folder, limits_toml).await?;
        let chance = Chance::new(seed, "down");
        Ok(Keeper { server: Some(server), away: None, chance, kills: 0, longest_down: Duration::ZERO })
    }

    pub fn server(&self) -> Option<&Server> {
        self.server.as_ref()
    }

    pub fn is_at_it(&self) -> bool {
        self.away.is_some()
    }

    /// It is down for up to half a second, long enough for every caller to notice.
    pub fn kill_and_start_again(&mut self) {
        let Some(mut server) = self.server.take() else { return };
        let down = Duration::from_millis(self.chance.below(500));
        self.kills += 1;
        self.away = Some(tokio::spawn(async move {
            server.kill().await?;
            sleep(down).await;
            let took = server.start_again().await?;
            Ok((server, down + took))
        }));
    }

    /// Takes the server back once it is up; an error if it did not come up, or went down by itself.
    pub async fn take_back(&mut self, wait: bool) -> Result<(), String> {
        if self.away.as_ref().is_some_and(|away| wait || away.is_finished())
            && let Some(away) = self.away.take()
        {
            let (server, down) = away.await.map_err(|error| error.to_string())??;
            self.longest_down = self.longest_down.max(down);
            self.server = Some(server);
        }
        match self.server.as_mut().and_then(Server::ended_by_itself) {
            Some(why) => Err(why),
            None => Ok(()),
        }
    }
}
