//! Sentences about a cluster, for its status and its conditions.

use testplatform_apis::{condition::Failure, phase::Phase, text::bounded};

use crate::{
    cluster::{
        backends::{Stage, secret_name},
        lifecycle::ClusterEvaluation,
        request::Block,
        respond::{refusal::find_refusal, transfer},
    },
    objects::SyncState,
    sdk::composite::Flavour,
};

/// Whether the kubeconfig is published but never reached the tenant: core cannot write the claim's Secret.
pub(crate) fn is_undelivered(evaluation: &ClusterEvaluation) -> bool {
    evaluation.observed.claim_secret.refusal().is_some_and(|refused| !refused.written_before)
}

/// Why the kubeconfig was taken back. Only the owner can empty the Secret of a composite in a namespace.
pub(crate) fn withdrawal_message(evaluation: &ClusterEvaluation) -> String {
    let why = evaluation.plan.health.withdrawn_kubeconfig().unwrap_or("the new one is not read yet");
    let advice = match evaluation.observed.composite.flavour {
        Flavour::Claimed | Flavour::Homeless => String::new(),
        Flavour::Namespaced(_) => {
            format!("; do not use the one in Secret {}, and delete it", secret_name(&evaluation.observed))
        }
    };
    format!("the kubeconfig was withdrawn{advice}: {why}")
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
            "no record is left of the hub that the cluster is on: an administrator must restore Object managed-{name} or \
            credentials-{name}, or delete the objects of {name} on its hub and then this claim"
        ));
    }
    (pooled && evaluation.observed.was_made_before() && !evaluation.plan.lifecycle.is_complete()).then(|| {
        format!(
            "no record is left of the pool and the hub that the cluster is in: an administrator must restore Object managed-{name} or \
            credentials-{name}, or delete ClusterClaim {name} on its hub and then this claim"
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
                (_, None) => "requesting a cluster from the hub".into(),
                (_, Some(primary)) => match &primary.sync {
                    SyncState::Refused(message) => format!("the hub refuses the request for now: {message}"),
                    SyncState::Unavailable(outage) => outage.to_string(),
                    SyncState::UnknownField(_) if primary.remote_uid().is_none() => {
                        format!("waiting: {}", refusal_message(evaluation))
                    }
                    _ if plan.lifecycle.recreates => {
                        "the request disappeared from the hub and is sent again".into()
                    }
                    _ if !health.waiting.is_empty() => health.waiting.clone(),
                    _ => "waiting for the hub to start provisioning".into(),
                },
            },
            Err(_) => String::new(),
        },
        Phase::Provisioning => match &health.stage {
            Stage::Failing(message) => {
                format!("the hub reports a failure that may be temporary{}{url}", suffix(message))
            }
            Stage::Ready if !plan.lifecycle.in_quiet_period => {
                "the cluster is ready on the hub; waiting for its kubeconfig".into()
            }
            _ if !health.waiting.is_empty() => health.waiting.clone(),
            _ if plan.lifecycle.is_late => {
                format!("slower than 90 % of similar clusters, still being created{url}")
            }
            _ if plan.lifecycle.in_quiet_period => "the cluster is being created".into(),
            _ => format!("the cluster is being created{url}"),
        },
        Phase::Ready | Phase::Degraded if evaluation.observed.transfer.is_released() => {
            transfer::released_message(&evaluation.observed)
        }
        Phase::Ready | Phase::Degraded if plan.lifecycle.is_withdrawn => {
            format!("the cluster is there, and {}", withdrawal_message(evaluation))
        }
        Phase::Ready | Phase::Degraded if is_undelivered(evaluation) => {
            let why = evaluation.observed.claim_secret.refusal().map(ToString::to_string).unwrap_or_default();
            format!("the cluster is ready on the hub, but its kubeconfig cannot be delivered: {why}")
        }
        Phase::Ready if plan.lifecycle.is_expiring => {
            "the cluster is ready and near the end of its lifetime".into()
        }
        Phase::Ready => "the cluster is ready".into(),
        Phase::Degraded => match &health.stage {
            Stage::Failing(message) => {
                format!("the cluster was ready; the hub now reports a failure{}", suffix(message))
            }
            _ => "the cluster was ready; the hub no longer reports it ready".into(),
        },
        Phase::Deprovisioning => teardown_message(evaluation),
        Phase::Deprovisioned => match plan.lifecycle.completion.as_ref().map(|o| o.reason.as_str()) {
            Some("NothingToTearDown") => "there was nothing to tear down".into(),
            _ if plan.lifecycle.lifetime_ended => "its lifetime ended and the cluster is gone".into(),
            _ => "the cluster is gone".into(),
        },
    };
    let lives =
        matches!(plan.lifecycle.phase, Phase::Pending | Phase::Provisioning | Phase::Ready | Phase::Degraded);
    let text = match plan.lifecycle.cleanup_at.filter(|_| lives && !plan.lifecycle.teardown) {
        Some(at) => {
            format!("{}; the runs that own it have finished, so it is torn down at {at}", bounded(&text, 900))
        }
        None => text,
    };
    bounded(&text, 1024)
}

fn teardown_message(evaluation: &ClusterEvaluation) -> String {
    let over = if evaluation.plan.lifecycle.lifetime_ended { "its lifetime ended; " } else { "" };
    match undelivered_teardown(evaluation) {
        Some(why) => format!(
            "{over}the cluster is still running, because the teardown request has not reached the hub: {why}"
        ),
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
    fails.map(|why| format!("; the hub cannot destroy it and retries: {why}")).unwrap_or_default()
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
            Some(why) => {
                format!("; the teardown request for the remaining resources has not reached the hub: {why}")
            }
            None => format!(
                "; the remaining resources are being torn down{}{}",
                pre_delete_text(evaluation),
                teardown_failure_text(evaluation)
            ),
        },
    };
    let why = match evaluation.plan.lifecycle.failure.unwrap_or(Failure::Earlier) {
        // In full, because it is all that many ever see.
        Failure::InvalidClaim => format!("the claim is invalid: {}", refusal_message(evaluation)),
        // While the remote object is deleted, only the condition has the reason of a refusal.
        Failure::UnknownField | Failure::HubRefused => refusal_message(evaluation),
        Failure::ProwJobFailed => format!("the job that creates the cluster failed{message}{url}"),
        Failure::ProvisionTimeout
            if evaluation.observed.was_never_requested() && find_refusal(evaluation).is_some() =>
        {
            format!(
                "not ready within the provision timeout; no cluster was requested: {}",
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
            "the Object that managed the remote object is gone; the cluster is lost".into()
        }
        Failure::Earlier => {
            // An earlier pass reported the cause, and it cannot be derived again.
            let before = evaluation.observed.composite.status.message.clone().filter(|m| !m.is_empty());
            return before.unwrap_or_else(|| "it failed earlier".into());
        }
    };
    format!("{why}{rest}")
}
