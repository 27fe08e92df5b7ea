//! Bundles: what a template sets up inside the clusters that are made by it, and what it does in them before they go.
//!
//! What both ends know of it: the function writes the [`Order`] into a ConfigMap beside the cluster's own object on the hub, the hub-side provider
//! applies it inside the cluster, and answers with a [`Report`] in an annotation of that ConfigMap. Before the ConfigMap goes, the provider holds
//! it by a finalizer until what comes before a deletion is done; the cluster's object is not deleted earlier, because the Object with the
//! ConfigMap depends on it.
//!
//! Nothing here ever holds a secret: the whole of it can be read by anybody who may read the hub's ConfigMaps.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::duration::GoDuration;
use crate::lenient::lenient;
use crate::names::ObjectName;

/// Label on the ConfigMap: `true`.
pub const LABEL: &str = "testplatform.ci.openshift.org/bundles";
/// Key of the ConfigMap: the [`Order`], JSON.
pub const ORDER: &str = "order";
/// Annotation on the ConfigMap: the [`Report`], JSON. Written by the provider.
pub const REPORT: &str = "testplatform.ci.openshift.org/bundles-report";
/// Annotation on the ConfigMap: uid of the cluster's object in whose cluster the work was begun. Written by the provider together with the first
/// [`Report`]; nothing is done in the cluster of another one of the name.
pub const CLUSTER: &str = "testplatform.ci.openshift.org/bundles-cluster";
/// Finalizer on the ConfigMap: something is to be done in the cluster before it goes. Only the provider adds it, and only while there is.
pub const FINALIZER: &str = "testplatform.ci.openshift.org/bundles";
/// What the name of the ConfigMap has after the name of the cluster's object.
pub const SUFFIX: &str = "-bundles";
/// How long a bundle may take that does not say.
pub const TIMEOUT: GoDuration = GoDuration::from_mins(10);

/// What is to be done in one cluster. It never changes once it was written.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Order {
    /// The object that stands for the cluster, in the namespace of the ConfigMap.
    pub cluster: Cluster,
    /// Applied one after the other once its credentials are published.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub post_install: Vec<Bundle>,
    /// Applied one after the other before it is deleted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pre_delete: Vec<Bundle>,
}

/// The object that stands for a cluster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Cluster {
    /// Its API group, such as `hypershift.openshift.io`.
    pub group: String,
    /// Its kind, such as `HostedCluster`.
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
    /// How long it may take until all of it is ready.
    #[serde(default = "default_timeout")]
    pub timeout: GoDuration,
    /// What is applied, in this order.
    pub manifests: Vec<Manifest>,
}

/// A manifest, and when it counts as ready.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Manifest {
    /// What is applied: with apiVersion, kind and metadata.name.
    pub object: Value,
    /// An expression in CEL about `object`, which is what is there then; true: it is ready. None: as soon as it was applied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ready: Option<String>,
}

const fn default_timeout() -> GoDuration {
    TIMEOUT
}

/// What became of an [`Order`]. Reading is forgiving: what cannot be read counts as absent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Report {
    /// How far it is. Absent: not begun.
    #[serde(deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub state: Option<State>,
    /// The bundle that it is about: `postInstall/<name>` or `preDelete/<name>`; of prerequisites `prerequisites/<name>` or `preCreate/<name>`.
    /// Absent when all are applied.
    #[serde(deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub bundle: Option<String>,
    /// The object that it waits for or that failed: kind, namespace and name, such as `Deployment cni/agent`.
    #[serde(deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub object: Option<String>,
    /// Why, one word, such as `NotReady` or the reason of an API server's refusal.
    #[serde(deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Why, in a sentence; bounded, without secrets.
    #[serde(deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// When the bundle was begun; its time counts from here. When all are applied: since when.
    #[serde(deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
}

/// How far an [`Order`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum State {
    /// It is being applied, or waited for.
    Running,
    /// All that belongs there after the installation is there and ready.
    Applied,
    /// A bundle was not ready in time. It is looked at still, and may yet come to be.
    SetupFailed,
    /// The cluster is to go, and what comes before that is being done.
    BeforeDeletion,
}
