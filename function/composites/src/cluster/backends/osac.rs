//! OSAC on a hub: a ClusterOrder, from which automation creates a HostedCluster in a namespace of its own.
//!
//! The conditions of an order become True and never False again, and `Ready` only means that a job has finished. So observer Objects watch
//! the HostedCluster and its NodePools as well: they are the source of truth for the cluster's state.
//!
//! **Invariant:** watched objects are never created, changed or deleted, and a failure to watch them blocks no cluster.

mod cluster_conditions;
mod facts;
mod failures;
mod health;
mod nodes;
mod observers;
mod order;
mod remote;

use testplatform_apis::{collect, foreign::osac::TENANT, template::kind};

use super::common::templated::{BackendRequest, ComposedCluster, TemplateBackend};
use crate::cluster::{
    backends::{Health, intent::PlannedRequest},
    observed::Observed,
    request::{Placement, Templated, Validated},
};

/// The backend of templates for OSAC.
pub struct Osac;

/// Request to OSAC, once fully resolved.
type OsacRequest<'a> = BackendRequest<'a, kind::Osac>;

impl TemplateBackend for Osac {
    type Definition = kind::Osac;
    /// True while its job has done its work, the cluster was there, and its credentials are published.
    const READINESS: &'static str = "!has(object.metadata.deletionTimestamp) && has(object.status) && has(object.status.phase) && \
object.status.phase == 'Ready' && has(object.status.conditions) && \
object.status.conditions.exists(c, c.type == 'ClusterAvailable' && c.status == 'True') && has(object.metadata.annotations) && \
'testplatform.ci.openshift.org/credentials-revision' in object.metadata.annotations";

    fn compose_cluster(
        &self,
        request: &PlannedRequest,
        observed: &Observed,
        wanted: Option<OsacRequest<'_>>,
        placement: &Placement,
    ) -> ComposedCluster {
        let mut annotations = nodes::classes_annotation(observed, wanted);
        annotations.extend(failures::failed_jobs_annotation(observed));
        ComposedCluster {
            // All orders of a hub are in one namespace: that tells them apart for OSAC.
            annotations: collect::to_text_object([(TENANT, request.tenant.clone())]),
            spec: order::build_spec(observed, wanted),
            primary_annotations: annotations,
            parts: observers::build_resources(request, observed, wanted, placement),
        }
    }

    fn assess_cluster(&self, templated: &Templated, request: &Validated, observed: &Observed) -> Health {
        health::assess_health(templated, request, observed)
    }
}
