//! What tests of the real thing need: servers, and a judge of what their callers were told ([`history`]).
//!
//! Servers are started on a free port of the loopback address with data of their own, paused, killed,
//! started again, and thrown away with the last handle.
//!
//! ```no_run
//! let mut server = maitred_testbed::Postgres::start()?;
//! println!("{}", server.url("limits"));
//! server.kill()?; // SIGKILL; the data stays
//! server.start_again()?;
//! # Ok::<(), String>(())
//! ```
#![forbid(unsafe_code)]

mod account;
mod authority;
pub mod history;
mod nats;
mod network;
mod ports;
mod postgres;

pub use authority::authority;
pub use nats::{Nats, NatsCluster, NatsOptions};
pub use network::{Cut, Network};
pub use ports::free_port;
pub use postgres::{Postgres, Standby};
