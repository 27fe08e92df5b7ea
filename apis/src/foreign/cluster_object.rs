//! Objects that stand for a cluster by template.

use std::fmt::Debug;

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::meta::Metadata;

/// Partial view of the object that a backend has for each cluster.
pub trait ClusterObject: Clone + Debug + Default + DeserializeOwned {
    /// Its metadata.
    fn metadata(&self) -> &Metadata;
    /// Its spec, whole.
    fn spec(&self) -> &Value;
}
