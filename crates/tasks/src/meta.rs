//! Who asks: the headers of the request that started the root execution.

use std::sync::Arc;

use axum::http::{HeaderMap, HeaderName, HeaderValue, header::InvalidHeaderValue};

use crate::TaskError;

/// Which headers carry what.
///
/// Limits are only as good as these: whoever can set a header chooses whose allowance is spent. A gateway that knows
/// the user sets them and drops what came from outside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeaderNames {
    /// `x-user-id` if not set.
    pub user_id: HeaderName,
    /// `x-country-code` if not set.
    pub country_code: HeaderName,
    /// `x-touchpoint` if not set.
    pub touchpoint: HeaderName,
    /// Names the message that a request stands for, so that a redelivery counts once; none if not set. Only for
    /// requests that a queue of your own delivers: whoever can repeat an id is answered with its first verdict.
    pub message_id: Option<HeaderName>,
}

impl Default for HeaderNames {
    fn default() -> Self {
        Self {
            user_id: HeaderName::from_static("x-user-id"),
            country_code: HeaderName::from_static("x-country-code"),
            touchpoint: HeaderName::from_static("x-touchpoint"),
            message_id: None,
        }
    }
}

/// The headers of the request. Sub-tasks see those of their root.
#[derive(Clone, Debug, Default)]
pub struct Meta {
    names: Arc<HeaderNames>,
    headers: HeaderMap,
    message_id: Option<String>,
}

impl Meta {
    /// No headers at all.
    pub fn new() -> Self {
        Self::default()
    }

    /// The headers of a request that came over HTTP.
    pub fn from_headers(names: Arc<HeaderNames>, headers: HeaderMap) -> Self {
        let message_id = names.message_id.as_ref().and_then(|name| text(&headers, name)).map(str::to_owned);
        Self { names, headers, message_id }
    }

    /// For a request that did not come over HTTP: who it is from.
    ///
    /// # Errors
    /// Control characters, which no header can carry.
    pub fn with_user_id(mut self, user_id: &str) -> Result<Self, InvalidHeaderValue> {
        self.headers.insert(self.names.user_id.clone(), HeaderValue::from_str(user_id)?);
        Ok(self)
    }

    /// Names the message that this execution stands for (rule A5). The same message delivered again then counts its
    /// hits once and holds its places once: its run is `TASK:MESSAGE`, its first verdicts are remembered for 24 hours.
    /// Without one, a redelivery is a new execution and counts again.
    ///
    /// It is for a message whose first delivery died or was too slow. A message that is to be *run again* after its
    /// run has ended takes a new id: what the first run held was given back at its end and is not taken anew.
    ///
    /// At most 120 of a key's characters with the task's name, else the execution is refused.
    #[must_use]
    pub fn with_message_id(mut self, message_id: impl Into<String>) -> Self {
        self.message_id = Some(message_id.into());
        self
    }

    /// Whose request it is; none if the header is missing.
    pub fn user_id(&self) -> Option<&str> {
        text(&self.headers, &self.names.user_id)
    }

    /// Whose request it is, where a key depends on it: without it, all who have none would share one counter.
    ///
    /// # Errors
    /// 400 `missing_user_id`.
    pub fn require_user_id(&self) -> Result<&str, TaskError> {
        let message = || format!("this task needs the header {}", self.names.user_id);
        self.user_id().ok_or_else(|| TaskError::new("missing_user_id", message(), 400))
    }

    /// Where it comes from.
    pub fn country_code(&self) -> Option<&str> {
        text(&self.headers, &self.names.country_code)
    }

    /// Which surface of the product made it.
    pub fn touchpoint(&self) -> Option<&str> {
        text(&self.headers, &self.names.touchpoint)
    }

    /// Any header.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    pub(crate) fn message_id(&self) -> Option<&str> {
        self.message_id.as_deref()
    }
}

fn text<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    headers.get(name)?.to_str().ok().filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_of_the_headers_can_be_chosen() {
        let names = HeaderNames { user_id: HeaderName::from_static("who"), ..HeaderNames::default() };
        let headers = [("who", "7"), ("x-user-id", "8"), ("x-country-code", "AM"), ("x-touchpoint", "web")];
        let headers =
            headers.map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)));
        let meta = Meta::from_headers(Arc::new(names), HeaderMap::from_iter(headers));
        assert_eq!(meta.user_id(), Some("7"));
        assert_eq!(meta.country_code(), Some("AM"));
        assert_eq!(meta.touchpoint(), Some("web"));
        assert_eq!(meta.header("x-user-id"), Some("8"));
    }

    #[test]
    fn nobody_is_not_somebody() {
        let error = Meta::new().require_user_id().unwrap_err();
        assert_eq!((error.status(), error.body().reason.as_str()), (400, "missing_user_id"));
    }

    #[test]
    fn a_message_id_is_read_only_where_that_was_chosen() {
        let headers =
            HeaderMap::from_iter([(HeaderName::from_static("message"), HeaderValue::from_static("m1"))]);
        let by_default = Meta::from_headers(Arc::default(), headers.clone());
        assert_eq!(by_default.message_id(), None);
        let names =
            HeaderNames { message_id: Some(HeaderName::from_static("message")), ..HeaderNames::default() };
        assert_eq!(Meta::from_headers(Arc::new(names), headers).message_id(), Some("m1"));
    }
}
