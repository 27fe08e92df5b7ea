//! The pool of clusters that administrators keep in Git: `XTestPlatformClusterPool`, which becomes a Hive ClusterPool on a hub.
//!
//! Cluster-scoped and without a claim: a pool costs money all the time, so no tenant ever has one. One source for the Rust type, the schema
//! of the XRD and its rules (CEL); what a rule cannot know (time zones, overlaps, other pools) is the function's to say.

mod platform;
mod schedule;

use std::collections::BTreeMap;

use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::duration::{AT_LEAST_A_MINUTE, GoDuration};
pub use crate::pool_status::TestPlatformClusterPoolStatus;
pub use platform::{ONE_PLATFORM, PlatformKind, PoolPlatform};
pub use schedule::{Day, Schedule, Sizing, TIME_OF_DAY_RULE, TIMES_DIFFER, Window};

/// Kind of the composite, which is cluster-scoped and has no claim.
pub const POOL_KIND: &str = "XTestPlatformClusterPool";

/// Refusal of another place for a pool that exists.
pub const PLACE_IMMUTABLE: &str = "name, namespace and providerConfig cannot be changed, since a pool and its clusters do not move; create another pool";
/// Refusal of idle clusters where Hive cannot stop any.
pub const ALWAYS_RUNNING: &str = "clusters on OpenStack and vSphere cannot hibernate: runningCount must be equal to size, in every window too";
/// Refusal of two masters of one number.
pub const EXTERNAL_EXCLUDES: &str = "scalingMode External leaves the size to another controller: it excludes schedule, and OpenStack \
    and vSphere, whose runningCount follows size";
/// Refusal of a platform without the means to use it.
pub const CREDENTIALS_NEEDED: &str =
    "credentialsRef is needed, unless platform.aws has a credentialsAssumeRole";
/// Refusal of a span that is not a duration, or too short a one.
pub const SPAN_RULE: &str = "must be a duration of at least 1m, such as 20m or 4h";

/// Which clusters are kept ready on which hub, and how many.
#[derive(CustomResource, KubeSchema, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[kube(
    group = "ci.openshift.org",
    version = "v1alpha1",
    kind = "XTestPlatformClusterPool",
    plural = "xtestplatformclusterpools",
    status = "TestPlatformClusterPoolStatus",
    doc = "A pool of OpenShift clusters that Hive installs in advance on a hub. Administrators keep it in Git; claims with clusterClaim take clusters out of it.",
    printcolumn = r#"{"name":"PHASE","type":"string","jsonPath":".status.phase"}"#,
    printcolumn = r#"{"name":"SIZE","type":"integer","jsonPath":".status.size"}"#,
    printcolumn = r#"{"name":"STANDBY","type":"integer","jsonPath":".status.standby"}"#,
    printcolumn = r#"{"name":"RUNNING","type":"integer","jsonPath":".status.ready"}"#,
    printcolumn = r#"{"name":"WINDOW","type":"string","jsonPath":".status.schedule.activeWindow"}"#,
    printcolumn = r#"{"name":"MESSAGE","type":"string","jsonPath":".status.message","priority":1}"#
)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = Rule::new("self.__namespace__ == oldSelf.__namespace__ && self.providerConfig == oldSelf.providerConfig && has(self.name) == has(oldSelf.name) && (!has(self.name) || self.name == oldSelf.name)").message(PLACE_IMMUTABLE),
    validation = Rule::new("!(has(self.platform.openstack) || has(self.platform.vsphere)) || ((has(self.runningCount) ? self.runningCount : 0) == self.size && (!has(self.schedule) || ((!has(self.schedule.default) || !has(self.schedule.default.runningCount) || self.schedule.default.runningCount == self.schedule.default.size) && (!has(self.schedule.windows) || self.schedule.windows.all(w, !has(w.runningCount) || w.runningCount == w.size)))))").message(ALWAYS_RUNNING),
    validation = Rule::new("!has(self.scalingMode) || self.scalingMode != 'External' || !(has(self.schedule) || has(self.platform.openstack) || has(self.platform.vsphere))").message(EXTERNAL_EXCLUDES),
    validation = Rule::new("has(self.credentialsRef) || has(self.platform.aws)").message(CREDENTIALS_NEEDED)
)]
pub struct TestPlatformClusterPoolSpec {
    /// Name of the ClusterPool on the hub, at most 63 characters; the shorter the better, since it begins the names of its clusters. If
    /// not set, this object's name. It must be the only pool of this name on its hub, in all namespaces: Hive lets the administrators of
    /// one pool into the clusters of every pool of the same name. It cannot be changed later.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 63))]
    pub name: Option<String>,

    /// Namespace of the ClusterPool on the hub, which exists already. It holds all objects that the pool refers to. It cannot be changed
    /// later.
    #[schemars(length(min = 1, max = 63))]
    pub namespace: String,

    /// Name of the ProviderConfig of provider-kubernetes that leads to the hub. It cannot be changed later.
    #[schemars(length(min = 1, max = 253))]
    pub provider_config: String,

    /// Number of unclaimed clusters to keep. 0 keeps none; claims are then served by installing one, which takes long. A schedule overrides
    /// it. With scalingMode External only the size with which the pool is made.
    #[schemars(range(min = 0, max = 1000))]
    pub size: i32,

    /// Number of them that run all the time and are available at once; the others hibernate and take minutes to start. If not set, none. On
    /// OpenStack and vSphere it must be equal to size.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 1000))]
    pub running_count: Option<i32>,

    /// The most clusters, those that are claimed or being destroyed included. If not set, any number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 10000))]
    pub max_size: Option<i32>,

    /// The most clusters that are installed or destroyed at the same time. If not set, any number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1000))]
    pub max_concurrent: Option<i32>,

    /// Owner of the size. Managed: this object. External: something on the hub that writes the pool's scale, such as an autoscaler; this
    /// object then sets the size only at creation. If not set, Managed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scaling_mode: Option<ScalingMode>,

    /// Other sizes at other times of the week. Only the current time counts, so no change is ever missed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schedule: Option<Schedule>,

    /// Time until a claimed cluster is hibernated, as a duration such as 8h. If not set, it never is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[x_kube(validation = Rule::new(AT_LEAST_A_MINUTE).message(SPAN_RULE))]
    pub hibernate_after: Option<GoDuration>,

    /// Time for a hibernating cluster to start before it counts as broken and is replaced, as a duration. If not set, 20m: without one, a
    /// cluster that never starts would keep its place at the head of the queue for ever.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[x_kube(validation = Rule::new(AT_LEAST_A_MINUTE).message(SPAN_RULE))]
    pub resume_timeout: Option<GoDuration>,

    /// Number of installation attempts before a cluster counts as broken and is replaced. If not set, 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 100))]
    pub install_attempts_limit: Option<i32>,

    /// Lifetimes of claims.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim_lifetime: Option<ClaimLifetime>,

    /// DNS domain below which the clusters are.
    #[schemars(length(min = 1, max = 253))]
    pub base_domain: String,

    /// The ClusterImageSet on the hub that says which release is installed.
    pub image_set_ref: LocalObjectReference,

    /// Secret with the pull secret, key .dockerconfigjson, in the pool's namespace. If not set, Hive's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pull_secret_ref: Option<LocalObjectReference>,

    /// Secret with the credentials for the cloud, in the pool's namespace. To rotate them make a Secret of another name and change this; see
    /// credentialsRotation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credentials_ref: Option<LocalObjectReference>,

    /// Secret with an install-config.yaml from which those of the clusters are made, in the pool's namespace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub install_config_template_ref: Option<LocalObjectReference>,

    /// Whether Hive leaves the machine pools to the install-config. If not set, true with an install-config template, else false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skip_machine_pools: Option<bool>,

    /// Cloud of the clusters: exactly one of those for which Hive builds pools.
    pub platform: PoolPlatform,

    /// ClusterDeploymentCustomizations in the pool's namespace, one for each cluster at a time. They limit how many clusters there can be.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 1000))]
    pub inventory: Vec<LocalObjectReference>,

    /// Labels of the ClusterPool, by which ci-operator and catalogues find it: product, version, architecture, cloud, owner and others.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("maxProperties" = 64))]
    pub labels: BTreeMap<String, String>,

    /// Labels that new clusters get.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("maxProperties" = 64))]
    pub cluster_labels: BTreeMap<String, String>,

    /// Subjects with access to everything of the pool and its clusters, cloud credentials included: to debug installations.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 100))]
    pub admins: Vec<Admin>,

    /// Replacement of unclaimed clusters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refresh: Option<Refresh>,

    /// Rotation to another credentialsRef.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credentials_rotation: Option<CredentialsRotation>,

    /// Set to true before this object is deleted, to see how the pool goes: the ClusterPool is deleted, its clusters that nobody has claimed
    /// too, nothing is served any more, and the pool is held until the last claimed cluster is given back. Deleting this object does the
    /// same, and leaves nothing behind that could tell. Set back to false, the pool is made anew once the old one is gone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drain: Option<bool>,
}

impl TestPlatformClusterPoolSpec {
    /// Reads the `spec` of a composite. Here once, and in no other crate again.
    ///
    /// # Errors
    /// If it is not what the schema demands.
    #[inline(never)]
    pub fn read(raw: serde_json::Value) -> Result<Self, serde_json::Error> {
        crate::json::read_value(raw)
    }
}

/// A reference by name.
#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LocalObjectReference {
    /// Its name.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
}

/// Owner of the size.
#[derive(JsonSchema, Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum ScalingMode {
    /// The pool's definition.
    #[default]
    Managed,
    /// A writer of the pool's scale on the hub.
    External,
}

/// Lifetimes of claims.
#[derive(KubeSchema, Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClaimLifetime {
    /// For claims that say nothing themselves, as a duration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[x_kube(validation = Rule::new(AT_LEAST_A_MINUTE).message(SPAN_RULE))]
    pub default: Option<GoDuration>,
    /// The most, for all claims, as a duration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[x_kube(validation = Rule::new(AT_LEAST_A_MINUTE).message(SPAN_RULE))]
    pub maximum: Option<GoDuration>,
}

/// Somebody who may debug installations.
#[derive(JsonSchema, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Admin {
    /// Kind of the subject.
    pub kind: AdminKind,
    /// Their name.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
    /// Namespace of a ServiceAccount.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 63))]
    pub namespace: Option<String>,
}

/// Kind of an administrator.
#[derive(JsonSchema, Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum AdminKind {
    /// A group of people.
    Group,
    /// One of them.
    User,
    /// A program.
    ServiceAccount,
}

/// Replacement of unclaimed clusters. After a change of platform, baseDomain, imageSetRef or the name of the install-config template, Hive
/// itself replaces one cluster at a time. The hub-side provider does the rest, if enabled.
#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Refresh {
    /// Any text; when it changes, every cluster that nobody has claimed is replaced once. For what Hive does not see: the content of a
    /// Secret that the pool refers to.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 63))]
    pub nonce: Option<String>,
    /// Rolling: one after the other. Recreate: all at once, or as many as maxUnavailable at a time. If not set, Rolling.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub strategy: Option<RefreshStrategy>,
    /// With Recreate, how many clusters may be missing at a time. If not set, all.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1000))]
    pub max_unavailable: Option<i32>,
    /// Reaction to another release in a ClusterImageSet of the same name. Ignore; Report: condition RefreshRecommended; Rolling: as with a
    /// new nonce and strategy Rolling. If not set, Report.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_artifact_change: Option<OnArtifactChange>,
}

/// Replacement strategy.
#[derive(JsonSchema, Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum RefreshStrategy {
    /// One.
    #[default]
    Rolling,
    /// All, or as many as may be missing.
    Recreate,
}

/// Reaction to changed content under the same name.
#[derive(JsonSchema, Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum OnArtifactChange {
    /// Nothing.
    Ignore,
    /// Say so.
    #[default]
    Report,
    /// Replace the clusters, one after the other.
    Rolling,
}

/// Rotation to another credentialsRef.
#[derive(JsonSchema, Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CredentialsRotation {
    /// Replace: at once; Hive replaces the clusters that nobody has claimed, and condition OldCredentialsReleasable tells when none of the
    /// pool's clusters was made with the old credentials. Drain: the pool is emptied first, and the new credentials are used once the last
    /// cluster is gone, claimed ones included; needs the hub-side provider. If not set, Replace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<RotationMode>,
}

/// When the new credentials are used.
#[derive(JsonSchema, Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum RotationMode {
    /// Once no cluster is left.
    Drain,
    /// At once.
    #[default]
    Replace,
}
