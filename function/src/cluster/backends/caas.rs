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

use serde_json::Map;
use testplatform_apis::{
    foreign::caas::{API_VERSION, KIND},
    template::{effective::Effective, kind, version::Version},
};

use super::{
    Backend, Health, TeardownMethod,
    common::templated::{self, ComposedCluster},
};
use crate::{
    cluster::{
        backends::intent::PlannedRequest,
        catalog::templates::Rollout,
        observed::{INSTANCE, Observed},
        request::{AnyBackendSpec, Templated, Validated},
    },
    sdk::response::DesiredResource,
};

/// The backend of templates for CaaS.
pub struct Caas;

/// Readiness of the writer, which governs the 30 s poll where watches are dead: true while the cluster is there and its credentials are
/// published.
const CEL: &str = "!has(object.metadata.deletionTimestamp) && has(object.status) && object.status.phase == 'Ready' && \
object.status.conditions.exists(c, c.type == 'ClusterInstallSucceeded' && c.status == 'True') && has(object.metadata.annotations) && \
'testplatform.ci.openshift.org/credentials-revision' in object.metadata.annotations";

/// Request to CaaS, once fully resolved.
type CaasRequest<'a> = templated::BackendRequest<'a, kind::Caas>;

impl<'a> CaasRequest<'a> {
    fn from_request(templated: &'a Templated) -> Option<Self> {
        Self::from_templated(templated, |requested| match requested {
            AnyBackendSpec::Caas(order) => Some(order),
            AnyBackendSpec::HyperShift(_) | AnyBackendSpec::ClusterApi(_) | AnyBackendSpec::Osac(_) => None,
        })
    }
}

impl Backend for Caas {
    fn kind(&self) -> &'static str {
        KIND
    }

    fn primary_resource(&self) -> &'static str {
        INSTANCE
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
            let wanted = CaasRequest::from_request(templated);
            ComposedCluster {
                api_version: API_VERSION,
                annotations: Map::new(),
                spec: instance::build_spec(observed, wanted),
                primary_annotations: Map::new(),
                parts: observer::build_observer(request, observed, wanted).into_iter().collect(),
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
