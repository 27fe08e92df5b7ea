//! Next change of the phase: by itself, by the owner, or by the hub.

use testplatform_apis::phase::Phase;

use crate::{
    cluster::{
        backends::Stage,
        lifecycle::{ClusterEvaluation, Lifecycle},
        observed::CLUSTER_CLAIM,
    },
    objects::SyncState,
};

/// Next change of the phase, and the active deadlines.
pub(super) fn next_change_lines(evaluation: &ClusterEvaluation) -> Vec<String> {
    let lifecycle = &evaluation.plan.lifecycle;
    let mut lines = Vec::new();
    if let Some(at) = lifecycle.provision_deadline {
        lines.push(format!("provision timeout: Failed if not ready by {at}"));
    }
    lines.push(format!("next: {}", next_event(evaluation, lifecycle)));
    if let Some(at) = lifecycle.next_deadline {
        lines.push(format!("next deadline: {at}"));
    }
    lines
}

fn next_event(evaluation: &ClusterEvaluation, lifecycle: &Lifecycle) -> String {
    let sync = evaluation.observed.primary.as_ref().map(|w| &w.sync);
    match lifecycle.phase {
        Phase::Pending => match (sync, &evaluation.plan.request) {
            (None, Ok(request)) if request.blocked_by.is_some() => {
                "Provisioning, once the request is no longer held".into()
            }
            (Some(SyncState::Paused), _) => "nothing, until the Object is no longer paused".into(),
            (Some(SyncState::Refused(_)), _) => "Provisioning, once the hub no longer refuses".into(),
            (Some(SyncState::Unavailable(_)), _) => "Provisioning, once the hub answers".into(),
            _ if evaluation.plan.health.stage == Stage::Queued => match evaluation.plan.primary_resource {
                Some(CLUSTER_CLAIM) => "Provisioning, once the pool provides a cluster".into(),
                _ => "Provisioning, once the hub starts to create it".into(),
            },
            _ => "Provisioning, once the hub shows the remote object".into(),
        },
        Phase::Provisioning => match &evaluation.plan.health.stage {
            Stage::Ready => "Ready, with the kubeconfig".into(),
            _ => "Ready, once the hub reports it and the kubeconfig is published".into(),
        },
        Phase::Ready if evaluation.observed.transfer.is_released() => {
            "Deprovisioned, once the new owner has ended the cluster".into()
        }
        Phase::Ready => "Deprovisioning, by spec.tearDownCluster or the end of its lifetime".into(),
        Phase::Degraded => "Ready, once the hub reports it again".into(),
        Phase::Deprovisioning => "Deprovisioned, once the hub is done".into(),
        Phase::Deprovisioned => "nothing, this is final".into(),
        Phase::Failed if lifecycle.completion.is_none() => {
            "nothing, Failed is final; ProwJobCompleted becomes True once nothing is left".into()
        }
        Phase::Failed => "nothing, this is final; create a new claim".into(),
    }
}
