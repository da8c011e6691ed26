use serde::{Deserialize, Serialize};
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{ObjectBuilder, RefOr, Schema, schema::Type},
};

/// The answer that a call was not done, or that nobody knows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Problem {
    /// Always `error`.
    pub status: ErrorWord,
    pub reason: Reason,
    /// For display: what was wrong, what is allowed, what to do. May change.
    pub message: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<serde_json::Value>,
    /// Names this answer in the server's log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ErrorWord {
    #[default]
    Error,
}

impl Problem {
    pub fn new(reason: Reason, message: impl Into<String>) -> Self {
        Self { status: ErrorWord::Error, reason, message: message.into(), details: None, request_id: None }
    }

    pub fn with_details(mut self, details: serde_json::Value) -> Self {
        self.details = Some(details);
        self
    }
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ({})", self.message, self.reason.code())
    }
}

impl std::error::Error for Problem {}

/// What a caller can rely on: done is an answer, refused is definite, unknown means ask again with the same id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Certainty {
    /// Nothing happened.
    Refused,
    /// It may have happened.
    Unknown,
}

macro_rules! reasons {
    ($($(#[$doc:meta])* $name:ident = $code:literal, $status:literal;)*) => {
        /// Why. The codes are for programs and do not change.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
        pub enum Reason {
            $($(#[$doc])* #[serde(rename = $code)] $name,)*
        }

        impl Reason {
            pub const ALL: &'static [Reason] = &[$(Reason::$name),*];

            pub fn code(self) -> &'static str {
                match self { $(Reason::$name => $code,)* }
            }

            pub fn http_status(self) -> u16 {
                match self { $(Reason::$name => $status,)* }
            }

            pub fn from_code(code: &str) -> Option<Reason> {
                match code { $($code => Some(Reason::$name),)* _ => None }
            }
        }
    };
}

reasons! {
    InvalidNamespace = "invalid_namespace", 400;
    InvalidLimitName = "invalid_limit_name", 400;
    InvalidCapacity = "invalid_capacity", 400;
    InvalidMaxHold = "invalid_max_hold", 400;
    InvalidTimeout = "invalid_timeout", 400;
    InvalidWait = "invalid_wait", 400;
    InvalidWeight = "invalid_weight", 400;
    InvalidRun = "invalid_run", 400;
    InvalidLabel = "invalid_label", 400;
    InvalidId = "invalid_id", 400;
    InvalidArgument = "invalid_argument", 400;
    InvalidKey = "invalid_key", 400;
    InvalidLimit = "invalid_limit", 400;
    InvalidWindow = "invalid_window", 400;
    InvalidCost = "invalid_cost", 400;
    DuplicateKey = "duplicate_key", 400;
    DuplicateLimit = "duplicate_limit", 400;
    TooManySpecs = "too_many_specs", 400;
    TooManyLimitsInSlot = "too_many_limits_in_slot", 400;
    TooManyItems = "too_many_items", 400;
    /// The body is not JSON of the documented shape.
    InvalidBody = "invalid_body", 400;
    Unauthorized = "unauthorized", 401;
    Forbidden = "forbidden", 403;
    NotFound = "not_found", 404;
    LimitNotFound = "limit_not_found", 404;
    MethodNotAllowed = "method_not_allowed", 405;
    /// The rest of the request did not come in time. Nothing happened.
    RequestTimeout = "request_timeout", 408;
    LimitRetired = "limit_retired", 409;
    NeverFits = "never_fits", 409;
    Conflict = "conflict", 409;
    /// The id is older than what is remembered.
    TooOld = "too_old", 409;
    /// The limit is not as `If-Match` says: somebody changed it meanwhile. Nothing happened.
    SettingsChanged = "settings_changed", 412;
    BodyTooLarge = "body_too_large", 413;
    UnsupportedMediaType = "unsupported_media_type", 415;
    /// The `Host` header names no server that this one answers for.
    WrongHost = "wrong_host", 421;
    RateLimitExceeded = "rate_limit_exceeded", 429;
    ConcurrencyLimitExceeded = "concurrency_limit_exceeded", 429;
    HeadersTooLarge = "headers_too_large", 431;
    Internal = "internal", 500;
    QueueFull = "queue_full", 503;
    TooManySlots = "too_many_slots", 503;
    TooManyLimits = "too_many_limits", 503;
    TooManyKeys = "too_many_keys", 503;
    TooManyNamespaces = "too_many_namespaces", 503;
    IdempotencyFull = "idempotency_full", 503;
    /// No room on the disk for anything but what gives something back.
    StorageFull = "storage_full", 503;
    /// More calls than the server takes at once. Nothing happened.
    Overloaded = "overloaded", 503;
    /// The server stops, or has not started. Nothing happened.
    Unavailable = "unavailable", 503;
    UnsupportedRules = "unsupported_rules", 503;
    /// It may have happened: ask again with the same id.
    Unknown = "unknown", 504;
}

// By hand: the derive does not see a rename that comes out of a macro, and would tell the names of the variants.
impl PartialSchema for Reason {
    fn schema() -> RefOr<Schema> {
        ObjectBuilder::new()
            .schema_type(Type::String)
            .description(Some("Why. The codes are for programs and do not change."))
            .enum_values(Some(Reason::ALL.iter().map(|reason| reason.code())))
            .into()
    }
}

impl ToSchema for Reason {}

impl Reason {
    pub fn certainty(self) -> Certainty {
        match self {
            Reason::Unknown | Reason::Internal => Certainty::Unknown,
            _ => Certainty::Refused,
        }
    }

    /// Whether the same call may succeed later without being changed.
    pub fn retryable(self) -> bool {
        matches!(self.http_status(), 429 | 503 | 504) && self != Reason::UnsupportedRules
    }
}
