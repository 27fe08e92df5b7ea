//! Request of a claim for a cluster from a pool.

use serde_json::Value;
use testplatform_apis::{
    catalogue::{BringYourOwn, Subject},
    claim::ClusterClaimSpec,
    duration::GoDuration,
};

use crate::cluster::observed::tenant_credentials::TenantNamespace;

/// Request to Hive.
#[derive(Clone, Debug, PartialEq)]
pub struct PoolClaim {
    /// The claim's block.
    pub spec: ClusterClaimSpec,
    /// Where the cluster comes from. None: nowhere yet, or it is not known any more.
    pub pool: Option<PoolRef>,
    /// Whether the cluster is started again when it is found hibernating.
    pub resume: bool,
    /// `spec.byoc`, of a claim that brings its own credentials.
    pub tenant_credentials: Option<Value>,
    /// Namespace for those credentials, if it was chosen in this pass.
    pub tenant_namespace: Option<TenantNamespace>,
}

/// Pool of a claim's cluster.
#[derive(Clone, Debug, PartialEq)]
pub struct PoolRef {
    /// Name of the hub's ProviderConfig.
    pub hub: String,
    /// Namespace of the pool, and so of the ClusterClaim.
    pub namespace: String,
    /// Name of the pool.
    pub pool: String,
    /// Namespace of published credentials on the hub.
    pub credentials_namespace: String,
    /// Subject with access to the cluster's namespace. None: the primary Object has it, or it is no longer known.
    pub subject: Option<Subject>,
    /// Reason for the choice, as one word.
    pub reason: &'static str,
    /// Settings for the own pool of a claim with tenant credentials.
    pub own: Option<BringYourOwn>,
    /// Lifetime of claims that ask for none.
    pub default_lifetime: Option<GoDuration>,
    /// The longest lifetime.
    pub max_lifetime: Option<GoDuration>,
}
