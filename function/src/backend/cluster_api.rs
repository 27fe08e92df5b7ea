//! Cluster API on a hub: a Cluster with a managed topology, in which the groups of nodes are too.
//!
//! **Invariant:** a version is asked for only once the one before is there, and no minor version is left out.

mod cluster;
mod facts;
mod levels;
mod report;
pub(super) mod rollout;
mod trouble;
mod workers;

use serde_json::Map;
use testplatform_apis::{
    foreign::cluster_api::{API_VERSION, KIND},
    template::kind,
};

use super::{
    Backend, Desired, Health, TeardownMethod,
    templated::{self, Composed},
};
use crate::{
    observed::{Observed, TOPOLOGY},
    templates::{Asked, Templated},
    validate::Validated,
};

/// The backend of templates for Cluster API.
pub struct ClusterApi;

/// Readiness of the writer, which governs the 30 s poll where watches are dead: true while the cluster answers and its credentials are
/// published.
const CEL: &str = "!has(object.metadata.deletionTimestamp) && has(object.status) && has(object.status.conditions) && \
object.status.conditions.exists(c, c.type == 'Available' && c.status == 'True') && \
object.status.conditions.exists(c, c.type == 'TopologyReconciled' && c.status == 'True') && has(object.metadata.annotations) && \
'testplatform.ci.openshift.org/credentials-revision' in object.metadata.annotations";

/// What is asked of Cluster API, where all is known.
type Wanted<'a> = templated::Wanted<'a, kind::ClusterApi>;

impl<'a> Wanted<'a> {
    fn of(templated: &'a Templated) -> Option<Self> {
        Self::within(templated, |asked| match asked {
            Asked::ClusterApi(order) => Some(order),
            Asked::HyperShift(_) | Asked::Caas(_) | Asked::Osac(_) => None,
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

    fn build_resources(&self, request: &Validated, observed: &Observed, health: &Health) -> Vec<Desired> {
        templated::resources(self, CEL, (request, observed, health), |templated, _| {
            let wanted = Wanted::of(templated);
            let plan = wanted.map(|wanted| rollout::plan(observed, wanted));
            Composed {
                api_version: API_VERSION,
                annotations: Map::new(),
                spec: cluster::spec(observed, wanted.zip(plan.as_ref())),
                notes: rollout::note(observed, plan),
                parts: vec![],
            }
        })
    }

    fn assess_health(&self, request: &Validated, observed: &Observed) -> Health {
        match request.templated() {
            Some(templated) => report::health(templated, request, observed),
            None => Health::default(),
        }
    }
}
