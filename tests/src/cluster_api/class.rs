//! The ClusterClass that the example template names, with machines that exist only in the memory of the infrastructure provider.

use serde_json::{Value, json};

use super::NAMESPACE_OF_CLASS;

/// The class, as the example template calls it.
const CLASS: &str = "openstack-v3";
/// A later one, to which its clusters can move. It does not define the variable that has a default.
const NEXT_CLASS: &str = "openstack-v4";
/// The variable that has a default, which the webhook adds to every Cluster of the class.
pub(super) const DEFAULTED: &str = "apiServerLoadBalancer";
const CONTROL_PLANE: &str = "in-memory-control-plane";
const WORKERS: &str = "in-memory-workers";
const NETWORK: &str = "in-memory-network";

/// The classes and the templates that they refer to; the classes come last.
pub(super) fn manifests() -> Vec<Value> {
    let template = |api: &str, kind: &str, name: &str, spec: Value| {
        json!({
            "apiVersion": format!("{api}.cluster.x-k8s.io/v1beta2"), "kind": kind,
            "metadata": { "name": name, "namespace": NAMESPACE_OF_CLASS },
            "spec": { "template": { "spec": spec } },
        })
    };
    let machine = |name| {
        let at_once = json!({ "provisioning": { "startupDuration": "10ms" } });
        let parts = json!({ "vm": at_once, "node": at_once, "apiServer": at_once, "etcd": at_once });
        template("infrastructure", "DevMachineTemplate", name, json!({ "backend": { "inMemory": parts } }))
    };
    vec![
        template("infrastructure", "DevClusterTemplate", NETWORK, json!({ "backend": { "inMemory": {} } })),
        machine(CONTROL_PLANE),
        machine(WORKERS),
        template(
            "controlplane",
            "KubeadmControlPlaneTemplate",
            CONTROL_PLANE,
            json!({ "kubeadmConfigSpec": { "clusterConfiguration": { "apiServer": { "certSANs": ["127.0.0.1"] } } } }),
        ),
        template("bootstrap", "KubeadmConfigTemplate", WORKERS, kubelet()),
        class(NEXT_CLASS, &variables()),
        class(CLASS, &with_default(variables())),
    ]
}

/// A template may not be empty.
fn kubelet() -> Value {
    let socket = json!({ "criSocket": "unix:///var/run/containerd/containerd.sock" });
    json!({ "joinConfiguration": { "nodeRegistration": socket } })
}

fn class(name: &str, variables: &[Value]) -> Value {
    let reference = |api: &str, kind: &str, name: &str| {
        let api = format!("{api}.cluster.x-k8s.io/v1beta2");
        json!({ "templateRef": { "apiVersion": api, "kind": kind, "name": name } })
    };
    let machine = |name| reference("infrastructure", "DevMachineTemplate", name);
    let mut control_plane = reference("controlplane", "KubeadmControlPlaneTemplate", CONTROL_PLANE);
    control_plane["machineInfrastructure"] = machine(CONTROL_PLANE);
    let workers = json!({
        "class": "default-worker",
        "bootstrap": reference("bootstrap", "KubeadmConfigTemplate", WORKERS),
        "infrastructure": machine(WORKERS),
    });
    json!({
        "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "ClusterClass",
        "metadata": { "name": name, "namespace": NAMESPACE_OF_CLASS },
        "spec": {
            "infrastructure": reference("infrastructure", "DevClusterTemplate", NETWORK),
            "controlPlane": control_plane,
            "workers": { "machineDeployments": [workers] },
            "variables": variables,
        },
    })
}

fn variable(name: &str, schema: &Value) -> Value {
    json!({ "name": name, "required": false, "schema": { "openAPIV3Schema": schema } })
}

/// Variables of classes for OpenStack.
fn variables() -> Vec<Value> {
    let text = |name| variable(name, &json!({ "type": "string" }));
    let mut all: Vec<Value> = [
        "cni",
        "controlPlaneFlavor",
        "externalNetworkId",
        "fixedNetworkId",
        "fixedSubnetId",
        "flavor",
        "imageUUID",
        "sshKeyName",
    ]
    .map(text)
    .to_vec();
    all.push(variable("bootVolumeSize", &json!({ "type": "integer" })));
    all.push(variable("dnsNameservers", &json!({ "type": "array", "items": { "type": "string" } })));
    all
}

fn with_default(mut variables: Vec<Value>) -> Vec<Value> {
    variables.push(variable(DEFAULTED, &json!({ "type": "string", "default": "enabled" })));
    variables
}
