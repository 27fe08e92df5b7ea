//! Prerequisites: objects that a template creates on the hub before a cluster is requested, and jobs that it runs there.
//!
//! The function writes the [`PrerequisiteRequestSpec`] into a ConfigMap beside the cluster's own object on the hub. The hub-side provider
//! applies it there, and answers with a [`BundleReport`](crate::bundle::BundleReport) in an annotation of that ConfigMap. The cluster's
//! object is requested once the report says `Applied`. A finalizer keeps the ConfigMap until the cluster's object and then the
//! prerequisites are gone.
//!
//! Nothing here ever holds a secret: anybody with read access to the hub's ConfigMaps can read all of it.

use serde::{Deserialize, Serialize};

use crate::bundle::{Bundle, ClusterRef};
use crate::names::ObjectName;

/// Label on the ConfigMap: `true`.
pub const LABEL: &str = "testplatform.ci.openshift.org/prerequisites";
/// Key of the ConfigMap: the request, JSON.
pub const ORDER: &str = "order";
/// Annotation on the ConfigMap: the [`BundleReport`](crate::bundle::BundleReport), JSON. Written by the provider. Its `bundle` is `prerequisites/<name>` or
/// `preCreate/<name>`.
pub const REPORT: &str = "testplatform.ci.openshift.org/prerequisites-report";
/// Finalizer on the ConfigMap: something was made that has to go before it does. Only the provider adds it.
pub const FINALIZER: &str = "testplatform.ci.openshift.org/prerequisites";
/// Suffix of the ConfigMap's name, after the name of the cluster's object.
pub const SUFFIX: &str = "-prerequisites";

/// Prerequisites of one cluster on the hub. Immutable once written.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PrerequisiteRequestSpec {
    /// Object of the cluster, in the namespace of the ConfigMap. The created objects outlive it.
    pub cluster: ClusterRef,
    /// Applied one after the other, in that namespace, and kept as they are until the cluster's object is gone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub prerequisites: Vec<Bundle>,
    /// Applied after them, one after the other, and once: what becomes of them later nobody asks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pre_create: Vec<Bundle>,
}

/// Name of the ConfigMap for a cluster's object.
pub fn config_map_name(cluster: &ObjectName) -> String {
    format!("{cluster}{SUFFIX}")
}
