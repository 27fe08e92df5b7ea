//! An entry of the catalogue of templates: `data` of an EnvironmentConfig with the label
//! `testplatform.ci.openshift.org/catalogue: "true"`, whose name is the template's.
//!
//! [`Document`] is what administrators write, [`Entry`] what can be used of it.

mod check;
mod read;

use std::collections::BTreeMap;

use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::Backend;
use super::companions::{NodeGroup, Selector, Timeouts};
use super::kind::{Caas, ClusterApi, HyperShift, Kind, MachineDocument, Osac, Worker};
use super::parameter::Rule;
use super::version::Version;
use crate::catalogue::EVERYBODY;
use crate::duration::GoDuration;
use crate::names::ObjectName;

/// `data` as administrators write it.
#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Document {
    /// What people call it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What it is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Whether clusters may be asked for. Those that are there go on. If not set, true.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
    /// Why it should not be used any more and what should, in a sentence. It still works; claims show the sentence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deprecated: Option<String>,
    /// What makes the clusters. Required.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backend: Option<Backend>,
    /// Where they come from, in the words of the backend. Required.
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
    /// What claims may set in `parameters`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub parameters: BTreeMap<String, Rule>,
    /// What claims may set in `nodeGroups[].parameters`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub node_parameters: BTreeMap<String, Rule>,
    /// The kinds of nodes that claims may ask for, each in the words of the backend.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub allowed_node_classes: BTreeMap<String, ClassDocument>,
    /// The node groups of claims that say nothing of any.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub default_node_groups: Vec<NodeGroup>,
    /// How many control-plane nodes claims get that do not say. If not set, what backendRef says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_control_plane_replicas: Option<i32>,
    /// How much claims may ask for.
    pub limits: Limits,
    /// What one cluster counts for in the budget of a quota. If not set, 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<u32>,
    /// Lifetime of clusters whose claims ask for none. If not set, the default of the function's input, else maxLifetime.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_lifetime: Option<GoDuration>,
    /// The longest lifetime that a claim may have. If not set, the maximum of the function's input.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_lifetime: Option<GoDuration>,
    /// How long things may take where claims do not say.
    pub timeouts: Timeouts,
    /// Whose object tells how the cluster does, where the backend's own tells little. Only with caas.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observes: Option<Observes>,
    /// Whether clusters have a password for kubeadmin. If not set, true where the backend has any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub password: Option<bool>,
}

/// `backendRef` of whichever backend; only for the schema.
#[derive(JsonSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "an editor's view of what is read by the backend that the entry names")]
enum Reference {
    HyperShift(HyperShift),
    ClusterApi(ClusterApi),
    Caas(Caas),
    Osac(Osac),
}

/// A kind of nodes as it is written.
#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct ClassDocument {
    /// What it is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Whether the load may take away the last node of a group.
    pub scale_to_zero: bool,
    /// What it is, in the words of the backend.
    #[schemars(with = "MachineReference")]
    pub machine: Map<String, Value>,
}

/// `machine` of whichever backend; only for the schema.
#[derive(JsonSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "an editor's view of what is read by the backend that the entry names")]
enum MachineReference {
    HyperShift(MachineDocument),
    ClusterApi(Worker),
    Osac(super::kind::Host),
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
    /// Whether clusters may be asked for with it. Those that have it keep it. If not set, true.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
    /// Why it should not be used any more, in a sentence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deprecated: Option<String>,
    /// Versions to which a cluster that has it may go, whole ones or minor ones such as 4.21. If not set, any newer one of the same and the
    /// next minor version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allowed_upgrades: Option<Vec<String>>,
}

/// How much claims may ask for.
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
    /// What an image that a claim brings along must begin with, such as quay.io/openshift-release-dev/. If not set, claims bring none.
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

/// Whose object tells how a cluster does.
#[derive(JsonSchema, Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Observes {
    /// The HostedCluster that the backend makes.
    HyperShift,
}

/// An entry that can be used.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// Name of the template.
    pub name: String,
    /// What the backend needs.
    pub made: Made,
    /// What is the same for every backend. Checked, and what is required is there.
    pub document: Document,
    /// The releases.
    pub releases: Vec<Release>,
}

/// What the backend needs, in its own words.
#[derive(Clone, Debug, PartialEq)]
pub enum Made {
    /// By HyperShift.
    HyperShift(Kit<HyperShift>),
    /// By Cluster API.
    ClusterApi(Kit<ClusterApi>),
    /// By CaaS.
    Caas(Kit<Caas>),
    /// By OSAC.
    Osac(Kit<Osac>),
}

/// What an entry says in the words of its backend.
#[derive(Clone, Debug, PartialEq)]
pub struct Kit<K: Kind> {
    /// Where the clusters come from.
    pub base: K,
    /// The kinds of nodes.
    pub classes: BTreeMap<String, Class<K::Machine>>,
    /// What claims may set.
    pub parameters: BTreeMap<String, Parameter<K::Target>>,
    /// What claims may set of a node group.
    pub node_parameters: BTreeMap<String, Parameter<K::Target>>,
}

/// A kind of nodes.
#[derive(Clone, Debug, PartialEq)]
pub struct Class<M> {
    /// What it is.
    pub machine: M,
    /// Whether the load may take away the last node of a group.
    pub scale_to_zero: bool,
}

/// What claims may set.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter<T> {
    /// What it may be.
    pub rule: Rule,
    /// Where its value goes.
    pub target: T,
}

/// A release.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Release {
    /// Its version.
    pub version: Version,
    /// Its image, where it has one.
    pub image: Option<String>,
    /// Whether clusters may be asked for with it.
    pub enabled: bool,
    /// Why it should not be used any more.
    pub deprecated: Option<String>,
    /// To which others a cluster may go; none: the same and the next minor version.
    pub allowed_upgrades: Option<Vec<String>>,
}

/// What is wrong with an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flaw {
    /// The members that lead there from the object's root, such as `data.releases[0].version`.
    pub path: String,
    /// A sentence about it.
    pub sentence: String,
}

impl std::fmt::Display for Flaw {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.path, self.sentence)
    }
}

/// The JSON schema of `data`, for editors and checks before an entry is applied.
pub fn schema() -> Schema {
    schemars::schema_for!(Document)
}

impl Entry {
    /// Reads `data` of an EnvironmentConfig. An error is everything that is wrong with it.
    pub fn read(name: &str, data: &Value) -> Result<Self, Vec<Flaw>> {
        let (document, mut flaws) = read::document(data);
        let entry = check::entry(name, document, &mut flaws);
        match entry.filter(|_| flaws.is_empty()) {
            Some(entry) => Ok(entry),
            None => Err(flaws),
        }
    }

    /// What makes its clusters.
    pub const fn backend(&self) -> Backend {
        match self.made {
            Made::HyperShift(_) => Backend::HyperShift,
            Made::ClusterApi(_) => Backend::ClusterApi,
            Made::Caas(_) => Backend::Caas,
            Made::Osac(_) => Backend::Osac,
        }
    }

    /// Whether clusters may be asked for.
    pub fn is_enabled(&self) -> bool {
        self.document.enabled != Some(false)
    }

    /// Whether a tenant may use it. A composite without a tenant is an administrator's, who may use any.
    pub fn allows(&self, tenant: Option<&str>) -> bool {
        let allowed = self.document.allowed_tenants.iter().flatten();
        tenant.is_none_or(|tenant| allowed.clone().any(|a| a == EVERYBODY || a == tenant))
    }

    /// What one cluster counts for in the budget of a quota.
    pub fn cost(&self) -> u32 {
        self.document.cost.unwrap_or(1)
    }

    /// The release of a claim that asks for none.
    pub fn default_release(&self) -> Option<&Release> {
        let enabled = || self.releases.iter().filter(|r| r.enabled);
        enabled().find(|r| r.deprecated.is_none()).or_else(|| enabled().next())
    }

    /// The newest release that `asked` means, of those that are enabled, unless it is `held`, which a cluster has already.
    pub fn release(&self, asked: &str, held: Option<&Version>) -> Option<&Release> {
        let meant = || self.releases.iter().filter(|r| r.version.is_meant_by(asked));
        let kept = held.and_then(|held| meant().find(|r| r.version == *held));
        kept.or_else(|| meant().filter(|r| r.enabled).max_by(|a, b| a.version.cmp(&b.version)))
    }
}

impl Release {
    /// Whether a cluster may go from it to another; `walks`: the backend goes through the minor versions between by itself.
    pub fn may_become(&self, next: &Version, walks: bool) -> bool {
        if *next <= self.version {
            return *next == self.version;
        }
        match &self.allowed_upgrades {
            Some(allowed) => allowed.iter().any(|a| next.is_meant_by(a)),
            None => within_reach(&self.version, next, walks),
        }
    }
}

/// Whether a version is not older, of the same major one, and no more than one minor one ahead.
pub fn within_reach(from: &Version, to: &Version, walks: bool) -> bool {
    let ((major, minor), (to_major, to_minor)) = (from.minor(), to.minor());
    to >= from && major == to_major && (walks || to_minor <= minor + 1)
}
