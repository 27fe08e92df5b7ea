//! The `spec` of a NodePool: composed once, and from then on repeated as it was asked for, with what the claim may change in it.

use serde_json::{Map, Value, json};
use testplatform_apis::{
    names::ours,
    template::kind::{Document, HyperShift, merge},
};

use super::{Wanted, document};
use crate::{
    backend::templated::members::default,
    observed::Part,
    templates::{Group, Site, Size},
};

/// What can change is set anew, and everything else repeated.
pub(super) fn spec(
    wanted: Wanted<'_>,
    group: &Group<HyperShift>,
    part: Option<&Part>,
    image: &str,
    site: &Site,
) -> Map<String, Value> {
    let base = &wanted.order.base.node_pool;
    let before = part.and_then(|part| part.manifest()["spec"].as_object());
    let mut spec = before.cloned().unwrap_or_else(|| begun(wanted.filled(base), group, site));
    let begins = part.is_none();
    let class = part.and_then(|part| part.object.metadata.annotation(ours::NODE_CLASS));
    // Of a class that the catalogue describes otherwise by now, nodes stay as they are.
    if class != Some(group.class.as_str()) {
        document::machine(&mut spec, &group.machine);
    }
    if begins {
        merge(&mut spec, wanted.filled(&wanted.order.overlay).get("nodePool"));
    }
    spec.insert("release".into(), json!({ "image": image }));
    let (member, opposite, nodes) = match group.size {
        Size::Fixed(count) => ("replicas", "autoScaling", json!(count)),
        Size::Between { min, max } => ("autoScaling", "replicas", json!({ "min": min, "max": max })),
    };
    spec.remove(opposite);
    spec.insert(member.into(), nodes);
    labels(&mut spec, base, group);
    document::settings(&mut spec, Document::NodePool, &wanted.order.parameters);
    document::settings(&mut spec, Document::NodePool, &group.parameters);
    spec
}

fn begun(mut spec: Map<String, Value>, group: &Group<HyperShift>, site: &Site) -> Map<String, Value> {
    default(&mut spec, "management", || json!({ "upgradeType": "Replace", "autoRepair": true }));
    // Without an end, one Pod that may not go keeps a node for ever.
    default(&mut spec, "nodeDrainTimeout", || "10m".into());
    default(&mut spec, "nodeVolumeDetachTimeout", || "5m".into());
    spec.insert("clusterName".into(), site.name.as_str().into());
    if let Some(arch) = group.arch {
        spec.insert("arch".into(), json!(arch));
    }
    spec
}

/// Labels and taints: those of the catalogue, and the group's own.
fn labels(spec: &mut Map<String, Value>, base: &Map<String, Value>, group: &Group<HyperShift>) {
    let mut labels = base.get("nodeLabels").and_then(Value::as_object).cloned().unwrap_or_default();
    labels.extend(group.labels.iter().map(|(key, value)| (key.clone(), value.as_str().into())));
    let mut taints = base.get("taints").and_then(Value::as_array).cloned().unwrap_or_default();
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
