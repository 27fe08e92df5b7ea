//! Cluster API on a hub: a Cluster with a managed topology, which contains the node groups.
//!
//! **Invariant:** a version is requested only once the previous one is complete, and no minor version is skipped.

mod cluster;
mod cluster_conditions;
mod facts;
mod failures;
mod health;
mod rollout;
mod topology;
mod variables;
mod workers;

use testplatform_apis::template::kind;

use super::common::templated::{BackendRequest, ComposedCluster, TemplateBackend};
use crate::cluster::{
    backends::{Health, intent::PlannedRequest},
    observed::Observed,
    request::{Placement, Templated, Validated},
};

/// The backend of templates for Cluster API.
pub struct ClusterApi;

/// Request to Cluster API, once fully resolved.
type ClusterApiRequest<'a> = BackendRequest<'a, kind::ClusterApi>;

impl TemplateBackend for ClusterApi {
    type Definition = kind::ClusterApi;
    /// True while the cluster answers and its credentials are published.
    const READINESS: &'static str = "!has(object.metadata.deletionTimestamp) && has(object.status) && has(object.status.conditions) && \
object.status.conditions.exists(c, c.type == 'Available' && c.status == 'True') && \
object.status.conditions.exists(c, c.type == 'TopologyReconciled' && c.status == 'True') && has(object.metadata.annotations) && \
'testplatform.ci.openshift.org/credentials-revision' in object.metadata.annotations";

    fn compose_cluster(
        &self,
        _request: &PlannedRequest,
        observed: &Observed,
        wanted: Option<ClusterApiRequest<'_>>,
        _placement: &Placement,
    ) -> ComposedCluster {
        let plan = wanted.map(|wanted| rollout::plan_rollout(observed, wanted));
        ComposedCluster {
            spec: cluster::build_spec(observed, wanted.zip(plan.as_ref())),
            primary_annotations: rollout::rollout_annotations(observed, plan),
            ..ComposedCluster::default()
        }
    }

    fn assess_cluster(&self, templated: &Templated, request: &Validated, observed: &Observed) -> Health {
        health::assess_health(templated, request, observed)
    }
}
