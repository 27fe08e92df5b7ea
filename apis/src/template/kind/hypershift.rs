//! Entries for HyperShift: a HostedCluster with a NodePool for each node group.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::{BackendDefinition, find_nulls, find_owned_members, overlay, parse_path};
use crate::template::{Backend, companions::Architecture};

/// Settings common to all HostedClusters of an entry.
#[derive(JsonSchema, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct HyperShift {
    /// Platform of the nodes.
    pub platform: Platform,
    /// Base of each HostedCluster's `spec`: pullSecret, services, platform, dns, etcd and whatever else is the same for all. It must not
    /// set fields that the function writes from the claim: release, infraID, clusterID. In its texts `{name}` and `{namespace}` stand for
    /// the HostedCluster's.
    pub hosted_cluster: Map<String, Value>,
    /// Base of each NodePool's `spec`, such as management and nodeDrainTimeout. Not in it: clusterName, release, replicas, autoScaling. In
    /// its texts `{name}` and `{namespace}` stand for the HostedCluster's.
    #[serde(default)]
    pub node_pool: Map<String, Value>,
}

/// Platform of the nodes, as `platform.type` of a HostedCluster has it.
#[derive(JsonSchema, Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Platform {
    /// Virtual machines on the hub.
    KubeVirt,
    /// Machines of Amazon's.
    #[serde(rename = "AWS")]
    Aws,
    /// Hosts of an inventory.
    Agent,
}

impl Platform {
    /// The word of the HostedCluster.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::KubeVirt => "KubeVirt",
            Self::Aws => "AWS",
            Self::Agent => "Agent",
        }
    }
}

/// A class of nodes.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(try_from = "MachineDocument")]
pub enum Machine {
    /// On the hub.
    KubeVirt(KubeVirtMachine),
    /// At Amazon's.
    Aws(AwsMachine),
    /// Out of an inventory.
    Agent(AgentMachine),
}

impl Machine {
    /// Platform of the machine.
    pub const fn platform(&self) -> Platform {
        match self {
            Self::KubeVirt(_) => Platform::KubeVirt,
            Self::Aws(_) => Platform::Aws,
            Self::Agent(_) => Platform::Agent,
        }
    }
}

/// A class of nodes as it is written.
#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct MachineDocument {
    /// A virtual machine on the hub.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kubevirt: Option<KubeVirtMachine>,
    /// A machine of Amazon's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub aws: Option<AwsMachine>,
    /// A host of an inventory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentMachine>,
}

/// A virtual machine on the hub.
#[derive(JsonSchema, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct KubeVirtMachine {
    /// Number of cores.
    #[schemars(range(min = 1, max = 1024))]
    pub cores: u32,
    /// Memory, such as 16Gi.
    pub memory: String,
    /// Size of its disk, such as 64Gi. If not set, HyperShift's default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root_volume: Option<String>,
}

/// A machine of Amazon's.
#[derive(JsonSchema, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AwsMachine {
    /// Such as m5.xlarge.
    pub instance_type: String,
    /// Size of its disk in GiB. If not set, HyperShift's default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 8, max = 16384))]
    pub root_volume_size: Option<u32>,
}

impl AwsMachine {
    /// Whether its processor is an Arm one of Amazon's: a `g` behind the generation of the family says so, as in m6g, c7gn and im4gn. The first ones
    /// were called a1. Source: "Amazon EC2 instance type naming conventions".
    pub fn is_graviton(&self) -> bool {
        let family = self.instance_type.split('.').next().unwrap_or_default();
        let options = family
            .trim_start_matches(|c: char| !c.is_ascii_digit())
            .trim_start_matches(|c: char| c.is_ascii_digit());
        family == "a1" || options.split('-').next().unwrap_or_default().contains('g')
    }
}

/// A host of an inventory.
#[derive(JsonSchema, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AgentMachine {
    /// Labels of the Agents that will do.
    pub match_labels: BTreeMap<String, String>,
}

impl TryFrom<MachineDocument> for Machine {
    type Error = &'static str;

    fn try_from(document: MachineDocument) -> Result<Self, Self::Error> {
        match (document.kubevirt, document.aws, document.agent) {
            (Some(machine), None, None) => Ok(Self::KubeVirt(machine)),
            (None, Some(machine), None) => Ok(Self::Aws(machine)),
            (None, None, Some(machine)) => Ok(Self::Agent(machine)),
            _ => Err("must set exactly one of kubevirt, aws and agent"),
        }
    }
}

/// Which of the two documents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TargetDocument {
    /// The HostedCluster's `spec`.
    HostedCluster,
    /// The NodePool's `spec`.
    NodePool,
}

/// Target of a parameter's value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Into which document.
    pub document: TargetDocument,
    /// The members that lead there, the last one is set.
    pub path: Vec<String>,
}

const HOSTED_CLUSTER: [&str; 3] = ["release", "infraID", "clusterID"];
const NODE_POOL: [&str; 4] = ["clusterName", "release", "replicas", "autoScaling"];
/// Fields of a HostedCluster that an overlay must not set: those that the function writes, and those of backendRef.
const HOSTED_CLUSTER_GUARDED: [&str; 9] = [
    "release",
    "infraID",
    "clusterID",
    "pullSecret",
    "platform.type",
    "networking.clusterNetwork",
    "networking.serviceNetwork",
    "networking.machineNetwork",
    "controllerAvailabilityPolicy",
];
/// The same of a NodePool.
const NODE_POOL_GUARDED: [&str; 8] =
    ["clusterName", "release", "replicas", "autoScaling", "arch", "nodeLabels", "taints", "platform.type"];
/// Further fields of both documents that the function writes.
const GUARDED: [&str; 9] = [
    "release",
    "infraID",
    "clusterID",
    "clusterName",
    "replicas",
    "autoScaling",
    "pullSecret",
    "networking",
    "controllerAvailabilityPolicy",
];

fn parse_place(words: &str, allowed: &[TargetDocument]) -> Result<Place, String> {
    let parts = parse_path(words)?;
    let (document, rest) = match parts.split_first() {
        Some((first, rest)) if first == "hostedCluster" && !rest.is_empty() => {
            (TargetDocument::HostedCluster, rest)
        }
        Some((first, rest)) if first == "nodePool" && !rest.is_empty() => (TargetDocument::NodePool, rest),
        _ => return Err("must begin with hostedCluster. or nodePool.".into()),
    };
    if !allowed.contains(&document) {
        return Err("of a node group must begin with nodePool.".into());
    }
    if GUARDED.contains(&rest[0].as_str()) || rest.starts_with(&["platform".into(), "type".into()]) {
        return Err(format!("leads to {}, which is not a parameter's to set", rest.join(".")));
    }
    Ok(Place { document, path: rest.to_vec() })
}

impl BackendDefinition for HyperShift {
    const BACKEND: Backend = Backend::HyperShift;
    type Machine = Machine;
    type Target = Place;

    fn find_flaws(&self) -> Vec<(String, String)> {
        let mut found = Vec::new();
        let mut flaw = |at: &str, sentence: &str| found.push((at.to_owned(), sentence.to_owned()));
        let base = Value::Object(self.hosted_cluster.clone());
        if !base["pullSecret"]["name"].is_string() {
            flaw("hostedCluster.pullSecret.name", "must name a Secret beside the HostedCluster");
        }
        let type_ = &base["platform"]["type"];
        if !type_.is_null() && *type_ != json!(self.platform.as_str()) {
            flaw("hostedCluster.platform.type", "is another one than platform");
        }
        // HyperShift knows how to publish them only where the nodes are on the hub.
        if self.platform != Platform::KubeVirt && !base["services"].is_array() {
            flaw("hostedCluster.services", "must say how the services are published");
        }
        find_owned_members("hostedCluster", &base, &HOSTED_CLUSTER, &mut found);
        find_nulls("hostedCluster", &base, &mut found);
        let pool = Value::Object(self.node_pool.clone());
        find_owned_members("nodePool", &pool, &NODE_POOL, &mut found);
        find_nulls("nodePool", &pool, &mut found);
        found
    }

    fn machine_flaw(&self, machine: &Machine) -> Option<String> {
        let (own, platform) = (machine.platform(), self.platform);
        if own != platform {
            return Some(format!("is for {}, and platform is {}", own.as_str(), platform.as_str()));
        }
        match machine {
            Machine::KubeVirt(KubeVirtMachine { cores: 0, .. }) => Some("has no cores".into()),
            Machine::KubeVirt(KubeVirtMachine { memory, root_volume, .. }) => {
                let wrong =
                    [Some(memory), root_volume.as_ref()].into_iter().flatten().find(|q| !is_quantity(q));
                wrong.map(|_| "has a size that is none, such as 16Gi".into())
            }
            Machine::Aws(AwsMachine { instance_type, .. }) if instance_type.is_empty() => {
                Some("has no instanceType".into())
            }
            Machine::Agent(AgentMachine { match_labels }) if match_labels.is_empty() => {
                Some("takes any host: say which by matchLabels".into())
            }
            Machine::Aws(_) | Machine::Agent(_) => None,
        }
    }

    fn overlay_flaws(&self, overlay: &Map<String, Value>, targets: &[&Place]) -> Vec<(String, String)> {
        let guarded = |document: TargetDocument, own: &[&str]| {
            let own = own.iter().map(|path| path.split('.').map(str::to_owned).collect());
            let targets = targets.iter().filter(|place| place.document == document);
            own.chain(targets.map(|place| place.path.clone())).collect()
        };
        let documents = [
            (
                "hostedCluster",
                &self.hosted_cluster,
                guarded(TargetDocument::HostedCluster, &HOSTED_CLUSTER_GUARDED),
            ),
            ("nodePool", &self.node_pool, guarded(TargetDocument::NodePool, &NODE_POOL_GUARDED)),
        ];
        overlay::find_flaws(overlay, &documents)
    }

    fn brought_flaws(&self, overlay: &Map<String, Value>, targets: &[&Place]) -> Vec<(String, String)> {
        let mut found = Vec::new();
        for (member, document) in [
            ("backendRef.hostedCluster", &self.hosted_cluster),
            ("backendRef.nodePool", &self.node_pool),
            ("overlay", overlay),
        ] {
            find_references(member, &Value::Object(document.clone()), &mut found);
        }
        // The pull secret the claim must bring, and the key it may.
        let brought = |(path, _): &(String, String)| {
            !["backendRef.hostedCluster.pullSecret", "backendRef.hostedCluster.sshKey"]
                .contains(&path.as_str())
        };
        found.retain(brought);
        let names = |place: &&&Place| {
            place.path.last().is_some_and(|last| last == "name")
                || place.path.first().is_some_and(|p| p == "sshKey")
        };
        for place in targets.iter().filter(names) {
            let words = format!("cannot stand beside a parameter for {}: {BESIDE}", place.path.join("."));
            found.push(("bringYourOwn".into(), words));
        }
        found
    }

    fn parse_target(&self, words: &str) -> Result<Place, String> {
        parse_place(words, &[TargetDocument::HostedCluster, TargetDocument::NodePool])
    }

    fn node_target(&self, words: &str) -> Result<Place, String> {
        parse_place(words, &[TargetDocument::NodePool])
    }

    /// By HyperShift's API, and its function `isArchAndPlatformSupported`. The type of an Amazon machine implies its architecture.
    fn architectures(machine: &Machine) -> &'static [Architecture] {
        use Architecture::{Amd64, Arm64, Ppc64le, S390x};
        match machine {
            Machine::KubeVirt(_) => &[Amd64, S390x],
            Machine::Aws(machine) if machine.is_graviton() => &[Arm64],
            Machine::Aws(_) => &[Amd64],
            Machine::Agent(_) => &[Amd64, Arm64, Ppc64le],
        }
    }

    fn may_become(&self, old: &Machine, new: &Machine) -> bool {
        old.platform() == new.platform()
    }

    fn resizes_control_plane(&self) -> bool {
        // It becomes controllerAvailabilityPolicy, which cannot change.
        false
    }

    fn needs_image(&self) -> bool {
        true
    }
}

/// Refusal of references to objects beside a HostedCluster that has a namespace of its own.
const BESIDE: &str = "with bringYourOwn clusters are in namespaces of their own, where it is not";

/// Finds references to objects in the same namespace: HyperShift's have a name, and at most a key with it.
fn find_references(at: &str, value: &Value, found: &mut Vec<(String, String)>) {
    match value {
        Value::Object(members) => {
            let named = members.get("name").and_then(Value::as_str).is_some_and(|name| !name.contains('/'));
            if named && members.keys().all(|key| key == "name" || key == "key") {
                found.push((at.to_owned(), format!("names an object beside the cluster's: {BESIDE}")));
            }
            members.iter().for_each(|(key, member)| find_references(&format!("{at}.{key}"), member, found));
        }
        Value::Array(items) => {
            items
                .iter()
                .enumerate()
                .for_each(|(i, item)| find_references(&format!("{at}[{i}]"), item, found));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// A whole number of bytes with a unit of Kubernetes'.
fn is_quantity(text: &str) -> bool {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    digits > 0 && ["", "Ki", "Mi", "Gi", "Ti", "k", "M", "G", "T"].contains(&&text[digits..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arm_processors_are_told_by_the_type() {
        let is_graviton =
            |text: &str| AwsMachine { instance_type: text.to_owned(), root_volume_size: None }.is_graviton();
        for arm in [
            "a1.xlarge",
            "m6g.large",
            "m6gd.4xlarge",
            "c7gn.large",
            "t4g.micro",
            "im4gn.large",
            "is4gen.large",
            "x2gd.metal",
            "g5g.xlarge",
            "hpc7g.4xlarge",
            "r8g.metal-24xl",
        ] {
            assert!(is_graviton(arm), "{arm}");
        }
        for x86 in [
            "m5.xlarge",
            "m6a.large",
            "m6i.large",
            "g4dn.xlarge",
            "g4ad.xlarge",
            "g6.xlarge",
            "gr6.4xlarge",
            "u7i-12tb.224xlarge",
            "p4de.24xlarge",
            "t3.large",
            "x2iedn.xlarge",
            "",
        ] {
            assert!(!is_graviton(x86), "{x86}");
        }
    }
}
