use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A server on the journal, as the one that was asked sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct NodeInfo {
    /// Its process: another one after each start.
    pub node: String,
    /// The one that was asked.
    pub this: bool,
    /// It shows itself to the others. One that does not is taken for dead after five seconds and forgotten some time later.
    pub live: bool,
    /// When it last showed itself, by the clock of the one that was asked; absent for one that was never seen, but holds
    /// lines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen_at: Option<u64>,
    /// The newest version of the rules that it can follow; absent where it has not said so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub supports_rules: Option<u32>,
    /// Of the one that was asked: its build.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct NodesAnswer {
    /// Several servers may write the journal. If not, this one is all there are.
    pub shared: bool,
    /// The version of the rules in force: what all can follow.
    pub rules: u32,
    /// The one that was asked first.
    pub nodes: Vec<NodeInfo>,
    pub revision: u64,
    pub as_of: u64,
}
