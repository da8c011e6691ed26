//! Names, ids and keys, checked at birth (rules N1, N2, R8) and cheap to clone.
//!
//! The engine takes only these types, so nothing badly formed can reach it, from the wire or from a journal.

use std::{fmt, sync::Arc};

/// What is wrong with a name; the message says what is allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NameError {
    pub allowed: &'static str,
}

impl fmt::Display for NameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "allowed: {}", self.allowed)
    }
}

impl std::error::Error for NameError {}

macro_rules! name {
    ($(#[$doc:meta])* $name:ident, $check:path, $max:literal, $allowed:literal) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Arc<str>);

        impl $name {
            pub const ALLOWED: &'static str = $allowed;

            pub fn parse(text: &str) -> Result<Self, NameError> {
                let fits = text.chars().take($max + 1).count() <= $max;
                if fits && $check(text) {
                    Ok(Self(Arc::from(text)))
                } else {
                    Err(NameError { allowed: Self::ALLOWED })
                }
            }

            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        /// Equal, ordered and hashed as the text it is, so that sets can be asked by text.
        impl std::borrow::Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }

        impl std::str::FromStr for $name {
            type Err = NameError;
            fn from_str(text: &str) -> Result<Self, NameError> {
                Self::parse(text)
            }
        }
    };
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'.' | b'_' | b'-'))
}

fn is_key(text: &str) -> bool {
    let allowed = |b| {
        matches!(b, b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9'
            | b'.' | b'_' | b'=' | b'@' | b'|' | b'/' | b':' | b'-')
    };
    !text.is_empty() && text.bytes().all(allowed)
}

fn is_label(text: &str) -> bool {
    !text.contains('\0')
}

name!(
    /// One installation. Nothing in one namespace ever meets anything in another.
    Namespace, is_name, 64, "1 to 64 of a-z 0-9 . _ -");
name!(
    /// A limit's name.
    LimitName, is_name, 64, "1 to 64 of a-z 0-9 . _ -");
name!(
    /// A rate or concurrency key.
    Key, is_key, 256, "1 to 256 of A-Z a-z 0-9 . _ = @ | / : -");
name!(SlotId, is_key, 200, "1 to 200 of A-Z a-z 0-9 . _ = @ | / : -");
name!(RunId, is_key, 200, "1 to 200 of A-Z a-z 0-9 . _ = @ | / : -");
name!(TaskId, is_key, 200, "1 to 200 of A-Z a-z 0-9 . _ = @ | / : -");
name!(
    /// The id of one request (`Idempotency-Key`): the same id with the same content has one effect.
    RequestId, is_key, 200, "1 to 200 of A-Z a-z 0-9 . _ = @ | / : -");
name!(
    /// Text for people. Never compared, never part of a decision.
    Label, is_label, 200, "at most 200 characters of text without NUL");

impl Default for Namespace {
    fn default() -> Self {
        Self(Arc::from("default"))
    }
}
