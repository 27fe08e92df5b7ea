//! Request → [`Observed`]: everything the planner may know, decoded once.
//!
//! An error here is FATAL: nothing may be planned on half a picture.

mod composite;
mod details;
mod environment;
mod link;
pub(crate) mod look;
mod node_pool;
mod peers;
mod pools;
mod required;
mod templates;
mod writer;

use std::collections::BTreeMap;

use jiff::Timestamp;
use prost::{Message as _, bytes::Bytes};
use testplatform_apis::{
    condition::FatalReason,
    foreign::{
        cluster_claim,
        meta::{ObservedCondition, condition},
        object::{AnyRemote, Object},
    },
    input::Settings,
    names::{Uid, crossplane, ours},
    phase::Phase,
};

pub use composite::Composite;
pub use details::Details;
pub use environment::{Environment, EnvironmentConfig};
pub use link::Link;
pub(crate) use link::link;
pub use node_pool::{NodePools, Part, is_part, part_name};
pub use peers::{Peer, Standing, Wanted};
pub use pools::Pools;
pub(crate) use required::{Names, fetched, selector};
pub use required::{Wants, requirements};
pub use templates::{Listed, Templates};
pub use writer::{CLUSTER_CLAIM, EPHEMERAL_CLUSTER, HOSTED_CLUSTER, Remote, Writer};

use crate::{
    hubs::Hubs,
    proto::{Resource, RunFunctionRequest},
    wire,
};

/// Composition resource name of the Object that observes the credentials.
pub const CREDENTIALS: &str = "credentials";

/// Composition resource names of ours, in the order of names. Beside them are those of [`NodePools`], one for each group of nodes.
pub const OURS: [&str; 4] = [CLUSTER_CLAIM, HOSTED_CLUSTER, CREDENTIALS, EPHEMERAL_CLUSTER];

/// Name that the incumbent gives to a Secret which it does not know yet. Never a known name: it is one real,
/// creatable name for all waiting claims.
pub const PENDING: &str = "pending";

/// Why a request cannot be worked on. The cluster state stays as it is.
#[derive(Debug, thiserror::Error)]
pub enum Unusable {
    /// No composite, or one without a name.
    #[error("the request has no observed composite with a name; nothing is changed")]
    NoComposite,
    /// A part of the request cannot be read.
    #[error("cannot read {part}: {why}; nothing is changed")]
    Unreadable {
        /// Which part.
        part: String,
        /// Why not.
        why: String,
    },
    /// A composed resource of ours that this version does not know.
    #[error(
        "composed resource {name:?} was made by a newer version of this function, and this version would \
         destroy it; nothing is changed. Go back to the newer version"
    )]
    NewerVersion {
        /// Composition resource name.
        name: String,
    },
}

impl Unusable {
    /// CamelCase reason of the event.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::NoComposite => FatalReason::NoComposite.as_str(),
            Self::Unreadable { .. } => FatalReason::Unreadable.as_str(),
            Self::NewerVersion { .. } => FatalReason::NewerVersion.as_str(),
        }
    }
}

/// The picture of one composite.
#[derive(Debug)]
pub struct Observed {
    /// The composite itself.
    pub composite: Composite,
    /// What its connection Secret holds.
    pub details: Details,
    /// The Object that carries the remote object.
    pub writer: Option<Writer>,
    /// The Object that observes the credentials.
    pub credentials: Option<Credentials>,
    /// What names this Konflux cluster.
    pub environment: Environment,
    /// The catalogue of pools.
    pub pools: Pools,
    /// The catalogue of templates.
    pub templates: Templates,
    /// The other composites that count for quotas; none: not fetched.
    pub peers: Option<Vec<Peer>>,
    /// The Objects that carry groups of nodes.
    pub node_pools: NodePools,
    /// The hubs of claims with a template; none: not fetched.
    pub hubs: Option<Hubs>,
    /// When this is. It only decides whether a point in time has passed.
    pub now: Timestamp,
}

/// The observed `credentials` Object.
#[derive(Debug)]
pub struct Credentials {
    /// The Object.
    pub object: Object<AnyRemote>,
    /// What its connection Secret holds.
    pub details: Details,
}

impl Credentials {
    /// The Secret that it observes or would observe.
    pub fn secret_name(&self) -> &str {
        self.object.spec.for_provider.manifest["metadata"]["name"].as_str().unwrap_or_default()
    }

    /// Whether it is paused by annotation.
    pub fn paused(&self) -> bool {
        self.object.metadata.annotation(crossplane::PAUSED) == Some("true")
    }

    /// Whether it was ever reconciled far enough to have its finalizer; a paused one could then never be deleted.
    pub fn has_finalizer(&self) -> bool {
        self.object.metadata.finalizers.iter().any(|f| f == crossplane::FINALIZER)
    }

    /// Whether its connection Secret is lost: provider-kubernetes writes it before it says Synced.
    pub fn lost(&self) -> bool {
        let synced = condition(&self.object.status.conditions, "Synced");
        let read = self.details.has_kubeconfig_key() && self.object.status.at_provider.manifest.is_some();
        synced.is_some_and(ObservedCondition::is_true) && !read
    }

    /// Whether provider-kubernetes looked at the Secret `name` and found no kubeconfig.
    pub fn looked_in_vain(&self, name: &str) -> bool {
        let Some(synced) = condition(&self.object.status.conditions, "Synced") else { return false };
        let missing =
            ["does not exist", "not found", "no such field"].iter().any(|w| synced.message.contains(w));
        self.secret_name() == name
            && !self.details.has_kubeconfig()
            && !self.lost()
            && (synced.is_true() || missing)
    }

    /// The kubeconfig and password of the Secret `name`, once they are really that Secret's: provider-kubernetes
    /// writes connection details before status, so what it last observed must be this Secret.
    pub fn of(&self, name: &str) -> Option<&Details> {
        let observed = self.object.status.at_provider.manifest.as_ref()?;
        (self.secret_name() == name && observed.metadata.name == name && self.details.has_kubeconfig())
            .then_some(&self.details)
    }
}

impl Observed {
    /// Decodes what concerns us. Resources of other steps are left alone.
    pub fn decode(
        request: &RunFunctionRequest,
        settings: &Settings,
        now: Timestamp,
    ) -> Result<Self, Unusable> {
        let state = request.observed.as_ref().ok_or(Unusable::NoComposite)?;
        let resource = state.composite.as_ref().ok_or(Unusable::NoComposite)?;
        let composite = Composite::decode(&resource.resource)?;
        let peers = peers::decode(request, &composite.metadata.name, settings, now);
        let mut observed = Self {
            details: Details::new(&resource.connection_details),
            writer: None,
            credentials: None,
            environment: Environment::decode(request, &settings.environment_config)?,
            pools: Pools::decode(request, &settings.pools),
            templates: Templates::decode(request),
            hubs: Hubs::decode(request, &composite.metadata.name),
            composite,
            peers,
            node_pools: NodePools::default(),
            now,
        };
        for (name, bytes) in &state.resources {
            match name.as_str() {
                EPHEMERAL_CLUSTER => {
                    observed.take(Writer::ephemeral_cluster(&resource_of(name, bytes)?.resource)?)?;
                }
                CLUSTER_CLAIM => {
                    observed.take(Writer::cluster_claim(&resource_of(name, bytes)?.resource)?)?;
                }
                CREDENTIALS => {
                    let resource = resource_of(name, bytes)?;
                    let object = wire::from_struct(&resource.resource).map_err(|e| unreadable(name, e))?;
                    let details = Details::new(&resource.connection_details);
                    observed.credentials = Some(Credentials { object, details });
                }
                HOSTED_CLUSTER if is_labelled(name, bytes)? => {
                    observed.take(Writer::hosted_cluster(&resource_of(name, bytes)?.resource)?)?;
                }
                _ if is_part(name) && is_labelled(name, bytes)? => {
                    let part = Part::decode(name, &resource_of(name, bytes)?.resource)?;
                    observed.node_pools.0.insert(name.clone(), part);
                }
                _ => refuse_newer(name, bytes)?,
            }
        }
        observed.distrust_pending();
        Ok(observed)
    }

    /// A composite has one cluster, and so one writer.
    fn take(&mut self, writer: Writer) -> Result<(), Unusable> {
        match self.writer.replace(writer) {
            None => Ok(()),
            Some(_) => Err(Unusable::Unreadable {
                part: "the observed resources".into(),
                why: format!(
                    "there is more than one of {CLUSTER_CLAIM:?}, {HOSTED_CLUSTER:?} and {EPHEMERAL_CLUSTER:?}"
                ),
            }),
        }
    }

    /// The incumbent reads credentials that it does not know yet from one Secret `pending`, shared by all claims.
    /// What came from there is somebody else's: it was never given here, and is not passed on.
    fn distrust_pending(&mut self) {
        let read =
            |c: &Credentials| c.object.status.at_provider.manifest.as_ref().map(|m| m.metadata.name.clone());
        let Some(credentials) = &mut self.credentials else { return };
        if self.composite.status.ready_at.is_none() && read(credentials).as_deref() == Some(PENDING) {
            self.details = Details::default();
            credentials.details = Details::default();
        }
    }

    /// Whether the claim ever was ready. Three witnesses beside the status, because a restore drops status:
    /// the composite's own connection details hold a kubeconfig, it is noted on the writer when it became ready, or the
    /// composite is Ready and a kubeconfig is or was there. Ready alone is not believed: ready means that the kubeconfig is there.
    pub fn ever_ready(&self) -> bool {
        let seen = self.details.has_kubeconfig_key()
            || self.credentials.as_ref().is_some_and(|c| c.details.has_kubeconfig());
        self.details.has_kubeconfig()
            || self.composite.status.ready_at.is_some()
            || self.note(ours::READY_AT).is_some()
            || (self.composite.is_ready() && seen)
    }

    /// Whether a cluster was made for this composite although no writer is observed: then none is made again.
    pub fn made_before(&self) -> bool {
        self.left_behind() || self.details.has_kubeconfig_key()
    }

    /// Whether it may still be there. Emptied keys alone are those of an end, also of one before anything was made.
    pub fn left_behind(&self) -> bool {
        self.remembered_uid().is_some() || self.details.has_kubeconfig() || self.ending()
    }

    /// Whether what was made for this composite is a claim for a cluster out of a pool, as status or `credentials` remember it.
    pub fn out_of_a_pool(&self) -> Option<bool> {
        let told = self.composite.status.backend.as_ref().and_then(|b| b.kind.as_deref());
        let noted = self.credentials_note(ours::POOL).map(|_| true);
        told.map(|kind| kind == cluster_claim::KIND).or(noted)
    }

    /// Whether it is still open from which pool the cluster comes: nothing was asked of a hub, and nothing is over.
    pub fn pool_is_open(&self) -> bool {
        let over = matches!(self.composite.status.phase, Some(Phase::Deprovisioned | Phase::Failed));
        self.writer.is_none() && !self.made_before() && !over
    }

    /// The uid of the remote object, as status or the `credentials` Object remember it.
    pub fn remembered_uid(&self) -> Option<Uid> {
        let told = self.composite.status.backend.as_ref().and_then(|b| b.uid.clone());
        told.or_else(|| self.credentials_note(ours::REMOTE_UID).map(str::to_owned)).map(Uid)
    }

    /// The uid to look for while its writer is gone. That of a first try which vanished is none.
    pub fn sought_uid(&self) -> Option<Uid> {
        let of_writer = self.writer.as_ref().and_then(Writer::uid);
        of_writer.or_else(|| self.remembered_uid().filter(|uid| self.vanished().as_ref() != Some(uid)))
    }

    /// Which try at the remote object this is: as the writer has it, else as status or `credentials` remember it.
    pub fn attempt(&self) -> i64 {
        let told = self.composite.status.backend.as_ref().and_then(|b| b.attempt);
        let noted = self.credentials_note(ours::ATTEMPT).and_then(|a| a.parse().ok());
        let remembered = || told.max(noted).unwrap_or(1);
        self.writer.as_ref().map_or_else(remembered, Writer::attempt)
    }

    /// Uid of the first try, which vanished, of a second one.
    pub fn vanished(&self) -> Option<Uid> {
        let noted = || Some(Uid(self.credentials_note(ours::VANISHED_UID)?.to_owned()));
        self.writer.as_ref().map_or_else(noted, Writer::vanished)
    }

    /// A note of ours, on the writer or, where the writer's removal is the end of the cluster, on `credentials`.
    pub fn note(&self, key: &str) -> Option<&str> {
        let of_writer = self.writer.as_ref().and_then(|w| w.object.metadata.annotation(key));
        of_writer.or_else(|| self.credentials_note(key))
    }

    fn credentials_note(&self, key: &str) -> Option<&str> {
        self.credentials.as_ref()?.object.metadata.annotation(key)
    }

    /// Whether the writer was taken away to end the cluster. That it is not observed then proves nothing: core drops its
    /// reference to what is not desired, and does not wait for it to go.
    pub fn ending(&self) -> bool {
        self.note(ours::ENDING).is_some()
    }
}

/// Only `metadata.labels`, which is all that tells ours from others.
#[derive(serde::Deserialize)]
struct Labelled {
    #[serde(default)]
    metadata: Labels,
}

#[derive(Default, serde::Deserialize)]
struct Labels {
    #[serde(default)]
    labels: BTreeMap<String, String>,
}

/// Whether an Object says by our label that it is ours: what another step calls so is its own.
fn is_labelled(name: &str, bytes: &Bytes) -> Result<bool, Unusable> {
    let resource = resource_of(name, bytes)?;
    // What cannot be read is not an object of ours.
    Ok(wire::from_struct::<Labelled>(&resource.resource)
        .is_ok_and(|r| r.metadata.labels.contains_key(ours::COMPONENT)))
}

pub(crate) fn refuse_newer(name: &str, bytes: &Bytes) -> Result<(), Unusable> {
    if is_labelled(name, bytes)? { Err(Unusable::NewerVersion { name: name.to_owned() }) } else { Ok(()) }
}

pub(crate) fn resource_of(name: &str, bytes: &Bytes) -> Result<Resource, Unusable> {
    Resource::decode(bytes.clone()).map_err(|e| unreadable(name, e))
}

pub(crate) fn unreadable(name: &str, why: impl std::fmt::Display) -> Unusable {
    Unusable::Unreadable { part: format!("observed resource {name:?}"), why: why.to_string() }
}
