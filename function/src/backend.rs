//! Interface of all ways to create a cluster: [`Backend`] and [`Health`], the shared vocabulary between a backend and the claim.

pub(crate) mod bundles;
mod caas;
pub mod cluster_api;
pub mod cluster_claim;
mod conditions;
pub(crate) mod dependents;
pub mod ephemeral_cluster;
pub mod hypershift;
pub(crate) mod last_accepted;
mod namespaced;
mod object;
pub mod osac;
pub(crate) mod prerequisites;
mod published_credentials;
mod templated;
pub(crate) mod tenant_credentials;

pub use conditions::{BackendCondition, BackendConditions};
pub(crate) use ephemeral_cluster::{build_watch, remote_namespace};
pub(crate) use namespaced::{adapt_to_namespace, secret_name};
pub(crate) use object::{assemble_object, build_object, known_secret, provider_config_name};

use std::borrow::Cow;

use jiff::Timestamp;
use serde_json::Value;
use testplatform_apis::{
    condition::{Condition, Credentials, SetupLevel},
    names::ObjectName,
    status::QueueStatus,
    template,
};

use crate::{
    observed::{Observed, PrimaryObject},
    validate::{AdmissionIssue, Block, Validated},
};

/// Maximum size of `status.diagnostics`, in bytes.
const MAX_DIAGNOSTICS: usize = 16 * 1024;

/// A way of making clusters. Implementations hold no state and do no I/O.
pub trait Backend: Sync {
    /// Resources that must exist. Infallible: everything that can fail was checked before. `health` is what [`Self::health`] says.
    fn build_resources(&self, request: &Validated, observed: &Observed, health: &Health) -> Vec<Desired>;
    /// Interprets the observed resources for the claim's owner.
    fn assess_health(&self, request: &Validated, observed: &Observed) -> Health;
    /// The kind of the remote object, as status shows it.
    fn kind(&self) -> &'static str;
    /// Composition resource name of the writer.
    fn primary_resource(&self) -> &'static str;
    /// How a cluster is ended.
    fn teardown_method(&self) -> TeardownMethod;
}

/// How the end of a cluster is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TeardownMethod {
    /// The remote object is told, and stays until the claim goes.
    SetField,
    /// The writer is taken away. Its deletion lasts until the remote object is gone, and that until the cluster is.
    DeleteObject,
}

/// The backend of a block. None: nobody knows which makes the clusters of its template, and validation holds the request.
pub fn select_backend(request: &Validated) -> Option<&'static dyn Backend> {
    match request.block {
        Block::CiOperator(_) => Some(&ephemeral_cluster::EphemeralClusters),
        Block::ClusterClaim(_) => Some(&cluster_claim::ClusterClaims),
        Block::Template(ref templated) => templated.backend.map(backend_of_template),
    }
}

/// Resources that must exist while the backend is unknown: those left from when it was known.
pub fn orphaned_resources(request: &Validated, observed: &Observed) -> Vec<Desired> {
    templated::orphaned_resources(request, observed, &Health::default())
}

/// Backend of a template.
pub fn backend_of_template(backend: template::Backend) -> &'static dyn Backend {
    match backend {
        template::Backend::HyperShift => &hypershift::HyperShift,
        template::Backend::ClusterApi => &cluster_api::ClusterApi,
        template::Backend::Caas => &caas::Caas,
        template::Backend::Osac => &osac::Osac,
    }
}

/// Backend of a primary Object that carries a cluster by template.
pub(crate) fn backend_of_primary(primary: &PrimaryObject) -> Option<template::Backend> {
    template::Backend::ALL
        .into_iter()
        .find(|backend| backend_of_template(*backend).primary_resource() == primary.name)
}

/// A composed resource that is to exist.
#[derive(Clone, Debug, PartialEq)]
pub struct Desired {
    /// Composition resource name.
    pub name: Cow<'static, str>,
    /// The whole object, without status.
    pub object: Value,
    /// Whether it counts as ready.
    pub ready: bool,
}

/// How far the remote object is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Stage {
    /// Never observed.
    #[default]
    NotObserved,
    /// The hub knows of it, and nothing is made for it yet: it waits for its turn.
    Queued,
    /// Being made.
    Provisioning,
    /// The hub says that the cluster is there.
    Ready,
    /// Its end is under way.
    TearingDown,
    /// The hub reports a failure from which it may recover: in these words.
    Failing(String),
    /// The cluster is gone for good, and the remote object is not: in these words.
    Lost(String),
    /// The hub refused it for good.
    Refused {
        /// In these words.
        message: String,
        /// Whether something that costs money may be running all the same.
        costs: bool,
    },
    /// It has ended.
    Ended {
        /// As it should.
        success: bool,
        /// The hub's reason.
        reason: String,
        /// The hub's words.
        message: String,
    },
}

impl Stage {
    /// Whether the hub will do nothing more with it.
    pub fn is_terminal(&self) -> bool {
        match self {
            Self::Ended { .. } | Self::Refused { costs: false, .. } => true,
            Self::NotObserved
            | Self::Queued
            | Self::Lost(_)
            | Self::Provisioning
            | Self::Ready
            | Self::TearingDown
            | Self::Failing(_)
            | Self::Refused { costs: true, .. } => false,
        }
    }
}

/// State of the observed resources, in terms of the claim.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Health {
    /// How far it is.
    pub stage: Stage,
    /// The hub's own word for that; empty before it has one.
    pub phase_word: String,
    /// Whether a cluster belongs to it already; one that vanished before is asked for once more.
    pub has_cluster: bool,
    /// Whether the remote object itself shows that its end was asked for.
    pub teardown_arrived: bool,
    /// Remains of the cluster after the remote object is gone, in a sentence. The claim has not ended while they exist.
    pub orphaned: Option<String>,
    /// How far that is which keeps a cluster that is there from being served: what the template sets up in it.
    pub set_up: Option<SetupLevel>,
    /// Condition that teardown waits for, in a sentence without a subject.
    pub teardown_waits_for: Option<String>,
    /// Why its end does not come about, in the hub's words.
    pub teardown_failure: Option<String>,
    /// When it became ready.
    pub ready_since: Option<Timestamp>,
    /// The Secret with the credentials, once the hub names it.
    pub secret: Option<ObjectName>,
    /// Whether what the hub publishes is the admin's, and others were asked for: nothing of it is taken up, whatever its name.
    pub publishes_admin: bool,
    /// Revision of that Secret, where the hub reports it.
    pub revision: Option<String>,
    /// The job that makes it.
    pub job: Job,
    /// The hub's own conditions, to be shown beside ours.
    pub mirrored: Vec<Condition>,
    /// Parse error of the remote object's status, if any.
    pub unreadable: Option<String>,
    /// The version that was asked for, in the claim's words.
    pub version_desired: Option<String>,
    /// Diagnostics that the hub recorded when the cluster failed.
    pub diagnostics: Option<String>,
    /// Workflow by which the 90th percentile of provisioning times is looked up.
    pub workflow: Option<String>,
    /// When the hub ends it by itself.
    pub ends_at: Option<Timestamp>,
    /// Current wait reason; empty where the phase is explanation enough.
    pub waiting: String,
    /// Issue that blocks the claim and that an administrator can resolve.
    pub blocked_by: Option<AdmissionIssue>,
    /// Why there are no credentials, or why those that are there are not brought up to date, where the hub says it.
    pub blocking: Option<(Credentials, String)>,
    /// Position in the hub's queue.
    pub queue: Option<QueueStatus>,
    /// The version that it runs.
    pub version: Option<String>,
    /// URL of its API server.
    pub api_server_url: Option<String>,
    /// URL of its console.
    pub console_url: Option<String>,
    /// How far each part of it is; of claims with a template.
    pub conditions: BackendConditions,
    /// When something of this changes by itself, because it has lasted long enough.
    pub changes_at: Option<Timestamp>,
}

/// The job that makes a cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Job {
    /// Its name.
    pub id: String,
    /// URL of its log.
    pub url: String,
}
