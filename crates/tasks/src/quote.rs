//! What an execution would cost and whether it would be let in, without doing anything.
//!
//! One verdict stands for every limit that would refuse the run. A task that reads a rate of 20 a minute (used up, 42 s
//! to go, no label), then three free tries (used up, two days to go, `free_tries`), then one at a time (free):
//!
//! ```text
//! {"type":"rate","overLimit":true,"retryAfterSeconds":172800,"label":"free_tries"}
//! ```
//!
//! The longest wait decides, since before that the run is refused anyway, and the label belongs to it. Were the place
//! taken too, the type would be `concurrency` and the wait null: nobody knows when it frees. So verdicts can be merged
//! pair by pair, in any grouping: concurrency beats a rate, a longer wait a shorter one, the earlier an equal one.

use maitred::api::{Decision, LimitKind};
use serde::Serialize;

use crate::Options;

/// What `/options` answers and [`Flow::options`](crate::Flow::options) returns.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Quote {
    /// What `options()` returned.
    #[serde(flatten)]
    pub options: Options,
    /// Over everything that would refuse the run; absent when no limit was read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate_limit_verdict: Option<RateLimitVerdict>,
}

/// Whether the run would be refused now. A concurrency verdict is a snapshot.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RateLimitVerdict {
    /// Which kind blocks the run; absent when nothing is over, `concurrency` when both are.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub kind: Option<LimitKind>,
    /// The run would be refused.
    pub over_limit: bool,
    /// The longest wait among the rates that are over, 0 when nothing is over, null when concurrency blocks.
    pub retry_after_seconds: Option<u64>,
    /// Of the limit that blocks, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
}

impl RateLimitVerdict {
    /// The verdict of one call.
    pub(crate) fn of(decision: &Decision) -> Self {
        if !decision.over_limit {
            return Self { kind: None, over_limit: false, retry_after_seconds: Some(0), label: None };
        }
        let blocking = decision.blocked_by.and_then(|index| decision.results.get(index));
        Self {
            kind: Some(decision.kind),
            over_limit: true,
            retry_after_seconds: (decision.kind == LimitKind::Rate).then_some(decision.retry_after_seconds),
            label: blocking.and_then(|result| result.label.clone()),
        }
    }

    /// The one verdict over this and a later one.
    pub(crate) fn and(self, later: Self) -> Self {
        if later.weight() > self.weight() { later } else { self }
    }

    /// A later one takes the place of an earlier one only if it weighs more.
    fn weight(&self) -> (bool, bool, Option<u64>) {
        (self.over_limit, self.kind == Some(LimitKind::Concurrency), self.retry_after_seconds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rate(wait: u64, label: &str) -> RateLimitVerdict {
        let kind = Some(LimitKind::Rate);
        RateLimitVerdict {
            kind,
            over_limit: true,
            retry_after_seconds: Some(wait),
            label: Some(label.to_owned()),
        }
    }

    fn place(label: &str) -> RateLimitVerdict {
        RateLimitVerdict { kind: Some(LimitKind::Concurrency), retry_after_seconds: None, ..rate(0, label) }
    }

    fn free() -> RateLimitVerdict {
        RateLimitVerdict { kind: None, over_limit: false, retry_after_seconds: Some(0), label: None }
    }

    #[test]
    fn the_heaviest_wins_and_the_first_among_equals() {
        assert_eq!(free().and(rate(1, "a")), rate(1, "a"));
        assert_eq!(rate(1, "a").and(free()), rate(1, "a"));
        assert_eq!(rate(1, "a").and(rate(2, "b")), rate(2, "b"));
        assert_eq!(rate(2, "a").and(rate(2, "b")), rate(2, "a"));
        assert_eq!(rate(9, "a").and(place("p")), place("p"));
        assert_eq!(place("p").and(rate(9, "a")), place("p"));
        assert_eq!(place("p").and(place("q")), place("p"));
    }

    #[test]
    fn it_looks_as_documented() {
        let json = |verdict: RateLimitVerdict| serde_json::to_string(&verdict).unwrap();
        assert_eq!(
            json(rate(42, "free_tries")),
            r#"{"type":"rate","overLimit":true,"retryAfterSeconds":42,"label":"free_tries"}"#
        );
        assert_eq!(json(free()), r#"{"overLimit":false,"retryAfterSeconds":0}"#);
        assert_eq!(
            json(RateLimitVerdict { label: None, ..place("") }),
            r#"{"type":"concurrency","overLimit":true,"retryAfterSeconds":null}"#
        );
    }
}
