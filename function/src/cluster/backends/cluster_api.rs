//! Cluster API on a hub: a Cluster with a managed topology, which contains the node groups.
//!
//! **Invariant:** a version is requested only once the previous one is complete, and no minor version is skipped.

mod cluster;
mod cluster_conditions;
mod facts;
mod failures;
mod health;
pub(super) mod rollout;
mod workers;

use serde_json::Map;
use testplatform_apis::{
    foreign::cluster_api::{API_VERSION, KIND},
    template::kind,
};

use super::{
    Backend, Health, TeardownMethod,
    common::templated::{self, ComposedCluster},
};
use crate::{
    cluster::{
        backends::intent::PlannedRequest,
        observed::{Observed, TOPOLOGY},
        request::{AnyBackendSpec, Templated, Validated},
    },
    sdk::response::DesiredResource,
};

/// The backend of templates for Cluster API.
pub struct ClusterApi;

/// Readiness of the writer, which governs the 30 s poll where watches are dead: true while the cluster answers and its credentials are
/// published.
const CEL: &str = "!has(object.metadata.deletionTimestamp) && has(object.status) && has(object.status.conditions) && \
object.status.conditions.exists(c, c.type == 'Available' && c.status == 'True') && \
object.status.conditions.exists(c, c.type == 'TopologyReconciled' && c.status == 'True') && has(object.metadata.annotations) && \
'testplatform.ci.openshift.org/credentials-revision' in object.metadata.annotations";

/// Request to Cluster API, once fully resolved.
type ClusterApiRequest<'a> = templated::BackendRequest<'a, kind::ClusterApi>;

impl<'a> ClusterApiRequest<'a> {
    fn from_request(templated: &'a Templated) -> Option<Self> {
        Self::from_templated(templated, |requested| match requested {
            AnyBackendSpec::ClusterApi(order) => Some(order),
            AnyBackendSpec::HyperShift(_) | AnyBackendSpec::Caas(_) | AnyBackendSpec::Osac(_) => None,
        })
    }
}

impl Backend for ClusterApi {
    fn kind(&self) -> &'static str {
        KIND
    }

    fn primary_resource(&self) -> &'static str {
        TOPOLOGY
    }

    fn teardown_method(&self) -> TeardownMethod {
        TeardownMethod::DeleteObject
    }

    fn build_resources(
        &self,
        request: &PlannedRequest,
        observed: &Observed,
        health: &Health,
    ) -> Vec<DesiredResource> {
        templated::build_resources(self, CEL, (request, observed, health), |templated, _| {
            let wanted = ClusterApiRequest::from_request(templated);
            let plan = wanted.map(|wanted| rollout::plan_rollout(observed, wanted));
            ComposedCluster {
                api_version: API_VERSION,
                annotations: Map::new(),
                spec: cluster::build_spec(observed, wanted.zip(plan.as_ref())),
                primary_annotations: rollout::origin_annotation(observed, plan),
                parts: vec![],
            }
        })
    }

    fn assess_health(&self, request: &Validated, observed: &Observed) -> Health {
        match request.templated() {
            Some(templated) => health::assess_health(templated, request, observed),
            None => Health::default(),
        }
    }
}
