//! Reason for the phase of a claim.

use testplatform_apis::{condition::Failure, phase::Phase};

use crate::{
    cluster::{
        backends::{Stage, intent::PlannedRequest},
        lifecycle::{ClusterEvaluation, Lifecycle},
        request::Validated,
    },
    objects::SyncState,
};

/// The phase, and why it is that one.
pub(super) fn phase_line(evaluation: &ClusterEvaluation) -> String {
    let lifecycle = &evaluation.plan.lifecycle;
    let why = match lifecycle.phase {
        Phase::Pending => pending_reason(evaluation),
        Phase::Provisioning => provisioning_reason(evaluation),
        Phase::Ready => format!("the hub reports {} and the kubeconfig is published", hub_phase(evaluation)),
        Phase::Degraded => format!("it was ready before, and the hub now reports {}", hub_phase(evaluation)),
        Phase::Deprovisioning => {
            format!(
                "{}; the hub reports {} and has not finished",
                teardown_reason(evaluation),
                hub_phase(evaluation)
            )
        }
        Phase::Deprovisioned => match &lifecycle.completion {
            Some(over) => format!("{}, and nothing is left ({})", teardown_reason(evaluation), over.reason),
            None => teardown_reason(evaluation).into(),
        },
        Phase::Failed => failure_reason(lifecycle).into(),
    };
    format!("phase {}: {why}", lifecycle.phase)
}

fn pending_reason(evaluation: &ClusterEvaluation) -> String {
    match (&evaluation.observed.primary, &evaluation.plan.request) {
        (None, Ok(PlannedRequest { validated: Validated { blocked_by: Some(blocker), .. }, .. })) => {
            blocker.message.clone()
        }
        (None, _) => "no request was sent to the hub before".into(),
        (Some(_), _) if evaluation.plan.lifecycle.recreates => {
            "the request disappeared before the hub started on it, so it is sent again".into()
        }
        (Some(primary), _) => match &primary.sync {
            SyncState::Refused(message) => format!("the hub refuses: {message}"),
            SyncState::Unavailable(outage) => outage.to_string(),
            SyncState::Paused => "the Object is paused, so nothing reaches the hub".into(),
            SyncState::InSync if !evaluation.plan.health.waiting.is_empty() => {
                evaluation.plan.health.waiting.clone()
            }
            SyncState::Unknown
            | SyncState::InSync
            | SyncState::Deleted
            | SyncState::Replaced
            | SyncState::UnknownField(_) => {
                "the request was sent, and the hub has not reported anything yet".into()
            }
        },
    }
}

fn provisioning_reason(evaluation: &ClusterEvaluation) -> String {
    match &evaluation.plan.health.stage {
        _ if evaluation.plan.health.set_up.is_some() => evaluation.plan.health.waiting.clone(),
        Stage::Ready => "the hub reports Ready, but the kubeconfig is not published yet".into(),
        Stage::Failing(_) => {
            "the hub reports Failed, but neither that its job has ended nor that it refused the request"
                .into()
        }
        Stage::NotObserved
        | Stage::Queued
        | Stage::Lost(_)
        | Stage::Provisioning
        | Stage::TearingDown
        | Stage::Refused { .. }
        | Stage::Ended { .. } => {
            format!("the hub reports {}", hub_phase(evaluation))
        }
    }
}

/// Cause of the teardown.
fn teardown_reason(evaluation: &ClusterEvaluation) -> &'static str {
    let requested = evaluation.plan.request.as_ref().is_ok_and(|r| r.teardown == Some(true));
    match evaluation.plan.lifecycle {
        Lifecycle { lifetime_ended: true, .. } => "its lifetime ended",
        _ if requested => "spec.tearDownCluster is true",
        Lifecycle { teardown: true, .. } => "teardown was requested before and cannot be undone",
        Lifecycle { .. } => "the hub ended it",
    }
}

fn failure_reason(lifecycle: &Lifecycle) -> &'static str {
    match lifecycle.failure.unwrap_or(Failure::Earlier) {
        Failure::InvalidClaim => "the claim is invalid in what cannot change",
        Failure::UnknownField => "the hub does not know a field, and nothing was made",
        Failure::HubRefused => "the hub refused the request for good",
        Failure::ProwJobFailed => "the hub's job has ended without success",
        Failure::ProvisionTimeout => "it was not ready within the provision timeout",
        Failure::RemoteDeleted => "the remote object is gone without a request for teardown",
        Failure::RemoteReplaced => "another object has the remote object's name",
        Failure::ClusterDeleted => "the cluster was deleted on the hub without a request for teardown",
        Failure::WriterLost => {
            "a cluster was created for this composite, and the Object that managed it is gone"
        }
        Failure::Earlier => "an earlier pass decided it",
    }
}

fn hub_phase(evaluation: &ClusterEvaluation) -> &str {
    match evaluation.plan.health.phase_word.as_str() {
        "" => "nothing",
        word => word,
    }
}
