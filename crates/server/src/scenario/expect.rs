//! Answers in the words of scenario files, and whether they are the expected ones.

use std::fmt;

use maitred::format_duration;
use maitred_api::{Answer, Call, Decision, KeysAnswer, LimitInfo, LimitKind, Problem, SlotInfo, SlotState};

/// What must come: these words first, and these pairs among the answer's.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Expected {
    pub words: Vec<String>,
    pub pairs: Vec<(String, String)>,
}

/// What came.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reply {
    pub words: Vec<String>,
    pub pairs: Vec<(String, String)>,
}

impl Expected {
    pub fn is_met_by(&self, reply: &Reply) -> bool {
        reply.words.starts_with(&self.words) && self.pairs.iter().all(|pair| reply.pairs.contains(pair))
    }
}

impl fmt::Display for Expected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        show(&self.words, &self.pairs, f)
    }
}

impl fmt::Display for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        show(&self.words, &self.pairs, f)
    }
}

fn show(words: &[String], pairs: &[(String, String)], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let pairs = pairs.iter().map(|(name, value)| format!("{name}={value}"));
    let all: Vec<String> = words.iter().cloned().chain(pairs).collect();
    f.write_str(&all.join(" "))
}

impl Reply {
    pub fn word(word: impl ToString) -> Self {
        Reply { words: vec![word.to_string()], pairs: Vec::new() }
    }

    fn and(mut self, word: impl ToString) -> Self {
        self.words.push(word.to_string());
        self
    }

    fn with(mut self, name: &str, value: impl ToString) -> Self {
        self.pairs.push((name.to_owned(), value.to_string()));
        self
    }

    /// The answer to a call.
    pub fn of(call: &Call, outcome: &Result<Answer, Problem>) -> Reply {
        match (call, outcome) {
            (_, Err(problem)) => Reply::error(problem.reason.code()),
            (Call::Limit { .. }, Ok(Answer::Limit(answer))) => limit(&answer.limit),
            (_, Ok(Answer::Slot(answer))) => slot(&answer.slot),
            (_, Ok(Answer::Release(answer))) => {
                Reply::word(if answer.released { "released" } else { "not_released" })
            }
            (_, Ok(Answer::Decision(decision))) => verdict(decision),
            (_, Ok(_)) => Reply::word("ok"),
        }
    }

    pub fn error(code: &str) -> Reply {
        Reply::word("error").and(code)
    }

    pub fn queue(ids: &[String]) -> Reply {
        Reply::word(if ids.is_empty() { "-".to_owned() } else { ids.join(",") })
    }

    pub fn counter(answer: &KeysAnswer) -> Reply {
        match answer.keys.first().and_then(|key| key.window.as_ref()) {
            None => Reply::word("none"),
            Some(window) => Reply::word("counter")
                .with("used", window.used)
                .with("resets_in", format!("{}s", window.resets_in_s)),
        }
    }

    pub fn in_flight(answer: &KeysAnswer) -> Reply {
        Reply::word("inflight").with("used", answer.keys.first().map_or(0, |key| key.in_flight))
    }
}

fn slot(slot: &SlotInfo) -> Reply {
    match (slot.state, slot.place) {
        (SlotState::Queued, Some(place)) => Reply::word("queued").and(place),
        (state, _) => Reply::word(state.as_str()),
    }
}

fn limit(limit: &LimitInfo) -> Reply {
    let yes = |yes: bool| if yes { "yes" } else { "no" };
    let overridden = limit.capacity_override.is_some() || limit.max_hold_override_ms.is_some();
    Reply::word("limit")
        .with("capacity", limit.capacity)
        .with("max_hold", format_duration(limit.max_hold_ms))
        .with("busy", limit.busy)
        .with("reserved", limit.reserved)
        .with("waiting", limit.waiting)
        .with("overridden", yes(overridden))
        .with("retired", yes(limit.retired))
        .with("paused", yes(limit.paused))
}

fn verdict(decision: &Decision) -> Reply {
    if !decision.over_limit {
        return Reply::word("allowed");
    }
    let over = match decision.kind {
        LimitKind::Rate => {
            Reply::word("over").with("type", "rate").with("retry_after", decision.retry_after_seconds)
        }
        LimitKind::Concurrency => Reply::word("over").with("type", "concurrency").with("retry_after", "none"),
    };
    let Some(blocking) = decision.blocked_by.and_then(|index| decision.results.get(index)) else {
        return over;
    };
    let over = over.with("limit", blocking.limit);
    match &blocking.label {
        Some(label) => over.with("label", label),
        None => over,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reply(words: &[&str], pairs: &[(&str, &str)]) -> Reply {
        let pairs = pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Reply { words: words.iter().map(|word| (*word).to_owned()).collect(), pairs }
    }

    fn expected(words: &[&str], pairs: &[(&str, &str)]) -> Expected {
        let Reply { words, pairs } = reply(words, pairs);
        Expected { words, pairs }
    }

    #[test]
    fn words_come_first_and_in_order_and_pairs_in_any() {
        let came = reply(&["over"], &[("type", "rate"), ("retry_after", "5"), ("limit", "2")]);
        assert!(expected(&["over"], &[]).is_met_by(&came));
        assert!(expected(&["over"], &[("limit", "2"), ("type", "rate")]).is_met_by(&came));
        assert!(expected(&[], &[("limit", "2")]).is_met_by(&came));
        assert!(!expected(&["allowed"], &[]).is_met_by(&came));
        assert!(!expected(&["over"], &[("limit", "3")]).is_met_by(&came));
        assert!(!expected(&["over"], &[("label", "x")]).is_met_by(&came));

        let queued = reply(&["queued", "2"], &[]);
        assert!(expected(&["queued"], &[]).is_met_by(&queued));
        assert!(!expected(&["queued", "1"], &[]).is_met_by(&queued));
        assert!(!expected(&["2"], &[]).is_met_by(&queued));
        assert!(!expected(&["queued", "2", "more"], &[]).is_met_by(&queued));
    }

    #[test]
    fn answers_are_shown_as_they_are_written() {
        assert_eq!(reply(&["queued", "2"], &[("a", "b")]).to_string(), "queued 2 a=b");
        assert_eq!(Reply::queue(&[]).to_string(), "-");
        assert_eq!(Reply::queue(&["a=1".to_owned(), "b".to_owned()]).to_string(), "a=1,b");
        assert_eq!(Reply::error("conflict").to_string(), "error conflict");
    }
}
