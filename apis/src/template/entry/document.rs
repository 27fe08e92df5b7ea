//! An entry as administrators write it: what is read, and the schema for editors.

use std::collections::BTreeMap;

use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::BundleDocument;
use crate::catalogue::Subject;
use crate::duration::GoDuration;
use crate::names::ObjectName;
use crate::template::Backend;
use crate::template::companions::{NodeGroup, Selector, Timeouts};
use crate::template::kind::{MachineReference, Reference};
use crate::template::parameter::Rule;

/// `data` as administrators write it.
#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Document {
    /// Display name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Description.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Whether new clusters may be requested. Existing ones continue. If not set, true.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
    /// Reason for its deprecation and the replacement, in a sentence. It still works; claims show the sentence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deprecated: Option<String>,
    /// Backend of the clusters. Required.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backend: Option<Backend>,
    /// Source of the clusters, in the terms of the backend. Required.
    #[schemars(with = "Reference")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backend_ref: Option<Map<String, Value>>,
    /// Which hubs will do. If not set, any that serves the backend.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hub_selector: Option<Selector>,
    /// Namespace on the hub in which the objects are made. If not set, the hub's own for this backend.
    #[schemars(with = "Option<String>", length(max = 63))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<ObjectName>,
    /// Namespaces whose claims may use it, by their exact names; `*` stands for all. Empty: nobody. Required.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allowed_tenants: Option<Vec<String>>,
    /// The only release, instead of `releases`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The image of the only release.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
    /// The version that the image itself names.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image_version: Option<String>,
    /// The releases that claims may ask for. A claim that asks for none gets the first that is enabled and not deprecated.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub releases: Vec<ReleaseDocument>,
    /// Templates whose clusters may move to this one, by their names. They have the same backend.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub upgrades_from: Vec<String>,
    /// Rules for `parameters` of claims.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub parameters: BTreeMap<String, Rule>,
    /// Rules for `nodeGroups[].parameters` of claims.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub node_parameters: BTreeMap<String, Rule>,
    /// The kinds of nodes that claims may ask for, each in the words of the backend.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub allowed_node_classes: BTreeMap<String, ClassDocument>,
    /// The node groups of claims that say nothing of any.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub default_node_groups: Vec<NodeGroup>,
    /// Default number of control-plane nodes. If not set, what backendRef says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_control_plane_replicas: Option<i32>,
    /// Limits of claims.
    pub limits: Limits,
    /// Cost of one cluster in the budget of a quota. If not set, 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<u32>,
    /// Lifetime of clusters whose claims ask for none. If not set, the default of the function's input, else maxLifetime.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_lifetime: Option<GoDuration>,
    /// The longest lifetime that a claim may have. If not set, the maximum of the function's input.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_lifetime: Option<GoDuration>,
    /// Default timeouts.
    pub timeouts: Timeouts,
    /// Backend whose object reports the cluster's health, because the backend's own reports little. It is deleted before the cluster. Only
    /// with caas.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observes: Option<Observes>,
    /// Whether clusters have a password for kubeadmin. If not set, true where the backend has any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub password: Option<bool>,
    /// Overlay that is merged over the objects, in the terms of the backend: `hostedCluster` and `nodePool` for hypershift, `cluster` for
    /// cluster-api. Objects are merged, anything else is replaced, and null removes. It must not set fields that the function writes. In
    /// its texts `{name}` and `{namespace}` stand for the cluster's object.
    #[schemars(with = "Option<Overlay>")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub overlay: Option<Map<String, Value>>,
    /// Whether claims may bring their own credentials (`byoc`), and who carries them. If not set, such claims are refused. Claims without `byoc`
    /// get clusters as ever. Only with hypershift.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bring_your_own: Option<BringYourOwn>,
    /// Bundles to apply on the hub before a cluster is requested, one after the other, in the namespace of the cluster's object. They stay
    /// until that is gone.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub prerequisites: Vec<BundleDocument>,
    /// Bundles to apply once on the hub after prerequisites, one after the other, such as Jobs. The cluster is requested once all are
    /// ready.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pre_create: Vec<BundleDocument>,
    /// Bundles to apply inside a new cluster, one after the other. Claims are ready once all of them are.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub post_install: Vec<BundleDocument>,
    /// Bundles to apply inside a cluster before teardown, one after the other.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pre_delete: Vec<BundleDocument>,
}

/// Credentials that claims with `byoc` bring along. Each such cluster has its own namespace on the hub, without other objects that the
/// entry names.
#[derive(JsonSchema, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct BringYourOwn {
    /// Whether they may bring an SSH key too. A pull secret they must. If not set, false.
    #[serde(default)]
    pub ssh_key: bool,
    /// The ServiceAccount on the hub that carries the Secrets. It is let into the claim's namespace, and nowhere else.
    pub carrier: Subject,
    /// The hub-side provider's ServiceAccount, which publishes the cluster's credentials. It is let into the claim's namespace, and may read every
    /// Secret there.
    pub provider: Subject,
}

/// `overlay` of whichever backend; only for the schema.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[expect(dead_code, reason = "only an editor's view; it is read by the backend that the entry names")]
struct Overlay {
    /// Over the `spec` of each HostedCluster.
    hosted_cluster: Option<Map<String, Value>>,
    /// Over the `spec` of each NodePool.
    node_pool: Option<Map<String, Value>>,
    /// Over the `spec` of each Cluster.
    cluster: Option<Map<String, Value>>,
}

/// A kind of nodes as it is written.
#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct ClassDocument {
    /// Description.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Whether the load may take away the last node of a group.
    pub scale_to_zero: bool,
    /// Machine, in the terms of the backend.
    #[schemars(with = "MachineReference")]
    pub machine: Map<String, Value>,
}

/// A release as it is written.
#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct ReleaseDocument {
    /// The whole version, such as 4.20.3. Required.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The release image, or the name or UUID of the machine image.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
    /// The version that the image itself names, as found in its properties. It must be the same.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image_version: Option<String>,
    /// Whether new clusters may use it. Existing clusters keep it. If not set, true.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
    /// Reason for its deprecation, in a sentence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deprecated: Option<String>,
    /// Versions to which a cluster that has it may go, whole ones or minor ones such as 4.21. If not set, any newer one of the same and the
    /// next minor version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allowed_upgrades: Option<Vec<String>>,
}

/// Limits of claims.
#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Limits {
    /// The fewest nodes of all groups together. If not set, none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_nodes: Option<u32>,
    /// The most nodes of all groups together. If not set, any number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_nodes: Option<u32>,
    /// The most node groups. If not set, 32.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_node_groups: Option<u32>,
    /// Numbers of control-plane nodes. If not set, all that the backend knows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub control_plane_replicas: Option<Vec<u32>>,
    /// Which members of `network` claims may set. If not set, none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub network: Vec<NetworkField>,
    /// Required prefixes of a release image in a claim, such as quay.io/openshift-release-dev/. If not set, claims cannot set one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub release_images: Vec<String>,
}

/// A member of `network`.
#[derive(JsonSchema, Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum NetworkField {
    /// `network.podCIDR`.
    #[serde(rename = "podCIDR")]
    PodCidr,
    /// `network.serviceCIDR`.
    #[serde(rename = "serviceCIDR")]
    ServiceCidr,
    /// `network.machineCIDR`.
    #[serde(rename = "machineCIDR")]
    MachineCidr,
    /// `network.internal`.
    #[serde(rename = "internal")]
    Internal,
    /// `network.external`.
    #[serde(rename = "external")]
    External,
    /// `network.dnsNameservers`.
    #[serde(rename = "dnsNameservers")]
    DnsNameservers,
}

/// Backend whose object reports a cluster's health.
#[derive(JsonSchema, Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Observes {
    /// The HostedCluster that the backend makes.
    #[serde(rename = "hypershift")]
    HostedCluster,
}

/// The JSON schema of `data`, for editors and checks before an entry is applied.
pub fn build_schema() -> Schema {
    schemars::schema_for!(Document)
}
