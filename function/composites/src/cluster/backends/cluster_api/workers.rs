//! The groups of nodes in the topology.

use serde_json::{Map, Value, json};
use testplatform_apis::{
    collect,
    foreign::cluster_api::{AUTOSCALE_MAX, AUTOSCALE_MIN},
    names::ours,
    template::kind::{ClusterApi, Worker},
};

use super::{
    ClusterApiRequest,
    topology::{read_variables, set_deletion_timeouts, set_or_remove, variable_list},
};
use crate::cluster::request::{NodeCount, NodeGroupSpec};

/// Sets all of them, in the order of their names.
pub(super) fn set_workers(topology: &mut Map<String, Value>, wanted: ClusterApiRequest<'_>, rebase: bool) {
    let before = topology.remove("workers").unwrap_or_default();
    let of = |group: &str| deployments(&before).find(|d| d["name"] == group).and_then(Value::as_object);
    let mut groups: Vec<&NodeGroupSpec<ClusterApi>> = wanted.backend_spec.groups.iter().collect();
    groups.sort_by(|a, b| a.name.cmp(&b.name));
    let all: Value =
        groups.into_iter().filter_map(|group| build_deployment(group, of(&group.name), rebase)).collect();
    let mut workers = Map::new();
    set_or_remove(&mut workers, "machineDeployments", all);
    set_or_remove(topology, "workers", Value::Object(workers));
}

/// The groups in `workers` of a topology.
pub(super) fn deployments(workers: &Value) -> impl Iterator<Item = &Value> {
    workers["machineDeployments"].as_array().into_iter().flatten()
}

/// None: it is lost, and of a class that is not offered any more nobody knows what its nodes would be.
fn build_deployment(
    group: &NodeGroupSpec<ClusterApi>,
    before: Option<&Map<String, Value>>,
    rebase: bool,
) -> Option<Value> {
    // Nodes stay unchanged if the catalogue describes their class differently now, or if their class is unknown.
    let has_class = |d: &Map<String, Value>| {
        Some(d.get("metadata")?["annotations"][ours::NODE_CLASS].as_str()? == group.class)
    };
    let unchanged = before.filter(|d| !rebase && has_class(d).unwrap_or(true));
    let mut item = match before {
        Some(before) => before.clone(),
        None => initial_deployment(group, group.machine.as_ref()?),
    };
    let overrides = unchanged.and_then(|d| d.get("variables")).map(|v| &v["overrides"]);
    let mut variables = match overrides {
        Some(overrides) => read_variables(Some(overrides)),
        None if unchanged.is_some() => read_variables(None),
        None => match &group.machine {
            Some(machine) => machine.variables.clone(),
            None => read_variables(before.and_then(|d| d.get("variables")).map(|v| &v["overrides"])),
        },
    };
    variables.extend(group.parameters.iter().map(|s| (s.target.0.clone(), s.value.clone())));
    let mut overrides = Map::new();
    set_or_remove(&mut overrides, "overrides", variable_list(variables));
    set_or_remove(&mut item, "variables", Value::Object(overrides));
    set_or_remove(&mut item, "failureDomain", json!(group.failure_domain));
    let mut annotations = json!({ ours::NODE_CLASS: group.class });
    match group.size {
        NodeCount::Fixed(count) => {
            item.insert("replicas".into(), count.into());
        }
        NodeCount::Between { min, max } => {
            item.remove("replicas");
            annotations[AUTOSCALE_MIN] = min.to_string().into();
            annotations[AUTOSCALE_MAX] = max.to_string().into();
        }
    }
    let mut metadata = json!({ "annotations": annotations });
    if !group.labels.is_empty() {
        let labels = group.labels.iter().map(|(key, value)| (key.as_str(), Some(value.clone())));
        metadata["labels"] = collect::to_text_object(labels).into();
    }
    item.insert("metadata".into(), metadata);
    Some(Value::Object(item))
}

/// Members that are set once. The worker class of a group cannot change.
fn initial_deployment(group: &NodeGroupSpec<ClusterApi>, machine: &Worker) -> Map<String, Value> {
    let mut deletion = Map::new();
    set_deletion_timeouts(&mut deletion);
    let unwell = |status: &str| json!({ "type": "Ready", "status": status, "timeoutSeconds": 300 });
    let checks = json!({
        "nodeStartupTimeoutSeconds": 1800, "unhealthyNodeConditions": [unwell("False"), unwell("Unknown")],
    });
    let mut item = Map::new();
    item.insert("name".into(), group.name.as_str().into());
    item.insert("class".into(), machine.worker.as_str().into());
    item.insert("deletion".into(), Value::Object(deletion));
    item.insert("healthCheck".into(), json!({ "enabled": true, "checks": checks }));
    item
}
