//! The header fields of a 429, in one of several dialects.
//!
//! The draft for `RateLimit` and `RateLimit-Policy` still moves; its grammar (structured fields: a name in quotes, then
//! whole numbers of at most 15 digits) is only known here. A rate of 3 in 30 days labelled `free_tries`, used up, with
//! 42 s to go:
//!
//! ```text
//! retry-after: 42
//! ratelimit-policy: "free_tries";q=3;w=2592000
//! ratelimit: "free_tries";r=0;t=42
//! ```
//!
//! A place promises no time, so it has neither `retry-after` nor `w` and `t`. A limit without a label has no name to
//! give and contributes nothing but `retry-after`. Keys are never told.

use crate::{Decision, LimitKind};

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

/// Names in small letters, and values of printable ASCII.
pub type RateFields = Vec<(&'static str, String)>;

/// The largest whole number of a structured field has 15 digits.
const INTEGER_MOST: u64 = 999_999_999_999_999;

/// The limit that blocks, as a field can say it.
#[derive(Clone, Copy, Debug)]
pub struct Over<'a> {
    pub label: Option<&'a str>,
    pub quota: u64,
    pub remaining: u64,
    /// Of a rate.
    pub rate: Option<OverRate>,
}

#[derive(Clone, Copy, Debug)]
pub struct OverRate {
    pub window_seconds: Option<u64>,
    pub retry_after_seconds: u64,
}

impl Decision {
    /// The header fields that go with its [`Decision::refusal`].
    pub fn rate_fields(&self, dialect: Dialect) -> RateFields {
        let Some(result) = self.blocked_by.and_then(|index| self.results.get(index)) else {
            return RateFields::new();
        };
        let rate = (self.kind == LimitKind::Rate).then_some(OverRate {
            window_seconds: result.window_seconds,
            retry_after_seconds: self.retry_after_seconds,
        });
        let (quota, remaining) = (result.limit, result.remaining);
        Over { label: result.label.as_deref(), quota, remaining, rate }.fields(dialect)
    }
}

impl Over<'_> {
    pub fn fields(&self, dialect: Dialect) -> RateFields {
        let mut fields = RateFields::new();
        if let Some(rate) = self.rate {
            fields.push(("retry-after", rate.retry_after_seconds.to_string()));
        }
        match dialect {
            Dialect::Off => {}
            Dialect::Draft11 => fields.extend(self.draft().into_iter().flatten()),
            Dialect::Legacy => self.legacy(&mut fields),
        }
        fields
    }

    /// Both fields, or none if something does not fit into a structured field.
    fn draft(&self) -> Option<[(&'static str, String); 2]> {
        let name = quoted(self.label?)?;
        let (quota, left) = (integer(self.quota)?, integer(self.remaining)?);
        let (policy, limit) = match self.rate {
            Some(OverRate { window_seconds, retry_after_seconds }) => {
                let (window, wait) = (integer(window_seconds?)?, integer(retry_after_seconds)?);
                (format!("{name};q={quota};w={window}"), format!("{name};r={left};t={wait}"))
            }
            None => (format!("{name};q={quota};qu=\"concurrent-requests\""), format!("{name};r={left}")),
        };
        Some([("ratelimit-policy", policy), ("ratelimit", limit)])
    }

    fn legacy(&self, fields: &mut RateFields) {
        fields.push(("x-ratelimit-limit", self.quota.to_string()));
        fields.push(("x-ratelimit-remaining", self.remaining.to_string()));
        if let Some(rate) = self.rate {
            fields.push(("x-ratelimit-reset", rate.retry_after_seconds.to_string()));
        }
    }
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
    use super::{Dialect, Over, OverRate};

    fn shown(dialect: Dialect, over: Over<'_>) -> Vec<String> {
        over.fields(dialect).iter().map(|(name, value)| format!("{name}: {value}")).collect()
    }

    const RATE: Over<'_> = Over {
        label: Some("free_tries"),
        quota: 3,
        remaining: 0,
        rate: Some(OverRate { window_seconds: Some(2_592_000), retry_after_seconds: 42 }),
    };
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
        let rate = OverRate { window_seconds: None, retry_after_seconds: 42 };
        for over in [
            Over { label: None, ..RATE },
            Over { label: Some("gebühr"), ..RATE },
            Over { quota: 1 << 53, ..RATE },
            Over { rate: Some(rate), ..RATE },
        ] {
            assert_eq!(shown(Dialect::Draft11, over), ["retry-after: 42"]);
        }
    }
}
