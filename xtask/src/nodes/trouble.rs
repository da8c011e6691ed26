//! What goes wrong, and how often it did.

use std::{collections::BTreeMap, fmt, time::Duration};

use maitred_testbed::Cut;
use tokio::time::sleep;

use super::{
    delay::Kill,
    stage::{Stage, line_of},
    store::Store,
};
use crate::chance::Chance;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    /// A server dies and comes back.
    NodeKilled,
    /// A server stands still for longer than it takes to be taken for dead.
    NodeStopped,
    /// Nothing goes between a server and the store, in either direction.
    NodeCutOff,
    /// What a server asks of the store is done, and no answer comes back.
    AnswersLost,
    /// The database, or one server of the cluster.
    StoreKilled,
    StoreStopped,
    /// Every session is ended, some of them in the middle of a commit.
    SessionsEnded,
}

/// In this order first, so that a short run has met each; then by chance. A server is killed while all else is well, so
/// that what the others' callers wait then is the kill's doing.
const ROUND: [Kind; 8] = [
    Kind::NodeKilled,
    Kind::SessionsEnded,
    Kind::NodeCutOff,
    Kind::StoreKilled,
    Kind::AnswersLost,
    Kind::NodeStopped,
    Kind::SessionsEnded,
    Kind::StoreStopped,
];

pub struct Trouble {
    chance: Chance,
    kinds: Vec<Kind>,
    made: BTreeMap<Kind, u32>,
    count: usize,
    pub kills: Vec<Kill>,
}

impl Trouble {
    /// All that this store has lines for, and can bear.
    pub fn new(chance: Chance, store: &Store) -> Trouble {
        let is_possible = |kind: &Kind| match kind {
            Kind::NodeCutOff | Kind::AnswersLost => store.network().is_some(),
            // One that acknowledges before it flushes has lost everything when all of its servers were killed.
            Kind::SessionsEnded => !store.may_forget(),
            _ => true,
        };
        let kinds = ROUND.into_iter().filter(is_possible).collect();
        Trouble { chance, kinds, made: BTreeMap::new(), count: 0, kills: Vec::new() }
    }

    pub fn was_made(&self) -> bool {
        self.count > 0
    }

    pub async fn make(&mut self, stage: &mut Stage) -> Result<(), String> {
        let kind = self.kinds.get(self.count).copied().unwrap_or_else(|| *self.chance.pick(&self.kinds));
        let which = self.chance.below(stage.servers.len() as u64) as usize;
        if let Some(kill) = self.kills.last_mut() {
            kill.until_us = kill.until_us.min(stage.now_us());
        }
        match kind {
            Kind::NodeKilled => self.kill(stage, which).await?,
            Kind::NodeStopped => {
                stage.servers[which].pause(true)?;
                self.a_while(500, 7_000).await;
                stage.servers[which].pause(false)?;
            }
            Kind::NodeCutOff => self.cut(stage, which, Cut::Both).await?,
            Kind::AnswersLost => self.cut(stage, which, Cut::Answers).await?,
            Kind::StoreKilled => {
                let pause = Duration::from_millis(self.chance.below(1_000));
                stage.store.kill(&mut self.chance, pause).await?;
            }
            Kind::StoreStopped => {
                let pause = Duration::from_millis(self.chance.between(500, 6_000));
                stage.store.stop(&mut self.chance, pause).await?;
            }
            Kind::SessionsEnded => stage.store.end_sessions(&mut self.chance).await?,
        }
        if let Some(why) = stage.ended_by_itself() {
            return Err(format!("after {kind:?}: {why}"));
        }
        *self.made.entry(kind).or_default() += 1;
        self.count += 1;
        Ok(())
    }

    async fn kill(&mut self, stage: &mut Stage, server: usize) -> Result<(), String> {
        self.kills.push(Kill { server, at_us: stage.now_us(), until_us: u64::MAX });
        stage.servers[server].kill().await?;
        self.a_while(0, 1_500).await;
        stage.servers[server].start_again().await.map(drop)
    }

    async fn cut(&mut self, stage: &Stage, server: usize, what: Cut) -> Result<(), String> {
        let network = stage.store.network().ok_or("there is no line to cut")?;
        network.cut(line_of(server), what)?;
        self.a_while(500, 7_000).await;
        network.mend(line_of(server), what)
    }

    async fn a_while(&mut self, from_ms: u64, to_ms: u64) {
        sleep(Duration::from_millis(self.chance.between(from_ms, to_ms))).await;
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = |kind: &Kind| match kind {
            Kind::NodeKilled => "servers killed",
            Kind::NodeStopped => "servers stopped for a while",
            Kind::NodeCutOff => "servers cut off",
            Kind::AnswersLost => "servers that heard no answers",
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
