//! CaaS' status of a ClusterTemplateInstance, and the objects of its chart.

use serde_json::{Value, json};

use super::OF_INSTANCE;
use crate::{hive::objects::text, hypershift::CLUSTERS, manifests, player::Said, settings};

/// The conditions that every one has from birth on.
pub(super) fn born() -> Vec<Said> {
    [
        ("ClusterDefinitionCreated", "ClusterDefinitionPending"),
        ("ClusterInstallSucceeded", "ClusterDefinitionNotCreated"),
        ("ArgoClusterAdded", "ArgoClusterPending"),
        ("ClusterSetupCreated", "ClusterNotInstalled"),
        ("ClusterSetupSucceeded", "ClusterSetupNotCreated"),
    ]
    .map(|(type_, reason)| (type_, "False", reason, "waiting".to_owned()))
    .into()
}

/// Objects of the chart: a HostedCluster and its nodes, as in HyperShift's examples, named after the uid, with the version that the chart
/// is given.
pub(super) fn charted(instance: &Value, uid: &str) -> anyhow::Result<Vec<Value>> {
    let parameters = instance["spec"]["parameters"].as_array().map_or(&[][..], Vec::as_slice);
    let version = parameters.iter().find(|parameter| parameter["name"] == "version");
    let objects = manifests::read(&settings::repository().join("examples/hypershift-ready/desired.yaml"))?;
    let carried = objects.into_iter().map(|mut object| object["spec"]["forProvider"]["manifest"].take());
    let mut made: Vec<Value> = Vec::new();
    for mut manifest in carried.filter(|m| m["kind"] == "HostedCluster" || m["kind"] == "NodePool") {
        if made.iter().any(|known| known["kind"] == manifest["kind"]) {
            continue;
        }
        if let Some(version) = version {
            let image =
                format!("quay.io/openshift-release-dev/ocp-release:{}-x86_64", text(version, "/value"));
            manifest["spec"]["release"]["image"] = image.into();
        }
        if manifest["kind"] == "NodePool" {
            manifest["spec"]["clusterName"] = uid.into();
        }
        let labels =
            if manifest["kind"] == "HostedCluster" { json!({ OF_INSTANCE: uid }) } else { json!({}) };
        manifest["metadata"] = json!({ "name": uid, "namespace": CLUSTERS, "labels": labels });
        made.push(manifest);
    }
    anyhow::ensure!(made.len() == 2, "the example has no HostedCluster with nodes: {made:?}");
    Ok(made)
}
