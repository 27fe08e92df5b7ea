//! Request → [`PoolState`]: everything that may be known of a pool, decoded once. An error here is FATAL.

use jiff::Timestamp;
use prost::bytes::Bytes;
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;
use testplatform_apis::{
    claim::API_VERSION,
    condition::PoolConditionType,
    foreign::{
        cluster_pool::{ClusterPool, conditions},
        meta::{Lenient, ObservedCondition, find_condition},
        object::{AnyRemote, Object},
    },
    names::ours,
    pool::POOL_KIND,
    pool_report::PoolStatus,
    pool_status::PoolPhase,
};

use super::{ADMINS, POOL, SIZE};
use crate::{
    objects::{SyncState, read_sync_state},
    sdk::{
        composite::Composite,
        proto::{MatchLabels, Requirements, RunFunctionRequest, resource_selector::Match},
        request::{UnusableRequest, decode_resource, refuse_newer, unreadable_resource},
        requirements::{RequirementNames, fetched_resources, selector},
        wire,
    },
};

/// The most names that a status lists.
pub(super) const MAX_NAMES: usize = 50;
/// All pools in Git. Never bootstrapped: they are needed until the pool is made, and not after.
const PEERS: RequirementNames = RequirementNames::new("cluster-pools", None);

/// The picture of one pool.
#[derive(Debug)]
pub struct PoolState {
    /// The composite itself.
    pub composite: Composite,
    /// The Object that carries the ClusterPool.
    pub pool: Option<ObservedPool>,
    /// The Object that carries the administrators' RoleBinding.
    pub admins: Option<Object<AnyRemote>>,
    /// The Object that takes over the size.
    pub size: Option<Object<ClusterPool>>,
    /// The other pools in Git; none: not fetched.
    pub peers: Option<Vec<PeerPool>>,
    /// The phase that an earlier pass showed; none after a restore.
    pub shown: Option<PoolPhase>,
}

/// Part of the status that is read.
#[derive(Default, Deserialize)]
#[serde(default)]
struct RawStatus {
    status: Lenient<RawPhase>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct RawPhase {
    phase: Option<PoolPhase>,
}

/// The Object that carries the ClusterPool.
#[derive(Debug)]
pub struct ObservedPool {
    /// The Object.
    pub object: Object<ClusterPool>,
    /// Sync state of the ClusterPool.
    pub sync: SyncState,
    /// Report of the hub-side provider about the ClusterPool; none: no report.
    pub report: Option<PoolStatus>,
    /// Why what the hub says cannot be read.
    pub unreadable: Option<String>,
}

impl ObservedPool {
    fn decode(bytes: &[u8]) -> Result<Self, UnusableRequest> {
        let object: Object<ClusterPool> =
            wire::from_struct(bytes).map_err(|e| unreadable_resource(POOL, e))?;
        let remote = object.status.at_provider.manifest.as_ref();
        let sync = read_sync_state(&object, remote.map(|r| &r.metadata));
        let report = remote
            .and_then(|r| r.metadata.annotation(ours::POOL_STATUS))
            .map(PoolStatus::from_annotation)
            .transpose();
        let unreadable = report.as_ref().err().map(|e| format!("annotation {}: {e}", ours::POOL_STATUS));
        let unreadable = unreadable.or_else(|| remote.and_then(|r| r.status.error.clone()));
        Ok(Self { report: report.unwrap_or_default(), object, sync, unreadable })
    }

    /// The ClusterPool as it was last observed.
    pub fn remote(&self) -> Option<&ClusterPool> {
        self.object.status.at_provider.manifest.as_ref()
    }

    /// Manifest of the previous request.
    pub fn manifest(&self) -> &Value {
        &self.object.spec.for_provider.manifest
    }

    /// Whether it is going, on our side or the hub's.
    pub fn is_deleting(&self) -> bool {
        let remote = self.remote().is_some_and(|r| r.metadata.deletion_timestamp.is_some());
        self.object.metadata.deletion_timestamp.is_some() || remote
    }

    /// The claimed clusters that hold a pool which is going, as Hive names them.
    pub(super) fn holding_clusters(&self) -> Vec<String> {
        let blocking = self.condition(conditions::DELETION_POSSIBLE);
        let blocking = blocking.filter(|c| c.is_false() && self.is_deleting());
        blocking.map(|c| parse_names(&c.message)).unwrap_or_default()
    }

    /// A condition of Hive's.
    pub fn condition(&self, type_: &str) -> Option<&ObservedCondition> {
        find_condition(&self.remote()?.status.value.conditions, type_)
    }
}

/// Names at the end of a sentence of Hive's: `…: a, b`.
pub(super) fn parse_names(message: &str) -> Vec<String> {
    let (_, list) = message.rsplit_once(": ").unwrap_or(("", message));
    let names = list.split([',', ' ']).map(|name| name.trim_matches(['[', ']', '"', '.']));
    let legal =
        |name: &&str| testplatform_apis::names::ObjectName::try_from(*name).is_ok() && name.contains('-');
    names.filter(legal).take(MAX_NAMES).map(str::to_owned).collect()
}

/// Another pool in Git.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeerPool {
    /// When it was made, and its name: the older has the right to a name.
    pub age: (Option<Timestamp>, String),
    /// The hub's ProviderConfig.
    pub provider_config: String,
    /// Namespace of its ClusterPool.
    pub namespace: String,
    /// Name of its ClusterPool.
    pub pool: String,
    /// Whether its ClusterPool is there already.
    pub made: bool,
}

impl PoolState {
    /// Decodes the resources of this function. Those of other steps are ignored.
    pub fn decode(request: &RunFunctionRequest) -> Result<Self, UnusableRequest> {
        let state = request.observed.as_ref().ok_or(UnusableRequest::NoComposite)?;
        let resource = state.composite.as_ref().ok_or(UnusableRequest::NoComposite)?;
        let composite = Composite::decode(&resource.resource)?;
        let peers = decode_peers(request, &composite.metadata.name);
        let raw: RawStatus = wire::from_struct(&resource.resource).unwrap_or_default();
        let shown = raw.status.value.phase;
        let mut observed = Self { composite, pool: None, admins: None, size: None, peers, shown };
        for (name, bytes) in &state.resources {
            match name.as_str() {
                POOL => observed.pool = Some(ObservedPool::decode(&decode_resource(name, bytes)?.resource)?),
                ADMINS => observed.admins = Some(decode_object(name, bytes)?),
                SIZE => observed.size = Some(decode_object(name, bytes)?),
                _ => refuse_newer(name, bytes)?,
            }
        }
        Ok(observed)
    }

    /// The ClusterPool, as it was last observed.
    pub fn remote(&self) -> Option<&ClusterPool> {
        self.pool.as_ref()?.remote()
    }

    /// Report of the hub-side provider.
    pub fn report(&self) -> Option<&PoolStatus> {
        self.pool.as_ref()?.report.as_ref()
    }
}

fn decode_object<R: Default + DeserializeOwned>(
    name: &str,
    bytes: &Bytes,
) -> Result<Object<R>, UnusableRequest> {
    wire::from_struct(&decode_resource(name, bytes)?.resource).map_err(|e| unreadable_resource(name, e))
}

fn decode_peers(request: &RunFunctionRequest, own: &str) -> Option<Vec<PeerPool>> {
    let items = &fetched_resources(request, &PEERS)?.items;
    let read = items.iter().filter_map(|item| Composite::decode(&item.resource).ok());
    // A drained pool has no name until it is wanted again.
    let is_drained = |c: &Composite| {
        let drained = find_condition(&c.conditions, PoolConditionType::Drained.as_str());
        c.spec["drain"] == true && drained.is_some_and(ObservedCondition::is_true)
    };
    let other = |c: &Composite| c.kind == POOL_KIND && c.metadata.name != own && !is_drained(c);
    let mut peers: Vec<PeerPool> = read.filter(other).map(read_peer).collect();
    peers.sort_by(|a, b| a.age.cmp(&b.age));
    Some(peers)
}

fn read_peer(composite: Composite) -> PeerPool {
    let text = |key: &str| composite.spec[key].as_str().unwrap_or_default().to_owned();
    let own = composite.spec["name"].as_str().unwrap_or(&composite.metadata.name).to_owned();
    PeerPool {
        provider_config: text("providerConfig"),
        namespace: text("namespace"),
        pool: own,
        // Its pool was seen on the hub.
        made: composite
            .shown(testplatform_apis::condition::ConditionType::RemoteConsistent)
            .is_some_and(ObservedCondition::is_true),
        age: (composite.metadata.creation_timestamp, composite.metadata.name),
    }
}

/// Resources to request from core: the other pools, until this one is created. This depends on observed state only, never on fetched
/// resources.
pub fn peer_requirements(request: &RunFunctionRequest, observed: &PoolState) -> Option<Requirements> {
    if observed.pool.is_some() {
        return None;
    }
    // No labels: core gives all of them to all cores, which a selector without a match does not.
    let all = selector(API_VERSION, POOL_KIND, Match::MatchLabels(MatchLabels::default()));
    Some(Requirements::asking(request, [(PEERS.dynamic().to_owned(), all)].into()))
}
