//! The groups of nodes in the topology.

use serde_json::{Map, Value, json};
use testplatform_apis::{
    foreign::cluster_api::{AUTOSCALE_MAX, AUTOSCALE_MIN},
    gather,
    names::ours,
    template::kind::{ClusterApi, Worker},
};

use super::{
    Wanted,
    cluster::{list, listed, patience, put},
};
use crate::templates::{Group, Size};

/// Sets all of them, in the order of their names.
pub(super) fn set(topology: &mut Map<String, Value>, wanted: Wanted<'_>, rebase: bool) {
    let before = topology.remove("workers").unwrap_or_default();
    let of = |group: &str| deployments(&before).find(|d| d["name"] == group).and_then(Value::as_object);
    let mut groups: Vec<&Group<ClusterApi>> = wanted.order.groups.iter().collect();
    gather::sort_few(&mut groups, |a, b| a.name.cmp(&b.name));
    let all: Value =
        groups.into_iter().filter_map(|group| deployment(group, of(&group.name), rebase)).collect();
    let mut workers = Map::new();
    put(&mut workers, "machineDeployments", all);
    put(topology, "workers", Value::Object(workers));
}

/// The groups in `workers` of a topology.
pub(super) fn deployments(workers: &Value) -> impl Iterator<Item = &Value> {
    workers["machineDeployments"].as_array().into_iter().flatten()
}

/// None: it is lost, and of a class that is not offered any more nobody knows what its nodes would be.
fn deployment(group: &Group<ClusterApi>, before: Option<&Map<String, Value>>, rebase: bool) -> Option<Value> {
    // Of a class that the catalogue describes otherwise by now, nodes stay as they are, and of one that is forgotten.
    let noted = |d: &Map<String, Value>| {
        Some(d.get("metadata")?["annotations"][ours::NODE_CLASS].as_str()? == group.class)
    };
    let kept = before.filter(|d| !rebase && noted(d).unwrap_or(true));
    let mut item = match before {
        Some(before) => before.clone(),
        None => begun(group, group.machine.as_ref()?),
    };
    let overrides = kept.and_then(|d| d.get("variables")).map(|v| &v["overrides"]);
    let mut variables = match overrides {
        Some(overrides) => listed(Some(overrides)),
        None if kept.is_some() => listed(None),
        None => match &group.machine {
            Some(machine) => machine.variables.clone(),
            None => listed(before.and_then(|d| d.get("variables")).map(|v| &v["overrides"])),
        },
    };
    variables.extend(group.parameters.iter().map(|s| (s.target.0.clone(), s.value.clone())));
    let mut overrides = Map::new();
    put(&mut overrides, "overrides", list(variables));
    put(&mut item, "variables", Value::Object(overrides));
    put(&mut item, "failureDomain", json!(group.failure_domain));
    let mut annotations = json!({ ours::NODE_CLASS: group.class });
    match group.size {
        Size::Fixed(count) => {
            item.insert("replicas".into(), count.into());
        }
        Size::Between { min, max } => {
            item.remove("replicas");
            annotations[AUTOSCALE_MIN] = min.to_string().into();
            annotations[AUTOSCALE_MAX] = max.to_string().into();
        }
    }
    let mut metadata = json!({ "annotations": annotations });
    if !group.labels.is_empty() {
        let labels = group.labels.iter().map(|(key, value)| (key.as_str(), Some(value.clone())));
        metadata["labels"] = gather::texts(labels).into();
    }
    item.insert("metadata".into(), metadata);
    Some(Value::Object(item))
}

/// What is set once. The class of workers of a group cannot change.
fn begun(group: &Group<ClusterApi>, machine: &Worker) -> Map<String, Value> {
    let mut deletion = Map::new();
    patience(&mut deletion);
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
