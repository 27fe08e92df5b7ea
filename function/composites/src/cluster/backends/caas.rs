//! CaaS on a hub: a ClusterTemplateInstance, for which the cluster-templates operator has Argo CD deploy a chart.
//!
//! No part of it can change. It is deleted before its cluster. If the catalogue names the cluster's own object, that is observed
//! ([`HOSTED`](crate::cluster::observed::HOSTED)), and the end is not reported before it is gone.

mod chart;
mod cluster_conditions;
mod facts;
mod failures;
mod health;
mod instance;
mod observer;

use testplatform_apis::template::{effective::Effective, kind, version::Version};

use super::common::templated::{BackendRequest, ComposedCluster, TemplateBackend};
use crate::cluster::{
    backends::{Health, intent::PlannedRequest},
    catalog::templates::Rollout,
    observed::Observed,
    request::{Placement, Templated, Validated},
};

/// The backend of templates for CaaS.
pub struct Caas;

/// Request to CaaS, once fully resolved.
type CaasRequest<'a> = BackendRequest<'a, kind::Caas>;

impl TemplateBackend for Caas {
    type Definition = kind::Caas;
    /// True while the cluster is there and its credentials are published.
    const READINESS: &'static str = "!has(object.metadata.deletionTimestamp) && has(object.status) && object.status.phase == 'Ready' && \
object.status.conditions.exists(c, c.type == 'ClusterInstallSucceeded' && c.status == 'True') && has(object.metadata.annotations) && \
'testplatform.ci.openshift.org/credentials-revision' in object.metadata.annotations";

    fn compose_cluster(
        &self,
        request: &PlannedRequest,
        observed: &Observed,
        wanted: Option<CaasRequest<'_>>,
        _placement: &Placement,
    ) -> ComposedCluster {
        ComposedCluster {
            spec: instance::build_spec(observed, wanted),
            parts: observer::build_observer(request, observed, wanted).into_iter().collect(),
            ..ComposedCluster::default()
        }
    }

    fn assess_cluster(&self, templated: &Templated, request: &Validated, observed: &Observed) -> Health {
        health::assess_health(templated, request, observed)
    }
}

/// The claim cannot request another release.
impl Rollout for Caas {
    fn blocked_at_version(&self, _observed: &Observed) -> Option<Version> {
        None
    }

    fn has_release(&self, _observed: &Observed, _requested: &Effective) -> bool {
        false
    }

    fn is_fully_requested(&self, _observed: &Observed) -> bool {
        false
    }
}
