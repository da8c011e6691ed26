//! How durations and slots read.

use std::fmt;

use crate::{Acquire, EndStatus, Spec, State, Step, Verb};

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

/// A line of a scenario, with what the format has no words for: `namespace=`, `request=`, `line=`.
impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", duration_text(self.at_ms), self.verb)?;
        if self.namespace != "default" {
            write!(f, " namespace={}", self.namespace)?;
        }
        self.request_id.iter().try_for_each(|id| write!(f, " request={id}"))
    }
}

impl fmt::Display for Verb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Verb::Declare { limit, capacity, max_hold_ms } => {
                write!(f, "declare {limit} capacity={capacity} max_hold={}", duration_text(*max_hold_ms))
            }
            Verb::Deploy { limits } => {
                f.write_str("deploy")?;
                limits.iter().try_for_each(|it| {
                    write!(f, " {}:{}:{}", it.limit, it.capacity, duration_text(it.max_hold_ms))
                })
            }
            Verb::Capacity { limit, value } => {
                write!(f, "capacity {limit} {}", value.map_or("reset".into(), |value| value.to_string()))
            }
            Verb::MaxHold { limit, value_ms } => {
                write!(f, "max_hold {limit} {}", value_ms.map_or("reset".into(), duration_text))
            }
            Verb::Pause { limit } => write!(f, "pause {limit}"),
            Verb::Resume { limit } => write!(f, "resume {limit}"),
            Verb::Acquire(ask) => write!(f, "acquire {ask}"),
            Verb::Confirm { slot } => write!(f, "confirm {slot}"),
            Verb::Leave { slot } => write!(f, "leave {slot}"),
            Verb::Release { slot } => write!(f, "release {slot}"),
            Verb::HangUp { slot, line } => write!(f, "hang_up {slot} line={line}"),
            Verb::LineEnd { slot, line } => write!(f, "line_end {slot} line={line}"),
            Verb::DropLines => f.write_str("drop_lines"),
            Verb::End { run, status } => write!(f, "end {run} {status}"),
            Verb::Admit { task, run, specs } => {
                write!(f, "admit task={task}")?;
                run.iter().try_for_each(|run| write!(f, " run={run}"))?;
                let specs: Vec<String> = specs.iter().map(Spec::to_string).collect();
                write!(f, " {}", specs.join(" + "))
            }
            Verb::Advance => f.write_str("advance"),
        }
    }
}

impl fmt::Display for Acquire {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named = |(limit, weight): &(String, u64)| match weight {
            1 => limit.clone(),
            _ => format!("{limit}*{weight}"),
        };
        let limits: Vec<String> = self.limits.iter().map(named).collect();
        write!(f, "{} slot={}", limits.join("+"), self.slot)?;
        self.run.iter().try_for_each(|run| write!(f, " run={run}"))?;
        write!(f, " timeout={}", duration_text(self.timeout_ms))?;
        f.write_str(if self.auto { " confirm=auto" } else { "" })?;
        f.write_str(if self.hold_run { " hold=run" } else { "" })?;
        self.line.iter().try_for_each(|line| write!(f, " line={line}"))
    }
}

impl fmt::Display for Spec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "key={} limit={}", self.key, self.limit)?;
        if let Some(window_ms) = self.window_ms {
            write!(f, " window={} cost={}", duration_text(window_ms), self.cost)?;
        }
        f.write_str(if self.successes_only { " successes_only" } else { "" })?;
        self.label.iter().try_for_each(|label| write!(f, " label={label}"))
    }
}

impl fmt::Display for EndStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            EndStatus::Succeeded => "succeeded",
            EndStatus::Failed => "failed",
            EndStatus::Cancelled => "cancelled",
        })
    }
}
