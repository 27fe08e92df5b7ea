//! All ways to create a cluster, behind trait [`Backend`], and the choice among them.

mod api;
mod caas;
mod cluster_api;
pub mod cluster_claim;
pub(crate) mod common;
pub mod ephemeral_cluster;
mod hosted_cluster;
mod hypershift;
pub mod intent;
mod osac;

pub use api::{Backend, Health, Job, Stage, TeardownMethod};
pub use common::conditions::{BackendCondition, BackendConditions};
pub(crate) use common::{
    namespaced::{adapt_to_namespace, secret_name},
    object::{known_secret, provider_config_name},
};
pub(crate) use ephemeral_cluster::{build_watch, remote_namespace};

use testplatform_apis::template;

use crate::{
    cluster::{
        backends::intent::PlannedRequest,
        catalog::templates::Rollout,
        observed::Observed,
        request::{Block, Validated},
    },
    sdk::response::DesiredResource,
};

/// Backend of a request. None: the backend of its template is unknown, and validation blocks the request.
pub fn select_backend(request: &Validated) -> Option<&'static dyn Backend> {
    match request.block {
        Block::CiOperator(_) => Some(&ephemeral_cluster::EphemeralClusters),
        Block::ClusterClaim(_) => Some(&cluster_claim::ClusterClaims),
        Block::Template(ref templated) => Some(backend_of_template(templated.backend?)),
    }
}

/// Resources that must exist while the backend is unknown: those left from when it was known.
pub fn orphaned_resources(request: &PlannedRequest, observed: &Observed) -> Vec<DesiredResource> {
    common::templated::orphaned_resources(request, observed, &Health::default())
}

/// A backend of templates, and the rollout of its clusters.
pub trait TemplatedCluster: Backend + Rollout {}

impl<T: Backend + Rollout> TemplatedCluster for T {}

/// Backend of a template: the registration of the backends in this crate.
pub fn backend_of_template(backend: template::Backend) -> &'static dyn TemplatedCluster {
    match backend {
        template::Backend::HyperShift => &hypershift::HyperShift,
        template::Backend::ClusterApi => &cluster_api::ClusterApi,
        template::Backend::Caas => &caas::Caas,
        template::Backend::Osac => &osac::Osac,
    }
}

/// Rollout of the cluster that the primary Object carries. None: no cluster by template is requested yet.
pub(crate) fn select_rollout(observed: &Observed) -> Option<&'static dyn Rollout> {
    let backend = observed.primary.as_ref()?.template_backend()?;
    Some(backend_of_template(backend))
}
