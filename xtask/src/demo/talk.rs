//! What the parent and a worker say to each other: one line of JSON each, over the worker's stdin and stdout.
//!
//! A line is written in one piece and is shorter than what a pipe takes in one piece, so a killed worker leaves
//! whole lines behind and what it said before its death can be relied on.

use maitred::api::SlotState;
use serde::{Deserialize, Serialize};

use super::catalog::{Enriched, Product};

/// To a worker: a record to do.
#[derive(Debug, Serialize, Deserialize)]
pub struct Job {
    pub record: usize,
    pub product: Product,
}

/// From a worker. Each is said before the worker does what comes after it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "said", rename_all = "snake_case")]
pub enum Said {
    /// The slot's id was made and will now be asked for.
    Asked {
        slot: String,
    },
    /// The slot is busy. `has_waited`: not granted in the moment it was asked for.
    Granted {
        slot: String,
        fence: u64,
        has_waited: bool,
    },
    /// The partner will now be called.
    Calling {
        slot: String,
    },
    /// The partner answered; 0: it did not, so the slot is left to expire, since the partner may still be at it.
    Answered {
        slot: String,
        status: u16,
    },
    /// The slot's end. `by_this_call`: the release was answered with `released: true`; `lost`: so many answers to
    /// earlier tries were lost.
    Ended {
        slot: String,
        state: SlotState,
        by_this_call: bool,
        lost: u32,
    },
    /// An answer of the limiter was lost, or it could not be reached; the same call is made again.
    Lost,
    Done {
        record: usize,
        enriched: Enriched,
    },
}
