//! Other composites that count for quotas and for the load of hubs: those with a cluster, and those that wait.

use jiff::Timestamp;
use prost::bytes::Bytes;
use serde_json::Value;
use testplatform_apis::{
    byoc,
    claim::ClusterClaimSpec,
    condition::{ConditionType, Request},
    duration::GoDuration,
    foreign::{
        cluster_claim,
        meta::{Lenient, ObservedCondition, find_condition},
    },
    input::Settings,
    phase::Phase,
};

use super::{
    required::{PEERS, PEERS_OTHER_FLAVOUR},
    sizes::TEXT,
};
use crate::sdk::{
    composite::Composite,
    proto::RunFunctionRequest,
    requirements::fetched_resources,
    wire::{self, FieldList, Keep},
};

/// The most that `spec.clusterClaim` may have, in bytes of protobuf. Every claim that is counted brings it along.
pub(crate) const MAX_CLUSTER_CLAIM_BYTES: usize = 8 << 10;

/// Part of a peer that is read: a peer may be as large as an object can be, and there may be thousands.
///
/// A longer `clusterClaim` is refused before anything is created for it, and does not count. Its encoding adds a few bytes.
pub(super) const PEER_FIELDS: FieldList = &[
    ("apiVersion", TEXT),
    ("kind", TEXT),
    (
        "metadata",
        Keep::Fields(&[
            ("name", TEXT),
            ("namespace", TEXT),
            ("uid", TEXT),
            ("creationTimestamp", TEXT),
            ("deletionTimestamp", TEXT),
        ]),
    ),
    (
        "spec",
        Keep::Fields(&[
            ("claimRef", Keep::Fields(&[("name", TEXT), ("namespace", TEXT)])),
            ("crossplane", Keep::Presence),
            ("clusterClaim", Keep::Whole(MAX_CLUSTER_CLAIM_BYTES + 16)),
            (
                "byoc",
                Keep::Fields(&[(
                    "platform",
                    Keep::Fields(&[
                        ("aws", Keep::Presence),
                        ("azure", Keep::Presence),
                        ("gcp", Keep::Presence),
                    ]),
                )]),
            ),
            ("template", TEXT),
            ("ciOperator", Keep::Presence),
            ("timeouts", Keep::Fields(&[("provision", TEXT)])),
        ]),
    ),
    (
        "status",
        Keep::Fields(&[
            ("phase", TEXT),
            ("handedOver", Keep::Whole(2 << 10)),
            ("hub", Keep::Fields(&[("name", TEXT)])),
            ("template", Keep::Fields(&[("cost", TEXT)])),
            ("backend", Keep::Fields(&[("kind", TEXT), ("namespace", TEXT), ("pool", TEXT)])),
            ("conditions", Keep::Items(&Keep::Fields(&[("type", TEXT), ("status", TEXT), ("reason", TEXT)]))),
        ]),
    ),
];

/// Another composite that has, or wants to have, a cluster.
#[derive(Clone, Debug, PartialEq)]
pub struct PeerCluster {
    /// When it was made, and its name, with its namespace where it has one: the order in which peers are served.
    pub age: (Option<Timestamp>, String),
    /// Namespace of its claim.
    pub tenant: Option<String>,
    /// What it wants.
    pub request: PeerRequest,
    /// What it has.
    pub state: PeerState,
}

/// Request of a peer.
#[derive(Clone, Debug, PartialEq)]
pub enum PeerRequest {
    /// A cluster out of a pool.
    Pool {
        /// Which.
        wanted: Box<ClusterClaimSpec>,
        /// Whether it brings its own credentials.
        brings: bool,
    },
    /// A cluster by template, and what it costs.
    Template(u32),
    /// A cluster made by ci-operator, where quotas govern those.
    CiOperator,
}

/// State of a peer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PeerState {
    /// A cluster from a pool, assigned or reserved.
    Holds {
        /// Name of the hub's ProviderConfig.
        hub: String,
        /// Namespace of the pool.
        namespace: String,
        /// Name of the pool.
        pool: String,
    },
    /// A cluster without a pool, existing or reserved.
    HoldsElsewhere,
    /// No cluster yet, and only a hub blocks it.
    WaitsForHub,
    /// No cluster yet, because of its quota.
    WaitsForQuota,
}

/// Relevant composites, by age. An unreadable one does not affect the others.
pub(super) fn decode(
    request: &RunFunctionRequest,
    own: &Composite,
    settings: &Settings,
    now: Timestamp,
) -> Option<Vec<PeerCluster>> {
    let items = &fetched_resources(request, &PEERS)?.items;
    // Half of them would be a wrong count.
    let beside = if settings.both_flavours {
        fetched_resources(request, &PEERS_OTHER_FLAVOUR)?.items.as_slice()
    } else {
        &[]
    };
    let all = items.iter().chain(beside);
    let read = all.filter_map(|item| counted_fields(&item.resource));
    let others = read.filter(|c| !own.is(&c.metadata));
    let mut peers: Vec<PeerCluster> = others.filter_map(|c| read_peer(&c, settings, now)).collect();
    peers.sort_by(|a, b| a.age.cmp(&b.age));
    Some(peers)
}

/// Decodes the counted fields of a composite. From this size on it is worth trimming the rest first.
fn counted_fields(object: &Bytes) -> Option<Composite> {
    const LARGE: usize = 16 << 10;
    let bytes =
        if object.len() > LARGE { wire::trimmed(object, PEER_FIELDS).ok()?.into() } else { object.clone() };
    Composite::decode(&bytes).ok()
}

fn read_peer(composite: &Composite, settings: &Settings, now: Timestamp) -> Option<PeerCluster> {
    let wanted = read_request(composite, settings)?;
    let late = is_overdue(composite, &wanted, settings, now);
    let standing = read_state(composite, &wanted, late)?;
    let tenant = composite.tenant().map(str::to_owned);
    let age = (composite.metadata.creation_timestamp, composite.ordinal());
    Some(PeerCluster { age, tenant, request: wanted, state: standing })
}

/// Reads the request of a peer. None: it does not count.
fn read_request(composite: &Composite, settings: &Settings) -> Option<PeerRequest> {
    let spec = &composite.spec;
    // An API server has validated it; invalid members count as not requested.
    if let Some(block) = spec["clusterClaim"].as_object() {
        let mut wanted = Lenient::<ClusterClaimSpec>::from_value(Value::Object(block.clone())).value;
        let brings = !spec["byoc"].is_null();
        if let Some((cloud, _)) = byoc::selected_cloud(&spec["byoc"]) {
            wanted.cloud = Some(cloud.to_owned());
        }
        return Some(PeerRequest::Pool { wanted: Box::new(wanted), brings });
    }
    if spec["template"].is_string() {
        // Its first response reported its cost.
        let reported = composite.status.template.as_ref().and_then(|t| t.cost);
        return Some(PeerRequest::Template(reported.and_then(|cost| u32::try_from(cost).ok()).unwrap_or(1)));
    }
    (settings.quotas_for_ci_operator && spec["ciOperator"].is_object()).then_some(PeerRequest::CiOperator)
}

/// Whether a peer without an answer is no longer waited for: it may never get one, because of another Composition or a broken pipeline. Its
/// owner's own timeout cannot prolong that.
fn is_overdue(composite: &Composite, wanted: &PeerRequest, settings: &Settings, now: Timestamp) -> bool {
    let longest = settings.default_provision_timeout;
    let own = match wanted {
        PeerRequest::Pool { wanted, .. } => wanted.timeout,
        PeerRequest::Template(_) => {
            composite.spec["timeouts"]["provision"].as_str().and_then(|own| own.parse().ok())
        }
        PeerRequest::CiOperator => None,
    };
    let timeout = own.map_or(longest, |own: GoDuration| own.min(longest));
    let made = composite.metadata.creation_timestamp;
    made.is_none_or(|made| made.checked_add(timeout.as_signed()).is_ok_and(|deadline| deadline <= now))
}

/// Reads the state of a peer. None: it neither has a cluster nor waits for one.
fn read_state(composite: &Composite, wanted: &PeerRequest, late: bool) -> Option<PeerState> {
    let shown = |type_: ConditionType| find_condition(&composite.conditions, type_.as_str());
    let known = &composite.status;
    let over = match known.phase {
        Some(Phase::Deprovisioned | Phase::Failed) => {
            shown(ConditionType::ProwJobCompleted).is_some_and(ObservedCondition::is_true)
        }
        Some(
            Phase::Pending | Phase::Provisioning | Phase::Ready | Phase::Degraded | Phase::Deprovisioning,
        )
        | None => false,
    };
    // A released cluster counts for the composite that takes it over.
    if over || known.handed_over.is_some() {
        return None;
    }
    let answered = shown(ConditionType::RequestAccepted);
    let elsewhere = match wanted {
        PeerRequest::Pool { .. } => false,
        // The hub is reported with the first request to it.
        PeerRequest::Template(_) => known.hub.as_ref().is_some_and(|h| h.name.is_some()),
        PeerRequest::CiOperator => {
            let blocked =
                known.phase == Some(Phase::Pending) && answered.is_some_and(ObservedCondition::is_false);
            known.phase.is_some() && !blocked
        }
    };
    if elsewhere {
        return Some(PeerState::HoldsElsewhere);
    }
    let backend = known.backend.as_ref().filter(|b| b.kind.as_deref() == Some(cluster_claim::KIND));
    let hub = known
        .hub
        .as_ref()
        .and_then(|h| h.name.clone())
        .filter(|_| matches!(wanted, PeerRequest::Pool { .. }));
    if let Some((hub, backend)) = hub.zip(backend) {
        let text = |field: &Option<String>| field.clone().unwrap_or_default();
        return Some(PeerState::Holds {
            hub,
            namespace: text(&backend.namespace),
            pool: text(&backend.pool),
        });
    }
    if composite.metadata.deletion_timestamp.is_some() {
        return None;
    }
    let Some(answer) = answered else {
        // Made just now, and answered at the same time as this one perhaps.
        return (known.phase.is_none() && !late).then_some(PeerState::WaitsForHub);
    };
    // A peer that waits for something else, or whose last pass failed, does not block others.
    let waits =
        [(Request::HubFull, PeerState::WaitsForHub), (Request::QuotaExceeded, PeerState::WaitsForQuota)];
    let is_reported = |reason: &Request| answer.is_false() && answer.reason == reason.as_str();
    waits.into_iter().find(|(reason, _)| is_reported(reason)).map(|(_, standing)| standing)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// The peer that a composite is, once of all of it and once of what is kept of it.
    fn both(spec: &Value, status: &Value, namespace: Option<&str>) -> [Option<PeerCluster>; 2] {
        let settings = Settings { quotas_for_ci_operator: true, ..Settings::default() };
        let mut object = json!({
            "apiVersion": "ci.openshift.org/v1alpha1", "kind": "XTestPlatformCluster",
            "metadata": {
                "name": "one", "uid": "u", "creationTimestamp": "2026-11-21T09:00:00Z",
                "annotations": { "long": "x".repeat(9000) }, "managedFields": [{ "manager": "core" }],
            },
            "spec": spec, "status": status,
        });
        object["spec"]["claimRef"] =
            json!({ "name": "one", "namespace": "tenant-a", "kind": "TestPlatformCluster" });
        if let Some(namespace) = namespace {
            object["metadata"]["namespace"] = json!(namespace);
            object["spec"]["crossplane"] = json!({ "compositionRef": { "name": "a-composition-of-ours" } });
        }
        let whole = wire::to_struct(&object).unwrap();
        let kept = wire::trimmed(&whole, PEER_FIELDS).unwrap();
        let now = "2026-11-21T10:00:00Z".parse().unwrap();
        [&whole[..], &kept].map(|bytes| read_peer(&Composite::decode(bytes).unwrap(), &settings, now))
    }

    #[test]
    fn sparse_peers_keep_every_counted_field() {
        let claim = json!({ "version": "4.20", "cloud": "aws", "timeout": "3h", "labels": { "a": "b" } });
        let specs = [
            json!({ "template": "hosted", "timeouts": { "provision": "3h" }, "parameters": { "a": "x".repeat(900) } }),
            json!({ "clusterClaim": claim }),
            json!({ "clusterClaim": claim, "byoc": { "pullSecretRef": { "name": "p" }, "platform": { "gcp": { "region": "x" } } } }),
            json!({ "ciOperator": { "test": { "workflow": "ipi-aws", "clusterProfile": "aws" } } }),
        ];
        let held = |reason: &str| {
            json!({ "phase": "Pending", "conditions": [
                { "type": "RequestAccepted", "status": "False", "reason": reason, "message": "x".repeat(900), "lastTransitionTime": "2026-11-21T09:30:00Z" },
            ] })
        };
        let backend =
            json!({ "kind": "ClusterClaim", "name": "one", "namespace": "pools", "pool": "aws-420" });
        let statuses = [
            json!({}),
            json!({ "phase": "Ready", "hub": { "name": "hub-1" }, "backend": backend, "template": { "name": "hosted", "cost": 3 } }),
            held("HubFull"),
            held("QuotaExceeded"),
            json!({ "phase": "Deprovisioned", "conditions": [
                { "type": "ProwJobCompleted", "status": "True", "reason": "ProwJobCompleted", "message": "m" },
            ] }),
            json!({ "phase": "Ready", "handedOver": { "namespace": "b", "name": "two", "uid": "u" } }),
        ];
        let mut counted = 0;
        for spec in &specs {
            for status in &statuses {
                for namespace in [None, Some("tenant-b")] {
                    let [whole, kept] = both(spec, status, namespace);
                    assert_eq!(whole, kept, "{spec} {status}");
                    counted += usize::from(whole.is_some());
                }
            }
        }
        assert!(counted > specs.len() * 4, "{counted} of them count");
    }
}
