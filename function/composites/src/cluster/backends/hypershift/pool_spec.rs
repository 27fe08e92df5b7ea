//! The `spec` of a NodePool. It is composed once and repeated from then on with the claim's changes.

use serde_json::{Map, Value, json};
use testplatform_apis::{
    collect, json,
    names::ours,
    template::{
        companions::Architecture,
        kind::{BackendDefinition as _, HyperShift, TargetDocument, merge_overlay},
    },
};

use super::{HyperShiftRequest, document};
use crate::cluster::{
    backends::common::templated::members::default,
    observed::NodePoolObject,
    request::{NodeCount, NodeGroupSpec, Placement},
};

/// Sets everything that can change and repeats the rest. `share`: catalogue members besides the group's own.
pub(super) fn build_spec(
    wanted: HyperShiftRequest<'_>,
    group: &NodeGroupSpec<HyperShift>,
    part: Option<&NodePoolObject>,
    image: &str,
    share: &Map<String, Value>,
    placement: &Placement,
) -> Map<String, Value> {
    let before = part.and_then(|part| part.manifest()["spec"].as_object());
    let mut spec = before.cloned().unwrap_or_else(|| {
        let base = wanted.fill_placeholders(&wanted.backend_spec.base.node_pool);
        initial_spec(base, group, placement)
    });
    let begins = part.is_none();
    let class = part.and_then(|part| part.object.metadata.annotation(ours::NODE_CLASS));
    // Nodes stay unchanged if the catalogue describes their class differently now, or if their class is unknown.
    let other = before.is_none() || class.is_some_and(|class| class != group.class);
    if let Some(machine) = group.machine.as_ref().filter(|_| other) {
        document::set_machine(&mut spec, machine);
    }
    if begins {
        merge_overlay(&mut spec, wanted.fill_placeholders(&wanted.backend_spec.overlay).get("nodePool"));
    }
    spec.insert("release".into(), json!({ "image": image }));
    let (member, opposite, nodes) = match group.size {
        NodeCount::Fixed(count) => ("replicas", "autoScaling", json!(count)),
        NodeCount::Between { min, max } => ("autoScaling", "replicas", json!({ "min": min, "max": max })),
    };
    spec.remove(opposite);
    spec.insert(member.into(), nodes);
    set_labels(&mut spec, share, group);
    document::apply_settings(&mut spec, TargetDocument::NodePool, &wanted.backend_spec.parameters);
    document::apply_settings(&mut spec, TargetDocument::NodePool, &group.parameters);
    spec
}

fn initial_spec(
    mut spec: Map<String, Value>,
    group: &NodeGroupSpec<HyperShift>,
    placement: &Placement,
) -> Map<String, Value> {
    default(&mut spec, "management", || json!({ "upgradeType": "Replace", "autoRepair": true }));
    // Without an end, one Pod that may not go keeps a node for ever.
    default(&mut spec, "nodeDrainTimeout", || "10m".into());
    default(&mut spec, "nodeVolumeDetachTimeout", || "5m".into());
    spec.insert("clusterName".into(), placement.name.as_str().into());
    // HyperShift takes amd64 for granted.
    let own = || HyperShift::architectures(group.machine.as_ref()?).first().copied();
    if let Some(arch) = group.arch.or_else(|| own().filter(|arch| *arch != Architecture::Amd64)) {
        spec.insert("arch".into(), json!(arch));
    }
    spec
}

/// The labels and taints that a NodePool has of the catalogue: those with which it was made.
pub(super) fn catalogue_members(
    wanted: HyperShiftRequest<'_>,
    part: Option<&NodePoolObject>,
) -> Map<String, Value> {
    let base = &wanted.backend_spec.base.node_pool;
    let Some(part) = part else {
        let mut filled = wanted.fill_placeholders(base);
        filled.retain(|member, _| ["nodeLabels", "taints"].contains(&member.as_str()));
        return filled;
    };
    if let Some(Ok(recorded)) = part.object.metadata.annotation(ours::NODE_BASE).map(json::read_text) {
        return recorded;
    }
    // It had none, or that is lost, or it was made before it was noted, when the catalogue's were set in every pass: what it says now and
    // the NodePool has was asked for.
    let before = &part.manifest()["spec"];
    let has = |label: &(&String, &Value)| before["nodeLabels"][label.0] == *label.1;
    let labels = base.get("nodeLabels").and_then(Value::as_object).into_iter().flatten().filter(has);
    let labels = collect::to_object(labels.map(|(key, value)| (key.clone(), value.clone())));
    let tainted = |taint: &&Value| before["taints"].as_array().is_some_and(|all| all.contains(taint));
    let taints = base.get("taints").and_then(Value::as_array).into_iter().flatten().filter(tainted);
    let taints: Vec<Value> = taints.cloned().collect();
    let labels = (!labels.is_empty()).then(|| ("nodeLabels".to_owned(), Value::Object(labels)));
    let taints = (!taints.is_empty()).then(|| ("taints".to_owned(), Value::Array(taints)));
    collect::to_object(labels.into_iter().chain(taints))
}

/// Labels and taints: those of the catalogue, and the group's own.
fn set_labels(spec: &mut Map<String, Value>, share: &Map<String, Value>, group: &NodeGroupSpec<HyperShift>) {
    let mut labels = share.get("nodeLabels").and_then(Value::as_object).cloned().unwrap_or_default();
    labels.extend(group.labels.iter().map(|(key, value)| (key.clone(), value.as_str().into())));
    let mut taints = share.get("taints").and_then(Value::as_array).cloned().unwrap_or_default();
    taints.extend(group.taints.iter().map(|taint| json!(taint)));
    if labels.is_empty() {
        spec.remove("nodeLabels");
    } else {
        spec.insert("nodeLabels".into(), Value::Object(labels));
    }
    if taints.is_empty() {
        spec.remove("taints");
    } else {
        spec.insert("taints".into(), Value::Array(taints));
    }
}
