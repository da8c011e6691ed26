//! A limiter near and a limiter far, for tests that must not be able to tell them apart.

pub mod proxy;

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use maitred::{
    Client, Far, FarOptions, Maitred, Slot,
    local::{Node, NodeOptions},
};
use maitred_server::http::{Server, Shared};
use tokio::net::TcpListener;

pub const MINUTE: Duration = Duration::from_secs(60);

/// Runs a test near and far: `near::NAME` and `far::NAME`.
macro_rules! near_and_far {
    ($($name:ident)*) => {
        mod near {
            $(#[tokio::test]
            async fn $name() {
                super::$name($crate::common::World::near().await).await;
            })*
        }
        mod far {
            $(#[tokio::test]
            async fn $name() {
                super::$name($crate::common::World::far().await).await;
            })*
        }
    };
}

pub(crate) use near_and_far;

pub struct World {
    pub maitred: Maitred,
    pub is_far: bool,
    /// The node behind, seen without the client under test.
    pub node: Node,
    pub server: Option<Server>,
}

impl World {
    pub async fn near() -> World {
        let node = node().await;
        let maitred = Maitred::new(Client::Near(node.clone())).unwrap();
        World { maitred, is_far: false, node, server: None }
    }

    pub async fn far() -> World {
        let node = node().await;
        let (server, url) = serve(node.clone(), "127.0.0.1:0").await;
        World { maitred: Maitred::connect(&url).unwrap(), is_far: true, node, server: Some(server) }
    }

    /// Another client of the same limiter, with its own connections.
    pub fn another(&self) -> Maitred {
        let client = match &self.server {
            None => Client::Near(self.node.clone()),
            Some(server) => {
                Client::Far(Far::connect(&format!("http://{}", server.addr), FarOptions::default()).unwrap())
            }
        };
        Maitred::new(client).unwrap()
    }

    pub async fn declare(&self, limit: &str, capacity: u32) {
        self.maitred.declare(limit, capacity, 10 * MINUTE).await.unwrap();
    }

    /// Weights of busy and reserved slots, and how many wait.
    pub async fn counts(&self, limit: &str) -> (u64, u64, u32) {
        let info = observer(&self.node).limit(limit).await.unwrap().limit;
        (info.busy, info.reserved, info.waiting)
    }

    /// Waits until the counts are these.
    pub async fn until(&self, limit: &str, counts: (u64, u64, u32)) {
        let started = Instant::now();
        loop {
            let now = self.counts(limit).await;
            if now == counts {
                return;
            }
            assert!(
                started.elapsed() < Duration::from_secs(20),
                "`{limit}` has (busy, reserved, waiting) {now:?}, not {counts:?}"
            );
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// An acquire in a task of its own, once it is in the queue as number `place`.
    pub async fn waiting(&self, limit: &str, place: u32) -> tokio::task::JoinHandle<Slot> {
        let asked = self.maitred.acquire(limit).timeout(MINUTE);
        let task = tokio::spawn(async move { asked.await.unwrap() });
        let busy = self.counts(limit).await.0;
        self.until(limit, (busy, 0, place)).await;
        task
    }
}

/// Reads of the node itself.
pub fn observer(node: &Node) -> Maitred {
    Maitred::new(Client::Near(node.clone())).unwrap()
}

pub async fn node() -> Node {
    Node::start(NodeOptions::default()).await.unwrap()
}

pub async fn serve(node: Node, addr: &str) -> (Server, String) {
    let listener = TcpListener::bind(addr).await.unwrap();
    let server = Server::start(listener, Arc::new(Shared::new(node))).unwrap();
    let url = format!("http://{}", server.addr);
    (server, url)
}

/// Numbers from a seed, the same in every run of it.
pub struct Chance(u64);

impl Chance {
    /// From `MAITRED_TEST_SEED`, or from the clock; printed, so that a failure can be had again.
    pub fn new() -> Chance {
        let given = std::env::var("MAITRED_TEST_SEED").ok().and_then(|seed| seed.parse().ok());
        let clock = || std::time::UNIX_EPOCH.elapsed().unwrap().as_nanos() as u64;
        let seed = given.unwrap_or_else(clock);
        println!("MAITRED_TEST_SEED={seed}");
        Chance(seed)
    }

    /// 0 up to below this.
    pub fn below(&mut self, bound: u64) -> u64 {
        // splitmix64
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % bound
    }
}
