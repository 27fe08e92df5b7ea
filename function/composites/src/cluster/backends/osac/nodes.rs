//! Nodes of an order: by resource class, as OSAC had it until August 2026, or by node set and instance type.
//!
//! OSAC's automation numbers the NodePools by the position of their request in the list, so a request that moves would create its nodes
//! again. Requests keep their positions, and new ones come last.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use testplatform_apis::{
    collect,
    foreign::meta::find_condition,
    json,
    names::{ObjectName, ours},
    template::kind::Host,
};

use super::OsacRequest;
use crate::{
    cluster::observed::{NodePoolObject, Observed},
    objects::{SyncState, found_none, is_current},
};

/// Name of the NodePool that OSAC creates for a resource class. Since late August 2026 its automation appends the position of the request.
/// None: that is not a valid name, so there is no such NodePool.
pub(super) fn node_pool_name(order: &str, class: &str, position: Option<usize>) -> Option<String> {
    let suffix = position.map(|position| format!("-{position}")).unwrap_or_default();
    ObjectName::try_from(format!("nodepool-{order}-{class}{suffix}")).ok().map(Into::into)
}

/// Whether a NodePool of a resource class has a number in its name.
pub(super) fn is_numbered(name: &str, order: &str, class: &str) -> bool {
    let plain = node_pool_name(order, class, None);
    let number =
        plain.and_then(|plain| name.strip_prefix(plain.as_str())?.strip_prefix('-').map(str::to_owned));
    number.is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Name of the NodePool that an Object observes, as the manifest has it.
pub(super) fn observed_name(part: &NodePoolObject) -> Option<&str> {
    part.manifest()["metadata"]["name"].as_str()
}

/// Whether OSAC numbers the NodePools of resource classes. None: no NodePool of the order was seen yet, or its classes are not recorded.
pub(super) fn numbers_classes(observed: &Observed, order: &str) -> Option<bool> {
    let hosts = recorded_classes(observed);
    hosts.values().find_map(Host::resource_class)?;
    let is_plain = |name: &str| {
        let mut classes = hosts.values().filter_map(Host::resource_class);
        classes.any(|class| node_pool_name(order, class, None).as_deref() == Some(name))
    };
    let current = observed.node_pools.0.values().filter(|part| part.sync == SyncState::InSync);
    let mut all = current.chain(observed.node_pools.0.values().filter(|part| part.sync != SyncState::InSync));
    all.find_map(|part| Some(!is_plain(&part.remote()?.metadata.name)))
}

/// Whether the hub has no NodePool of the observed name.
pub(super) fn is_missing(part: &NodePoolObject) -> bool {
    let synced = find_condition(&part.object.status.conditions, "Synced");
    synced.is_some_and(found_none) && is_current(&part.object)
}

/// Whether the hub has had no NodePool of the observed name for as long as this.
pub(super) fn is_missing_for(part: &NodePoolObject, time: SignedDuration, now: Timestamp) -> bool {
    let synced = find_condition(&part.object.status.conditions, "Synced");
    let since = synced.and_then(|synced| synced.last_transition_time);
    is_missing(part) && since.is_some_and(|since| now.duration_since(since) >= time)
}

/// Position of the request for a resource class.
pub(super) fn class_position(requests: &[Value], class: &str) -> Option<usize> {
    requests.iter().position(|request| request["resourceClass"] == class)
}

/// A class of nodes in the annotation. Resource classes are plain texts there, as earlier versions wrote them.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Note {
    ResourceClass(String),
    Host(Host),
}

impl From<Note> for Host {
    fn from(note: Note) -> Self {
        match note {
            Note::ResourceClass(name) => Self::ResourceClass(name),
            Note::Host(host) => host,
        }
    }
}

impl From<Host> for Note {
    fn from(host: Host) -> Self {
        match host {
            Host::ResourceClass(name) => Self::ResourceClass(name),
            host @ Host::InstanceType(_) => Self::Host(host),
        }
    }
}

/// Key of a node request. An order has at most one request for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum RequestName<'a> {
    /// All groups of a resource class: OSAC silently drops the second of two requests for one class.
    ResourceClass(&'a str),
    /// One group.
    NodeSet(&'a str),
}

impl<'a> RequestName<'a> {
    /// The name of a request in an order.
    pub fn of(request: &'a Value) -> Option<Self> {
        let text = |member: &str| request.get(member).and_then(Value::as_str);
        text("nodeSet").map(Self::NodeSet).or_else(|| text("resourceClass").map(Self::ResourceClass))
    }

    /// The name of the request that a group of nodes is in.
    pub fn of_group(host: &'a Host, group: &'a str) -> Self {
        match host {
            Host::ResourceClass(class) => Self::ResourceClass(class),
            Host::InstanceType(_) => Self::NodeSet(group),
        }
    }
}

/// The spec with the nodes that are wanted. Without any OSAC takes the template's own.
pub(super) fn apply_nodes(
    mut spec: Map<String, Value>,
    observed: &Observed,
    wanted: OsacRequest<'_>,
) -> Map<String, Value> {
    let classes = host_classes(observed, wanted);
    let mut nodes: BTreeMap<RequestName<'_>, (u32, &Host)> = BTreeMap::new();
    for group in &wanted.backend_spec.groups {
        // Nodes of a class that is no longer offered and was never recorded cannot be counted.
        let Some(host) = classes.get(&group.class) else { return spec };
        let (count, _) = nodes.entry(RequestName::of_group(host, &group.name)).or_insert((0, host));
        *count = count.saturating_add(group.size.min_nodes());
    }
    if nodes.is_empty() {
        return spec;
    }
    let before = spec.get("nodeRequests").and_then(Value::as_array).cloned().unwrap_or_default();
    let known = before.iter().filter_map(RequestName::of);
    let known = known.filter_map(|name| Some(node_request(name, nodes.remove(&name)?)));
    let mut requests: Vec<Value> = known.collect();
    requests.extend(nodes.into_iter().map(|(name, of)| node_request(name, of)));
    spec.insert("nodeRequests".into(), requests.into());
    spec
}

fn node_request(name: RequestName<'_>, (count, host): (u32, &Host)) -> Value {
    match (name, host) {
        (RequestName::ResourceClass(class), _) => json!({ "resourceClass": class, "numberOfNodes": count }),
        (RequestName::NodeSet(set), Host::ResourceClass(kind) | Host::InstanceType(kind)) => {
            json!({ "nodeSet": set, "numberOfNodes": count, "bareMetal": { "instanceType": kind } })
        }
    }
}

/// Each class of nodes that is wanted as OSAC has it: as it was when the class was first asked for.
pub(super) fn host_classes(observed: &Observed, wanted: OsacRequest<'_>) -> BTreeMap<String, Host> {
    let mut recorded = recorded_classes(observed);
    let of = |(class, own): (&String, Option<&Host>)| {
        Some((class.clone(), recorded.remove(class).or_else(|| own.cloned())?))
    };
    let own: BTreeMap<&String, Option<&Host>> = collect::to_map(
        wanted.backend_spec.groups.iter().map(|group| (&group.class, group.machine.as_ref())),
    );
    collect::to_map(own.into_iter().filter_map(of))
}

pub(super) fn recorded_classes(observed: &Observed) -> BTreeMap<String, Host> {
    let note = observed.annotations(ours::NODE_CLASSES).find_map(|note| json::read_text(note).ok());
    let note: BTreeMap<String, Note> = note.unwrap_or_default();
    collect::to_map(note.into_iter().map(|(class, note)| (class, note.into())))
}

/// Annotation: the classes as OSAC has them.
pub(super) fn classes_annotation(observed: &Observed, wanted: Option<OsacRequest<'_>>) -> Map<String, Value> {
    let hosts = wanted.map_or_else(|| recorded_classes(observed), |wanted| host_classes(observed, wanted));
    let note: BTreeMap<String, Note> =
        collect::to_map(hosts.into_iter().map(|(class, host)| (class, host.into())));
    let note = (!note.is_empty()).then(|| (ours::NODE_CLASSES.to_owned(), json!(note).to_string().into()));
    collect::to_object(note)
}
