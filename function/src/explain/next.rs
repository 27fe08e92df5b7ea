//! What would change the phase next: by itself, by the owner, by the hub.

use testplatform_apis::phase::Phase;

use crate::{
    Judged,
    backend::Stage,
    observed::{CLUSTER_CLAIM, Link},
    plan::Course,
};

/// What would change the phase, and the deadlines that stand.
pub(super) fn change(judged: &Judged) -> Vec<String> {
    let course = &judged.plan.course;
    let mut lines = Vec::new();
    if let Some(at) = course.provision_deadline {
        lines.push(format!("provision timeout: Failed if not ready by {at}"));
    }
    lines.push(format!("next: {}", event(judged, course)));
    if let Some(at) = course.next_deadline {
        lines.push(format!("next deadline: {at}"));
    }
    lines
}

fn event(judged: &Judged, course: &Course) -> String {
    let link = judged.observed.writer.as_ref().map(|w| &w.link);
    match course.phase {
        Phase::Pending => match (link, &judged.plan.request) {
            (None, Ok(request)) if request.hold.is_some() => {
                "Provisioning, once what holds the request is lifted".into()
            }
            (Some(Link::Paused), _) => "nothing, until the Object is no longer paused".into(),
            (Some(Link::Refused(_)), _) => "Provisioning, once the hub no longer refuses".into(),
            (Some(Link::Unavailable(_)), _) => "Provisioning, once the hub answers".into(),
            _ if judged.plan.health.stage == Stage::Queued => match judged.plan.writer {
                Some(CLUSTER_CLAIM) => "Provisioning, once the pool gives a cluster".into(),
                _ => "Provisioning, once the hub begins to make it".into(),
            },
            _ => "Provisioning, once the hub shows the remote object".into(),
        },
        Phase::Provisioning => match &judged.plan.health.stage {
            Stage::Ready => "Ready, with the kubeconfig".into(),
            _ => "Ready, once the hub says so and the kubeconfig is there".into(),
        },
        Phase::Ready if judged.observed.handover.let_go() => {
            "Deprovisioned, once whoever has the cluster now has ended it".into()
        }
        Phase::Ready => "Deprovisioning, by spec.tearDownCluster or the end of its lifetime".into(),
        Phase::Degraded => "Ready, once the hub says so again".into(),
        Phase::Deprovisioning => "Deprovisioned, once the hub is done".into(),
        Phase::Deprovisioned => "nothing, this is final".into(),
        Phase::Failed if course.over.is_none() => {
            "nothing, Failed is final; ProwJobCompleted becomes True once nothing is left".into()
        }
        Phase::Failed => "nothing, this is final; create a new claim".into(),
    }
}
