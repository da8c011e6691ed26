//! The rules of maitred as one pure, deterministic state machine.
//!
//! No I/O, no clock, no chance: [`Engine::apply`] takes the time and a command and gives back an outcome and
//! events. The same commands at the same times make the same state on every machine (T5). Nothing here fails: a
//! refusal is an [`Outcome`](outcome::Outcome).
//!
//! ```
//! use maitred_engine::{Engine, bounds::Bounds, command::*, outcome::*};
//!
//! let ask = |verb| Command::In(Box::new(Request {
//!     namespace: Default::default(), request: None, by: None, reason: None, verb,
//! }));
//! let limit: maitred_engine::names::LimitName = "voice-calls".parse()?;
//! let acquire = |slot: &str| ask(Verb::Acquire(Acquire {
//!     slot: slot.parse().unwrap(),
//!     asks: vec![Ask { limit: limit.clone(), weight: 1 }],
//!     run: None, workflow: None, label: None, line: None,
//!     timeout_ms: 60_000, confirm: Confirm::Holder, hold: Hold::Released,
//! }));
//!
//! let mut engine = Engine::new([1, 2], Bounds::default());
//! let mut events = Vec::new();
//! let declared = Declaration { limit: limit.clone(), capacity: 1, max_hold_ms: 2_700_000 };
//! engine.apply(0, &ask(Verb::Declare(declared)), &mut events);
//! engine.apply(0, &acquire("a"), &mut events);
//! let second = engine.apply(0, &acquire("b"), &mut events);
//! assert_eq!(second, Outcome::Slot(SlotStatus::Queued { place: 1, gives_up_at: 60_000 }));
//!
//! engine.apply(5_000, &ask(Verb::Release { slot: "a".parse()? }), &mut events);
//! assert!(matches!(engine.status("default", "b"), SlotStatus::Reserved { granted_at: 5_000, .. }));
//! assert_eq!(engine.next_due(), Some(125_000)); // the reservation lapses
//! # Ok::<(), maitred_engine::names::NameError>(())
//! ```
#![forbid(unsafe_code)]

pub mod bounds;
pub mod bytes;
pub mod command;
pub mod event;
pub mod names;
pub mod outcome;
pub mod time;
pub mod view;

mod acquire;
mod admit;
mod check;
mod command_bytes;
mod digest;
mod due;
mod engine;
mod fenwick;
mod find;
mod form;
mod granting;
mod holders;
mod index;
mod limits;
mod lines;
mod memory;
mod places;
mod queue;
mod rates;
mod read;
mod requests;
mod restore;
mod runs;
#[cfg(feature = "check")]
mod shape;
mod slab;
mod slots;
mod snapshot;
mod tasks;
#[cfg(test)]
mod testing;

pub use engine::{Engine, RULES_MAX};
pub use restore::SnapshotError;
