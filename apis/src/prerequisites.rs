//! Prerequisites: what a template has made on the hub before a cluster is asked for, and what it has done there before.
//!
//! What both ends know of it: the function writes the [`Order`] into a ConfigMap beside the cluster's own object on the hub, the hub-side provider
//! applies it there, and answers with a [`Report`](crate::bundle::Report) in an annotation of that ConfigMap; the cluster's object is asked for
//! once that says `Applied`. A finalizer holds the ConfigMap until the cluster's object is gone, and what was made for it after that.
//!
//! Nothing here ever holds a secret: the whole of it can be read by anybody who may read the hub's ConfigMaps.

use serde::{Deserialize, Serialize};

use crate::bundle::{Bundle, Cluster};
use crate::names::ObjectName;

/// Label on the ConfigMap: `true`.
pub const LABEL: &str = "testplatform.ci.openshift.org/prerequisites";
/// Key of the ConfigMap: the [`Order`], JSON.
pub const ORDER: &str = "order";
/// Annotation on the ConfigMap: the [`Report`](crate::bundle::Report), JSON. Written by the provider. Its `bundle` is `prerequisites/<name>` or
/// `preCreate/<name>`.
pub const REPORT: &str = "testplatform.ci.openshift.org/prerequisites-report";
/// Finalizer on the ConfigMap: something was made that has to go before it does. Only the provider adds it.
pub const FINALIZER: &str = "testplatform.ci.openshift.org/prerequisites";
/// What the name of the ConfigMap has after the name of the cluster's object.
pub const SUFFIX: &str = "-prerequisites";

/// What is to be on the hub for one cluster. It never changes once it was written.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Order {
    /// The object that stands for the cluster, in the namespace of the ConfigMap. What is made outlives it.
    pub cluster: Cluster,
    /// Applied one after the other, in that namespace, and kept as they are until the cluster's object is gone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub prerequisites: Vec<Bundle>,
    /// Applied after them, one after the other, and once: what becomes of them later nobody asks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pre_create: Vec<Bundle>,
}

/// Name of the ConfigMap for a cluster's object.
pub fn name(cluster: &ObjectName) -> String {
    format!("{cluster}{SUFFIX}")
}
