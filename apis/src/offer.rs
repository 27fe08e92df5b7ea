//! Offers to tenants: the text in ConfigMap [`CONFIG_MAP`], generated from the catalogues of templates and pools for everybody to read.
//!
//! `cargo xpkg generate offers` writes it, `kubectl testplatform offers` reads it. The two need not be of one version: a reader passes
//! over what it does not know, and a format that means something else has another [`FORMAT`].
//!
//! **Invariant:** it has no field for a hub, for a tenant, for where a value goes on a hub, or for the name of a Secret.

use std::collections::BTreeMap;

use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::duration::GoDuration;
use crate::template::companions::{NodeGroup, Timeouts};
use crate::template::entry::Limits;
use crate::template::parameter::Rule;

/// Name of the ConfigMap.
pub const CONFIG_MAP: &str = "testplatform-offers";
/// Its namespace where nothing else is said: that of Crossplane.
pub const NAMESPACE: &str = "crossplane-system";
/// Key in it, with all offers as YAML.
pub const KEY: &str = "offers";
/// Version of the format. It changes only when an older reader would be misled.
pub const FORMAT: u32 = 1;
/// The most bytes of the whole ConfigMap as JSON. A ConfigMap holds 1 MiB, but `kubectl apply` repeats all of it in an annotation, and
/// the annotations of an object have 256 KiB (Kubernetes, `TotalAnnotationSizeLimitB`); the rest is left to those of others.
pub const MAX_SIZE: usize = 240 * 1024;

/// Everything that may be asked for.
#[derive(JsonSchema, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Offers {
    /// Version of the format: 1.
    pub format: u32,
    /// Each offer, templates first, by their names.
    #[serde(default)]
    pub offers: Vec<Offer>,
}

/// Something that may be asked for.
#[derive(JsonSchema, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Offer {
    /// Name; for a template the value of `spec.template`. Block and name together are unique.
    pub name: String,
    /// The block of a claim that asks for it.
    pub block: Block,
    /// Display name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Description.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Reason for its deprecation, in a sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deprecated: Option<String>,
    /// Whether only some namespaces may use it. Which is not said.
    #[serde(default, skip_serializing_if = "is_default")]
    pub restricted: bool,
    /// Versions that may be asked for. Empty: it has its own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub versions: Vec<OfferedVersion>,
    /// The version of claims that ask for none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default_version: Option<String>,
    /// The kinds of nodes, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub node_classes: BTreeMap<String, OfferedClass>,
    /// The sizes of control planes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub control_plane_classes: Vec<String>,
    /// Rules for `parameters` of claims. For one that names a Secret, values, pattern and default are omitted.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub parameters: BTreeMap<String, Rule>,
    /// Rules for `nodeGroups[].parameters` of claims.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub node_parameters: BTreeMap<String, Rule>,
    /// The node groups of claims that say nothing of any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub default_node_groups: Vec<NodeGroup>,
    /// Default number of control-plane nodes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default_control_plane_replicas: Option<i32>,
    /// Limits of claims. Numbers of control-plane nodes are always listed, where there is a choice.
    #[serde(default, skip_serializing_if = "is_default")]
    pub limits: Limits,
    /// Lifetime of clusters whose claims ask for none, where one is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default_lifetime: Option<GoDuration>,
    /// The longest lifetime that a claim can count on, where one is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_lifetime: Option<GoDuration>,
    /// Default timeouts.
    #[serde(default, skip_serializing_if = "is_default")]
    pub timeouts: Timeouts,
    /// The most that one cluster counts for in the budget of a quota.
    pub cost: u32,
    /// `spec` of a claim to begin with, but for the Secret.
    pub starter: Map<String, Value>,
    /// The fields that are left to fill in there: each has to be set, and nobody can say to what.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fill_in: Vec<String>,
}

/// A block of a claim.
#[derive(JsonSchema, Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Block {
    /// `spec.template`.
    Template,
    /// `spec.clusterClaim`.
    ClusterClaim,
}

/// A version that may be asked for.
#[derive(JsonSchema, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OfferedVersion {
    /// The version.
    pub version: String,
    /// Reason for its deprecation, in a sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deprecated: Option<String>,
}

/// A kind of nodes.
#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OfferedClass {
    /// Description.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Whether the load may take away the last node of a group.
    #[serde(default, skip_serializing_if = "is_default")]
    pub scale_to_zero: bool,
}

/// The JSON schema of the text.
pub fn build_schema() -> Schema {
    schemars::schema_for!(Offers)
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
