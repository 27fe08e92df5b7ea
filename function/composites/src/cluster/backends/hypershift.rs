//! HyperShift on a hub: a HostedCluster with a NodePool for each node group.
//!
//! The primary Object carries the HostedCluster. Each NodePool has an Object of its own that depends on the primary Object, so NodePools
//! are always deleted first.
//!
//! **Invariant:** a NodePool is requested only once the HostedCluster was observed, and goes only with its group or with the cluster.

mod cluster;
mod cluster_conditions;
mod document;
mod facts;
mod health;
mod pool_spec;
mod pools;
mod rollout;

use testplatform_apis::{collect, foreign::hosted_cluster::CLEANUP_CLOUD_RESOURCES, template::kind};

use super::common::templated::{BackendRequest, ComposedCluster, TemplateBackend};
use crate::cluster::{
    backends::{Health, intent::PlannedRequest},
    observed::Observed,
    request::{Placement, Templated, Validated},
};

/// The backend of templates for HyperShift.
pub struct HyperShift;

/// Request to HyperShift, once fully resolved.
type HyperShiftRequest<'a> = BackendRequest<'a, kind::HyperShift>;

impl TemplateBackend for HyperShift {
    type Definition = kind::HyperShift;
    /// True while the cluster answers and its credentials are published.
    const READINESS: &'static str = "!has(object.metadata.deletionTimestamp) && has(object.status) && has(object.status.conditions) && \
object.status.conditions.exists(c, c.type == 'Available' && c.status == 'True') && has(object.metadata.annotations) && \
'testplatform.ci.openshift.org/credentials-revision' in object.metadata.annotations";

    fn compose_cluster(
        &self,
        request: &PlannedRequest,
        observed: &Observed,
        wanted: Option<HyperShiftRequest<'_>>,
        placement: &Placement,
    ) -> ComposedCluster {
        ComposedCluster {
            // HyperShift looks at it when the cluster is deleted, and copies it whenever it comes: clusters of before have it too.
            annotations: collect::to_text_object([(CLEANUP_CLOUD_RESOURCES, Some("true".to_owned()))]),
            spec: cluster::build_spec(observed, wanted),
            parts: pools::build_resources(request, observed, wanted, placement),
            ..ComposedCluster::default()
        }
    }

    fn assess_cluster(&self, templated: &Templated, request: &Validated, observed: &Observed) -> Health {
        health::assess_health(templated, request, observed)
    }
}
