//! How durations and slots read.

use std::fmt;

use crate::State;

/// `36h` as `1d12h`: days, hours, minutes, seconds, milliseconds, each if there is any; `0s` for none.
pub fn duration_text(ms: u64) -> String {
    let units = [(86_400_000, "d"), (3_600_000, "h"), (60_000, "m"), (1000, "s"), (1, "ms")];
    let mut rest_ms = ms;
    let mut text = String::new();
    for (unit_ms, unit) in units {
        if rest_ms >= unit_ms {
            text += &format!("{}{unit}", rest_ms / unit_ms);
            rest_ms %= unit_ms;
        }
    }
    if text.is_empty() { "0s".into() } else { text }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            State::Queued => "queued",
            State::Reserved => "reserved",
            State::Busy => "busy",
            State::Released => "released",
            State::Expired => "expired",
            State::TimedOut => "timed_out",
            State::Left => "left",
            State::RunEnded => "run_ended",
            State::Unknown => "unknown",
        })
    }
}
