//! This machine's boot clock.

use maitred_engine::time::Millis;
use rustix::time::{ClockId, clock_gettime};

/// Milliseconds since the machine started, time asleep included. Nobody can set it.
pub fn boot_ms() -> Millis {
    let time = clock_gettime(ClockId::Boottime);
    time.tv_sec as Millis * 1_000 + time.tv_nsec as Millis / 1_000_000
}
