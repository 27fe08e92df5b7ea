//! The requested Cluster.
//!
//! It is composed once, from the catalogue and the claim. From then on it is repeated with the claim's changes: a catalogue change affects
//! no existing cluster. With another template, class and variables are that template's.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use testplatform_apis::template::kind::merge_overlay;

use super::{
    ClusterApiRequest,
    rollout::{RolloutPlan, RolloutStep},
    topology::{
        image_variable, previous_spec, read_variables, set_deletion_timeouts, set_or_remove, variable_list,
    },
    variables, workers,
};
use crate::cluster::{
    backends::common::{prerequisites, templated::members::set},
    observed::Observed,
    request::SelectedRelease,
};

/// Its spec. `planned`: what is wanted, and how to get there.
pub(super) fn build_spec(
    observed: &Observed,
    planned: Option<(ClusterApiRequest<'_>, &RolloutPlan)>,
) -> Map<String, Value> {
    let adopts = planned.is_some_and(|(_, plan)| plan.next_step == RolloutStep::AdoptVariables);
    if let Some(adopted) = adopts.then(|| variables::adopt_variables(observed)).flatten() {
        return adopted;
    }
    let standing = || planned.and_then(|(wanted, _)| wanted.accepted_spec(observed));
    match (standing().or_else(|| previous_spec(observed)), planned) {
        (Some(before), Some((wanted, plan))) => apply_changes(
            before,
            wanted,
            &plan.next_step,
            plan.hub_release.as_ref(),
            prerequisites::credential_secret(observed),
        ),
        (Some(before), None) => before,
        (None, Some((wanted, _))) => initial_spec(wanted, prerequisites::credential_secret(observed)),
        // A manifest that only searches has no known spec.
        (None, None) => Map::new(),
    }
}

/// At birth. `secret`: that of the cluster's own credential of its cloud.
fn initial_spec(wanted: ClusterApiRequest<'_>, secret: Option<&str>) -> Map<String, Value> {
    let mut spec = wanted.fill_placeholders(&wanted.backend_spec.base.cluster);
    let network = &wanted.spec.network;
    for (member, cidr) in [("pods", &network.pod_cidr), ("services", &network.service_cidr)] {
        if let Some(cidr) = cidr {
            set(&mut spec, &["clusterNetwork", member, "cidrBlocks"], json!([cidr]));
        }
    }
    merge_overlay(&mut spec, wanted.fill_placeholders(&wanted.backend_spec.overlay).get("cluster"));
    apply_changes(
        spec,
        wanted,
        &RolloutStep::Upgrade { to: wanted.spec.release.clone(), rebase: true },
        None,
        secret,
    )
}

/// Applies everything that may change to an existing spec.
fn apply_changes(
    mut spec: Map<String, Value>,
    wanted: ClusterApiRequest<'_>,
    turn: &RolloutStep,
    as_is: Option<&SelectedRelease>,
    secret: Option<&str>,
) -> Map<String, Value> {
    let mut topology = match spec.remove("topology") {
        Some(Value::Object(topology)) => topology,
        Some(_) | None => Map::new(),
    };
    let release = match turn {
        RolloutStep::Done => Some(&wanted.spec.release),
        RolloutStep::Upgrade { to, .. } => Some(to),
        RolloutStep::Wait | RolloutStep::AdoptVariables | RolloutStep::Unreachable => as_is,
    };
    let rebase = matches!(turn, RolloutStep::Upgrade { rebase: true, .. });
    let mut variables = read_variables(topology.get("variables"));
    if rebase {
        topology.insert("classRef".into(), json!(wanted.backend_spec.base.class_ref));
        let before = std::mem::replace(&mut variables, own_variables(wanted, secret));
        // A cluster that was made without a credential of its own keeps the one that it has.
        let credential = wanted.backend_spec.base.cloud_credential.as_ref().filter(|_| secret.is_none());
        let variable = credential.map(|credential| &credential.variable);
        variables.extend(
            variable.and_then(|variable| before.get_key_value(variable)).map(|(k, v)| (k.clone(), v.clone())),
        );
    }
    if let Some(release) = release {
        if let Some(version) = &release.version {
            topology.insert("version".into(), format!("v{version}").into());
        }
        variables.extend(image_variable(wanted, release));
    }
    variables.extend(wanted.backend_spec.parameters.iter().map(|s| (s.target.0.clone(), s.value.clone())));
    set_or_remove(&mut topology, "variables", variable_list(variables));
    set_control_plane(&mut topology, wanted);
    workers::set_workers(&mut topology, wanted, rebase);
    spec.insert("topology".into(), Value::Object(topology));
    spec
}

/// The variables of the template, and those that take what the claim says beside parameters.
fn own_variables(wanted: ClusterApiRequest<'_>, secret: Option<&str>) -> BTreeMap<String, Value> {
    let base = &wanted.backend_spec.base;
    let mut variables =
        read_variables(wanted.fill_placeholders(&base.cluster).get("topology").map(|t| &t["variables"]));
    let credential = base.cloud_credential.as_ref().zip(secret);
    variables.extend(credential.map(|(credential, secret)| (credential.variable.clone(), secret.into())));
    let class = wanted.spec.control_plane.class.as_ref().zip(base.control_plane_classes.as_ref());
    let sized = class.and_then(|(class, all)| Some((all.variable.clone(), all.classes.get(class)?.clone())));
    variables.extend(sized);
    let (network, names) = (&wanted.spec.network, &base.network_variables);
    let (internal, external) = (network.internal.as_ref(), network.external.as_ref());
    let servers = Some(&network.dns_nameservers).filter(|servers| !servers.is_empty());
    for (name, value) in [
        (&names.machine_cidr, network.machine_cidr.as_ref().map(|v| json!(v))),
        (&names.internal_network_id, internal.and_then(|i| i.network_id.as_ref()).map(|v| json!(v))),
        (&names.internal_subnet_id, internal.and_then(|i| i.subnet_id.as_ref()).map(|v| json!(v))),
        (&names.external_network_id, external.and_then(|e| e.network_id.as_ref()).map(|v| json!(v))),
        (&names.dns_nameservers, servers.map(|v| json!(v))),
    ] {
        variables.extend(name.clone().zip(value));
    }
    variables
}

fn set_control_plane(topology: &mut Map<String, Value>, wanted: ClusterApiRequest<'_>) {
    if let Some(replicas) = wanted.spec.control_plane.replicas {
        set(topology, &["controlPlane", "replicas"], replicas.into());
    }
    let mut deletion = match topology.get("controlPlane").map(|c| &c["deletion"]) {
        Some(Value::Object(deletion)) => deletion.clone(),
        Some(_) | None => Map::new(),
    };
    set_deletion_timeouts(&mut deletion);
    set(topology, &["controlPlane", "deletion"], Value::Object(deletion));
}
