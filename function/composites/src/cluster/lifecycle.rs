//! Validated × Observed × now → desired resources, and phase of the claim.

mod evaluation;
mod phase;
mod policies;
pub mod transfer;

use jiff::Timestamp;
use testplatform_apis::input::Settings;

pub use evaluation::{Completion, Lifecycle};

use crate::{
    cluster::{
        backends::{self, Backend, Health, Job, TeardownMethod, intent::PlannedRequest},
        observed::Observed,
        request::{AdmissionIssue, Validated},
    },
    sdk::{composite::FieldProblem, response::DesiredResource},
};

/// A decoded, validated and planned request.
#[derive(Debug)]
pub struct ClusterEvaluation {
    /// The step's input with every default filled in.
    pub settings: Settings,
    /// Observed state.
    pub observed: Observed,
    /// Desired state and phase of the claim.
    pub plan: Plan,
}

/// Result of one pass, without messages.
#[derive(Debug)]
pub struct Plan {
    /// The request with its intent; the problems, when it is invalid.
    pub request: Result<PlannedRequest, Vec<FieldProblem>>,
    /// State that the hub reports.
    pub health: Health,
    /// Phase and deadlines of the claim.
    pub lifecycle: Lifecycle,
    /// Desired resources.
    pub resources: Vec<DesiredResource>,
    /// Kind of the remote object.
    pub kind: Option<&'static str>,
    /// Composition resource name of the primary Object.
    pub primary_resource: Option<&'static str>,
    /// Decision about the transfer of its cluster, if one is requested.
    pub transfer: Option<transfer::TransferDecision>,
}

impl Plan {
    /// Action that an administrator, or somebody else, has to take before a cluster is requested.
    pub fn blocked_by(&self) -> Option<&AdmissionIssue> {
        self.request.as_ref().ok()?.blocked_by.as_ref()
    }
}

/// Plans one pass.
pub fn plan_pass(request: Result<Validated, Vec<FieldProblem>>, observed: &Observed, now: Timestamp) -> Plan {
    let request = match request {
        Ok(request) => request,
        Err(problems) => {
            let lifecycle = evaluation::invalid_lifecycle(observed);
            return Plan {
                request: Err(problems),
                health: Health::default(),
                lifecycle,
                resources: vec![],
                kind: None,
                primary_resource: None,
                transfer: None,
            };
        }
    };
    let backend = backends::select_backend(&request);
    let mut health = backend.map(|b| b.assess_health(&request, observed)).unwrap_or_default();
    remember_job(&mut health, observed);
    backends::common::bundles::restore_setup_condition(&mut health, observed);
    backends::common::prerequisites::restore_conditions(&mut health, observed);
    let removal = backend.is_some_and(|b| b.teardown_method() == TeardownMethod::DeleteObject);
    let lifecycle = evaluation::evaluate_lifecycle(&request, observed, &health, removal, now);
    let mut intent = policies::decide_intent(&request, observed, &health, &lifecycle, removal, now);
    let source = transfer::decide_transfer(&request, observed, &lifecycle);
    transfer::apply_transfer(&mut intent, source.as_ref(), observed);
    let request = PlannedRequest { validated: request, intent };
    let mut resources = match backend {
        Some(backend) => backend.build_resources(&request, observed, &health),
        None => backends::orphaned_resources(&request, observed),
    };
    resources.extend(backends::common::tenant_credentials::build_resources(&request, observed));
    resources.extend(backends::common::prerequisites::build_resources(&request, observed));
    resources.extend(backends::common::bundles::build_resources(&request, observed));
    resources.extend(backends::build_watch(&request, observed).filter(|_| !lifecycle.is_complete()));
    backends::common::dependents::add_finalizers(&mut resources, observed);
    let resources = backends::adapt_to_namespace(resources, &request, observed);
    Plan {
        request: Ok(request),
        health,
        lifecycle,
        resources,
        kind: backend.map(Backend::kind),
        primary_resource: backend.map(Backend::primary_resource),
        transfer: source,
    }
}

/// Keeps a job that the hub no longer reports: its log still shows the owner what happened.
fn remember_job(health: &mut Health, observed: &Observed) {
    if let Some(job) = observed.composite.status.prow_job.clone().filter(|_| health.job == Job::default()) {
        health.job = Job { id: job.id.unwrap_or_default(), url: job.url.unwrap_or_default() };
    }
}
