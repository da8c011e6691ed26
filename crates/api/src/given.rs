use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{ObjectBuilder, RefOr, Schema, Type, schema::SchemaType},
};

/// A value as somebody gave it, checked later, so that the error can name the limit, the field and what is
/// allowed. Numbers are whole; a duration is text such as `45m` or a number of milliseconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Given(pub Value);

impl PartialSchema for Given {
    fn schema() -> RefOr<Schema> {
        let kinds = SchemaType::from_iter([Type::Integer, Type::String]);
        let text = "A whole number, also as text; where a duration is asked for, milliseconds or text such as `45m`.";
        ObjectBuilder::new().schema_type(kinds).description(Some(text)).into()
    }
}

impl ToSchema for Given {}

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
