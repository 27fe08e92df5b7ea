//! The NodePools: an Object for each group of nodes.

use serde_json::{Map, Value, json};
use testplatform_apis::{
    collect,
    foreign::{
        hosted_cluster::{API_VERSION, NODE_POOL as KIND},
        object,
    },
    names::{ours, shorten_name},
    template::kind::HyperShift,
    yaml,
};

use super::{HyperShiftRequest, facts, pool_spec, rollout};
use crate::{
    cluster::{
        backends::{
            common::{bundles, object as composing, readiness},
            intent::{ManagementPolicies, PlannedRequest, PrimaryAction},
        },
        observed::{NodePoolObject, Observed, node_pool_resource_name},
        request::{NodeGroupSpec, Placement, Validated},
    },
    objects::{SyncState, assemble_object, build_object},
    sdk::response::DesiredResource,
};

/// The longest name of one: it becomes a label.
const MAX_NAME: usize = 63;

/// All that are to exist.
pub(super) fn build_resources(
    request: &PlannedRequest,
    observed: &Observed,
    wanted: Option<HyperShiftRequest<'_>>,
    placement: &Placement,
) -> Vec<DesiredResource> {
    let parts = || observed.node_pools.0.values();
    let recompose = |part: &NodePoolObject, manifest: Value, policies: ManagementPolicies| {
        let recorded = |key| (key, part.object.metadata.annotation(key).map(str::to_owned));
        let annotations = collect::to_text_object([ours::NODE_BASE, ours::NODE_CLASS].map(recorded));
        compose_object(request, observed, &part.group, annotations, manifest, policies)
    };
    let repeat = |part: &NodePoolObject, policies: ManagementPolicies| {
        recompose(part, part.manifest().clone(), policies)
    };
    // A spec that the hub may refuse could not be deleted and would hold the cluster. An Object that is no longer desired cannot be
    // changed, so the hub's spec is restored first.
    let stuck = |part: &&NodePoolObject| !part.is_deletable();
    let restore = |part: &NodePoolObject| {
        recompose(part, part.manifest_with_hub_spec(), ManagementPolicies::ObserveDelete)
    };
    if composing::is_remote_replaced(request, observed) {
        // By these names there are the NodePools of the other HostedCluster now, and Delete goes by name: they are let go of first.
        let remains = |part: &&NodePoolObject| !request.is_ending() || part.can_delete();
        return parts().filter(remains).map(|part| repeat(part, ManagementPolicies::Observe)).collect();
    }
    if request.intent.teardown_deferred
        || (request.is_ending() && bundles::awaits_pre_delete(request, observed))
    {
        if request.intent.action == PrimaryAction::Update(ManagementPolicies::ObserveDelete) {
            // With the writer.
            return parts().map(restore).collect();
        }
        // Work inside the cluster before its deletion needs its nodes.
        return parts().map(|part| repeat(part, ManagementPolicies::Full)).collect();
    }
    if request.is_ending() {
        return parts().filter(stuck).map(restore).collect();
    }
    let policies =
        if is_frozen(observed) { ManagementPolicies::ObserveDelete } else { ManagementPolicies::Full };
    let Some(wanted) = wanted else {
        return parts().map(|part| repeat(part, policies)).collect();
    };
    let groups = facts::sorted_groups(wanted);
    let names: Vec<&str> = groups.iter().map(|group| group.name.as_str()).collect();
    // Before that nobody can tell whose the HostedCluster is.
    let is_remote_known =
        observed.primary.as_ref().is_some_and(|w| w.remote().is_some() && w.remote_uid().is_some());
    let may_begin = is_remote_known
        && request.intent.action == PrimaryAction::Update(ManagementPolicies::Full)
        && policies == ManagementPolicies::Full;
    let requested = groups.iter().filter_map(|group| {
        let part = observed.node_pools.of(&group.name);
        // Nodes of a class that is no longer offered cannot be created.
        if part.is_none() && (!may_begin || group.machine.is_none()) {
            return None;
        }
        let image = rollout::pool_image(observed, wanted, &group.name, &names);
        let share = pool_spec::catalogue_members(wanted, part);
        let spec = pool_spec::build_spec(wanted, group, part, &image, &share, placement);
        let manifest = build_manifest(request, group, part, spec, placement);
        // Sorted: the same bytes in every pass.
        let base = (!share.is_empty()).then(|| yaml::sort_keys(&Value::Object(share)).to_string());
        let notes =
            collect::to_text_object([(ours::NODE_BASE, base), (ours::NODE_CLASS, Some(group.class.clone()))]);
        Some(compose_object(request, observed, &group.name, notes, manifest, policies))
    });
    let removed = parts().filter(|part| !names.contains(&part.group.as_str()));
    requested.chain(removed.filter(stuck).map(restore)).collect()
}

/// Whether nothing of them may be made anew: HyperShift is taking them away, or the HostedCluster is not there.
fn is_frozen(observed: &Observed) -> bool {
    let missing = observed.primary.as_ref().is_none_or(|primary| primary.sync == SyncState::Deleted);
    missing
        || facts::observed_cluster(observed)
            .is_some_and(|remote| remote.metadata.deletion_timestamp.is_some())
}

/// The Object around a manifest. It depends on the writer, which so outlives it.
fn compose_object(
    request: &PlannedRequest,
    observed: &Observed,
    group: &str,
    notes: Map<String, Value>,
    manifest: Value,
    policies: ManagementPolicies,
) -> DesiredResource {
    let mut spec = json!({
        "forProvider": {},
        "providerConfigRef": { "name": composing::provider_config_name(request, observed) },
        "readiness": { "policy": "DeriveFromCelQuery", "celQuery": readiness::NODE_POOL },
        "references": [{ "dependsOn": {
            "apiVersion": object::API_VERSION, "kind": object::KIND, "name": request.primary_name(),
        } }],
        "watch": true,
    });
    spec["forProvider"]["manifest"] = manifest;
    composing::set_policies(&mut spec, policies);
    let name = node_pool_resource_name(group);
    // A group's name has no dot, so no two of any composites have the same.
    let mut object = build_object(&format!("{name}.{}", request.name), notes, spec);
    // A label holds less than a name.
    object["metadata"]["labels"] = json!({ ours::COMPONENT: "pool" });
    DesiredResource { name: name.into(), object, ready: request.intent.primary_ready }
}

fn build_manifest(
    request: &Validated,
    group: &NodeGroupSpec<HyperShift>,
    part: Option<&NodePoolObject>,
    spec: Map<String, Value>,
    placement: &Placement,
) -> Value {
    let known = |field: &str| part.and_then(|p| p.manifest()["metadata"][field].as_str()).map(str::to_owned);
    let plain = format!("{}-{}", placement.name, group.name);
    let full = format!("{}/{}", request.name, group.name);
    // A room of 63 always holds what a name is shortened to.
    let fitted =
        || if plain.len() <= MAX_NAME { Some(plain.clone()) } else { shorten_name(&plain, &full, MAX_NAME) };
    let metadata = json!({
        "name": known("name").or_else(fitted).unwrap_or_default(),
        "namespace": known("namespace").unwrap_or_else(|| placement.namespace.clone()),
    });
    assemble_object(API_VERSION, KIND, metadata, Value::Object(spec))
}
