//! Entries for HyperShift: a HostedCluster with a NodePool for each node group.

mod machine;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::{
    BackendDefinition,
    definition::{find_nulls, find_owned_members, parse_path},
    overlay,
};
pub use machine::{AgentMachine, AwsMachine, KubeVirtMachine, Machine, MachineDocument, Platform};

use crate::foreign::{ResourceKind, hosted_cluster::HostedCluster};
use crate::template::{
    Backend,
    capability::Capabilities,
    companions::Architecture,
    descriptor::{BackendDescriptor, EverReady, NameLimit, ReleaseRule},
};

const CLUSTER_KIND: ResourceKind = ResourceKind {
    group: "hypershift.openshift.io",
    versions: &["v1beta1"],
    kind: "HostedCluster",
    plural: "hostedclusters",
};

/// Constants of the backend.
pub(super) const DESCRIPTOR: BackendDescriptor = BackendDescriptor {
    name: "hypershift",
    title: "HyperShift",
    cluster_kind: CLUSTER_KIND,
    dependent_kinds: &[ResourceKind { kind: "NodePool", plural: "nodepools", ..CLUSTER_KIND }],
    primary_resource: "cluster",
    default_namespace: "clusters",
    // HyperShift makes a namespace for each control plane, `<namespace>-<name>`.
    name_limit: NameLimit::ControlPlaneNamespace { repetitions: 1 },
    // There is a NodePool.
    objects_per_cluster: 3,
    capabilities: Capabilities {
        node_groups: true,
        autoscale: true,
        min_count: 0,
        arch: true,
        failure_domain: false,
        labels: true,
        taints: true,
        control_planes: &[1, 3],
        release_image: true,
        cluster_cidrs: true,
        machine_cidr: true,
        ipv6: true,
        editable: true,
        moves: true,
        walks: false,
    },
    has_overlay: true,
    release: ReleaseRule::Image,
    underlying: None,
    refuses_tenant_credentials: None,
    has_cloud_credentials: false,
    ever_ready: EverReady::VersionOrCondition("Available"),
    supported_versions: Some("supported-versions"),
    cluster_class: None,
    reports_api_version: false,
};

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
        return Err(format!("leads to {}, which parameters must not set", rest.join(".")));
    }
    Ok(Place { document, path: rest.to_vec() })
}

impl BackendDefinition for HyperShift {
    const BACKEND: Backend = Backend::HyperShift;
    type Machine = Machine;
    type Object = HostedCluster;
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
        machine.find_flaw()
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

    fn architectures(machine: &Machine) -> &'static [Architecture] {
        machine.architectures()
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
