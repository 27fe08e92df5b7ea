//! What would change the phase next: by itself, by the owner, by the hub.

use testplatform_apis::phase::Phase;

use crate::{
    ClusterEvaluation,
    backend::Stage,
    observed::{CLUSTER_CLAIM, SyncState},
    plan::Lifecycle,
};

/// What would change the phase, and the deadlines that stand.
pub(super) fn next_change_lines(judged: &ClusterEvaluation) -> Vec<String> {
    let course = &judged.plan.lifecycle;
    let mut lines = Vec::new();
    if let Some(at) = course.provision_deadline {
        lines.push(format!("provision timeout: Failed if not ready by {at}"));
    }
    lines.push(format!("next: {}", next_event(judged, course)));
    if let Some(at) = course.next_deadline {
        lines.push(format!("next deadline: {at}"));
    }
    lines
}

fn next_event(judged: &ClusterEvaluation, course: &Lifecycle) -> String {
    let link = judged.observed.primary.as_ref().map(|w| &w.sync);
    match course.phase {
        Phase::Pending => match (link, &judged.plan.request) {
            (None, Ok(request)) if request.blocked_by.is_some() => {
                "Provisioning, once what holds the request is lifted".into()
            }
            (Some(SyncState::Paused), _) => "nothing, until the Object is no longer paused".into(),
            (Some(SyncState::Refused(_)), _) => "Provisioning, once the hub no longer refuses".into(),
            (Some(SyncState::Unavailable(_)), _) => "Provisioning, once the hub answers".into(),
            _ if judged.plan.health.stage == Stage::Queued => match judged.plan.primary_resource {
                Some(CLUSTER_CLAIM) => "Provisioning, once the pool gives a cluster".into(),
                _ => "Provisioning, once the hub begins to make it".into(),
            },
            _ => "Provisioning, once the hub shows the remote object".into(),
        },
        Phase::Provisioning => match &judged.plan.health.stage {
            Stage::Ready => "Ready, with the kubeconfig".into(),
            _ => "Ready, once the hub says so and the kubeconfig is there".into(),
        },
        Phase::Ready if judged.observed.transfer.is_released() => {
            "Deprovisioned, once whoever has the cluster now has ended it".into()
        }
        Phase::Ready => "Deprovisioning, by spec.tearDownCluster or the end of its lifetime".into(),
        Phase::Degraded => "Ready, once the hub says so again".into(),
        Phase::Deprovisioning => "Deprovisioned, once the hub is done".into(),
        Phase::Deprovisioned => "nothing, this is final".into(),
        Phase::Failed if course.completion.is_none() => {
            "nothing, Failed is final; ProwJobCompleted becomes True once nothing is left".into()
        }
        Phase::Failed => "nothing, this is final; create a new claim".into(),
    }
}
