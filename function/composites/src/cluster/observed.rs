//! Request → [`Observed`]: everything that the planner may know, decoded once.
//!
//! A decoding error is FATAL: no plan may rest on incomplete state.

mod annotations;
mod bundles;
mod claim_secret;
mod credentials;
mod details;
mod environment;
mod hosted_cluster;
mod hubs;
mod node_pool;
mod peers;
mod pools;
pub mod prerequisites;
mod primary_object;
mod remote;
mod required;
mod sizes;
mod templates;
pub mod tenant_credentials;
mod transfer;

use jiff::{SignedDuration, Timestamp};
use testplatform_apis::{
    foreign::{
        meta::Metadata,
        object::{AnyRemote, Object},
    },
    input::Settings,
    names::{Uid, crossplane, ours},
    template::Backend,
};

pub(crate) use bundles::report_text;
pub use bundles::{BUNDLES, BUNDLES_OBSERVER, BundleObjects};
pub use claim_secret::{CLAIM_NAMES_NO_SECRET, ClaimSecret, WriteRefusal};
pub use credentials::Credentials;
pub use details::Details;
pub use environment::{Environment, EnvironmentConfig};
pub use hosted_cluster::{HOSTED, HostedClusterObserver};
use hubs::NEIGHBOUR_NAMES;
pub use hubs::{Hubs, hub_requirements, read_excluded};
pub use node_pool::{NodePoolObject, NodePools, is_auxiliary_name, node_pool_resource_name};
pub(crate) use peers::MAX_CLUSTER_CLAIM_BYTES;
use peers::PEER_FIELDS;
pub use peers::{PeerCluster, PeerRequest, PeerState};
pub use pools::Pools;
pub(crate) use primary_object::MAX_CLOCK_SKEW;
pub use primary_object::{
    CLUSTER_CLAIM, EPHEMERAL_CLUSTER, PrimaryObject, is_ended_by_removal, is_template_resource,
};
pub use remote::{ObservedBackend, Remote};
use required::{PEER_NAMES, PRIMARY_OBJECT};
pub use required::{RequirementOptions, requirements};
pub use templates::{TemplateEntry, Templates};
use tenant_credentials::ObservedObject;
pub(crate) use transfer::COUNTERPART;
pub use transfer::{
    Counterpart, ObjectRef, Receiver, Transfer, TransferSource, TransferTarget, WatchedRemote,
};

use crate::{
    objects::{SyncState, began_to_create},
    sdk::{
        composite::{Composite, Flavour},
        proto::RunFunctionRequest,
        request::{UnusableRequest, decode_resource, is_labelled, refuse_newer, unreadable_resource},
        requirements::fetched_resources,
        wire::{self, Trimmer},
    },
};

/// Composition resource name of the Object that observes the credentials.
pub const CREDENTIALS: &str = "credentials";

/// Composition resource name of the Object by which a composite in a namespace remembers that it has ended.
pub const ENDED: &str = "ended";

/// Composition resource names of ours that are the same for every backend.
const FIXED: [&str; 9] = [
    tenant_credentials::ACCESS,
    tenant_credentials::NAMESPACE,
    tenant_credentials::POOL,
    tenant_credentials::PROVIDER,
    tenant_credentials::REQUEST,
    CLUSTER_CLAIM,
    CREDENTIALS,
    EPHEMERAL_CLUSTER,
    ENDED,
];

/// Composition resource names of ours. Beside them are those of [`NodePools`], one for each group of nodes.
pub const OURS: [&str; FIXED.len() + Backend::ALL.len()] = {
    let mut ours = [""; FIXED.len() + Backend::ALL.len()];
    let mut i = 0;
    while i < ours.len() {
        ours[i] = if i < FIXED.len() {
            FIXED[i]
        } else {
            Backend::ALL[i - FIXED.len()].descriptor().primary_resource
        };
        i += 1;
    }
    ours
};

/// Name that the incumbent gives to a Secret which it does not know yet. Never a known name: it is one real,
/// creatable name for all waiting claims.
pub const PENDING: &str = "pending";

/// Names under which a request has other composites.
const PEERS: [&str; 4] = [PEER_NAMES[0], PEER_NAMES[1], NEIGHBOUR_NAMES[0], NEIGHBOUR_NAMES[1]];

/// Reads a `RunFunctionRequest` of this length in pieces. Of other composites it keeps the fields that an evaluation reads.
pub fn trim_peers(length: u64) -> Trimmer {
    Trimmer::request(length, &PEERS, PEER_FIELDS)
}

/// Observed state of one composite.
#[derive(Debug)]
pub struct Observed {
    /// The composite itself.
    pub composite: Composite,
    /// Content of its connection Secret.
    pub details: Details,
    /// State of the claim's Secret.
    pub claim_secret: ClaimSecret,
    /// Primary Object, which carries the remote object.
    pub primary: Option<PrimaryObject>,
    /// Whether the composite does not refer to the primary Object.
    pub is_primary_unreferenced: bool,
    /// The Object that observes the credentials.
    pub credentials: Option<Credentials>,
    /// Configuration that names this Konflux cluster.
    pub environment: Environment,
    /// The catalogue of pools.
    pub pools: Pools,
    /// The catalogue of templates.
    pub templates: Templates,
    /// The other composites that count for quotas; none: not fetched.
    pub peers: Option<Vec<PeerCluster>>,
    /// Objects that carry or observe NodePools.
    pub node_pools: NodePools,
    /// Observer of the underlying HostedCluster of another backend's cluster.
    pub hosted: Option<HostedClusterObserver>,
    /// Hubs for claims with a template; none: not fetched.
    pub hubs: Option<Hubs>,
    /// Other Objects on the hub of a claim with tenant credentials.
    pub tenant_credentials: tenant_credentials::ObservedObjects,
    /// Prerequisites of the cluster on the hub, by composition resource name.
    pub prerequisites: tenant_credentials::ObservedObjects,
    /// Bundle request to the hub.
    pub bundles: BundleObjects,
    /// Record of its end; only of a composite in a namespace.
    pub completion_record: Option<Metadata>,
    /// Transfer of its cluster to or from another composite.
    pub transfer: Transfer,
    /// Current time. It only decides whether a deadline has passed.
    pub now: Timestamp,
}

/// Quiet period after the creation of the primary Object, in which a cluster may become ready at once, as one from a filled pool does.
/// Conditions do not follow each step in it: every change costs core three writes and two passes.
const QUIET_PERIOD: SignedDuration = SignedDuration::from_secs(15);

impl Observed {
    /// The end of the quiet period, in which conditions do not follow the steps to the first readiness; none if it is over. Both clocks are of
    /// this Konflux cluster.
    pub(crate) fn quiet_until(&self) -> Option<Timestamp> {
        let primary =
            self.primary.as_ref().filter(|w| matches!(w.sync, SyncState::InSync | SyncState::Unknown))?;
        // An Object that was recreated around a remote object has not created it, and the cluster's steps were reported before.
        let is_first = primary.remote().is_none() || began_to_create(&primary.object.metadata);
        let metadata = &primary.object.metadata;
        let (made, ends) = (metadata.creation_timestamp?, primary.requests_teardown());
        let (begin, end) = (made.checked_sub(MAX_CLOCK_SKEW).ok()?, made.checked_add(QUIET_PERIOD).ok()?);
        (begin <= self.now && self.now < end && is_first && !ends && !self.ever_ready()).then_some(end)
    }

    /// Decodes the resources of this function. Those of other steps are ignored.
    pub fn decode(
        request: &RunFunctionRequest,
        settings: &Settings,
        now: Timestamp,
    ) -> Result<Self, UnusableRequest> {
        let state = request.observed.as_ref().ok_or(UnusableRequest::NoComposite)?;
        let resource = state.composite.as_ref().ok_or(UnusableRequest::NoComposite)?;
        let composite = Composite::decode(&resource.resource)?;
        if composite.flavour == Flavour::Homeless {
            let why = "its XRD has the scope Cluster; it can be LegacyCluster or Namespaced".into();
            return Err(UnusableRequest::Unreadable { part: "the observed composite".into(), why });
        }
        let peers = peers::decode(request, &composite, settings, now);
        let mut observed = Self {
            details: Details::new(&resource.connection_details),
            claim_secret: ClaimSecret::decode(request, &composite, settings, now),
            primary: None,
            is_primary_unreferenced: false,
            credentials: None,
            environment: Environment::decode(request, &settings.environment_config)?,
            pools: Pools::decode(request, &settings.pools),
            templates: Templates::decode(request),
            hubs: Hubs::decode(request, &composite),
            composite,
            peers,
            node_pools: NodePools::default(),
            hosted: None,
            tenant_credentials: tenant_credentials::ObservedObjects::new(),
            prerequisites: tenant_credentials::ObservedObjects::new(),
            bundles: BundleObjects::default(),
            completion_record: None,
            transfer: Transfer::None,
            now,
        };
        for (name, bytes) in &state.resources {
            match name.as_str() {
                EPHEMERAL_CLUSTER => {
                    observed.set_primary(PrimaryObject::ephemeral_cluster(
                        &decode_resource(name, bytes)?.resource,
                    )?)?;
                }
                CLUSTER_CLAIM => {
                    observed.set_primary(PrimaryObject::cluster_claim(
                        &decode_resource(name, bytes)?.resource,
                    )?)?;
                }
                CREDENTIALS => {
                    let resource = decode_resource(name, bytes)?;
                    let object =
                        wire::from_struct(&resource.resource).map_err(|e| unreadable_resource(name, e))?;
                    let details = Details::new(&resource.connection_details);
                    observed.credentials = Some(Credentials { object, details });
                }
                own if is_template_resource(own) && is_labelled(name, bytes)? => {
                    if let Some(backend) = Backend::of_primary_resource(own) {
                        observed.set_primary(PrimaryObject::of_template(
                            backend,
                            &decode_resource(name, bytes)?.resource,
                        )?)?;
                    }
                }
                HOSTED if is_labelled(name, bytes)? => {
                    observed.hosted =
                        Some(HostedClusterObserver::decode(&decode_resource(name, bytes)?.resource)?);
                }
                own if tenant_credentials::TENANT_RESOURCES.contains(&own) && is_labelled(name, bytes)? => {
                    let part = ObservedObject::decode(name, &decode_resource(name, bytes)?.resource)?;
                    let known = tenant_credentials::TENANT_RESOURCES.into_iter().find(|known| *known == own);
                    observed.tenant_credentials.extend(known.map(|known| (known, part)));
                }
                own if prerequisites::PREREQUISITE_RESOURCES.contains(&own) && is_labelled(name, bytes)? => {
                    let part = ObservedObject::decode(name, &decode_resource(name, bytes)?.resource)?;
                    let known = prerequisites::PREREQUISITE_RESOURCES.into_iter().find(|known| *known == own);
                    observed.prerequisites.extend(known.map(|known| (known, part)));
                }
                BUNDLES | BUNDLES_OBSERVER if is_labelled(name, bytes)? => {
                    let part = ObservedObject::decode(name, &decode_resource(name, bytes)?.resource)?;
                    let BundleObjects { request: order, observer: undone, .. } = &mut observed.bundles;
                    *(if name == BUNDLES { order } else { undone }) = Some(part);
                }
                ENDED if is_labelled(name, bytes)? => {
                    let ended: Object<AnyRemote> = wire::from_struct(&decode_resource(name, bytes)?.resource)
                        .map_err(|e| unreadable_resource(name, e))?;
                    observed.completion_record = Some(ended.metadata);
                }
                _ if is_auxiliary_name(name) && is_labelled(name, bytes)? => {
                    let part = NodePoolObject::decode(name, &decode_resource(name, bytes)?.resource)?;
                    observed.node_pools.0.insert(name.clone(), part);
                }
                _ => refuse_newer(name, bytes)?,
            }
        }
        if observed.primary.is_none() {
            observed.fetch_unreferenced_primary(request)?;
        }
        match observed.composite.flavour {
            Flavour::Claimed | Flavour::Homeless => observed.discard_pending_secret(),
            Flavour::Namespaced(_) => observed.adopt_written_secret(),
        }
        if let Some(remote) = observed.primary.as_ref().and_then(PrimaryObject::remote) {
            observed.bundles.read_copy(remote.metadata());
        }
        observed.observe_transfer(request);
        Ok(observed)
    }

    /// The object of the cluster as last observed, if it is one of this backend.
    pub fn cluster_object<K: ObservedBackend>(&self) -> Option<&K::Object> {
        self.primary.as_ref()?.cluster_object::<K>()
    }

    /// Sets the primary Object. A composite has one cluster, and so one primary Object.
    fn set_primary(&mut self, mut primary: PrimaryObject) -> Result<(), UnusableRequest> {
        if primary.found_foreign_remote(&self.composite) {
            primary.sync = SyncState::Replaced;
        }
        match self.primary.replace(primary) {
            None => Ok(()),
            Some(_) => Err(UnusableRequest::Unreadable {
                part: "the observed resources".into(),
                why: format!("there is more than one of {}", primary_object::list_names()),
            }),
        }
    }

    /// Finds a primary Object to which the composite does not refer. Core reads composites from a cache, which may be older than the first
    /// request. The cluster would then be requested again, perhaps on another hub with more room, and the first one would be orphaned.
    fn fetch_unreferenced_primary(&mut self, request: &RunFunctionRequest) -> Result<(), UnusableRequest> {
        let Some(found) = fetched_resources(request, &PRIMARY_OBJECT).and_then(|found| found.items.first())
        else {
            return Ok(());
        };
        let object =
            wire::to_value(&found.resource).map_err(|e| unreadable_resource(PRIMARY_OBJECT.dynamic(), e))?;
        let metadata = &object["metadata"];
        let own = self.composite.metadata.uid.as_ref().map(Uid::as_str);
        let mut owners = metadata["ownerReferences"].as_array().into_iter().flatten();
        if own.is_none() || !owners.any(|owner| owner["uid"].as_str() == own) {
            return Ok(());
        }
        let primary = match metadata["labels"][ours::COMPONENT].as_str() {
            Some(CLUSTER_CLAIM) => PrimaryObject::cluster_claim(&found.resource)?,
            Some(name) => match Backend::of_primary_resource(name) {
                Some(backend) => PrimaryObject::of_template(backend, &found.resource)?,
                None => return Ok(()),
            },
            None => return Ok(()),
        };
        // A primary Object whose hub was given up is being deleted, or is gone and still in a cache. It created nothing.
        let Metadata { finalizers, .. } = &primary.object.metadata;
        let made_nothing = primary.is_deleting() && !finalizers.iter().any(|f| f == crossplane::FINALIZER);
        let hub = &primary.object.spec.provider_config_ref.name;
        // The pass that omitted it stores its status with the next one, and the annotation on `credentials` earlier.
        let given_up = self.composite.status.hub.as_ref().is_some_and(|told| told.excluded.contains(hub))
            || read_excluded(self.annotation(testplatform_apis::names::hub::EXCLUDED)).contains(hub);
        if made_nothing || given_up {
            return Ok(());
        }
        self.is_primary_unreferenced = true;
        self.set_primary(primary)
    }

    /// Takes the written Secret as the tenant's. For a composite in a namespace `credentials` itself writes that Secret. Its finalizer
    /// proves the write, because provider-kubernetes sets it after the first one; an earlier Secret of that name belongs to somebody else.
    /// Only the presence of the keys is kept: a secret that is not here cannot leak, and the tenant may write anything into their own
    /// Secret.
    fn adopt_written_secret(&mut self) {
        self.details = Details::default();
        let Some(credentials) = &mut self.credentials else { return };
        let wrote = credentials.has_finalizer() && !credentials.is_target_foreign();
        credentials.details = if wrote { credentials.details.presence() } else { Details::default() };
        self.details = credentials.details.clone();
    }

    /// The incumbent reads credentials that it does not know yet from one Secret `pending`, shared by all claims. Its content belongs to
    /// another claim: it was never published here, and is not passed on.
    fn discard_pending_secret(&mut self) {
        let read =
            |c: &Credentials| c.object.status.at_provider.manifest.as_ref().map(|m| m.metadata.name.clone());
        let Some(credentials) = &mut self.credentials else { return };
        if self.composite.status.ready_at.is_none() && read(credentials).as_deref() == Some(PENDING) {
            self.details = Details::default();
            credentials.details = Details::default();
        }
    }
}
