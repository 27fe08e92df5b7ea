//! Catalogue documents, and the claim's settings in them.

use serde_json::{Map, Value, json};
use testplatform_apis::template::kind::{Machine, Place, Platform, TargetDocument};

use crate::cluster::{backends::common::templated::members::set, request::Setting};

/// Parameters of one of the two documents.
pub(super) fn apply_settings<'a>(
    spec: &mut Map<String, Value>,
    document: TargetDocument,
    settings: impl IntoIterator<Item = &'a Setting<Place>>,
) {
    for setting in settings.into_iter().filter(|s| s.target.document == document) {
        set(spec, &setting.target.path, setting.value.clone());
    }
}

/// Machine of a node class in terms of a NodePool, added to the catalogue's platform settings.
pub(super) fn set_machine(spec: &mut Map<String, Value>, machine: &Machine) {
    set(spec, &["platform", "type"], machine.platform().as_str().into());
    match machine {
        Machine::KubeVirt(machine) => {
            set(spec, &["platform", "kubevirt", "compute", "cores"], machine.cores.into());
            set(spec, &["platform", "kubevirt", "compute", "memory"], machine.memory.as_str().into());
            set(spec, &["platform", "kubevirt", "rootVolume", "type"], "Persistent".into());
            if let Some(size) = &machine.root_volume {
                let path = ["platform", "kubevirt", "rootVolume", "persistent", "size"];
                set(spec, &path, size.as_str().into());
            }
        }
        Machine::Aws(machine) => {
            set(spec, &["platform", "aws", "instanceType"], machine.instance_type.as_str().into());
            if let Some(size) = machine.root_volume_size {
                set(spec, &["platform", "aws", "rootVolume"], json!({ "size": size, "type": "gp3" }));
            }
        }
        Machine::Agent(machine) => {
            let path = ["platform", "agent", "agentLabelSelector", "matchLabels"];
            set(spec, &path, json!(machine.match_labels));
        }
    }
}

/// How the services of a cluster are published whose nodes are on the hub, as HyperShift does it. The order is part of it: the list
/// cannot change.
pub(super) fn default_services() -> Value {
    let by = |service: &str, strategy: &str| json!({ "service": service, "servicePublishingStrategy": { "type": strategy } });
    json!([
        by("APIServer", "LoadBalancer"),
        by("OAuthServer", "Route"),
        by("Konnectivity", "Route"),
        by("Ignition", "Route"),
    ])
}

/// An etcd of the cluster's own.
pub(super) fn default_etcd() -> Value {
    json!({ "managementType": "Managed", "managed": { "storage": {
        "type": "PersistentVolume", "persistentVolume": { "size": "8Gi" },
    } } })
}

/// `platform` of a HostedCluster. Platforms other than `KubeVirt` need settings from the catalogue.
pub(super) fn set_platform(spec: &mut Map<String, Value>, platform: Platform) {
    set(spec, &["platform", "type"], platform.as_str().into());
    let bare = spec.get("platform").is_some_and(|p| p["kubevirt"].is_null());
    if platform == Platform::KubeVirt && bare {
        set(spec, &["platform", "kubevirt"], json!({ "baseDomainPassthrough": true }));
    }
}
