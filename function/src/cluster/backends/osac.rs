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
pub(super) mod order;

use testplatform_apis::{
    collect,
    foreign::osac::{API_VERSION, KIND, TENANT},
    template::kind,
};

use super::{
    Backend, Health, TeardownMethod,
    common::templated::{self, ComposedCluster},
};
use crate::{
    cluster::{
        backends::intent::PlannedRequest,
        observed::{ORDER, Observed},
        request::{AnyBackendSpec, Templated, Validated},
    },
    sdk::response::DesiredResource,
};

/// The backend of templates for OSAC.
pub struct Osac;

/// Readiness of the writer, which governs the 30 s poll where watches are dead: true while its job has done its work, the cluster was
/// there, and its credentials are published.
const CEL: &str = "!has(object.metadata.deletionTimestamp) && has(object.status) && has(object.status.phase) && \
object.status.phase == 'Ready' && has(object.status.conditions) && \
object.status.conditions.exists(c, c.type == 'ClusterAvailable' && c.status == 'True') && has(object.metadata.annotations) && \
'testplatform.ci.openshift.org/credentials-revision' in object.metadata.annotations";

/// Request to OSAC, once fully resolved.
type OsacRequest<'a> = templated::BackendRequest<'a, kind::Osac>;

impl<'a> OsacRequest<'a> {
    fn from_request(templated: &'a Templated) -> Option<Self> {
        Self::from_templated(templated, |requested| match requested {
            AnyBackendSpec::Osac(order) => Some(order),
            AnyBackendSpec::HyperShift(_) | AnyBackendSpec::ClusterApi(_) | AnyBackendSpec::Caas(_) => None,
        })
    }
}

impl Backend for Osac {
    fn kind(&self) -> &'static str {
        KIND
    }

    fn primary_resource(&self) -> &'static str {
        ORDER
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
            let wanted = OsacRequest::from_request(templated);
            let mut notes = nodes::classes_annotation(observed, wanted);
            notes.extend(failures::failed_jobs_annotation(observed));
            ComposedCluster {
                api_version: API_VERSION,
                // All orders of a hub are in one namespace: that tells them apart for OSAC.
                annotations: collect::to_text_object([(TENANT, request.tenant.clone())]),
                spec: order::build_spec(observed, wanted),
                primary_annotations: notes,
                parts: observers::build_resources(request, observed, wanted, placement),
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
