//! Why the answer is what it is: one line per decision.
//!
//! Input: what was judged, and the response made of it. Output: sentences for people, whose wording may change with
//! any version. Decisions are read from where they were taken and never taken again here, so that an explanation
//! cannot differ from what happened; and like every text of ours it names no secret.

mod next;

use prost::Message as _;
use testplatform_apis::{
    condition::Failure,
    names::{crossplane, ours},
    phase::Phase,
};

use crate::{
    Judged,
    backend::Stage,
    observed::{CREDENTIALS, EPHEMERAL_CLUSTER, Environment, Link, Writer},
    plan::{Course, Policies, Write},
    proto::{Ready, Resource, RunFunctionResponse, Severity},
    validate::Validated,
    wire,
};

/// The reasons behind a response, most important first.
pub fn explain(judged: &Judged, response: &RunFunctionResponse) -> Vec<String> {
    let fatal = response.results.iter().find(|r| r.severity == i32::from(Severity::Fatal));
    if let Some(fatal) = fatal {
        return vec![format!("fatal: {}", fatal.message)];
    }
    let mut lines = vec![phase(judged)];
    lines.extend(latched(judged));
    match &judged.plan.request {
        Ok(request) => {
            lines.push(writer(judged, request));
            lines.extend(pin(judged, request));
            lines.push(credentials(judged, request, response));
            lines.extend(composite(judged, response));
            lines.push(connection(judged));
            lines.extend(deadlines(judged, request));
            lines.extend(request.remarks.iter().map(|r| format!("remark: {}: {}", r.reason, r.message)));
        }
        Err(problems) => {
            lines.extend(problems.iter().map(|p| format!("problem: {}: {}", p.field, p.sentence)));
            lines.push("writer: not created, because the claim is invalid".into());
        }
    }
    lines.extend(next::change(judged));
    lines
}

fn phase(judged: &Judged) -> String {
    let course = &judged.plan.course;
    let why = match course.phase {
        Phase::Pending => pending(judged),
        Phase::Provisioning => provisioning(judged),
        Phase::Ready => format!("the hub says {} and the kubeconfig is there", word(judged)),
        Phase::Degraded => format!("it was ready before, and the hub now says {}", word(judged)),
        Phase::Deprovisioning => {
            format!("{}; the hub says {} and is not done", ending(judged), word(judged))
        }
        Phase::Deprovisioned => match &course.over {
            Some(over) => format!("{}, and nothing is left ({})", ending(judged), over.reason),
            None => ending(judged).into(),
        },
        Phase::Failed => failed(course).into(),
    };
    format!("phase {}: {why}", course.phase)
}

fn pending(judged: &Judged) -> String {
    match (&judged.observed.writer, &judged.plan.request) {
        (None, Ok(Validated { hold: Some(hold), .. })) => hold.message.clone(),
        (None, _) => "nothing was asked of the hub before".into(),
        (Some(_), _) if judged.plan.course.again => {
            "what was asked for vanished before the hub took it up, so it is asked for once more".into()
        }
        (Some(writer), _) => match &writer.link {
            Link::Refused(words) => format!("the hub refuses: {words}"),
            Link::Unreachable(how) => format!("the hub cannot be reached: {how}"),
            Link::Paused => "the Object is paused, so nothing reaches the hub".into(),
            Link::Unknown | Link::InSync | Link::Deleted | Link::Replaced | Link::UnknownField(_) => {
                "the hub was asked and shows nothing yet".into()
            }
        },
    }
}

fn provisioning(judged: &Judged) -> String {
    match &judged.plan.health.stage {
        Stage::Ready => "the hub says Ready, but the kubeconfig is not there yet".into(),
        Stage::Failing(_) => {
            "the hub says Failed, but neither that its job has ended nor that it refused the request".into()
        }
        Stage::Unborn
        | Stage::Provisioning
        | Stage::TearingDown
        | Stage::Refused { .. }
        | Stage::Ended { .. } => {
            format!("the hub says {}", word(judged))
        }
    }
}

/// What ends the cluster.
fn ending(judged: &Judged) -> &'static str {
    let asked = judged.plan.request.as_ref().is_ok_and(|r| r.teardown == Some(true));
    match judged.plan.course {
        _ if asked => "spec.tearDownCluster is true",
        Course { expired: true, .. } => "its lifetime is over",
        Course { teardown: true, .. } => "its end was asked for before, which is not taken back",
        Course { .. } => "the hub ended it",
    }
}

fn failed(course: &Course) -> &'static str {
    match course.failure.unwrap_or(Failure::Earlier) {
        Failure::InvalidClaim => "the claim is invalid in what cannot change",
        Failure::UnknownField => "the hub does not know a field, and nothing was made",
        Failure::HubRefused => "the hub refused the request for good",
        Failure::ProwJobFailed => "the hub's job has ended without success",
        Failure::ProvisionTimeout => "it was not ready within the provision timeout",
        Failure::RemoteDeleted => "the remote object is gone, and nobody had asked for that",
        Failure::RemoteReplaced => "another object has the remote object's name",
        Failure::WriterLost => {
            "a cluster was made for this composite, and the Object that carried it is gone"
        }
        Failure::Earlier => "an earlier pass said so",
    }
}

fn word(judged: &Judged) -> &str {
    match judged.plan.health.word.as_str() {
        "" => "nothing",
        word => word,
    }
}

/// What stays as it is because it was said before, and who remembers.
fn latched(judged: &Judged) -> Vec<String> {
    let observed = &judged.observed;
    let course = &judged.plan.course;
    let noted = |key| observed.writer.as_ref().is_some_and(|w| w.object.metadata.annotation(key).is_some());
    let mut lines = Vec::new();
    let mut witnesses = Vec::new();
    if observed.composite.status.phase == Some(course.phase) {
        witnesses.push("status.phase");
    }
    let note = match course.phase {
        Phase::Failed => Some(ours::FAILED),
        Phase::Deprovisioned => Some(ours::OVER),
        Phase::Pending | Phase::Provisioning | Phase::Ready | Phase::Degraded | Phase::Deprovisioning => None,
    };
    if let Some(key) = note.filter(|key| noted(key)) {
        witnesses.push(key);
    }
    if note.is_some() && !witnesses.is_empty() {
        lines.push(format!("latch {}: final, remembered by {}", course.phase, witnesses.join(" and ")));
    }
    if course.ever_ready {
        let mut witnesses = Vec::new();
        if observed.details.has_kubeconfig() {
            witnesses.push("the kubeconfig in the composite's connection Secret");
        }
        if observed.composite.status.ready_at.is_some() {
            witnesses.push("status.readyAt");
        }
        if observed.composite.is_ready() {
            witnesses.push("condition Ready");
        }
        let by = if observed.ever_ready() {
            format!("remembered by {}", witnesses.join(" and "))
        } else {
            "from this pass on".to_owned()
        };
        lines.push(format!("latch ready: {by}"));
    }
    lines
}

fn writer(judged: &Judged, request: &Validated) -> String {
    let observed = &judged.observed;
    let course = &judged.plan.course;
    let what = match &request.intent.write {
        Write::Nothing => {
            let why = if course.teardown {
                "its end was asked for before anything was made"
            } else if observed.made_before() {
                "a cluster was made for this composite before, and none is made twice"
            } else if request.hold.is_some() {
                "the request is held"
            } else {
                "the claim has come to its end"
            };
            format!("not created, because {why}")
        }
        Write::Create => "created, because nothing was asked of the hub before".into(),
        Write::Again { .. } => "kept, and asks for the remote object a second and last time".into(),
        Write::Update(policies) => format!("kept with {}", allowed(judged, *policies)),
    };
    let teardown = match (&request.intent.write, request.intent.teardown) {
        (Write::Create | Write::Again { .. } | Write::Update(_), true) => ", and tells the hub to tear down",
        _ => "",
    };
    format!("writer {EPHEMERAL_CLUSTER}: {what}{teardown}")
}

fn allowed(judged: &Judged, policies: Policies) -> String {
    let course = &judged.plan.course;
    match policies {
        Policies::Full => match course.phase {
            Phase::Failed | Phase::Deprovisioned => {
                "full policies, because the hub does not show yet that it was told to end".into()
            }
            Phase::Pending | Phase::Provisioning | Phase::Ready | Phase::Degraded | Phase::Deprovisioning => {
                "full policies, because the cluster is wanted or still to be ended".into()
            }
        },
        Policies::ObserveDelete => {
            "policies Observe and Delete, because nothing may make the remote object anew".into()
        }
        Policies::Observe => {
            "policy Observe alone, because another object has the name, and Delete goes by name".into()
        }
    }
}

fn pin(judged: &Judged, request: &Validated) -> Option<String> {
    let uid = match &request.intent.write {
        Write::Update(_) => judged.observed.writer.as_ref().and_then(Writer::uid)?,
        Write::Again { vanished } => return Some(format!("pin: left out once, {vanished} vanished")),
        Write::Nothing | Write::Create => return None,
    };
    Some(format!("pin: the manifest carries uid {uid}, so that no other object is made or taken for it"))
}

fn credentials(judged: &Judged, request: &Validated, response: &RunFunctionResponse) -> String {
    let course = &judged.plan.course;
    let what = match (emitted(response, CREDENTIALS), &course.secret) {
        (None, _) if request.intent.credentials => "not there, because this claim has no backend".into(),
        (None, _) => "left out, because there is nothing left that they open".into(),
        (Some(object), _) if paused(&object) => "paused, because the hub has not named a Secret".into(),
        (Some(_), Some(secret)) => match judged.plan.health.secret {
            Some(_) => format!("reads Secret {secret}, which the hub names"),
            None => format!("reads Secret {secret}, which the hub named last"),
        },
        (Some(_), None) => "not paused although no Secret is named, because it has its finalizer".into(),
    };
    format!("{CREDENTIALS}: {what}")
}

fn emitted(response: &RunFunctionResponse, name: &str) -> Option<Resource> {
    let bytes = response.desired.as_ref()?.resources.get(name)?;
    Resource::decode(bytes.clone()).ok()
}

fn paused(resource: &Resource) -> bool {
    wire::to_value(&resource.resource)
        .is_ok_and(|object| object["metadata"]["annotations"][crossplane::PAUSED] == "true")
}

fn composite(judged: &Judged, response: &RunFunctionResponse) -> Option<String> {
    let course = &judged.plan.course;
    let composite = response.desired.as_ref()?.composite.as_ref()?;
    let ready = composite.ready() == Ready::True;
    let why = match (course.phase, ready) {
        (Phase::Pending, _) => "waits for the hub".into(),
        (Phase::Provisioning, _) => match (&judged.plan.health.stage, &course.secret) {
            (Stage::Ready, Some(secret)) => format!("waits for the kubeconfig of Secret {secret}"),
            (Stage::Ready, None) => "waits for the hub to name the Secret with the kubeconfig".into(),
            _ => "waits for the hub to be ready".into(),
        },
        (Phase::Failed, false) if course.ever_ready => "waits for what is left to be torn down".into(),
        (_, false) => "it never was".into(),
        (Phase::Ready | Phase::Degraded | Phase::Deprovisioning, true) => "it has its kubeconfig".into(),
        (Phase::Deprovisioned | Phase::Failed, true) => {
            "it was, and the emptied credentials have to reach the claim".into()
        }
    };
    Some(format!("composite: {}, {why}", if ready { "ready" } else { "not ready" }))
}

fn connection(judged: &Judged) -> String {
    let what = match &judged.plan.course.details {
        None => "not written, there are no credentials yet",
        Some(details) if !details.has_kubeconfig() => "both keys present and empty, which takes them back",
        Some(details) if !details.has_password() => "kubeconfig, and an empty password",
        Some(_) => "kubeconfig and password",
    };
    format!("connection Secret: {what}")
}

fn deadlines(judged: &Judged, request: &Validated) -> Vec<String> {
    let course = &judged.plan.course;
    let mut lines = Vec::new();
    if let Environment::Found(config) = &judged.observed.environment {
        lines.push(format!(
            "environment: EnvironmentConfig {} names this cluster {}",
            judged.settings.environment_config, config.cluster_name
        ));
    }
    if let Some(at) = course.estimated_ready_at.filter(|_| !course.ever_ready) {
        lines.push(format!("estimate: nine in ten of its kind are ready by {at}"));
    }
    let lifetime = match (request.lifetime.effective, course.expires_at) {
        (None, _) => "none, it lives until it is torn down".into(),
        (Some(life), None) => format!("{life}, counted from when it is ready"),
        (Some(life), Some(end)) => format!("{life}, ends at {end}"),
    };
    lines.push(format!("lifetime: {lifetime}"));
    lines
}
