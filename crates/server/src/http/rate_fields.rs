//! The header fields of a 429: `Retry-After`, and `RateLimit-Policy` and `RateLimit` in the form of
//! draft-ietf-httpapi-ratelimit-headers-11. The draft still moves, so its grammar is only known here.
//!
//! A rate of 3 per 30 days labelled `free_tries`, used up, with 42 s to go:
//!
//! ```text
//! Retry-After: 42
//! RateLimit-Policy: "free_tries";q=3;w=2592000
//! RateLimit: "free_tries";r=0;t=42
//! ```
//!
//! A place in flight promises no time, so it has no `Retry-After`, `w` and `t`. A limit without a label has no
//! policy to name, so it has `Retry-After` only. The key is never told.

use axum::http::{HeaderName, HeaderValue, header::RETRY_AFTER};
use maitred_api::{Decision, LimitKind, SpecResult};

const POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");
const LIMIT: HeaderName = HeaderName::from_static("ratelimit");
/// The largest whole number of a structured field has 15 digits.
const INTEGER_MOST: u64 = 999_999_999_999_999;

/// The fields for a decision that is over. `windows` are the windows of the call's specs in seconds, where they
/// have one.
pub fn of(decision: &Decision, windows: &[Option<u64>]) -> Vec<(HeaderName, HeaderValue)> {
    let mut fields = Vec::new();
    if decision.kind == LimitKind::Rate {
        fields.push((RETRY_AFTER, HeaderValue::from(decision.retry_after_seconds)));
    }
    let blocking = decision.blocked_by.and_then(|index| Some((index, decision.results.get(index)?)));
    if let Some((index, result)) = blocking {
        let window = windows.get(index).copied().flatten();
        fields.extend(policy(decision, result, window).unwrap_or_default());
    }
    fields
}

/// Both fields, or neither: if the label or a number does not fit into a structured field.
fn policy(
    decision: &Decision,
    result: &SpecResult,
    window: Option<u64>,
) -> Option<Vec<(HeaderName, HeaderValue)>> {
    let name = quoted(result.label.as_deref()?)?;
    let (quota, left) = (integer(result.limit)?, integer(result.remaining)?);
    let (policy, limit) = match decision.kind {
        LimitKind::Rate => {
            let (window, wait) = (integer(window?)?, integer(decision.retry_after_seconds)?);
            (format!("{name};q={quota};w={window}"), format!("{name};r={left};t={wait}"))
        }
        LimitKind::Concurrency => {
            (format!("{name};q={quota};qu=\"concurrent-requests\""), format!("{name};r={left}"))
        }
    };
    Some(vec![(POLICY, policy.parse().ok()?), (LIMIT, limit.parse().ok()?)])
}

/// A string of a structured field: printable ASCII in quotes.
fn quoted(text: &str) -> Option<String> {
    let fits = text.bytes().all(|byte| (0x20..=0x7e).contains(&byte));
    fits.then(|| format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"")))
}

fn integer(number: u64) -> Option<u64> {
    (number <= INTEGER_MOST).then_some(number)
}

#[cfg(test)]
mod tests {
    use maitred_api::{Decision, LimitKind, SpecResult};

    use super::of;

    fn over(kind: LimitKind, label: Option<&str>, limit: u64) -> Decision {
        let result = SpecResult {
            label: label.map(str::to_owned),
            limit,
            used: limit,
            remaining: 0,
            reset_seconds: 42,
            over: true,
        };
        let retry_after_seconds = if kind == LimitKind::Rate { 42 } else { 0 };
        Decision {
            kind,
            over_limit: true,
            retry_after_seconds,
            degraded: false,
            results: vec![result],
            blocked_by: Some(0),
            replayed: false,
            revision: 1,
            as_of: 1,
        }
    }

    fn shown(decision: &Decision, window: Option<u64>) -> Vec<String> {
        let line = |(name, value): &(axum::http::HeaderName, axum::http::HeaderValue)| {
            format!("{name}: {}", value.to_str().unwrap())
        };
        of(decision, &[window]).iter().map(line).collect()
    }

    #[test]
    fn a_rate_with_a_label() {
        let fields = shown(&over(LimitKind::Rate, Some("free_tries"), 3), Some(2_592_000));
        assert_eq!(
            fields,
            [
                "retry-after: 42",
                "ratelimit-policy: \"free_tries\";q=3;w=2592000",
                "ratelimit: \"free_tries\";r=0;t=42"
            ]
        );
    }

    #[test]
    fn places_promise_no_time() {
        let fields = shown(&over(LimitKind::Concurrency, Some("one \"by\" one"), 1), None);
        assert_eq!(
            fields,
            [
                r#"ratelimit-policy: "one \"by\" one";q=1;qu="concurrent-requests""#,
                r#"ratelimit: "one \"by\" one";r=0"#
            ]
        );
    }

    #[test]
    fn what_has_no_name_or_does_not_fit_is_left_out() {
        assert_eq!(shown(&over(LimitKind::Rate, None, 3), Some(60)), ["retry-after: 42"]);
        assert_eq!(shown(&over(LimitKind::Rate, Some("año"), 3), Some(60)), ["retry-after: 42"]);
        assert_eq!(shown(&over(LimitKind::Rate, Some("big"), 1 << 53), Some(60)), ["retry-after: 42"]);
        assert!(shown(&over(LimitKind::Concurrency, None, 1), None).is_empty());
    }
}
