//! Observer Objects for the underlying objects of an order: its HostedCluster, and the NodePool of each node group.

use jiff::SignedDuration;
use serde_json::{Map, Value, json};
use testplatform_apis::{
    collect,
    foreign::{
        hosted_cluster::{API_VERSION, HOSTED_CLUSTER, NODE_POOL},
        meta::find_condition,
        osac::{ClusterReference, conditions},
    },
    names::{ObjectName, ours},
    template::kind::Host,
};

use super::{OsacRequest, facts::is_set_up, nodes, order, remote::observed_order};
use crate::{
    cluster::{
        backends::{
            common::{object, readiness},
            intent::{ManagementPolicies, PlannedRequest, PrimaryAction},
        },
        observed::{HOSTED, NodePoolObject, Observed, node_pool_resource_name},
        request::Placement,
    },
    objects::build_object,
    sdk::response::DesiredResource,
};

/// All that are to exist.
pub(super) fn build_resources(
    request: &PlannedRequest,
    observed: &Observed,
    wanted: Option<OsacRequest<'_>>,
    placement: &Placement,
) -> Vec<DesiredResource> {
    if request.is_ending() {
        return vec![];
    }
    let reference = cluster_reference(request, observed);
    let hosted = reference.map(|of| build_manifest(HOSTED_CLUSTER, &of.namespace, &of.hosted_cluster_name));
    let hosted = hosted.or_else(|| Some(observed.hosted.as_ref()?.manifest().clone()));
    let hosted = hosted.map(|manifest| compose_object(request, observed, HOSTED.to_owned(), None, manifest));
    let Some(wanted) = wanted else {
        let parts = observed.node_pools.0.values().map(|part| {
            let class = part.object.metadata.annotation(ours::NODE_CLASS);
            compose_object(
                request,
                observed,
                node_pool_resource_name(&part.group),
                class,
                part.manifest().clone(),
            )
        });
        return hosted.into_iter().chain(parts).collect();
    };
    let hosts = nodes::host_classes(observed, wanted);
    let spec = order::build_spec(observed, Some(wanted));
    let requests = spec.get("nodeRequests").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let mut groups: Vec<_> = wanted.backend_spec.groups.iter().collect();
    collect::sort_few(&mut groups, |a, b| a.name.cmp(&b.name));
    let of_groups = groups.into_iter().filter_map(|group| {
        // The recorded class may be lost, and the class no longer offered.
        let name = match hosts.get(&group.class) {
            Some(Host::ResourceClass(class)) => {
                let part = observed.node_pools.of(&group.name);
                let position = nodes::class_position(requests, class);
                choose_name(observed, part, &placement.name, class, position)
            }
            // The order tells of its workers itself.
            Some(Host::InstanceType(_)) => return None,
            None => None,
        };
        let referenced =
            reference.zip(name).map(|(of, name)| build_manifest(NODE_POOL, &of.namespace, &name));
        let before = || Some(observed.node_pools.of(&group.name)?.manifest().clone());
        let manifest = referenced.or_else(before)?;
        Some(compose_object(
            request,
            observed,
            node_pool_resource_name(&group.name),
            Some(&group.class),
            manifest,
        ))
    });
    hosted.into_iter().chain(of_groups).collect()
}

/// How long one name is looked for before the other one has its turn.
const TURN: SignedDuration = SignedDuration::from_mins(5);

/// Whether it is the turn of the name without a number, if neither name leads to a NodePool. Turns begin when the order reports its cluster as available,
/// and the name with a number has the first one, so that no cluster waits for a turn. The Object does not tell since when it looks for its present name.
fn is_turn_of_plain_name(observed: &Observed) -> bool {
    let order = observed_order(observed).map(|order| &order.status.value);
    let available = order.and_then(|order| find_condition(&order.conditions, conditions::CLUSTER_AVAILABLE));
    let since = available.filter(|condition| condition.is_true()).and_then(|of| of.last_transition_time);
    let turns = observed.now.duration_since(since.unwrap_or_default()).as_secs() / TURN.as_secs();
    turns % 2 == 1
}

/// The name of the NodePool of a resource class. While no NodePool of the order was seen it is the one without a number, until it turns out that
/// there is none after the automation has finished. If there is none with a number either, the names take turns.
fn choose_name(
    observed: &Observed,
    part: Option<&NodePoolObject>,
    order: &str,
    class: &str,
    position: Option<usize>,
) -> Option<String> {
    let plain = nodes::node_pool_name(order, class, None);
    let numbered = position.and_then(|position| nodes::node_pool_name(order, class, Some(position)));
    let before = part.and_then(nodes::observed_name);
    let is_made = || observed_order(observed).is_some_and(|order| is_set_up(&order.status.value));
    let is_numbered = match (nodes::numbers_classes(observed, order), before) {
        (Some(numbers), _) => numbers,
        (None, Some(before)) if Some(before) == plain.as_deref() => {
            part.is_some_and(nodes::is_missing) && is_made() && !is_turn_of_plain_name(observed)
        }
        (None, Some(before)) if nodes::is_numbered(before, order, class) => {
            let is_missing = part.is_some_and(|part| nodes::is_missing_for(part, TURN, observed.now));
            !(is_missing && is_turn_of_plain_name(observed))
        }
        (None, Some(_) | None) => false,
    };
    if is_numbered { numbered } else { plain }
}

/// Where the HostedCluster is, of an order that is known to be ours.
fn cluster_reference<'a>(request: &PlannedRequest, observed: &'a Observed) -> Option<&'a ClusterReference> {
    let ours = observed.primary.as_ref().is_some_and(|primary| primary.remote_uid().is_some());
    let may_begin = ours && request.intent.action == PrimaryAction::Update(ManagementPolicies::Full);
    let of = &observed_order(observed)?.status.value.cluster_reference.value;
    let legal = [&of.namespace, &of.hosted_cluster_name].map(|name| ObjectName::try_from(name.as_str()));
    (may_begin && legal.iter().all(Result::is_ok)).then_some(of)
}

fn build_manifest(kind: &str, namespace: &str, name: &str) -> Value {
    json!({ "apiVersion": API_VERSION, "kind": kind, "metadata": { "name": name, "namespace": namespace } })
}

/// The Object that watches. `class`: of a group of nodes.
fn compose_object(
    request: &PlannedRequest,
    observed: &Observed,
    name: String,
    class: Option<&str>,
    manifest: Value,
) -> DesiredResource {
    let group = name != HOSTED;
    let mut spec = json!({
        "managementPolicies": ["Observe"],
        "forProvider": {},
        "providerConfigRef": { "name": object::provider_config_name(request, observed) },
        "readiness": { "policy": "DeriveFromCelQuery", "celQuery": if group { readiness::NODE_POOL } else { readiness::HOSTED_CLUSTER } },
        "watch": true,
    });
    spec["forProvider"]["manifest"] = manifest;
    let annotations: Map<String, Value> =
        class.map(|class| (ours::NODE_CLASS.to_owned(), class.into())).into_iter().collect();
    let mut object = build_object(&format!("{name}.{}", request.name), annotations, spec);
    object["metadata"]["labels"] = json!({ ours::COMPONENT: if group { "pool" } else { HOSTED } });
    DesiredResource { name: name.into(), object, ready: request.intent.primary_ready }
}
