//! CaaS on a hub: a ClusterTemplateInstance, of which the cluster-templates operator has Argo CD make a chart.
//!
//! Nothing of it can change. It goes before its cluster does: where the catalogue says what that is, it is looked at
//! ([`HOSTED`](crate::observed::HOSTED)), and the end is not told before it is gone.

mod chart;
mod facts;
mod instance;
mod levels;
mod reader;
mod report;
mod trouble;

use serde_json::Map;
use testplatform_apis::{
    foreign::caas::{API_VERSION, KIND},
    template::kind,
};

use super::{
    Backend, Desired, Health, TeardownMethod,
    templated::{self, Composed},
};
use crate::{
    observed::{INSTANCE, Observed},
    templates::{Asked, Templated},
    validate::Validated,
};

/// The backend of templates for CaaS.
pub struct Caas;

/// Readiness of the writer, which governs the 30 s poll where watches are dead: true while the cluster is there and its credentials are
/// published.
const CEL: &str = "!has(object.metadata.deletionTimestamp) && has(object.status) && object.status.phase == 'Ready' && \
object.status.conditions.exists(c, c.type == 'ClusterInstallSucceeded' && c.status == 'True') && has(object.metadata.annotations) && \
'testplatform.ci.openshift.org/credentials-revision' in object.metadata.annotations";

/// What is asked of CaaS, where all is known.
type Wanted<'a> = templated::Wanted<'a, kind::Caas>;

impl<'a> Wanted<'a> {
    fn of(templated: &'a Templated) -> Option<Self> {
        Self::within(templated, |asked| match asked {
            Asked::Caas(order) => Some(order),
            Asked::HyperShift(_) | Asked::ClusterApi(_) | Asked::Osac(_) => None,
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

    fn build_resources(&self, request: &Validated, observed: &Observed, health: &Health) -> Vec<Desired> {
        templated::resources(self, CEL, (request, observed, health), |templated, _| {
            let wanted = Wanted::of(templated);
            Composed {
                api_version: API_VERSION,
                annotations: Map::new(),
                spec: instance::spec(observed, wanted),
                notes: Map::new(),
                parts: reader::reader(request, observed, wanted).into_iter().collect(),
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
