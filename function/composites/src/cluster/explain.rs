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
            lines.push("primary Object: not created, because the claim is invalid".into());
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
                "teardown was requested before anything was created"
            } else if observed.was_made_before() {
                "a cluster was created for this composite before, and none is created twice"
            } else if request.blocked_by.is_some() {
                "the request is held"
            } else {
                "the claim has ended"
            };
            format!("not created, because {why}")
        }
        PrimaryAction::Remove => "deleted, which ends the cluster; the Object disappears after the cluster".into(),
        PrimaryAction::Probe { .. } if observed.primary.as_ref().is_some_and(PrimaryObject::is_deleting) => {
            "being deleted, and desired again to observe the cluster until it is gone".into()
        }
        PrimaryAction::Probe { .. } if observed.is_teardown_recorded() => {
            "deleted, and created again to check whether the remote object is gone; its policies cannot create one".into()
        }
        PrimaryAction::Relocate => {
            "omitted once, because its hub cannot be reached and nothing was created there; another hub is chosen"
                .into()
        }
        PrimaryAction::Create => "created, because no request was sent to the hub before".into(),
        PrimaryAction::Probe { .. } => "missing, and created again to look for the remote object; its policies cannot create one".into(),
        PrimaryAction::Recreate { .. } => "kept, and requests the remote object a second and last time".into(),
        PrimaryAction::Update(ManagementPolicies::ObserveDelete) if request.intent.teardown_deferred && !observed.awaits_pre_delete() => {
            "kept with the hub's current specification, because one that the hub refuses could not be deleted; then it is deleted"
                .into()
        }
        PrimaryAction::Update(_) if request.intent.teardown_deferred => {
            "kept as it is until the teardown bundles have finished inside the cluster; then it is deleted"
                .into()
        }
        PrimaryAction::Update(_) if lifecycle.pending_failure.is_some() => {
            "kept as it is until the reason of the failure is recorded; then it is deleted".into()
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
        ) => ", and requests teardown from the hub",
        _ => "",
    };
    let name = evaluation.plan.primary_resource.unwrap_or(EPHEMERAL_CLUSTER);
    format!("primary Object {name}: {what}{teardown}")
}

fn policies_text(evaluation: &ClusterEvaluation, policies: ManagementPolicies) -> &'static str {
    let lifecycle = &evaluation.plan.lifecycle;
    match policies {
        ManagementPolicies::Full => match lifecycle.phase {
            Phase::Deprovisioning | Phase::Deprovisioned | Phase::Failed => {
                "full policies, because the cluster still has to be torn down"
            }
            Phase::Pending | Phase::Provisioning | Phase::Ready | Phase::Degraded => {
                "full policies, because the cluster is wanted"
            }
        },
        ManagementPolicies::ObserveCreateDelete => {
            "policies Observe, Create and Delete, until the owner of the remote object is known"
        }
        ManagementPolicies::ObserveDelete => {
            "policies Observe and Delete, because the remote object must not be created again"
        }
        ManagementPolicies::Observe if evaluation.plan.transfer.is_some() => {
            "policy Observe alone, because a TestCluster takes the cluster over and ends it"
        }
        ManagementPolicies::Observe => {
            "policy Observe alone, because another object has the name, and Delete uses the name"
        }
    }
}

fn pin_line(evaluation: &ClusterEvaluation, request: &PlannedRequest) -> Option<String> {
    let uid = match &request.intent.action {
        PrimaryAction::Update(_) => {
            evaluation.observed.primary.as_ref().and_then(PrimaryObject::remote_uid)?
        }
        PrimaryAction::Recreate { vanished } => {
            return Some(format!("pin: omitted once, because {vanished} disappeared"));
        }
        PrimaryAction::Probe { uid } => uid.clone()?,
        PrimaryAction::Omit | PrimaryAction::Create | PrimaryAction::Remove | PrimaryAction::Relocate => {
            return None;
        }
    };
    Some(format!(
        "pin: the manifest carries uid {uid}, so that no other object can be created or used in its place"
    ))
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
        (None, _) => "omitted, because the cluster that they open is gone".into(),
        (Some(object), _) if is_paused(&object) => "paused, because the hub has not reported a Secret".into(),
        (Some(_), Some(secret)) => match evaluation.plan.health.secret {
            None if evaluation.plan.health.publishes_admin => {
                format!("reads no key of Secret {secret}, which now belongs to the admin")
            }
            Some(_) => format!("reads Secret {secret}, which the hub reports"),
            None => format!("reads Secret {secret}, which the hub reported last"),
        },
        (Some(_), None) => "not paused although no Secret is reported, because it has its finalizer".into(),
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
                "waits until the request is no longer held".into()
            }
            _ => "waits for the hub".into(),
        },
        (Phase::Provisioning, _) => match (&evaluation.plan.health.stage, &lifecycle.secret) {
            (Stage::Ready, Some(secret)) => format!("waits for the kubeconfig of Secret {secret}"),
            (Stage::Ready, None) => "waits for the hub to report the Secret with the kubeconfig".into(),
            _ => "waits for the hub to be ready".into(),
        },
        (Phase::Failed, false) if lifecycle.ever_ready => {
            "waits until the remaining resources are torn down".into()
        }
        (_, false) => "it never was".into(),
        (Phase::Ready | Phase::Degraded | Phase::Deprovisioning, true)
            if evaluation.plan.lifecycle.is_withdrawn =>
        {
            "it was ready, and the emptied credentials must reach the claim first".into()
        }
        (Phase::Ready | Phase::Degraded | Phase::Deprovisioning, true) => "it has its kubeconfig".into(),
        (Phase::Deprovisioned | Phase::Failed, true) => {
            "it was ready, and the emptied credentials must reach the claim first".into()
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
            "missing, and written again".into()
        }
        Some(details) if !details.has_kubeconfig() && evaluation.plan.lifecycle.ever_ready => {
            format!("{gone}, which withdraws the credentials")
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
        lines.push(format!("estimate: 90 % of similar clusters are ready by {at}"));
    }
    let lifetime = match (request.lifetime.effective, lifecycle.expires_at) {
        _ if evaluation.observed.transfer.is_released() => "that of the cluster's new owner".into(),
        (None, _) => "none, it lives until it is torn down".into(),
        (Some(life), None) => format!("{life}, counted from when it is ready"),
        (Some(life), Some(end)) => format!("{life}, ends at {end}"),
    };
    lines.push(format!("lifetime: {lifetime}"));
    lines.extend(lifecycle.cleanup_at.map(|at| format!("cleanup: no longer needed, torn down at {at}")));
    lines
}

fn environment_text(evaluation: &ClusterEvaluation) -> String {
    let name = &evaluation.settings.environment_config;
    let still = match evaluation.observed.primary {
        Some(_) => "; the observed request is repeated",
        None => "",
    };
    match &evaluation.observed.environment {
        Environment::Found(config) => {
            format!("EnvironmentConfig {name} names this cluster {}", config.cluster_name)
        }
        Environment::Invalid(why) => format!("{why}{still}"),
        Environment::Missing => format!("EnvironmentConfig {name} does not exist{still}"),
        Environment::NotFetched => {
            format!("EnvironmentConfig {name} was requested; this answer is not final")
        }
    }
}
