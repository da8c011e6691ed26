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

/// What a message repeats of a text.
const SHOWN_CHARS: usize = 100;

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
            Value::Null => "missing".to_owned(),
            Value::String(text) => match text.char_indices().nth(SHOWN_CHARS) {
                None => format!("\"{}\"", text.escape_debug()),
                Some((end, _)) => format!("\"{}…\"", text[..end].escape_debug()),
            },
            Value::Array(_) => "a list".to_owned(),
            Value::Object(_) => "an object".to_owned(),
            Value::Bool(_) | Value::Number(_) => self.0.to_string(),
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::Given;

    #[test]
    fn what_was_given_is_shown_without_control_characters_and_not_at_any_length() {
        let shown = |value| Given(value).shown();
        assert_eq!(shown(json!("4\u{9b}5m")), "\"4\\u{9b}5m\"");
        assert_eq!(shown(json!(["\u{9b}2J"])), "a list");
        assert_eq!(shown(json!({"\u{7f}": 1})), "an object");
        assert_eq!((shown(json!(-1)), shown(json!(null))), ("-1".to_owned(), "missing".to_owned()));
        let long = "é".repeat(101);
        assert_eq!(shown(json!(long)), format!("\"{}…\"", &long[..200]));
    }
}
