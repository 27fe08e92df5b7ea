//! Request → [`Observed`]: everything the planner may know, decoded once.
//!
//! An error here is FATAL: nothing may be planned on half a picture.

mod composite;
mod credentials;
mod details;
mod environment;
mod link;
pub(crate) mod look;
mod memory;
mod node_pool;
mod peers;
mod pools;
mod required;
mod templates;
mod writer;

use std::collections::BTreeMap;

use jiff::Timestamp;
use prost::{Message as _, bytes::Bytes};
use testplatform_apis::{condition::FatalReason, input::Settings, names::ours};

pub use composite::Composite;
pub use credentials::Credentials;
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
pub use writer::{
    CLUSTER_CLAIM, EPHEMERAL_CLUSTER, HOSTED_CLUSTER, OF_TEMPLATES, Remote, TOPOLOGY, Writer, is_taken_away,
};

use crate::{
    hubs::Hubs,
    proto::{Resource, RunFunctionRequest},
    wire,
};

/// Composition resource name of the Object that observes the credentials.
pub const CREDENTIALS: &str = "credentials";

/// Composition resource names of ours, in the order of names. Beside them are those of [`NodePools`], one for each group of nodes.
pub const OURS: [&str; 5] = [CLUSTER_CLAIM, HOSTED_CLUSTER, CREDENTIALS, EPHEMERAL_CLUSTER, TOPOLOGY];

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
                own if OF_TEMPLATES.contains(&own) && is_labelled(name, bytes)? => {
                    observed.take(Writer::of_template(own, &resource_of(name, bytes)?.resource)?)?;
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
                    "there is more than one of {CLUSTER_CLAIM:?}, {HOSTED_CLUSTER:?}, {EPHEMERAL_CLUSTER:?} and {TOPOLOGY:?}"
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
