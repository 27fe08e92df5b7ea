//! Fields of a claim with `template`. The rules here need only the object itself; the function checks the template's own limits.

use std::collections::BTreeMap;

use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::duration::{AT_LEAST_A_MINUTE, GoDuration};

/// Refusal of a node group of no size, or of two.
pub const COUNT_OR_AUTOSCALE: &str = "a node group has either count or autoscale";
/// Refusal of a range that is none.
pub const AUTOSCALE_RULE: &str = "autoscale.min must not be above autoscale.max";
/// Refusal of a number of control-plane nodes that no backend knows.
pub const REPLICAS_RULE: &str = "replicas must be 1, 3 or 5";
/// Refusal of a full hub that has no name.
pub const FORCE_RULE: &str = "hub.force goes with hub.name only";
/// Refusal of a timeout that is no duration, or too short a one.
pub const TIMEOUTS_RULE: &str = "timeouts must be durations of at least 1m, such as 90m or 1h30m";

/// The most node groups of a cluster.
pub const MAX_NODE_GROUPS: u32 = 32;
/// The most parameters that a claim, or a group of nodes, can set.
pub const MAX_PARAMETERS: usize = 64;

/// Size of the control plane.
#[derive(KubeSchema, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ControlPlane {
    /// Number of nodes or instances: 1, 3 or 5, as far as the template allows them. May be changed later. If not set, the template's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[x_kube(validation = Rule::new("self in [1, 3, 5]").message(REPLICAS_RULE))]
    pub replicas: Option<i32>,

    /// Size of its machines, one of the control-plane classes of the template. It cannot be changed later.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 63))]
    pub class: Option<String>,
}

/// Nodes of one kind.
#[derive(KubeSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[x_kube(validation = Rule::new("has(self.count) != has(self.autoscale)").message(COUNT_OR_AUTOSCALE))]
pub struct NodeGroup {
    /// Name of the group, unique within the claim.
    #[schemars(length(min = 1, max = 63))]
    pub name: String,

    /// Kind of its machines, one of the node classes of the template.
    #[schemars(length(min = 1, max = 63))]
    pub class: String,

    /// Number of nodes. Set either this or autoscale.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 1000))]
    pub count: Option<i32>,

    /// Between how many nodes the load decides. Set either this or count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub autoscale: Option<Autoscale>,

    /// Architecture of its nodes. If not set, what the template says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arch: Option<Architecture>,

    /// Failure domain, or availability zone, of its nodes, where the template's platform has them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 63))]
    pub failure_domain: Option<String>,

    /// Labels of its nodes.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("maxProperties" = 32))]
    pub labels: BTreeMap<String, String>,

    /// Taints of its nodes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16))]
    pub taints: Vec<Taint>,

    /// Parameters of the group, as far as the template has any for node groups.
    #[serde(default, skip_serializing_if = "Values::is_empty")]
    pub parameters: Values,
}

/// Between how many nodes the load decides.
#[derive(KubeSchema, Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[x_kube(validation = Rule::new("self.min <= self.max").message(AUTOSCALE_RULE))]
pub struct Autoscale {
    /// The fewest nodes.
    #[schemars(range(min = 0, max = 1000))]
    pub min: i32,
    /// The most nodes.
    #[schemars(range(min = 1, max = 1000))]
    pub max: i32,
}

/// Architecture of nodes.
#[derive(JsonSchema, Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Architecture {
    /// 64-bit x86.
    Amd64,
    /// 64-bit Arm.
    Arm64,
    /// 64-bit POWER, little-endian.
    Ppc64le,
    /// IBM Z.
    S390x,
}

impl Architecture {
    /// As claims say it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Amd64 => "amd64",
            Self::Arm64 => "arm64",
            Self::Ppc64le => "ppc64le",
            Self::S390x => "s390x",
        }
    }
}

/// Taint that repels Pods without a matching toleration.
#[derive(JsonSchema, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Taint {
    /// Key of the taint.
    #[schemars(length(min = 1, max = 317))]
    pub key: String,
    /// Value of the taint. If not set, none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 63))]
    pub value: Option<String>,
    /// Effect on Pods that do not tolerate it.
    pub effect: Effect,
}

/// Effect of a taint.
#[derive(JsonSchema, Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Effect {
    /// No new Pods.
    NoSchedule,
    /// No new Pods, if they can go elsewhere.
    PreferNoSchedule,
    /// No new Pods, and those that are there go.
    NoExecute,
}

/// Addresses and networks of the cluster.
#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Network {
    /// Addresses of Pods, such as 10.132.0.0/14.
    #[serde(rename = "podCIDR", default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 49))]
    pub pod_cidr: Option<String>,
    /// Addresses of Services, such as 172.31.0.0/16.
    #[serde(rename = "serviceCIDR", default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 49))]
    pub service_cidr: Option<String>,
    /// Addresses of machines, such as 10.0.0.0/24.
    #[serde(rename = "machineCIDR", default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 49))]
    pub machine_cidr: Option<String>,
    /// The network of the cloud in which the nodes are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub internal: Option<InternalNetwork>,
    /// The network of the cloud through which the cluster is reached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub external: Option<ExternalNetwork>,
    /// Addresses of DNS servers for the nodes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 8), inner(length(max = 45)))]
    pub dns_nameservers: Vec<String>,
}

/// The network of the cloud in which the nodes are.
#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct InternalNetwork {
    /// UUID of the network.
    #[serde(rename = "networkID", default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 36))]
    pub network_id: Option<String>,
    /// UUID of the subnet.
    #[serde(rename = "subnetID", default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 36))]
    pub subnet_id: Option<String>,
}

/// The network of the cloud through which the cluster is reached.
#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ExternalNetwork {
    /// UUID of the network.
    #[serde(rename = "networkID", default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 36))]
    pub network_id: Option<String>,
}

/// Hub of the cluster.
#[derive(KubeSchema, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[x_kube(validation = Rule::new("!has(self.force) || !self.force || has(self.name)").message(FORCE_RULE))]
pub struct HubChoice {
    /// Name of the hub. If not set, one is chosen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253))]
    pub name: Option<String>,
    /// Whether the hub of that name is taken even if it is full or makes as many clusters as it may. It must be open, well and able to
    /// make the cluster all the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub force: Option<bool>,
    /// Required properties of the hub.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selector: Option<Selector>,
    /// Whether the clusters of a namespace share hubs, as far as there is a choice. If not set, that does not matter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub affinity: Option<Affinity>,
}

/// Required properties of a hub.
#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Selector {
    /// Labels of the hub, such as region and zone; all must be there.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("maxProperties" = 32))]
    pub match_labels: BTreeMap<String, String>,
}

/// Whether the clusters of a namespace share hubs.
#[derive(JsonSchema, Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Affinity {
    /// Rather on a hub on which the namespace has clusters already.
    Pack,
    /// Rather on another.
    Spread,
}

/// Timeouts.
#[derive(KubeSchema, Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Timeouts {
    /// Time for the cluster to become ready, counted from the creation of the claim, as a duration of at least one minute such as 1h30m.
    /// When it has passed, the claim fails. If not set, the template's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[x_kube(validation = Rule::new(AT_LEAST_A_MINUTE).message(TIMEOUTS_RULE))]
    pub provision: Option<GoDuration>,
    /// Time until an unfinished teardown is reported as blocked, as a duration of at least one minute such as 1h. The teardown continues.
    /// If not set, the template's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[x_kube(validation = Rule::new(AT_LEAST_A_MINUTE).message(TIMEOUTS_RULE))]
    pub teardown: Option<GoDuration>,
}

/// Values by name, of any type.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Values(pub BTreeMap<String, serde_json::Value>);

impl Values {
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl JsonSchema for Values {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Values".into()
    }

    fn inline_schema() -> bool {
        true
    }

    /// The template defines its content, so no field is pruned.
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "object", "maxProperties": MAX_PARAMETERS, "x-kubernetes-preserve-unknown-fields": true,
        })
    }
}
