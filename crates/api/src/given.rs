use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

/// A value as somebody gave it, checked later, so that the error can name the limit, the field and what is
/// allowed. Numbers are whole; a duration is text such as `45m` or a number of milliseconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(transparent)]
pub struct Given(pub Value);

impl Given {
    pub fn is_missing(&self) -> bool {
        self.0.is_null()
    }

    /// The number, if a whole one was given: as a JSON number, or as text of digits only.
    pub fn whole_number(&self) -> Option<u64> {
        match &self.0 {
            Value::Number(number) => number.as_u64(),
            Value::String(text) if text.bytes().all(|b| b.is_ascii_digit()) => text.parse().ok(),
            _ => None,
        }
    }

    /// As a person would write it, for messages.
    pub fn shown(&self) -> String {
        match &self.0 {
            Value::Null => "nothing".to_owned(),
            Value::String(text) => format!("\"{}\"", text.escape_debug()),
            other => other.to_string(),
        }
    }
}

impl From<u64> for Given {
    fn from(number: u64) -> Self {
        Self(Value::from(number))
    }
}

impl From<u32> for Given {
    fn from(number: u32) -> Self {
        Self(Value::from(number))
    }
}

impl From<&str> for Given {
    fn from(text: &str) -> Self {
        Self(Value::from(text))
    }
}

impl From<String> for Given {
    fn from(text: String) -> Self {
        Self(Value::from(text))
    }
}
