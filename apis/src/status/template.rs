//! The parts of the status that claims with a template have.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::lenient_serde::{lenient_integer, lenient_option};
use crate::template::Backend;

/// The template by which the cluster is made.
#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TemplateStatus {
    /// Name of the template.
    #[serde(deserialize_with = "lenient_option", skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Backend of its clusters.
    #[schemars(with = "Backend")]
    #[serde(deserialize_with = "lenient_option", skip_serializing_if = "Option::is_none")]
    pub backend: Option<Backend>,
    /// Cost of the cluster in the budget of the namespace.
    #[schemars(range(min = 0))]
    #[serde(deserialize_with = "lenient_integer", skip_serializing_if = "Option::is_none")]
    pub cost: Option<i64>,
    /// Reason for the template's deprecation, and the replacement.
    #[serde(deserialize_with = "lenient_option", skip_serializing_if = "Option::is_none")]
    pub deprecated: Option<String>,
}

/// The nodes of the cluster.
#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct NodesStatus {
    /// Desired number of nodes.
    #[schemars(range(min = 0))]
    #[serde(deserialize_with = "lenient_integer", skip_serializing_if = "Option::is_none")]
    pub desired: Option<i64>,
    /// Number of ready nodes.
    #[schemars(range(min = 0))]
    #[serde(deserialize_with = "lenient_integer", skip_serializing_if = "Option::is_none")]
    pub ready: Option<i64>,
    /// Each group of them, by name.
    #[schemars(with = "Vec<NodeGroupStatus>", length(max = 64))]
    #[serde(deserialize_with = "lenient_option", skip_serializing_if = "Option::is_none")]
    pub pools: Option<Vec<NodeGroupStatus>>,
}

/// A group of nodes.
#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct NodeGroupStatus {
    /// Name of the group.
    #[serde(deserialize_with = "lenient_option", skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Kind of its machines.
    #[serde(deserialize_with = "lenient_option", skip_serializing_if = "Option::is_none")]
    pub class: Option<String>,
    /// Desired number of nodes.
    #[schemars(range(min = 0))]
    #[serde(deserialize_with = "lenient_integer", skip_serializing_if = "Option::is_none")]
    pub desired: Option<i64>,
    /// Number of ready nodes.
    #[schemars(range(min = 0))]
    #[serde(deserialize_with = "lenient_integer", skip_serializing_if = "Option::is_none")]
    pub ready: Option<i64>,
    /// Version that they run.
    #[serde(deserialize_with = "lenient_option", skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
}

/// Current activity of the hub.
#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ProgressStatus {
    /// The step, as one CamelCase word.
    #[serde(deserialize_with = "lenient_option", skip_serializing_if = "Option::is_none")]
    pub step: Option<String>,
    /// The step, as one line for people.
    #[serde(deserialize_with = "lenient_option", skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Completed percentage, if the hub reports it.
    #[schemars(range(min = 0, max = 100))]
    #[serde(deserialize_with = "lenient_integer", skip_serializing_if = "Option::is_none")]
    pub percent: Option<i64>,
}

/// Last error.
#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ErrorStatus {
    /// Reason, as one CamelCase word.
    #[serde(deserialize_with = "lenient_option", skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Message of the hub.
    #[serde(deserialize_with = "lenient_option", skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Since when (RFC 3339, UTC).
    #[schemars(with = "String")]
    #[serde(deserialize_with = "lenient_option", skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
    /// Whether it can pass by itself: false, if it can.
    #[serde(deserialize_with = "lenient_option", skip_serializing_if = "Option::is_none")]
    pub terminal: Option<bool>,
}
