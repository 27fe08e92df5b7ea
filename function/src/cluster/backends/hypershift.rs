//! HyperShift on a hub: a HostedCluster with a NodePool for each node group.
//!
//! The primary Object carries the HostedCluster. Each NodePool has an Object of its own that depends on the primary Object, so NodePools
//! are always deleted first.
//!
//! **Invariant:** a NodePool is requested only once the HostedCluster was observed, and goes only with its group or with the cluster.

mod cluster;
pub(super) mod cluster_conditions;
mod document;
pub(super) mod facts;
pub(super) mod failures;
pub(super) mod health;
mod pool_spec;
pub(super) mod pools;
pub(super) mod rollout;
pub(super) mod underlying;

pub(super) use underlying::UnderlyingCluster;

use serde_json::Map;
use testplatform_apis::{
    collect,
    foreign::hypershift::{API_VERSION, CLEANUP_CLOUD_RESOURCES, HOSTED_CLUSTER as KIND},
    template::kind,
};

use super::{
    Backend, Health, TeardownMethod,
    common::templated::{self, ComposedCluster},
};
use crate::{
    cluster::{
        backends::intent::PlannedRequest,
        observed::{HOSTED_CLUSTER, Observed},
        request::{AnyBackendSpec, Templated, Validated},
    },
    sdk::response::DesiredResource,
};

/// The backend of templates for HyperShift.
pub struct HyperShift;

/// Readiness of the writer, which governs the 30 s poll where watches are dead: true while the cluster answers and its credentials are
/// published.
const CEL: &str = "!has(object.metadata.deletionTimestamp) && has(object.status) && has(object.status.conditions) && \
object.status.conditions.exists(c, c.type == 'Available' && c.status == 'True') && has(object.metadata.annotations) && \
'testplatform.ci.openshift.org/credentials-revision' in object.metadata.annotations";

/// Request to HyperShift, once fully resolved.
type HyperShiftRequest<'a> = templated::BackendRequest<'a, kind::HyperShift>;

impl<'a> HyperShiftRequest<'a> {
    fn from_request(templated: &'a Templated) -> Option<Self> {
        Self::from_templated(templated, |requested| match requested {
            AnyBackendSpec::HyperShift(order) => Some(order),
            AnyBackendSpec::ClusterApi(_) | AnyBackendSpec::Caas(_) | AnyBackendSpec::Osac(_) => None,
        })
    }
}

impl Backend for HyperShift {
    fn kind(&self) -> &'static str {
        KIND
    }

    fn primary_resource(&self) -> &'static str {
        HOSTED_CLUSTER
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
        templated::build_resources(self, CEL, (request, observed, health), |templated, placement| {
            let wanted = HyperShiftRequest::from_request(templated);
            ComposedCluster {
                api_version: API_VERSION,
                // HyperShift looks at it when the cluster is deleted, and copies it whenever it comes: clusters of before have it too.
                annotations: collect::to_text_object([(CLEANUP_CLOUD_RESOURCES, Some("true".to_owned()))]),
                spec: cluster::build_spec(observed, wanted),
                primary_annotations: Map::new(),
                parts: pools::build_resources(request, observed, wanted, placement),
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
