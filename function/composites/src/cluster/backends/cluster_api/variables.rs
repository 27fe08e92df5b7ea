//! Variables that the hub added to a topology.
//!
//! The webhook of Cluster API adds each variable that has a default in the ClusterClass. No manager of fields owns it, so an apply without
//! it leaves it there, and the webhook refuses every class that does not define it. A variable that was requested once is removed by the
//! next request without it. Source: cluster-api v1.14, `core/webhooks/admission/cluster.go`, `Default` and `DefaultAndValidateVariables`.

use serde_json::{Map, Value, json};
use testplatform_apis::names::ours;

use super::{
    ClusterApiRequest,
    facts::observed_cluster,
    topology::{previous_spec, read_variables, recorded_annotation, set_or_remove, variable_list},
    workers,
};
use crate::cluster::{
    backends::common::templated::shared_members,
    observed::{Observed, PrimaryObject},
};

/// Whether the variables of the hub have to be requested before the class of the template is.
pub(super) fn must_be_adopted(observed: &Observed, wanted: ClusterApiRequest<'_>) -> bool {
    let Some(hub_topology) = hub_spec(observed).and_then(|spec| spec.get("topology")) else { return false };
    if hub_topology["classRef"] == json!(wanted.backend_spec.base.class_ref) {
        return false;
    }
    let (Some(requested), Some(adopted)) = (previous_spec(observed), adopt_variables(observed)) else {
        return false;
    };
    let primary = observed.primary.as_ref();
    let keeps_class = requested.get("topology").is_some_and(|t| t["classRef"] == hub_topology["classRef"]);
    if recorded_annotation(observed, ours::ADOPTED_CLASS) != hub_class(observed).as_deref() {
        // A request that is on its way to the hub is not in the spec that the hub shows. Its version would come with variables of the old release.
        let may_begin =
            primary.is_some_and(|primary| (keeps_class && primary.is_accepted()) || primary.is_refused());
        return may_begin && variables_of(&requested) != variables_of(&adopted);
    }
    // Two changes could arrive as one. A class that refuses even this may accept nothing any more, and is left at once.
    keeps_class && !primary.is_some_and(|primary| primary.is_accepted() || primary.is_refused())
}

/// Namespace and name of the hub's class, for annotation [`ours::ADOPTED_CLASS`].
pub(super) fn hub_class(observed: &Observed) -> Option<String> {
    let class = &hub_spec(observed)?.get("topology")?["classRef"];
    Some(format!("{}/{}", class["namespace"].as_str().unwrap_or_default(), class["name"].as_str()?))
}

/// The spec as the hub accepted it, with all of the hub's variables.
pub(super) fn adopt_variables(observed: &Observed) -> Option<Map<String, Value>> {
    let hub_spec = hub_spec(observed)?;
    let requested = previous_spec(observed)?;
    let is_refused = observed.primary.as_ref().is_some_and(PrimaryObject::is_refused);
    // A refused request cannot be applied, whatever is added to it.
    let mut spec = if is_refused { shared_members(&requested, hub_spec) } else { requested };
    let hub_topology = hub_spec.get("topology")?;
    let topology = spec.get_mut("topology")?.as_object_mut()?;
    let variables = read_variables(hub_topology.get("variables"));
    set_or_remove(topology, "variables", variable_list(variables));
    if let Some(control_plane) = topology.get_mut("controlPlane") {
        adopt_overrides(control_plane, &hub_topology["controlPlane"]);
    }
    let groups = topology.get_mut("workers").and_then(|workers| workers.get_mut("machineDeployments"));
    for group in groups.and_then(Value::as_array_mut).into_iter().flatten() {
        let on_hub =
            workers::deployments(&hub_topology["workers"]).find(|on_hub| on_hub["name"] == group["name"]);
        if let Some(on_hub) = on_hub {
            adopt_overrides(group, on_hub);
        }
    }
    Some(spec)
}

/// The webhook adds members with a default to the values of overrides.
fn adopt_overrides(part: &mut Value, on_hub: &Value) {
    let overrides = &on_hub["variables"]["overrides"];
    if overrides.is_array() && part["variables"]["overrides"].is_array() {
        part["variables"]["overrides"] = variable_list(read_variables(Some(overrides)));
    }
}

/// All variables of a spec, whatever their order: of the cluster, of its control plane, and of each group of nodes.
fn variables_of(spec: &Map<String, Value>) -> Vec<Value> {
    let topology = spec.get("topology").unwrap_or(&Value::Null);
    let overrides = |part: &Value| variable_list(read_variables(Some(&part["variables"]["overrides"])));
    let groups = workers::deployments(&topology["workers"]);
    let groups = groups.map(|group| json!([group["name"], overrides(group)]));
    let own = variable_list(read_variables(Some(&topology["variables"])));
    [own, overrides(&topology["controlPlane"])].into_iter().chain(groups).collect()
}

fn hub_spec(observed: &Observed) -> Option<&Map<String, Value>> {
    observed_cluster(observed)?.spec.as_object()
}
