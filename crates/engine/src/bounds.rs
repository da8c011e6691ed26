//! Every bound the engine keeps (N3, L1, R8), in one place.

use crate::time::{DAY_MS, MINUTE_MS, Millis, SECOND_MS};

pub const CAPACITY_MAX: u32 = 100_000;
pub const MAX_HOLD_MAX_MS: Millis = 30 * DAY_MS;
pub const WEIGHT_MAX: u32 = 100_000;
pub const TIMEOUT_MAX_MS: Millis = 400 * DAY_MS;
pub const TIMEOUT_DEFAULT_MS: Millis = DAY_MS;
pub const WINDOW_MIN_MS: Millis = SECOND_MS;
pub const WINDOW_MAX_MS: Millis = 400 * DAY_MS;
/// 2^53 - 1: the largest whole number that JSON readers agree on.
pub const COUNT_MAX: u64 = (1 << 53) - 1;
pub const ASKS_MAX: usize = 8;
pub const SPECS_MAX: usize = 16;
/// How long a granted slot waits for its confirm (S4).
pub const RESERVATION_MS: Millis = 2 * MINUTE_MS;
/// How long a place in flight is held at the most (K1).
pub const PLACE_MAX_MS: Millis = 3_600 * SECOND_MS;
/// A record that comes later than this after something was due means that nobody was there (T2a).
pub const ABSENCE_MS: Millis = 5 * SECOND_MS;
/// How long request ids and ended slots are remembered (B1).
pub const MEMORY_MS: Millis = DAY_MS;

/// What the engine may hold at once. Part of the state, so that every machine refuses alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    pub namespaces: u32,
    /// Declared and retired ones, and what operators set for those that are gone.
    pub limits: u32,
    pub waiting_per_limit: u32,
    pub waiting: u32,
    pub slots: u32,
    /// Rate windows and places in flight together.
    pub keys: u32,
    /// Remembered ids that carry a time (UUIDv7): when full, the horizon moves.
    pub remembered_timed: u32,
    /// Remembered ids that do not: when full, new ones are refused.
    pub remembered_other: u32,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            namespaces: 10_000,
            limits: 100_000,
            waiting_per_limit: 1_000_000,
            waiting: 2_000_000,
            slots: 4_000_000,
            keys: 16_000_000,
            remembered_timed: 4_000_000,
            remembered_other: 1_000_000,
        }
    }
}
