//! Plan → the status of the claim. It is a copy of observed state: nothing here is the only record of anything.

use testplatform_apis::{
    account::Mode,
    condition::{Chosen, Failure, Request},
    phase::Phase,
    status::{
        BackendStatus, CredentialsState, CredentialsStatus, ErrorStatus, HubStatus, ProwJobStatus,
        TemplateStatus, TestPlatformClusterStatus,
    },
};

use crate::{
    cluster::{
        backends::{Stage, intent::PrimaryAction},
        lifecycle::ClusterEvaluation,
        observed::{Details, prerequisites::PREREQUISITE_RESOURCES},
        request::{Block, PoolClaim, Resolution, Templated},
        respond::conditions::{self, find_refusal},
        respond::transfer,
    },
    objects::SyncState,
    sdk::response::DesiredResource,
    text::bounded,
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
        (false, _) if conditions::is_undelivered(evaluation) => Some(CredentialsState::Pending),
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

/// Action for an administrator if the location of the cluster is lost.
pub fn lost_placement_message(evaluation: &ClusterEvaluation) -> Option<String> {
    let request = evaluation.plan.request.as_ref().ok()?;
    let pooled = matches!(request.block, Block::ClusterClaim(_)) && request.pool().is_none();
    let templated = evaluation.plan.primary_resource.is_some()
        && request.templated().is_some_and(|t| t.placement.is_none());
    let name = &request.name;
    if templated && evaluation.observed.was_made_before() && !evaluation.plan.lifecycle.is_complete() {
        return Some(format!(
            "nothing is left that tells on which hub the cluster is: an administrator has to restore Object managed-{name} or credentials-{name}, or delete what was made for {name} on its hub and then this claim"
        ));
    }
    (pooled && evaluation.observed.was_made_before() && !evaluation.plan.lifecycle.is_complete()).then(|| {
        format!(
            "nothing is left that tells in which pool and on which hub the cluster is: an administrator has to restore Object managed-{name} or credentials-{name}, or delete ClusterClaim {name} on its hub and then this claim"
        )
    })
}

/// Status message in one sentence: state and wait reason. The important words come last, where tools cut least.
pub fn status_message(evaluation: &ClusterEvaluation) -> String {
    if let Some(lost) = lost_placement_message(evaluation) {
        return lost;
    }
    let plan = &evaluation.plan;
    let health = &plan.health;
    let url = if health.job.url.is_empty() { String::new() } else { format!("; see {}", health.job.url) };
    let suffix = |message: &str| if message.is_empty() { String::new() } else { format!(": {message}") };
    let text = match plan.lifecycle.phase {
        Phase::Failed => failure_message(evaluation, &url),
        Phase::Pending => match &plan.request {
            Ok(request) => match (&request.blocked_by, &evaluation.observed.primary) {
                (Some(blocker), None) => format!("waiting: {}", blocker.message),
                (_, None) => "asking the hub for a cluster".into(),
                (_, Some(primary)) => match &primary.sync {
                    SyncState::Refused(message) => format!("the hub refuses the request for now: {message}"),
                    SyncState::Unavailable(outage) => outage.to_string(),
                    SyncState::UnknownField(_) if primary.remote_uid().is_none() => {
                        format!("waiting: {}", refusal_message(evaluation))
                    }
                    _ if plan.lifecycle.recreates => {
                        "the request vanished on the hub and is made once more".into()
                    }
                    _ if !health.waiting.is_empty() => health.waiting.clone(),
                    _ => "waiting for the hub to take up the request".into(),
                },
            },
            Err(_) => String::new(),
        },
        Phase::Provisioning => match &health.stage {
            Stage::Failing(message) => {
                format!("the hub reports trouble, which may pass{}{url}", suffix(message))
            }
            Stage::Ready if !plan.lifecycle.in_quiet_period => {
                "the cluster is there, waiting for its kubeconfig".into()
            }
            _ if !health.waiting.is_empty() => health.waiting.clone(),
            _ if plan.lifecycle.is_late => {
                format!("later than nine in ten of its kind, still being made{url}")
            }
            _ if plan.lifecycle.in_quiet_period => "the cluster is being made".into(),
            _ => format!("the cluster is being made{url}"),
        },
        Phase::Ready | Phase::Degraded if evaluation.observed.transfer.is_released() => {
            transfer::released_message(&evaluation.observed)
        }
        Phase::Ready | Phase::Degraded if conditions::is_undelivered(evaluation) => {
            let why = evaluation.observed.claim_secret.refusal().map(ToString::to_string).unwrap_or_default();
            format!("the cluster is there, and its kubeconfig cannot be delivered: {why}")
        }
        Phase::Ready if plan.lifecycle.is_expiring => {
            "the cluster is ready and near the end of its lifetime".into()
        }
        Phase::Ready => "the cluster is ready".into(),
        Phase::Degraded => match &health.stage {
            Stage::Failing(message) => {
                format!("the cluster was ready; the hub now reports trouble{}", suffix(message))
            }
            _ => "the cluster was ready; the hub does not report it ready now".into(),
        },
        Phase::Deprovisioning => teardown_message(evaluation),
        Phase::Deprovisioned => match plan.lifecycle.completion.as_ref().map(|o| o.reason.as_str()) {
            Some("NothingToTearDown") => "there was nothing to tear down".into(),
            _ if plan.lifecycle.lifetime_ended => "its lifetime was over, the cluster is gone".into(),
            _ => "the cluster is gone".into(),
        },
    };
    let lives =
        matches!(plan.lifecycle.phase, Phase::Pending | Phase::Provisioning | Phase::Ready | Phase::Degraded);
    let text = match plan.lifecycle.cleanup_at.filter(|_| lives && !plan.lifecycle.teardown) {
        Some(at) => {
            format!("{}; the runs that own it are over, so it is torn down at {at}", bounded(&text, 900))
        }
        None => text,
    };
    bounded(&text, 1024)
}

fn teardown_message(evaluation: &ClusterEvaluation) -> String {
    let over = if evaluation.plan.lifecycle.lifetime_ended { "its lifetime is over, " } else { "" };
    match undelivered_teardown(evaluation) {
        Some(why) => format!("{over}the cluster runs on: the hub was not told to tear it down: {why}"),
        None => format!(
            "{over}the cluster is being torn down{}{}",
            pre_delete_text(evaluation),
            teardown_failure_text(evaluation)
        ),
    }
}

/// Reason for which the teardown request has not reached the hub. The cluster costs money until then.
pub(crate) fn undelivered_teardown(evaluation: &ClusterEvaluation) -> Option<String> {
    let primary =
        evaluation.observed.primary.as_ref().filter(|_| !evaluation.plan.health.teardown_arrived)?;
    match &primary.sync {
        SyncState::Unavailable(outage) => Some(outage.to_string()),
        SyncState::Paused => Some("an administrator paused the Object".into()),
        SyncState::Refused(message) => Some(format!("the hub refuses: {message}")),
        SyncState::UnknownField(path) => Some(format!("the hub does not know the field {path}")),
        SyncState::Unknown | SyncState::InSync | SyncState::Deleted | SyncState::Replaced => None,
    }
}

/// Work inside the cluster before its deletion.
fn pre_delete_text(evaluation: &ClusterEvaluation) -> String {
    let waits = evaluation.plan.health.teardown_waits_for.as_ref();
    waits.map(|what| format!("; it {what}")).unwrap_or_default()
}

/// Reason that blocks the teardown: the cluster costs money until somebody helps.
pub(crate) fn teardown_failure_text(evaluation: &ClusterEvaluation) -> String {
    let fails = evaluation.plan.health.teardown_failure.as_ref();
    fails.map(|why| format!("; the hub cannot destroy it and goes on trying: {why}")).unwrap_or_default()
}

/// Message of `RequestAccepted` while it is False.
fn refusal_message(evaluation: &ClusterEvaluation) -> String {
    find_refusal(evaluation).map(|refusal| refusal.message).unwrap_or_default()
}

fn failure_message(evaluation: &ClusterEvaluation, url: &str) -> String {
    let message = match &evaluation.plan.health.stage {
        Stage::Ended { message, .. } | Stage::Refused { message, .. } | Stage::Failing(message)
            if !message.is_empty() =>
        {
            format!(": {message}")
        }
        _ => String::new(),
    };
    let rest = match evaluation.plan.lifecycle.completion {
        Some(_) => String::new(),
        None => match undelivered_teardown(evaluation) {
            Some(why) => format!("; the hub was not told to tear down what is left: {why}"),
            None => format!(
                "; what is left is being torn down{}{}",
                pre_delete_text(evaluation),
                teardown_failure_text(evaluation)
            ),
        },
    };
    let why = match evaluation.plan.lifecycle.failure.unwrap_or(Failure::Earlier) {
        // In full, because it is all that many ever see.
        Failure::InvalidClaim => format!("the claim is invalid: {}", refusal_message(evaluation)),
        Failure::UnknownField => refusal_message(evaluation),
        Failure::HubRefused => format!("the hub refused the request{message}"),
        Failure::ProwJobFailed => format!("the job that makes the cluster failed{message}{url}"),
        Failure::ProvisionTimeout
            if evaluation.observed.was_never_requested() && find_refusal(evaluation).is_some() =>
        {
            format!(
                "not ready within the provision timeout; no cluster was asked for: {}",
                refusal_message(evaluation)
            )
        }
        Failure::ProvisionTimeout if !evaluation.plan.health.waiting.is_empty() => {
            format!("not ready within the provision timeout: {}", evaluation.plan.health.waiting)
        }
        Failure::ProvisionTimeout => format!("not ready within the provision timeout{message}{url}"),
        Failure::RemoteDeleted => "somebody deleted the remote object; the cluster is lost".into(),
        Failure::RemoteReplaced => "another object took the remote object's name; the cluster is lost".into(),
        Failure::ClusterDeleted => "somebody deleted the cluster on the hub; it is lost".into(),
        Failure::WriterLost => {
            "the Object that carried the remote object is gone; the cluster is lost".into()
        }
        Failure::Earlier => {
            // An earlier pass reported the cause, and it cannot be derived again.
            let before = evaluation.observed.composite.status.message.clone().filter(|m| !m.is_empty());
            return before.unwrap_or_else(|| "it failed earlier".into());
        }
    };
    format!("{why}{rest}")
}
