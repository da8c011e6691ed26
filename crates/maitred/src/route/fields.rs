//! The header fields of a 429, in one of several dialects.
//!
//! The draft for `RateLimit` and `RateLimit-Policy` still moves; its grammar (structured fields: a name in quotes, then
//! whole numbers of at most 15 digits) is only known here. A rate of 3 in 30 days labelled `free_tries`, used up, with
//! 42 s to go:
//!
//! ```text
//! Retry-After: 42
//! RateLimit-Policy: "free_tries";q=3;w=2592000
//! RateLimit: "free_tries";r=0;t=42
//! ```
//!
//! A place promises no time, so it has neither `Retry-After` nor `w` and `t`. A limit without a label has no name to
//! give and contributes nothing but `Retry-After`. Keys are never told.

use axum::http::{HeaderName, HeaderValue, header::RETRY_AFTER};
use maitred_api::{LimitKind, SpecResult};

use crate::RateLimitExceeded;

/// Which header fields a 429 has beside `Retry-After`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Dialect {
    /// None.
    Off,
    /// `RateLimit-Policy` and `RateLimit` as in draft-ietf-httpapi-ratelimit-headers-11.
    #[default]
    Draft11,
    /// `X-RateLimit-Limit`, `X-RateLimit-Remaining` and, for rates, `X-RateLimit-Reset` in seconds from now.
    Legacy,
}

pub(super) type Fields = Vec<(HeaderName, HeaderValue)>;

const POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");
const LIMIT: HeaderName = HeaderName::from_static("ratelimit");
const LEGACY_LIMIT: HeaderName = HeaderName::from_static("x-ratelimit-limit");
const LEGACY_REMAINING: HeaderName = HeaderName::from_static("x-ratelimit-remaining");
const LEGACY_RESET: HeaderName = HeaderName::from_static("x-ratelimit-reset");
/// The largest whole number of a structured field has 15 digits.
const INTEGER_MOST: u64 = 999_999_999_999_999;

/// What is over, as a field can say it.
pub(super) struct Over<'a> {
    pub label: Option<&'a str>,
    pub quota: u64,
    pub remaining: u64,
    /// Of a rate: its window and the wait, in seconds.
    pub rate: Option<(Option<u64>, u64)>,
}

impl<'a> Over<'a> {
    /// The spec that blocks. `windows` are those of the call's specs, in its order.
    pub fn of(exceeded: &'a RateLimitExceeded, windows: &[Option<u64>]) -> Option<Over<'a>> {
        let index = exceeded.decision.blocked_by?;
        let SpecResult { label, limit, remaining, .. } = exceeded.decision.results.get(index)?;
        let wait = exceeded.decision.retry_after_seconds;
        let rate = (exceeded.kind == LimitKind::Rate).then(|| (windows.get(index).copied().flatten(), wait));
        Some(Over { label: label.as_deref(), quota: *limit, remaining: *remaining, rate })
    }
}

pub(super) fn of(dialect: Dialect, over: &Over<'_>) -> Fields {
    let mut fields = Fields::new();
    if let Some((_, wait)) = over.rate {
        fields.push((RETRY_AFTER, HeaderValue::from(wait)));
    }
    match dialect {
        Dialect::Off => {}
        Dialect::Draft11 => fields.extend(draft(over).unwrap_or_default()),
        Dialect::Legacy => fields.extend(legacy(over)),
    }
    fields
}

/// Both fields, or none if something does not fit into a structured field.
fn draft(over: &Over<'_>) -> Option<Fields> {
    let name = quoted(over.label?)?;
    let (quota, left) = (integer(over.quota)?, integer(over.remaining)?);
    let (policy, limit) = match over.rate {
        Some((window, wait)) => {
            let (window, wait) = (integer(window?)?, integer(wait)?);
            (format!("{name};q={quota};w={window}"), format!("{name};r={left};t={wait}"))
        }
        None => (format!("{name};q={quota};qu=\"concurrent-requests\""), format!("{name};r={left}")),
    };
    Some(vec![(POLICY, policy.parse().ok()?), (LIMIT, limit.parse().ok()?)])
}

fn legacy(over: &Over<'_>) -> Fields {
    let mut fields = vec![(LEGACY_LIMIT, over.quota.into()), (LEGACY_REMAINING, over.remaining.into())];
    fields.extend(over.rate.map(|(_, wait)| (LEGACY_RESET, wait.into())));
    fields
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
    use super::{Dialect, Over, of};

    fn shown(dialect: Dialect, over: Over<'_>) -> Vec<String> {
        let line = |(name, value): &(axum::http::HeaderName, axum::http::HeaderValue)| {
            format!("{name}: {}", value.to_str().unwrap())
        };
        of(dialect, &over).iter().map(line).collect()
    }

    const RATE: Over<'_> =
        Over { label: Some("free_tries"), quota: 3, remaining: 0, rate: Some((Some(2_592_000), 42)) };
    const PLACE: Over<'_> = Over { label: Some("one \"at\" a \\"), quota: 1, remaining: 0, rate: None };

    #[test]
    fn a_rate_in_every_dialect() {
        let draft = [
            "retry-after: 42",
            "ratelimit-policy: \"free_tries\";q=3;w=2592000",
            "ratelimit: \"free_tries\";r=0;t=42",
        ];
        assert_eq!(shown(Dialect::Draft11, RATE), draft);
        assert_eq!(shown(Dialect::Off, RATE), ["retry-after: 42"]);
        let legacy =
            ["retry-after: 42", "x-ratelimit-limit: 3", "x-ratelimit-remaining: 0", "x-ratelimit-reset: 42"];
        assert_eq!(shown(Dialect::Legacy, RATE), legacy);
    }

    #[test]
    fn a_place_promises_no_time() {
        let draft = [
            r#"ratelimit-policy: "one \"at\" a \\";q=1;qu="concurrent-requests""#,
            r#"ratelimit: "one \"at\" a \\";r=0"#,
        ];
        assert_eq!(shown(Dialect::Draft11, PLACE), draft);
        assert!(shown(Dialect::Off, PLACE).is_empty());
        assert_eq!(shown(Dialect::Legacy, PLACE), ["x-ratelimit-limit: 1", "x-ratelimit-remaining: 0"]);
    }

    #[test]
    fn what_has_no_name_or_does_not_fit_is_left_out() {
        for over in [
            Over { label: None, ..RATE },
            Over { label: Some("gebühr"), ..RATE },
            Over { quota: 1 << 53, ..RATE },
            Over { rate: Some((None, 42)), ..RATE },
        ] {
            assert_eq!(shown(Dialect::Draft11, over), ["retry-after: 42"]);
        }
    }
}
