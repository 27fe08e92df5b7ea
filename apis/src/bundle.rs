//! Bundles: manifests that a template applies inside its clusters after installation and before deletion.
//!
//! The function writes the [`BundleRequestSpec`] into a ConfigMap beside the cluster's own object on the hub, the hub-side provider applies
//! it inside the cluster, and answers with a [`BundleReport`] in an annotation of that ConfigMap. provider-kubernetes reads a ConfigMap twice a
//! minute, but watches the cluster's own object, so the provider copies the report there. A finalizer of the provider keeps the
//! ConfigMap until the bundles before deletion are applied. The cluster's object is not deleted earlier, because the Object with the
//! ConfigMap depends on it.
//!
//! Nothing here ever holds a secret: anybody with read access to the hub's ConfigMaps can read all of it.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::duration::GoDuration;
use crate::lenient_serde::lenient_option;
use crate::names::ObjectName;

/// Label on the ConfigMap: `true`.
pub const LABEL: &str = "testplatform.ci.openshift.org/bundles";
/// Key of the ConfigMap: the request, JSON.
pub const ORDER: &str = "order";
/// Annotation on the ConfigMap: the report, JSON. The provider writes it, and then a copy on the cluster's object.
pub const REPORT: &str = "testplatform.ci.openshift.org/bundles-report";
/// Annotation on the ConfigMap: uid of the cluster's object for which the work began. The provider writes it with the first
/// [`BundleReport`], and does nothing in the cluster of a later object of the same name.
pub const CLUSTER: &str = "testplatform.ci.openshift.org/bundles-cluster";
/// Finalizer on the ConfigMap while the cluster has bundles to apply before deletion. Only the provider adds it.
pub const FINALIZER: &str = "testplatform.ci.openshift.org/bundles";
/// Suffix of the ConfigMap's name, after the name of the cluster's object.
pub const SUFFIX: &str = "-bundles";
/// Default timeout of a bundle.
pub const TIMEOUT: GoDuration = GoDuration::from_mins(10);

/// Bundles of one cluster. Immutable once written.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BundleRequestSpec {
    /// Object of the cluster, in the namespace of the ConfigMap.
    pub cluster: ClusterRef,
    /// Applied one after the other once its credentials are published.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub post_install: Vec<Bundle>,
    /// Applied one after the other before it is deleted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pre_delete: Vec<Bundle>,
}

/// Reference to the object of a cluster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ClusterRef {
    /// Its API group, such as `cluster.x-k8s.io`.
    pub group: String,
    /// Its kind, such as `Cluster`.
    pub kind: String,
    /// Its name.
    pub name: ObjectName,
}

/// Manifests that belong together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Bundle {
    /// Its name, unique within its list.
    pub name: String,
    /// Timeout until all manifests are ready.
    #[serde(default = "default_timeout")]
    pub timeout: GoDuration,
    /// Manifests, in the order in which they are applied.
    pub manifests: Vec<Manifest>,
}

/// A manifest and its readiness expression.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Manifest {
    /// Object to apply, with apiVersion, kind and metadata.name.
    pub object: Value,
    /// CEL expression over the live object, as `object`; true: it is ready. None: ready once applied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ready: Option<String>,
}

const fn default_timeout() -> GoDuration {
    TIMEOUT
}

/// Progress of the request. A field that cannot be read counts as absent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct BundleReport {
    /// Stage. Absent: not started.
    #[serde(deserialize_with = "lenient_option", skip_serializing_if = "Option::is_none")]
    pub state: Option<BundleProgress>,
    /// Current bundle: `postInstall/<name>` or `preDelete/<name>`; of prerequisites `prerequisites/<name>` or `preCreate/<name>`. Absent
    /// when all are applied.
    #[serde(deserialize_with = "lenient_option", skip_serializing_if = "Option::is_none")]
    pub bundle: Option<String>,
    /// Object that is pending or failed: kind, namespace and name, such as `Deployment cni/agent`.
    #[serde(deserialize_with = "lenient_option", skip_serializing_if = "Option::is_none")]
    pub object: Option<String>,
    /// Reason in one word, such as `NotReady` or the reason of an API server's refusal.
    #[serde(deserialize_with = "lenient_option", skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Reason as a sentence; bounded, without secrets.
    #[serde(deserialize_with = "lenient_option", skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Start of the bundle, from which its timeout counts. Once all are applied: time of that.
    #[serde(deserialize_with = "lenient_option", skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
}

/// Stage of a [`BundleRequestSpec`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum BundleProgress {
    /// It is being applied or waits for readiness.
    Running,
    /// All bundles after installation are applied and ready.
    Applied,
    /// A bundle was not ready in time. The provider keeps checking, and it may still become ready.
    SetupFailed,
    /// The cluster will be deleted; the bundles before deletion are being applied.
    BeforeDeletion,
}
