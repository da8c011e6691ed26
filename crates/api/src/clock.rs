use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::Given;

/// Moves a manual clock, to a time or by a duration: one of the two.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ClockFields {
    /// Milliseconds since 1970. An earlier time than now changes nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub advance_to: Option<u64>,
    /// `5m` or milliseconds.
    #[serde(default, skip_serializing_if = "Given::is_missing")]
    pub advance: Given,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ClockAnswer {
    /// Milliseconds since 1970.
    pub now: u64,
}
