//! The claim: a tenant's request, with the rules that an API server checks on it.
//!
//! One source for the Rust type, the schema of the XRD and its rules (CEL). The type is the composite's;
//! the claim (`TestPlatformCluster`) has the same `spec` and `status`, and Crossplane adds its own fields to both.
//!
//! The rules here are those that need nothing but the object. Everything else (pools, quota, limits) is the function's to say.

use std::collections::BTreeMap;

use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use crate::account::{Access, CREDENTIALS_IMMUTABLE, SAME_CREDENTIALS};
use crate::byoc::{
    ACCOUNT_INCOMPLETE, BESIDE_OTHERS, BYOC_IMMUTABLE, Byoc, NO_ACCOUNT, NO_PULL_SECRET, NO_SSH_KEY,
};
use crate::ci_operator::CiOperator;
use crate::cleanup::Cleanup;
use crate::duration::{AT_LEAST_A_MINUTE, GoDuration};
pub use crate::status::TestPlatformClusterStatus;
use crate::template::companions::{ControlPlane, HubChoice, Network, NodeGroup, Timeouts, Values};

/// API group of claim and composite.
pub const GROUP: &str = "ci.openshift.org";
/// The only version of claim and composite, served and stored.
pub const VERSION: &str = "v1alpha1";
/// `apiVersion` of claim and composite.
pub const API_VERSION: &str = "ci.openshift.org/v1alpha1";
/// Kind of the composite, which is cluster-scoped.
pub const COMPOSITE_KIND: &str = "XTestPlatformCluster";
/// Plural of the composite.
pub const COMPOSITE_PLURAL: &str = "xtestplatformclusters";
/// Kind of the claim, which lives in the tenant's namespace.
pub const CLAIM_KIND: &str = "TestPlatformCluster";
/// Plural of the claim.
pub const CLAIM_PLURAL: &str = "testplatformclusters";

/// Refusal of a claim with no block, or with more than one.
pub const EXACTLY_ONE_BLOCK: &str = "set exactly one of ciOperator, clusterClaim and template";
/// Refusal of a changed block.
pub const BLOCK_IMMUTABLE: &str = "a claim cannot move between ciOperator, clusterClaim and template; create a new claim for another kind of cluster";
/// Refusal of fields that belong to `template`.
pub const COMPANIONS: &str = "parameters, version, releaseImage, controlPlane, nodeGroups, network, hub and timeouts belong to template; remove them, or set template instead";
/// Refusal of both version and release image.
pub const VERSION_OR_IMAGE: &str = "set either version or releaseImage";
/// Refusal of a change inside `ciOperator`.
pub const CI_OPERATOR_IMMUTABLE: &str = "ciOperator cannot be changed, since the cluster is built from it once; create a new claim for another cluster";
/// Refusal of a change inside `clusterClaim`.
pub const CLUSTER_CLAIM_IMMUTABLE: &str = "clusterClaim cannot be changed, since a cluster is taken from a pool once; create a new claim for another cluster";
/// Refusal of a lifetime that is not a duration, or too short a one.
pub const LIFETIME_RULE: &str = "lifetime must be a duration of at least 1m, such as 90m or 4h30m";
/// Refusal of a timeout that is not a duration, or too short a one.
pub const TIMEOUT_RULE: &str = "timeout must be a duration of at least 1m, such as 90m or 1h30m";
/// Refusal of a cluster claim that says neither which version nor which pool.
pub const VERSION_OR_POOL: &str =
    "clusterClaim needs version, or pool.name to take a cluster from a pool by name";
/// Refusal of labels that would contradict fields of their own.
pub const RESERVED_LABELS: &str =
    "labels must not contain product, version, architecture, cloud or owner; use the fields of these names";

/// Requested cluster and its lifetime.
#[derive(CustomResource, KubeSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[kube(
    group = "ci.openshift.org",
    version = "v1alpha1",
    kind = "XTestPlatformCluster",
    plural = "xtestplatformclusters",
    status = "TestPlatformClusterStatus",
    doc = "A throw-away OpenShift cluster for tests. It is built when the object is created and destroyed when the object is deleted, when tearDownCluster is set or when its lifetime ends.",
    printcolumn = r#"{"name":"PHASE","type":"string","jsonPath":".status.phase"}"#,
    printcolumn = r#"{"name":"BACKEND","type":"string","jsonPath":".status.backend.kind"}"#,
    printcolumn = r#"{"name":"VERSION","type":"string","jsonPath":".status.version"}"#,
    printcolumn = r#"{"name":"NODES","type":"integer","jsonPath":".status.nodes.ready"}"#,
    printcolumn = r#"{"name":"EXPIRES","type":"string","jsonPath":".status.expiresAt"}"#,
    printcolumn = r#"{"name":"HUB","type":"string","jsonPath":".status.hub.name","priority":1}"#,
    printcolumn = r#"{"name":"MESSAGE","type":"string","jsonPath":".status.message","priority":1}"#
)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = Rule::new("[has(self.ciOperator), has(self.clusterClaim), has(self.template)].exists_one(set, set)").message(EXACTLY_ONE_BLOCK),
    validation = Rule::new("has(self.ciOperator) == has(oldSelf.ciOperator) && has(self.clusterClaim) == has(oldSelf.clusterClaim) && has(self.template) == has(oldSelf.template)").message(BLOCK_IMMUTABLE),
    validation = Rule::new("has(self.template) || !(has(self.parameters) || has(self.version) || has(self.releaseImage) || has(self.controlPlane) || has(self.nodeGroups) || has(self.network) || has(self.hub) || has(self.timeouts))").message(COMPANIONS),
    validation = Rule::new("!(has(self.version) && has(self.releaseImage))").message(VERSION_OR_IMAGE),
    validation = Rule::new("!has(self.byoc) || !has(self.ciOperator)").message(BESIDE_OTHERS),
    validation = Rule::new("!has(self.byoc) || !has(self.clusterClaim) || (has(self.byoc.platform) && has(self.byoc.baseDomain) && has(self.byoc.credentialsSecretRef))").message(ACCOUNT_INCOMPLETE),
    validation = Rule::new("!has(self.byoc) || !has(self.clusterClaim) || !has(self.byoc.sshKeySecretRef)").message(NO_SSH_KEY),
    validation = Rule::new("!has(self.byoc) || !has(self.template) || has(self.byoc.pullSecretRef)").message(NO_PULL_SECRET),
    validation = Rule::new("!has(self.byoc) || !has(self.template) || !(has(self.byoc.platform) || has(self.byoc.baseDomain) || has(self.byoc.credentialsSecretRef))").message(NO_ACCOUNT),
    validation = Rule::new("has(self.byoc) == has(oldSelf.byoc)").message(BYOC_IMMUTABLE),
    validation = Rule::new(SAME_CREDENTIALS).message(CREDENTIALS_IMMUTABLE)
)]
pub struct TestPlatformClusterSpec {
    /// The cluster is built by ci-operator, in a job of the CI system, the way this block says. Its fields are those of
    /// an EphemeralCluster and are handed to the CI system as they are, including fields that this schema does not know.
    /// It cannot be changed later. Set exactly one of this, clusterClaim and template.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[x_kube(validation = Rule::new("self == oldSelf").message(CI_OPERATOR_IMMUTABLE))]
    pub ci_operator: Option<CiOperator>,

    /// The cluster is taken from a pool of clusters that are installed in advance, which is a matter of minutes. The pool is
    /// chosen by the fields below, in ci-operator's words, among those that the administrators offer to this namespace.
    /// It cannot be changed later. Set exactly one of this, ciOperator and template.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[x_kube(validation = Rule::new("self == oldSelf").message(CLUSTER_CLAIM_IMMUTABLE))]
    pub cluster_claim: Option<ClusterClaimSpec>,

    /// The cluster is made with credentials that are brought along: Secrets of this namespace, which the carrier of this cluster must be allowed
    /// to get. They go to the hub into a namespace of this claim alone, outlive the cluster and go after it. Beside clusterClaim the cluster is
    /// made in the tenant's own cloud account, like what the administrators offer for it; beside template with the tenant's own pull secret and
    /// SSH key, where the template takes them. It cannot be changed later.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[x_kube(validation = Rule::new("self == oldSelf").message(BYOC_IMMUTABLE))]
    pub byoc: Option<Byoc>,

    /// The cluster is made by this template of the administrators' catalogue, which also says by what means. Once the cluster was asked
    /// for, it may only move to a template that names this one among those that it upgrades. Set exactly one of this, ciOperator
    /// and clusterClaim.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253))]
    pub template: Option<String>,

    /// Parameters of the template. An omitted one has the template's default, and keeps its value once the cluster is requested. They may
    /// be changed later, but for those that the template calls immutable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parameters: Option<Values>,

    /// Version that the cluster is to run, one of the template's: a whole one such as 4.20.3, or a minor one such as 4.20, which means the
    /// newest of it. May be changed later to a newer one, which upgrades the cluster. If not set, the template's default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 63))]
    pub version: Option<String>,

    /// Release image that the cluster is to run, where the template lets claims bring one along. Set either this or version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 512))]
    pub release_image: Option<String>,

    /// Size of the control plane, where the template's backend has a choice. If not set, what the template says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub control_plane: Option<ControlPlane>,

    /// Nodes of the cluster, group by group; an empty list means none. May be changed later. If not set, what the template says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 32), extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"]))]
    pub node_groups: Option<Vec<NodeGroup>>,

    /// Addresses and networks of the cluster, as far as the template leaves them to claims. It cannot be changed later.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network: Option<Network>,

    /// Hub of the cluster. It cannot be changed later. If not set, one is chosen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hub: Option<HubChoice>,

    /// Timeouts. They cannot be changed later. If not set, what the template says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeouts: Option<Timeouts>,

    /// Set to true when the cluster is no longer needed: it is destroyed and its credentials are withdrawn, while this object stays
    /// to tell how that ended. There is no way back; setting it to false again changes nothing. Deleting the object has the
    /// same effect on the cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tear_down_cluster: Option<bool>,

    /// Lifetime of the cluster, counted from the moment it became ready, as a duration of at least one minute such as 90m or 4h. At its end
    /// the cluster is destroyed as with tearDownCluster; this object is not deleted. May be changed at any time while the cluster is there,
    /// also to a longer one, up to the maximum that the administrators set; a larger value counts as that maximum. If not set, the
    /// administrators' default applies, which may be none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[x_kube(validation = Rule::new(AT_LEAST_A_MINUTE).message(LIFETIME_RULE))]
    pub lifetime: Option<GoDuration>,

    /// Whether the cluster is destroyed when the runs that own this object are over. Off if not set. Where the administrators of this cluster
    /// do not serve it, or their part may not read the runs, it changes nothing. May be changed at any time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cleanup: Option<Cleanup>,

    /// Credentials for the cluster: those of its admin, or a token of a ServiceAccount that ends and is replaced in time. If not set, the
    /// admin's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credentials: Option<Access>,
}

/// Which cluster to take from which pool. The words and their defaults are those of ci-operator's `cluster_claim`.
///
/// The defaults are applied by the function, not by the schema: a pool that is named directly has its own.
#[derive(KubeSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new("has(self.version) || has(self.pool)").message(VERSION_OR_POOL))]
pub struct ClusterClaimSpec {
    /// Product that runs on the cluster: ocp, okd or okd-scos. If not set, ocp; any if a pool is named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 63))]
    pub product: Option<String>,

    /// Version of the product as the pools are labelled, usually major and minor, such as 4.20. Required unless a pool is named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 63))]
    pub version: Option<String>,

    /// Architecture of the nodes: amd64, arm64, ppc64le, s390x or multi. If not set, amd64; any if a pool is named. If there
    /// is no pool for multi, one for amd64 is taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 63))]
    pub architecture: Option<String>,

    /// Cloud in which the cluster runs, such as aws. If not set, any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 63))]
    pub cloud: Option<String>,

    /// Owner of the cloud account in which the cluster runs, such as dpp. If not set, any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 63))]
    pub owner: Option<String>,

    /// Further labels that the pool must have. The labels product, version, architecture, cloud and owner have fields of their own.
    #[serde(default, deserialize_with = "null_is_empty", skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("maxProperties" = 32))]
    #[x_kube(validation = Rule::new("!self.exists(key, key in ['product', 'version', 'architecture', 'cloud', 'owner'])").message(RESERVED_LABELS))]
    pub labels: BTreeMap<String, String>,

    /// Maximum wait for a running cluster, counted from the creation of this object, as a duration of at least one minute such as 1h30m.
    /// When it has passed without one, the claim fails. If not set, the administrators' default applies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[x_kube(validation = Rule::new(AT_LEAST_A_MINUTE).message(TIMEOUT_RULE))]
    pub timeout: Option<GoDuration>,

    /// A pool to take the cluster from by name, out of those that the administrators offer to this namespace. The other fields
    /// must then fit that pool, if set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pool: Option<PoolRef>,

    /// Whether the cluster is started again when it is found hibernating after it was claimed. If not set, true.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resume: Option<bool>,
}

/// A pool by name.
#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PoolRef {
    /// Name of the pool.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,

    /// Namespace of the pool on its hub. Needed only where pools of this name are in several namespaces.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 63))]
    pub namespace: Option<String>,
}

/// An API server prunes the null; a file that never passed one may hold it.
fn null_is_empty<'de, D: Deserializer<'de>>(deserializer: D) -> Result<BTreeMap<String, String>, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}
