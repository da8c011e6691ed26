//! Callbacks: how a run that sleeps in an app's durable engine learns that it has its slot, and how the limiter learns
//! that a run is over although its engine tells nobody.
//!
//! A worked example: `voice-calls` is full, run `wrun_7` of the app `voice` waits for slot B on a durable hook.
//!
//! ```text
//! 10:00:00  somebody releases a slot          B is reserved for wrun_7 until 10:02:00
//! 10:00:00  POST slot=B state=reserved        refused: the app is being restarted     → again in 0.25 s, 0.5 s, 1 s …
//! 10:00:03  POST slot=B state=reserved        404: up, but its hook is not there yet   → again
//! 10:00:04  POST slot=B state=reserved        200: woken                               → in 10 s, if it is still reserved
//! 10:00:04  the run confirms B                the notice is closed
//! ```
//!
//! Had `wrun_7` been cancelled, the app would have said 410: all that the run waits for and has reserved ends, and the
//! next in line gets the slot. Had nobody been waiting on that slot, nobody would have asked; so every 15 s the app is
//! asked for the states of all runs that wait, have a reservation, or hold a slot for as long as they run.
//!
//! Why it is right: a notice carries nothing. The woken run asks the limiter for its slot's state, so a notice that is
//! late, doubled or wrong does no harm, and one that is lost is made up for: the next look finds every reservation
//! anew, and a courier that begins to listen looks back at what ended before. So nothing here is remembered over a
//! restart, and on a shared journal every node may do all of it.
//! A silent app is not a run that is over: only its own word ends anything, or that of every app that the run may
//! belong to. Nothing busy is ever ended here, except what is held for as long as its run.

mod client;
mod config;
mod courier;
mod network;
mod notice;
mod numbers;
mod past;
mod survey;

use std::{collections::BTreeMap, sync::Arc};

use maitred::local::Node;
use tokio::task::JoinSet;

pub use config::{Target, TargetFields, targets};
pub use network::Network;
pub use numbers::CallbackNumbers;

use client::App;
use courier::Courier;

/// The couriers of every namespace that has targets. Dropped, they stop.
#[derive(Default)]
pub struct Callbacks {
    couriers: JoinSet<()>,
}

impl Callbacks {
    /// Must be called within a runtime.
    ///
    /// # Errors
    /// A client could not be made; then nothing is called.
    pub fn start(node: &Node, targets: Vec<Target>, numbers: &CallbackNumbers) -> reqwest::Result<Callbacks> {
        let mut apps: BTreeMap<String, Vec<Arc<App>>> = BTreeMap::new();
        for target in targets {
            tracing::info!(app = target.name, url = %target.shown(), "callbacks go to this app");
            let namespace = target.namespace.clone();
            apps.entry(namespace).or_default().push(Arc::new(App::new(target, numbers.clone())?));
        }
        let mut couriers = JoinSet::new();
        for (namespace, apps) in apps {
            couriers.spawn(Courier::new(node.clone(), namespace, apps, numbers.clone()).run());
        }
        Ok(Callbacks { couriers })
    }

    /// How many namespaces have targets.
    pub fn namespaces(&self) -> usize {
        self.couriers.len()
    }
}
