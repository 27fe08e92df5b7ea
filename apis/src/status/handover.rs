//! Status of a cluster's transfer from a claim to a TestCluster.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::lenient_serde::lenient_option;

/// The TestCluster to which a cluster was let go.
#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct HandedOverStatus {
    /// Namespace of the TestCluster.
    #[serde(deserialize_with = "lenient_option", skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// Name of the TestCluster.
    #[serde(deserialize_with = "lenient_option", skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Unique identity of the TestCluster.
    #[serde(deserialize_with = "lenient_option", skip_serializing_if = "Option::is_none")]
    pub uid: Option<String>,
}

/// Progress of taking over another object's cluster.
#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TakeOverStatus {
    /// Name of the composite whose cluster it is.
    #[serde(deserialize_with = "lenient_option", skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// Waiting: the cluster is not offered, or not seen yet. Watching: it is seen, and not this object's to end. Taken: it is this object's.
    #[schemars(with = "TakeOverStage")]
    #[serde(deserialize_with = "lenient_option", skip_serializing_if = "Option::is_none")]
    pub stage: Option<TakeOverStage>,
    /// Unique identity of the object on the hub, once it is seen.
    #[serde(deserialize_with = "lenient_option", skip_serializing_if = "Option::is_none")]
    pub uid: Option<String>,
}

/// Stage.
#[derive(JsonSchema, Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum TakeOverStage {
    /// It is not offered, or not seen yet.
    Waiting,
    /// It is seen, and not this object's to end.
    Watching,
    /// It is this object's.
    Taken,
}
