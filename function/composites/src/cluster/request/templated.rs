//! Request of a claim with a template.

use std::collections::BTreeSet;

use jiff::Timestamp;
use testplatform_apis::{
    condition::SpecLevel,
    duration::GoDuration,
    template::{Backend, effective::Effective},
};

use super::ResolvedSpec;
use crate::cluster::observed::tenant_credentials::TenantNamespace;

/// Fields that belong to `template`, and to no other block.
pub const COMPANIONS: [&str; 8] =
    ["parameters", "version", "releaseImage", "controlPlane", "nodeGroups", "network", "hub", "timeouts"];

/// A claim with a template, resolved.
#[derive(Clone, Debug, PartialEq)]
pub struct Templated {
    /// Name in `spec.template`.
    pub template: String,
    /// Backend of the cluster. None: not known, and nothing was created yet.
    pub backend: Option<Backend>,
    /// Resolved request.
    pub resolution: Resolution,
    /// Effective request, with every default filled in; of a frozen cluster, the original request. For status and primary Object.
    pub effective: Option<Effective>,
    /// Last request that the hub accepted, if it differs.
    pub last_accepted: Option<Effective>,
    /// Terms of the catalogue entry for any of its clusters.
    pub terms: Terms,
    /// Placement of the cluster. None: not chosen yet, or no longer known.
    pub placement: Option<Placement>,
    /// Hubs that were given up for it.
    pub excluded: BTreeSet<String>,
    /// Whether its hub has to be given up: it is unreachable, and nothing can exist there.
    pub abandons_hub: bool,
    /// Time of giving up, if its hub stays unreachable until then.
    pub abandons_hub_at: Option<Timestamp>,
    /// Namespace for the tenant's credentials, if it was chosen in this pass.
    pub tenant_namespace: Option<TenantNamespace>,
    /// Whether this pass decided all of that, so that prerequisites may be requested.
    pub may_begin: bool,
    /// Whether the prerequisites belong to another cluster than the claim requests now, before the cluster itself was requested. It is not
    /// requested then.
    pub has_mismatched_prerequisites: bool,
}

/// Resolved request of a claim.
#[derive(Clone, Debug, PartialEq)]
pub enum Resolution {
    /// Nothing was created, and nothing can be requested. [`Validated::blocked_by`](crate::cluster::request::Validated::blocked_by) has the reason.
    Blocked,
    /// The request is complete: the backend renders it.
    Resolved(Box<ResolvedSpec>),
    /// The cluster exists and stays as it was requested: the backend repeats the observed manifests.
    Frozen {
        /// The reason of `SpecApplied`.
        reason: SpecLevel,
        /// A sentence.
        message: String,
    },
}

/// Terms of a catalogue entry for any of its clusters.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Terms {
    /// Cost of one cluster in the budget of a quota.
    pub cost: Option<u32>,
    /// Why the template is deprecated.
    pub deprecated: Option<String>,
    /// Why the release is deprecated.
    pub release_deprecated: Option<String>,
    /// Lifetime of claims that ask for none.
    pub default_lifetime: Option<GoDuration>,
    /// The longest lifetime.
    pub max_lifetime: Option<GoDuration>,
    /// Provision timeout of the claim, else of the entry.
    pub provision: Option<GoDuration>,
}

/// Placement of a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placement {
    /// Name of the hub's ProviderConfig.
    pub hub: String,
    /// Reason for the choice, as one word.
    pub reason: String,
    /// Namespace of the objects there.
    pub namespace: String,
    /// Name of the object that represents the cluster.
    pub name: String,
    /// Namespace of published credentials there.
    pub credentials_namespace: String,
    /// Whether it was chosen earlier.
    pub is_recorded: bool,
}

impl Placement {
    /// Placeholders of a catalogue entry: the cluster's object on the hub, and the claim's namespace.
    pub(crate) fn placeholders<'a>(&'a self, tenant: &'a str) -> [(&'static str, &'a str); 3] {
        [("name", &self.name), ("namespace", &self.namespace), ("tenant", tenant)]
    }
}
