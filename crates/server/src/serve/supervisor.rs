//! What systemd is told, where it has started the server: that it is ready, that it is alive, that it stops.
//!
//! That it is alive is said only when the node has answered: a process whose sequencer stands still is not alive, however
//! well its other threads turn. Without systemd (no `NOTIFY_SOCKET`) nothing is said.

use std::time::Duration;

use maitred::local::Node;
use sd_notify::NotifyState;

pub fn ready(url: &str) {
    tell(&[NotifyState::Ready, NotifyState::Status(&format!("listens on {url}"))]);
}

pub fn stopping() {
    tell(&[NotifyState::Stopping]);
}

/// Says twice in each interval of the watchdog that the node turns. Never ends.
pub async fn keep_alive(node: &Node) {
    let Some(interval) = sd_notify::watchdog_enabled() else {
        return std::future::pending().await;
    };
    let mut ticks = tokio::time::interval(interval / 2);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        if answers(node, interval / 2).await {
            tell(&[NotifyState::Watchdog]);
        }
    }
}

async fn answers(node: &Node, within: Duration) -> bool {
    tokio::time::timeout(within, node.health()).await.is_ok_and(|health| health.ready)
}

fn tell(states: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(states) {
        tracing::warn!(%error, "systemd could not be told");
    }
}
