//! The other composites that take clusters from pools: who holds one, and who waits.

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::Value;
use testplatform_apis::{
    claim::ClusterClaim,
    condition::{ConditionType, Request},
    foreign::{
        cluster_claim,
        meta::{Lenient, ObservedCondition, condition},
    },
    phase::Phase,
};

use super::{
    Composite,
    required::{PEERS, fetched},
};
use crate::proto::RunFunctionRequest;

/// Another composite that takes, or wants to take, a cluster from a pool.
#[derive(Clone, Debug, PartialEq)]
pub struct Peer {
    /// When it was made, and its name: the order in which peers are served.
    pub age: (Option<Timestamp>, String),
    /// Namespace of its claim.
    pub tenant: Option<String>,
    /// What it wants.
    pub wanted: ClusterClaim,
    /// What it has.
    pub standing: Standing,
}

/// What a peer has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// A cluster, or the promise of one.
    Holds {
        /// Name of the hub's ProviderConfig.
        hub: String,
        /// Namespace of the pool.
        namespace: String,
        /// Name of the pool.
        pool: String,
    },
    /// Nothing yet, and nothing but a hub keeps it from being served.
    WaitsForHub,
    /// Nothing yet, for want of quota.
    WaitsForQuota,
}

/// The composites that matter, by age. What cannot be read of one takes nothing from the others.
pub(super) fn decode(request: &RunFunctionRequest, own: &str) -> Option<Vec<Peer>> {
    let items = &fetched(request, &PEERS)?.items;
    let read = items.iter().filter_map(|item| Composite::decode(&item.resource).ok());
    let mut peers: Vec<Peer> = read.filter(|c| c.metadata.name != own).filter_map(peer).collect();
    peers.sort_by(|a, b| a.age.cmp(&b.age));
    Some(peers)
}

fn peer(composite: Composite) -> Option<Peer> {
    // An API server has checked it; what it does not hold is as good as not asked for.
    let block = composite.spec["clusterClaim"].as_object()?;
    let wanted = Lenient::<ClusterClaim>::deserialize(Value::Object(block.clone())).unwrap_or_default().value;
    let standing = standing(&composite)?;
    let tenant = composite.claim.map(|c| c.namespace);
    let age = (composite.metadata.creation_timestamp, composite.metadata.name);
    Some(Peer { age, tenant, wanted, standing })
}

/// None: it neither has a cluster nor is next to get one.
fn standing(composite: &Composite) -> Option<Standing> {
    let shown = |type_: ConditionType| condition(&composite.conditions, type_.as_str());
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
    if over {
        return None;
    }
    let backend = known.backend.as_ref().filter(|b| b.kind.as_deref() == Some(cluster_claim::KIND));
    let hub = known.hub.as_ref().and_then(|h| h.name.clone());
    if let Some((hub, backend)) = hub.zip(backend) {
        let text = |field: &Option<String>| field.clone().unwrap_or_default();
        return Some(Standing::Holds { hub, namespace: text(&backend.namespace), pool: text(&backend.pool) });
    }
    if composite.metadata.deletion_timestamp.is_some() {
        return None;
    }
    let refusal = shown(ConditionType::RequestAccepted).filter(|c| c.is_false());
    let Some(refusal) = refusal.map(|c| c.reason.as_str()) else { return Some(Standing::WaitsForHub) };
    // One that was asked before and waits for something else does not stand in the way.
    let waits =
        [(Request::HubFull, Standing::WaitsForHub), (Request::QuotaExceeded, Standing::WaitsForQuota)];
    waits.into_iter().find(|(reason, _)| reason.as_str() == refusal).map(|(_, standing)| standing)
}
