use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The namespaces that exist.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct NamespacesAnswer {
    /// By name.
    pub namespaces: Vec<String>,
    pub revision: u64,
    pub as_of: u64,
}

/// What the server takes the caller for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct WhoamiAnswer {
    /// The name of the token, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// `read`, `operate` or `admin`.
    pub role: String,
    /// Only limits whose names begin with one of these; all, if there are none.
    pub limits: Vec<String>,
    pub version: String,
}
