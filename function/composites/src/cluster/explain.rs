//! Reasons behind a response: one line per decision.
//!
//! Input: an evaluation, and its response. Output: sentences for people, whose wording may change with any version. Decisions are read from
//! where they were made and never made again here, so that an explanation cannot differ from the decision. Like every text of this function
//! it contains no secret.

mod next;
mod phase;
mod pool;

use prost::Message as _;
use testplatform_apis::{
    names::{crossplane, ours},
    phase::Phase,
};

use crate::{
    cluster::{
        backends::{
            Stage,
            intent::{ManagementPolicies, PlannedRequest, PrimaryAction},
        },
        lifecycle::ClusterEvaluation,
        observed::{CREDENTIALS, EPHEMERAL_CLUSTER, Environment, PrimaryObject},
        request::Validated,
    },
    sdk::{
        composite::Flavour,
        proto::{Ready, Resource, RunFunctionResponse, Severity},
        wire,
    },
};

/// The reasons behind a response, most important first.
pub fn explain_response(evaluation: &ClusterEvaluation, response: &RunFunctionResponse) -> Vec<String> {
    let fatal = response.results.iter().find(|r| r.severity == i32::from(Severity::Fatal));
    if let Some(fatal) = fatal {
        return vec![format!("fatal: {}", fatal.message)];
    }
    let mut lines = vec![phase::phase_line(evaluation)];
    lines.extend(latch_lines(evaluation));
    match &evaluation.plan.request {
        Ok(request) => {
            lines.push(primary_line(evaluation, request));
            lines.extend(pin_line(evaluation, request));
            lines.push(credentials_line(evaluation, request, response));
            lines.extend(composite_line(evaluation, response));
            lines.push(connection_line(evaluation));
            lines.extend(deadline_lines(evaluation, request));
            lines.extend(request.issues.iter().map(|r| format!("remark: {}: {}", r.reason, r.message)));
        }
        Err(problems) => {
            lines.extend(problems.iter().map(|p| format!("problem: {}: {}", p.field, p.sentence)));
            lines.push("writer: not created, because the claim is invalid".into());
        }
    }
    lines.extend(next::next_change_lines(evaluation));
    if let Some(ttl) = response.meta.as_ref().and_then(|m| m.ttl.as_ref()) {
        lines.push(format!("answer: good for {} s", ttl.seconds));
    }
    lines
}

/// Latched states and where they are recorded.
fn latch_lines(evaluation: &ClusterEvaluation) -> Vec<String> {
    let observed = &evaluation.observed;
    let lifecycle = &evaluation.plan.lifecycle;
    let note = match lifecycle.phase {
        Phase::Failed => Some(ours::FAILED),
        Phase::Deprovisioned => Some(ours::OVER),
        Phase::Pending | Phase::Provisioning | Phase::Ready | Phase::Degraded | Phase::Deprovisioning => None,
    };
    let is_recorded =
        |key: &&str| observed.primary.as_ref().is_some_and(|w| w.object.metadata.annotation(key).is_some());
    let shown = observed.composite.status.phase == Some(lifecycle.phase);
    let last = note.map(|key| [shown.then_some("status.phase"), Some(key).filter(is_recorded)]);
    let last: Vec<&str> = last.into_iter().flatten().flatten().collect();

    let given = match observed.composite.flavour {
        Flavour::Claimed | Flavour::Homeless => "the kubeconfig in the composite's connection Secret",
        Flavour::Namespaced(_) => "the kubeconfig in the Secret that credentials writes",
    };
    let ready = [
        (given, observed.details.has_kubeconfig()),
        ("status.readyAt", observed.composite.status.ready_at.is_some()),
        (ours::READY_AT, observed.annotation(ours::READY_AT).is_some()),
        ("condition Ready", observed.composite.is_ready()),
    ];
    let ready: Vec<&str> = ready.into_iter().filter(|(_, holds)| *holds).map(|(what, _)| what).collect();

    let mut lines = Vec::new();
    if !last.is_empty() {
        lines.push(format!("latch {}: remembered by {}", lifecycle.phase, last.join(" and ")));
    }
    if lifecycle.ever_ready && !observed.ever_ready() {
        lines.push("latch ready: from this pass on".into());
    } else if lifecycle.ever_ready {
        lines.push(format!("latch ready: remembered by {}", ready.join(" and ")));
    }
    lines
}

fn primary_line(evaluation: &ClusterEvaluation, request: &PlannedRequest) -> String {
    let observed = &evaluation.observed;
    let lifecycle = &evaluation.plan.lifecycle;
    let what = match &request.intent.action {
        PrimaryAction::Omit => {
            let why = if lifecycle.teardown {
                "its end was asked for before anything was made"
            } else if observed.was_made_before() {
                "a cluster was made for this composite before, and none is made twice"
            } else if request.blocked_by.is_some() {
                "the request is held"
            } else {
                "the claim has come to its end"
            };
            format!("not created, because {why}")
        }
        PrimaryAction::Remove => "taken away, which ends the cluster; it goes once the cluster is gone".into(),
        PrimaryAction::Probe { .. } if observed.primary.as_ref().is_some_and(PrimaryObject::is_deleting) => {
            "on its way out, and desired again so that it is seen until the cluster is gone".into()
        }
        PrimaryAction::Probe { .. } if observed.is_teardown_recorded() => {
            "taken away, and made anew to see whether the remote object is gone; it cannot make one".into()
        }
        PrimaryAction::Relocate => {
            "left out once, because its hub cannot be reached and nothing was made there: another is chosen"
                .into()
        }
        PrimaryAction::Create => "created, because nothing was asked of the hub before".into(),
        PrimaryAction::Probe { .. } => "gone, and made anew to look for the remote object; it cannot make one".into(),
        PrimaryAction::Recreate { .. } => "kept, and asks for the remote object a second and last time".into(),
        PrimaryAction::Update(ManagementPolicies::ObserveDelete) if request.intent.teardown_deferred && !observed.awaits_pre_delete() => {
            "kept with what the hub has in place of what it may refuse, which could not be deleted; then it is taken away"
                .into()
        }
        PrimaryAction::Update(_) if request.intent.teardown_deferred => {
            "kept as it is until what comes before the end is done inside the cluster; then it is taken away"
                .into()
        }
        PrimaryAction::Update(_) if lifecycle.pending_failure.is_some() => {
            "kept as it is until it is noted why the claim Failed; then it is taken away".into()
        }
        PrimaryAction::Update(policies) => format!("kept with {}", policies_text(evaluation, *policies)),
    };
    let tears_down = request.intent.teardown && !request.intent.teardown_deferred;
    let teardown = match (&request.intent.action, tears_down) {
        (
            PrimaryAction::Create
            | PrimaryAction::Recreate { .. }
            | PrimaryAction::Update(ManagementPolicies::Full),
            true,
        ) => ", and tells the hub to tear down",
        _ => "",
    };
    let name = evaluation.plan.primary_resource.unwrap_or(EPHEMERAL_CLUSTER);
    format!("writer {name}: {what}{teardown}")
}

fn policies_text(evaluation: &ClusterEvaluation, policies: ManagementPolicies) -> &'static str {
    let lifecycle = &evaluation.plan.lifecycle;
    match policies {
        ManagementPolicies::Full => match lifecycle.phase {
            Phase::Deprovisioning | Phase::Deprovisioned | Phase::Failed => {
                "full policies, because the cluster is still to be ended"
            }
            Phase::Pending | Phase::Provisioning | Phase::Ready | Phase::Degraded => {
                "full policies, because the cluster is wanted"
            }
        },
        ManagementPolicies::ObserveCreateDelete => {
            "policies Observe, Create and Delete, until it is seen whose the remote object is"
        }
        ManagementPolicies::ObserveDelete => {
            "policies Observe and Delete, because nothing may make the remote object anew"
        }
        ManagementPolicies::Observe if evaluation.plan.transfer.is_some() => {
            "policy Observe alone, because the cluster goes to a TestCluster, which ends it"
        }
        ManagementPolicies::Observe => {
            "policy Observe alone, because another object has the name, and Delete goes by name"
        }
    }
}

fn pin_line(evaluation: &ClusterEvaluation, request: &PlannedRequest) -> Option<String> {
    let uid = match &request.intent.action {
        PrimaryAction::Update(_) => {
            evaluation.observed.primary.as_ref().and_then(PrimaryObject::remote_uid)?
        }
        PrimaryAction::Recreate { vanished } => {
            return Some(format!("pin: left out once, {vanished} vanished"));
        }
        PrimaryAction::Probe { uid } => uid.clone()?,
        PrimaryAction::Omit | PrimaryAction::Create | PrimaryAction::Remove | PrimaryAction::Relocate => {
            return None;
        }
    };
    Some(format!("pin: the manifest carries uid {uid}, so that no other object is made or taken for it"))
}

fn credentials_line(
    evaluation: &ClusterEvaluation,
    request: &PlannedRequest,
    response: &RunFunctionResponse,
) -> String {
    let lifecycle = &evaluation.plan.lifecycle;
    let what = match (emitted_resource(response, CREDENTIALS), &lifecycle.secret) {
        (None, _) if request.intent.wants_credentials && evaluation.plan.primary_resource.is_none() => {
            "not there, because this claim has no backend".into()
        }
        (None, _) if request.intent.wants_credentials && request.templated().is_some() => {
            "not there, because no hub is chosen yet".into()
        }
        (None, _) if request.intent.wants_credentials => "not there, because no pool is chosen yet".into(),
        (None, _) => "left out, because there is nothing left that they open".into(),
        (Some(object), _) if is_paused(&object) => "paused, because the hub has not named a Secret".into(),
        (Some(_), Some(secret)) => match evaluation.plan.health.secret {
            None if evaluation.plan.health.publishes_admin => {
                format!("reads no key of Secret {secret}, which is the admin's by now")
            }
            Some(_) => format!("reads Secret {secret}, which the hub names"),
            None => format!("reads Secret {secret}, which the hub named last"),
        },
        (Some(_), None) => "not paused although no Secret is named, because it has its finalizer".into(),
    };
    format!("{CREDENTIALS}: {what}")
}

fn emitted_resource(response: &RunFunctionResponse, name: &str) -> Option<Resource> {
    let bytes = response.desired.as_ref()?.resources.get(name)?;
    Resource::decode(bytes.clone()).ok()
}

fn is_paused(resource: &Resource) -> bool {
    wire::to_value(&resource.resource)
        .is_ok_and(|object| object["metadata"]["annotations"][crossplane::PAUSED] == "true")
}

fn composite_line(evaluation: &ClusterEvaluation, response: &RunFunctionResponse) -> Option<String> {
    let lifecycle = &evaluation.plan.lifecycle;
    let composite = response.desired.as_ref()?.composite.as_ref()?;
    let ready = composite.ready() == Ready::True;
    let why = match (lifecycle.phase, ready) {
        (Phase::Pending, _) => match &evaluation.plan.request {
            Ok(request) if request.blocked_by.is_some() && evaluation.observed.primary.is_none() => {
                "waits for what holds the request".into()
            }
            _ => "waits for the hub".into(),
        },
        (Phase::Provisioning, _) => match (&evaluation.plan.health.stage, &lifecycle.secret) {
            (Stage::Ready, Some(secret)) => format!("waits for the kubeconfig of Secret {secret}"),
            (Stage::Ready, None) => "waits for the hub to name the Secret with the kubeconfig".into(),
            _ => "waits for the hub to be ready".into(),
        },
        (Phase::Failed, false) if lifecycle.ever_ready => "waits for what is left to be torn down".into(),
        (_, false) => "it never was".into(),
        (Phase::Ready | Phase::Degraded | Phase::Deprovisioning, true)
            if evaluation.plan.lifecycle.is_withdrawn =>
        {
            "it was, and the emptied credentials have to reach the claim".into()
        }
        (Phase::Ready | Phase::Degraded | Phase::Deprovisioning, true) => "it has its kubeconfig".into(),
        (Phase::Deprovisioned | Phase::Failed, true) => {
            "it was, and the emptied credentials have to reach the claim".into()
        }
    };
    Some(format!("composite: {}, {why}", if ready { "ready" } else { "not ready" }))
}

fn connection_line(evaluation: &ClusterEvaluation) -> String {
    let (whose, gone) = match evaluation.observed.composite.flavour {
        Flavour::Claimed | Flavour::Homeless => {
            ("connection Secret".to_owned(), "both keys present and empty")
        }
        Flavour::Namespaced(_) => (
            format!("Secret {}, by credentials", crate::cluster::backends::secret_name(&evaluation.observed)),
            "deleted with credentials",
        ),
    };
    let what = match &evaluation.plan.lifecycle.details {
        None => "not written, there are no credentials yet".into(),
        Some(_) if evaluation.plan.lifecycle.is_withdrawn => {
            "emptied, because the hub withdrew the kubeconfig".into()
        }
        Some(details) if !details.has_kubeconfig() && !evaluation.plan.lifecycle.is_complete() => {
            "missed, and written anew".into()
        }
        Some(details) if !details.has_kubeconfig() && evaluation.plan.lifecycle.ever_ready => {
            format!("{gone}, which takes the credentials back")
        }
        Some(details) if !details.has_kubeconfig() => format!("{gone}, there will be no credentials"),
        Some(details) if !details.has_password() => "kubeconfig, and an empty password".into(),
        Some(_) => "kubeconfig and password".into(),
    };
    format!("{whose}: {what}")
}

fn deadline_lines(evaluation: &ClusterEvaluation, request: &Validated) -> Vec<String> {
    let lifecycle = &evaluation.plan.lifecycle;
    let mut lines = Vec::new();
    lines.push(format!("environment: {}", environment_text(evaluation)));
    lines.extend(pool::pool_lines(evaluation, request));
    if let Some(at) = lifecycle.estimated_ready_at.filter(|_| !lifecycle.ever_ready) {
        lines.push(format!("estimate: nine in ten of its kind are ready by {at}"));
    }
    let lifetime = match (request.lifetime.effective, lifecycle.expires_at) {
        _ if evaluation.observed.transfer.is_released() => "that of whoever has the cluster now".into(),
        (None, _) => "none, it lives until it is torn down".into(),
        (Some(life), None) => format!("{life}, counted from when it is ready"),
        (Some(life), Some(end)) => format!("{life}, ends at {end}"),
    };
    lines.push(format!("lifetime: {lifetime}"));
    lines.extend(lifecycle.cleanup_at.map(|at| format!("cleanup: nobody needs it, to be torn down at {at}")));
    lines
}

fn environment_text(evaluation: &ClusterEvaluation) -> String {
    let name = &evaluation.settings.environment_config;
    let still = match evaluation.observed.primary {
        Some(_) => "; what was asked for is repeated as it is observed",
        None => "",
    };
    match &evaluation.observed.environment {
        Environment::Found(config) => {
            format!("EnvironmentConfig {name} names this cluster {}", config.cluster_name)
        }
        Environment::Invalid(why) => format!("{why}{still}"),
        Environment::Missing => format!("EnvironmentConfig {name} does not exist{still}"),
        Environment::NotFetched => {
            format!("EnvironmentConfig {name} was asked for, this answer is not the last")
        }
    }
}
