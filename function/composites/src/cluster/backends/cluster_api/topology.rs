//! Members of a Cluster's spec: those of the previous request, and lists of variables.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use testplatform_apis::collect;

use super::{ClusterApiRequest, facts};
use crate::cluster::{
    backends::common::templated::{PreviousSpec, members::default},
    observed::Observed,
    request::SelectedRelease,
};

/// Members of the hub's spec that belong to this function: controllers write the rest.
const OURS: [&str; 3] = ["availabilityGates", "clusterNetwork", "topology"];

/// An annotation of a rollout. `credentials` are asked only where there is no primary Object: beside one that has arrived they may be of before
/// that, in a cache.
pub(super) fn recorded_annotation<'o>(observed: &'o Observed, key: &str) -> Option<&'o str> {
    match &observed.primary {
        Some(primary) => primary.object.metadata.annotation(key),
        None => observed.credentials_annotation(key),
    }
}

/// Spec of the previous request.
pub(super) fn previous_spec(observed: &Observed) -> Option<Map<String, Value>> {
    let hub_spec = facts::observed_cluster(observed).map(|remote| &remote.spec);
    let complete = |spec: &Map<String, Value>| spec.get("topology").is_some_and(|t| t["version"].is_string());
    Some(PreviousSpec::of(observed, hub_spec, complete)?.own_members(&OURS))
}

/// The variable that takes the image: it changes with the version, never without.
pub(super) fn image_variable(
    wanted: ClusterApiRequest<'_>,
    release: &SelectedRelease,
) -> Option<(String, Value)> {
    let variable = wanted.backend_spec.base.image_variable.clone()?;
    Some((variable, release.image.as_deref()?.into()))
}

/// How long a machine that goes is waited for. Without an end, one Pod that may not go keeps it for ever.
pub(super) fn set_deletion_timeouts(deletion: &mut Map<String, Value>) {
    default(deletion, "nodeDrainTimeoutSeconds", || 600.into());
    default(deletion, "nodeVolumeDetachTimeoutSeconds", || 300.into());
    default(deletion, "nodeDeletionTimeoutSeconds", || 600.into());
}

/// A member, which is left out where it would be empty.
pub(super) fn set_or_remove(of: &mut Map<String, Value>, member: &str, value: Value) {
    let empty = match &value {
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.is_empty(),
        Value::Null => true,
        Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    };
    if empty {
        of.remove(member);
    } else {
        of.insert(member.to_owned(), value);
    }
}

/// Variables by their names, from a list of them.
pub(super) fn read_variables(list: Option<&Value>) -> BTreeMap<String, Value> {
    let items = list.and_then(Value::as_array).into_iter().flatten();
    collect::to_map(items.filter_map(|item| Some((item["name"].as_str()?.to_owned(), item["value"].clone()))))
}

/// The list of variables, in the order of their names.
pub(super) fn variable_list(variables: BTreeMap<String, Value>) -> Value {
    variables.into_iter().map(|(name, value)| json!({ "name": name, "value": value })).collect()
}
