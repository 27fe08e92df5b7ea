//! Cluster API's status of a Cluster, and the objects that it makes of it.

use base64::{Engine as _, prelude::BASE64_STANDARD};
use serde_json::{Value, json};

use crate::{
    hive::objects::{kubeconfig, token},
    hypershift::CLUSTERS,
    player::Said,
};

const LEAST: &str = "cluster.x-k8s.io/cluster-api-autoscaler-node-group-min-size";
/// Steps of a Cluster's deletion, in order: reason and message of its condition `Deleting`.
pub const ENDING: [(&str, &str); 3] = [
    ("WaitingForWorkersDeletion", "* MachineDeployments: workers are being deleted"),
    ("WaitingForControlPlaneDeletion", "* KubeadmControlPlane: 1 machine is being deleted"),
    ("WaitingForInfrastructureDeletion", "* OpenStackCluster: the network is being deleted"),
];

/// Status once the machines are as requested.
pub(super) fn reached(cluster: &Value) -> Value {
    let topology = &cluster["spec"]["topology"];
    let groups = topology["workers"]["machineDeployments"].as_array().map_or(&[][..], Vec::as_slice);
    let least = |group: &Value| group["metadata"]["annotations"][LEAST].as_str().and_then(|n| n.parse().ok());
    let count = |group: &Value| group["replicas"].as_i64().or_else(|| least(group)).unwrap_or(1);
    let nodes: i64 = groups.iter().map(count).sum();
    let replicas = topology["controlPlane"]["replicas"].as_i64().unwrap_or(1);
    let of = |count: i64| {
        let mut said = json!({
            "desiredReplicas": count, "replicas": count, "readyReplicas": count, "availableReplicas": count,
            "upToDateReplicas": count,
        });
        if count > 0 {
            said["versions"] = json!([{ "version": topology["version"], "replicas": count }]);
        }
        said
    };
    json!({
        "workers": of(nodes), "controlPlane": of(replicas), "phase": "Provisioned",
        "initialization": { "infrastructureProvisioned": true, "controlPlaneInitialized": true },
        "observedGeneration": cluster["metadata"]["generation"],
    })
}

/// The first that is said of one. `why`: what its infrastructure waits for.
pub(super) fn begun(why: &str) -> Vec<Said> {
    let not = |type_, words: &str| (type_, "False", "NotReady", words.to_owned());
    vec![
        not("InfrastructureReady", why),
        not("ControlPlaneInitialized", "waiting for the infrastructure"),
        not("ControlPlaneAvailable", "waiting for the infrastructure"),
        not("WorkersAvailable", "0 of 1 replicas"),
        not("Available", &format!("* InfrastructureReady: {why}")),
        topology_reconciled(),
    ]
}

/// Reported first, and alone: the topology is applied to objects, of which none is there yet.
pub(super) fn topology_reconciled() -> Said {
    ("TopologyReconciled", "True", "ReconcileSucceeded", String::new())
}

/// More of the status of one without infrastructure. `given_up`: why nobody tries any more.
pub(super) fn blocked(given_up: Option<&String>) -> Value {
    let mut status = json!({ "phase": "Provisioning" });
    if let Some(why) = given_up {
        status["deprecated"] =
            json!({ "v1beta1": { "failureReason": "CreateError", "failureMessage": why } });
    }
    status
}

/// All that was asked for is there.
pub(super) fn settled(cluster: &Value) -> Vec<Said> {
    let groups = cluster["spec"]["topology"]["workers"]["machineDeployments"].as_array().map_or(0, Vec::len);
    let workers = if groups == 0 { "NoWorkers" } else { "Available" };
    let yes = [
        "InfrastructureReady",
        "ControlPlaneInitialized",
        "TopologyReconciled",
        "ControlPlaneAvailable",
        "Available",
    ]
    .map(|type_| (type_, "True", "Available", String::new()));
    let no =
        ["RollingOut", "ScalingUp", "ScalingDown"].map(|type_| (type_, "False", "NotRolling", String::new()));
    let workers = ("WorkersAvailable", "True", workers, String::new());
    yes.into_iter().chain([workers]).chain(no).collect()
}

/// The control plane is being upgraded, or gets other machines: one of them is not there yet, or not any more. Source:
/// `controlplane/kubeadm/reconcilers/kubeadmcontrolplane/status.go`.
pub(super) fn control_plane_changing() -> Vec<Said> {
    let few = "* 1 of 2 etcd members are healthy";
    vec![
        ("TopologyReconciled", "False", "ClusterUpgrading", "the control plane is being upgraded".into()),
        ("RollingOut", "True", "RollingOut", "Rolling out 1 not up-to-date replicas".into()),
        ("ControlPlaneAvailable", "False", "NotAvailable", few.into()),
        ("Available", "False", "NotAvailable", format!("* ControlPlaneAvailable: {few}")),
    ]
}

/// The control plane has it, and the workers do not.
pub(super) fn control_plane_changed() -> Vec<Said> {
    vec![
        ("ControlPlaneAvailable", "True", "Available", String::new()),
        ("Available", "True", "Available", String::new()),
    ]
}

/// What is said of the workers while they become others: counts and conditions. Source: `core/reconcilers/cluster/cluster_controller_status.go`.
pub(super) fn workers_changing(cluster: &Value, there: &Value) -> (Value, Vec<Said>) {
    let mut counts = cluster["status"]["workers"].clone();
    let before = counts["desiredReplicas"].as_i64().unwrap_or_default();
    let desired = there["desiredReplicas"].as_i64().unwrap_or_default();
    let version = |of: &Value| of["versions"][0]["version"].clone();
    if desired > 0 && before > 0 && version(&counts) != version(there) {
        // One machine more, until the last is replaced.
        counts["replicas"] = (before + 1).into();
        let said = vec![
            (
                "TopologyReconciled",
                "False",
                "ClusterUpgrading",
                "MachineDeployments are being upgraded".into(),
            ),
            ("RollingOut", "True", "RollingOut", "Rolling out 1 not up-to-date replicas".into()),
        ];
        return (counts, said);
    }
    counts["desiredReplicas"] = desired.into();
    if desired < counts["replicas"].as_i64().unwrap_or_default() {
        let words = format!("Scaling down from {} to {desired} replicas", counts["replicas"]);
        return (counts, vec![("ScalingDown", "True", "ScalingDown", words)]);
    }
    let few = "* MachineDeployment: fewer available replicas than desired";
    let words = format!("Scaling up from {} to {desired} replicas", counts["replicas"]);
    let said = vec![
        ("ScalingUp", "True", "ScalingUp", words),
        ("WorkersAvailable", "False", "NotAvailable", few.into()),
        ("Available", "False", "NotAvailable", format!("* WorkersAvailable: {few}")),
    ];
    (counts, said)
}

/// The last worker is gone. The same is said of a cluster that never was to have any.
pub(super) fn no_workers() -> Said {
    ("WorkersAvailable", "True", "NoWorkers", String::new())
}

/// The Secrets of a Cluster: its kubeconfig, and the keys of its control plane. Sources: `util/kubeconfig/kubeconfig.go`,
/// `util/secret/certificates.go`.
pub(super) fn secrets(name: &str) -> Vec<Value> {
    let of = |purpose: &str| {
        let mut keys = secret(name);
        keys["metadata"]["name"] = format!("{name}-{purpose}").into();
        keys["data"] = json!({ "tls.crt": BASE64_STANDARD.encode("certificate"), "tls.key": "" });
        keys
    };
    ["ca", "etcd", "proxy", "sa"].map(of).into_iter().chain([secret(name)]).collect()
}

/// The Secret with its kubeconfig.
fn secret(name: &str) -> Value {
    let kubeconfig = BASE64_STANDARD.encode(kubeconfig(name, &token(name)));
    json!({
        "apiVersion": "v1", "kind": "Secret", "type": "cluster.x-k8s.io/secret",
        "metadata": {
            "name": format!("{name}-kubeconfig"), "namespace": CLUSTERS,
            "labels": { "cluster.x-k8s.io/cluster-name": name },
        },
        "data": { "value": kubeconfig },
    })
}
