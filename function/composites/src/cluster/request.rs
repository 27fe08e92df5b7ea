//! Validated request of a claim: types without the rules that build them.

mod pool;
pub(crate) mod size;
mod spec;
mod templated;

use jiff::Timestamp;
use serde_json::{Map, Value};
use testplatform_apis::{
    account::AccessRequest, condition::Request, duration::GoDuration, input::Settings, names::ShortName,
    text::bounded,
};

pub use pool::{PoolClaim, PoolRef};
pub use spec::{
    AnyBackendSpec, BackendSpec, BroughtCredentials, BundleSelection, NodeCount, NodeGroupSpec,
    RequestedBackend, ResolvedSpec, SelectedRelease, Setting,
};
pub use templated::{COMPANIONS, Placement, Resolution, Templated, Terms};

/// A request after all checks that need only the claim.
#[derive(Clone, Debug)]
pub struct Validated {
    /// Name of the composite, and of what is made for it; of a composite in a namespace, only of that.
    pub name: ShortName,
    /// Namespace of the claim; none for an administrator's composite.
    pub tenant: Option<String>,
    /// The request.
    pub block: Block,
    /// `spec.tearDownCluster`; absent is not false: it is repeated unchanged.
    pub teardown: Option<bool>,
    /// Lifetime of the cluster.
    pub lifetime: Lifetime,
    /// ServiceAccount whose credentials are published; none for the cluster's admin.
    pub access: Option<AccessRequest>,
    /// Time of its cleanup because nobody needs it any more; the controller that recorded it does the cleanup.
    pub cleanup_at: Option<Timestamp>,
    /// Annotations of the claim that travel to the remote object: key and legal value.
    pub run_annotations: Vec<(&'static str, ShortName)>,
    /// The step's input, with every default filled in.
    pub settings: Settings,
    /// Issue that an administrator can resolve: nothing is created until then.
    pub blocked_by: Option<AdmissionIssue>,
    /// Issues for the owner of an accepted request.
    pub issues: Vec<AdmissionIssue>,
}

impl Validated {
    /// Pool of the cluster, if it comes from one and that is known.
    pub fn pool(&self) -> Option<&PoolRef> {
        match &self.block {
            Block::ClusterClaim(claimed) => claimed.pool.as_ref(),
            Block::CiOperator(_) | Block::Template(_) => None,
        }
    }

    /// Name of the primary Object.
    pub(crate) fn primary_name(&self) -> String {
        format!("managed-{}", self.name)
    }

    /// Whether it comes from an unknown pool.
    pub(crate) fn is_pool_unknown(&self) -> bool {
        matches!(&self.block, Block::ClusterClaim(claimed) if claimed.pool.is_none())
    }

    /// Name of the hub's ProviderConfig, if there is a choice and that is known.
    pub fn hub_name(&self) -> Option<&str> {
        let placement = || self.templated()?.placement.as_ref().map(|placement| placement.hub.as_str());
        self.pool().map(|place| place.hub.as_str()).or_else(placement)
    }

    /// Namespace of published credentials on that hub.
    pub fn credentials_namespace(&self) -> Option<&str> {
        let placement =
            || self.templated()?.placement.as_ref().map(|placement| placement.credentials_namespace.as_str());
        self.pool().map(|place| place.credentials_namespace.as_str()).or_else(placement)
    }

    /// Whether the field at this path of the remote object is the tenant's own. All others are written by the catalogue's entry or by this version.
    pub fn is_tenant_field(&self, path: &str) -> bool {
        matches!(self.block, Block::CiOperator(_)) && path.starts_with("spec.ciOperator.")
    }

    /// Author of the remote object's fields that are not the tenant's.
    pub fn author_name(&self) -> String {
        match &self.block {
            Block::Template(templated) => format!("template {}", bounded(&templated.template, 253)),
            Block::CiOperator(_) | Block::ClusterClaim(_) => "function-testplatform".to_owned(),
        }
    }

    /// Request of a claim with a template, if it is one.
    pub fn templated(&self) -> Option<&Templated> {
        match &self.block {
            Block::Template(templated) => Some(templated),
            Block::CiOperator(_) | Block::ClusterClaim(_) => None,
        }
    }
}

/// Kind of request that the claim sets.
#[derive(Clone, Debug, PartialEq)]
pub enum Block {
    /// An EphemeralCluster: what is handed to the hub.
    CiOperator(Map<String, Value>),
    /// A Hive ClusterClaim.
    ClusterClaim(Box<PoolClaim>),
    /// A cluster from the catalogue of templates.
    Template(Box<Templated>),
}

/// Issue for the owner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AdmissionIssue {
    /// The reason that the condition shows.
    pub reason: Request,
    /// A sentence.
    pub message: String,
}

impl AdmissionIssue {
    /// Builds an issue.
    pub fn new(reason: Request, message: impl Into<String>) -> Self {
        Self { reason, message: message.into() }
    }
}

/// The lifetime of one cluster.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Lifetime {
    /// From Ready on; none: no end.
    pub effective: Option<GoDuration>,
    /// The longest that it may ever become. Written at birth, constant: the hub's backstops are built on it.
    pub max: Option<GoDuration>,
    /// The default that the claim was born with, noted on the writer.
    pub granted: Option<GoDuration>,
    /// How long provisioning may take, as the hub was told at birth.
    pub reported_timeout: Option<GoDuration>,
    /// Whether what held at birth is not known for now: the writer is lost, and the remote object was not seen since. Nothing
    /// of today's takes its place, and the remote object is told nothing.
    pub lost: bool,
    /// How long provisioning may take; none: that is not known for now.
    pub(super) timeout: Option<GoDuration>,
}
