//! Plan → the status of the claim. It is a copy of observed state: nothing here is the only record of anything.

use testplatform_apis::{
    account::Mode,
    condition::{Chosen, Failure, Request},
    phase::Phase,
    status::{
        BackendStatus, CredentialsState, CredentialsStatus, ErrorStatus, HubStatus, ProwJobStatus,
        TemplateStatus, TestPlatformClusterStatus,
    },
    text::bounded,
};

use crate::{
    cluster::{
        backends::intent::PrimaryAction,
        lifecycle::ClusterEvaluation,
        observed::{ClaimSecret, Details, prerequisites::PREREQUISITE_RESOURCES},
        request::{Block, PoolClaim, Resolution, Templated},
        respond::{
            messages::{is_undelivered, status_message},
            transfer,
        },
    },
    sdk::response::DesiredResource,
};

/// A text of the status.
type Field = fn(&TestPlatformClusterStatus) -> &Option<String>;

/// Builds the status of this pass.
pub fn build_status(evaluation: &ClusterEvaluation) -> TestPlatformClusterStatus {
    let ClusterEvaluation { plan, observed, .. } = evaluation;
    let (lifecycle, health) = (&plan.lifecycle, &plan.health);
    let settled = lifecycle.is_complete();
    let state = match (settled, lifecycle.ever_ready) {
        (true, true) => Some(CredentialsState::Withdrawn),
        // The claim never had credentials, and will have none.
        (true, false) => None,
        (false, _) if lifecycle.is_withdrawn => Some(CredentialsState::Withdrawn),
        (false, _) if is_undelivered(evaluation) || observed.claim_secret == ClaimSecret::Unnamed => {
            Some(CredentialsState::Pending)
        }
        (false, _) if lifecycle.details.as_ref().is_some_and(Details::has_kubeconfig) => {
            Some(CredentialsState::Published)
        }
        (false, _) => Some(CredentialsState::Pending),
    };
    let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    // A cluster that is unreachable or being torn down keeps its address; a deleted one has none.
    let of_cluster = |now: &Option<String>, field: Field| {
        now.clone().or_else(|| field(&observed.composite.status).clone()).filter(|_| !settled)
    };
    let last_error = last_error(evaluation);
    let job = &health.job;
    let templated = plan.request.as_ref().ok().and_then(|request| request.templated());
    TestPlatformClusterStatus {
        phase: Some(lifecycle.phase),
        message: Some(status_message(evaluation)),
        backend: backend_status(evaluation),
        hub: hub_status_of(evaluation),
        prow_job: (!job.id.is_empty() || !job.url.is_empty())
            .then(|| ProwJobStatus { id: some(&job.id), url: some(&job.url) }),
        api_server_url: of_cluster(&health.api_server_url, |s| &s.api_server_url),
        console_url: of_cluster(&health.console_url, |s| &s.console_url),
        version: of_cluster(&health.version, |s| &s.version),
        version_desired: health.version_desired.clone(),
        credentials: state.map(|state| CredentialsStatus {
            state: Some(state),
            secret_name: credentials_secret_name(evaluation),
            mode: plan.request.as_ref().ok().and_then(|r| r.access.as_ref()).map(|_| Mode::ServiceAccount),
        }),
        started_at: lifecycle.started_at,
        ready_at: lifecycle.ready_at.or(observed.composite.status.ready_at),
        expires_at: lifecycle.cleanup_at.or(lifecycle.expires_at),
        estimated_ready_at: lifecycle.estimated_ready_at,
        queue: health.queue.clone(),
        // All that remains of a deleted remote object.
        diagnostics: health.diagnostics.clone().or_else(|| observed.composite.status.diagnostics.clone()),
        template: templated.map(|t| template_status(t, observed.composite.status.template.as_ref())),
        effective: templated.and_then(|t| t.effective.clone()),
        nodes: health.conditions.nodes.clone().filter(|_| !settled),
        progress: health.conditions.progress.clone().filter(|_| !settled),
        last_error,
        applied_generation: health.conditions.applied_generation,
        handed_over: transfer::handed_over_status(evaluation),
        take_over: transfer::take_over_status(&evaluation.observed),
    }
}

/// Last error on the hub. That of a Failed claim stays: its remote object is deleted, and has errors of the deletion meanwhile. An error does
/// not explain why somebody deleted the cluster.
fn last_error(evaluation: &ClusterEvaluation) -> Option<ErrorStatus> {
    let lifecycle = &evaluation.plan.lifecycle;
    let (now, stored) =
        (&evaluation.plan.health.conditions.last_error, &evaluation.observed.composite.status);
    let explains = matches!(
        lifecycle.failure,
        Some(Failure::HubRefused | Failure::ProvisionTimeout | Failure::ProwJobFailed)
    );
    match (stored.phase, lifecycle.phase) {
        (Some(Phase::Failed), Phase::Failed) => stored.last_error.as_ref().or(now.as_ref()).cloned(),
        (_, Phase::Failed) if explains => now.as_ref().or(stored.last_error.as_ref()).cloned(),
        _ => now.clone(),
    }
}

/// Status of the template. Other claims of the namespace count its cost.
fn template_status(templated: &Templated, before: Option<&TemplateStatus>) -> TemplateStatus {
    let terms = &templated.terms;
    TemplateStatus {
        name: Some(bounded(&templated.template, 253)).filter(|name| !name.is_empty()),
        backend: templated.backend,
        // A removed entry keeps its last cost.
        cost: terms.cost.map(i64::from).or(before.and_then(|b| b.cost)),
        deprecated: terms.deprecated.as_deref().map(|why| bounded(why, 512)),
    }
}

/// Secret from which they are read; after the end, the last one.
fn credentials_secret_name(evaluation: &ClusterEvaluation) -> Option<String> {
    if evaluation.plan.lifecycle.in_quiet_period {
        return None;
    }
    let before = || evaluation.observed.composite.status.credentials.as_ref()?.secret_name.clone();
    let lifecycle = &evaluation.plan.lifecycle;
    lifecycle.secret.clone().or_else(|| before().filter(|_| lifecycle.is_complete()))
}

fn backend_status(evaluation: &ClusterEvaluation) -> Option<BackendStatus> {
    let kind = evaluation.plan.kind?.to_owned();
    let primary = evaluation.observed.primary.as_ref();
    let of_manifest =
        |field: &str| primary.and_then(|w| w.manifest()["metadata"][field].as_str()).map(str::to_owned);
    let remembered = evaluation.observed.remembered_uid().map(|u| u.0);
    let attempt = if evaluation.plan.lifecycle.recreates { 2 } else { evaluation.observed.attempt() };
    let request = evaluation.plan.request.as_ref().ok()?;
    let name = request.name.as_str().to_owned();
    let place = request.pool();
    let placement =
        request.templated().and_then(|t| t.placement.as_ref()).map(|placement| placement.name.clone());
    let namespace = match request.block {
        Block::ClusterClaim(_) => place.map(|p| p.namespace.clone()),
        Block::Template(ref templated) => match &templated.resolution {
            _ if templated.placement.is_some() => {
                templated.placement.as_ref().map(|placement| placement.namespace.clone())
            }
            Resolution::Resolved(resolved) => resolved.namespace.as_ref().map(ToString::to_string),
            Resolution::Blocked | Resolution::Frozen { .. } => None,
        },
        Block::CiOperator(_) => {
            Some(crate::cluster::backends::remote_namespace(request, &evaluation.observed).to_owned())
        }
    };
    Some(BackendStatus {
        kind: Some(kind),
        name: of_manifest("name").or(placement).or(Some(name)),
        namespace: of_manifest("namespace").or(namespace),
        pool: place.map(|p| p.pool.clone()),
        // Uid of the pinned object; until the second attempt is observed, of the vanished one.
        uid: primary
            .and_then(crate::cluster::observed::PrimaryObject::remote_uid)
            .map(|u| u.0)
            .or(remembered),
        attempt: Some(attempt),
    })
}

pub(crate) fn hub_status_of(evaluation: &ClusterEvaluation) -> Option<HubStatus> {
    evaluation.plan.kind?;
    let request = evaluation.plan.request.as_ref().ok()?;
    if let Block::ClusterClaim(claimed) = &request.block {
        return hub_of_pool(evaluation, claimed);
    }
    if let Some(templated) = request.templated() {
        return hub_of_template(evaluation, templated);
    }
    let name = crate::cluster::backends::provider_config_name(request, &evaluation.observed).to_owned();
    Some(hub_status(Some(name), Chosen::OnlyHub.as_str()))
}

/// Status of a hub. It is set with the first request to the hub: other claims count this one from then on.
fn hub_of_template(evaluation: &ClusterEvaluation, templated: &Templated) -> Option<HubStatus> {
    let write = evaluation.plan.request.as_ref().ok().map(|r| &r.intent.action);
    // Tenant credentials and prerequisites are requested before the cluster.
    let ahead = |desired: &DesiredResource| PREREQUISITE_RESOURCES.contains(&desired.name.as_ref());
    let asks = write == Some(&PrimaryAction::Create)
        || templated.tenant_namespace.is_some()
        || evaluation.plan.resources.iter().any(ahead);
    let requested = templated.placement.as_ref().filter(|placement| placement.is_recorded || asks);
    let leaves = write == Some(&PrimaryAction::Relocate);
    let excluded: Vec<String> = templated.excluded_hubs(leaves).into_iter().collect();
    let named = requested.filter(|_| !leaves);
    (named.is_some() || !excluded.is_empty()).then(|| HubStatus {
        name: named.map(|placement| placement.hub.clone()),
        reason: named.map(|placement| placement.reason.clone()),
        excluded,
    })
}

/// Hub of the pool and the reason for it; before a choice, the reason for none.
fn hub_of_pool(evaluation: &ClusterEvaluation, claimed: &PoolClaim) -> Option<HubStatus> {
    let before = evaluation.observed.composite.status.hub.clone();
    if let Some(place) = &claimed.pool {
        let same = before.filter(|b| b.name.as_deref() == Some(&place.hub)).and_then(|b| b.reason);
        let reason = same.or_else(|| evaluation.observed.hub_reason());
        let reason = reason.unwrap_or_else(|| place.reason.to_owned());
        return Some(hub_status(Some(place.hub.clone()), &reason));
    }
    let blocker = evaluation.plan.blocked_by();
    let full = blocker.filter(|h| h.reason == Request::HubFull);
    full.map(|h| hub_status(None, h.reason.as_str()))
}

fn hub_status(name: Option<String>, reason: &str) -> HubStatus {
    HubStatus { name, reason: Some(reason.to_owned()), excluded: vec![] }
}
