//! Plan → the conditions of the claim. Every pass returns all of them, because an omitted condition would keep its last value.

mod requested;
mod templated;

use testplatform_apis::{
    condition::{
        ClusterReady, Condition, ConditionStatus, ConditionType, Credentials, JobCompleted, Remote,
        SetupLevel, ended_well,
    },
    foreign::{
        ephemeral_cluster::conditions::CREDENTIALS_IN_SYNC,
        meta::{ObservedCondition, find_condition},
    },
    phase::Phase,
    text::bounded,
};

use crate::{
    cluster::{
        backends::Stage,
        lifecycle::{ClusterEvaluation, Lifecycle},
        observed::{CLAIM_NAMES_NO_SECRET, ClaimSecret, EPHEMERAL_CLUSTER, is_ended_by_removal},
        respond::messages,
    },
    objects::SyncState,
    sdk::composite::Flavour,
};

/// The conditions, in their order.
pub fn build_conditions(evaluation: &ClusterEvaluation) -> Vec<Condition> {
    let mut all = vec![phase_condition(evaluation), job_url(evaluation)];
    all.extend(
        evaluation.plan.health.mirrored.iter().filter(|condition| !is_early(condition, evaluation)).cloned(),
    );
    all.extend([
        cluster_ready(evaluation),
        job_completed(evaluation),
        credentials_published(evaluation),
        requested::accepted_condition(evaluation),
        remote_consistent(evaluation),
    ]);
    all.extend(templated::template_conditions(evaluation));
    all
}

/// Whether a condition of the hub is about credentials that the claim does not have yet. It appears together with `Ready`: a pass of its own
/// would cost core three writes.
fn is_early(condition: &Condition, evaluation: &ClusterEvaluation) -> bool {
    evaluation.plan.lifecycle.in_quiet_period
        && condition.type_ == CREDENTIALS_IN_SYNC
        && condition.status == ConditionStatus::True
}

/// `_EphemeralClusterPhase`: one sighting of `Failed` ends a Tekton task for good.
fn phase_condition(evaluation: &ClusterEvaluation) -> Condition {
    let plan = &evaluation.plan;
    let hub = plan.health.phase_word.as_str();
    let word = match plan.lifecycle.phase {
        Phase::Ready | Phase::Degraded => "Ready",
        Phase::Deprovisioning => "Deprovisioning",
        Phase::Deprovisioned => "Deprovisioned",
        Phase::Failed => "Failed",
        // Unmodified tasks know the phases of an EphemeralCluster, and no other backend has them.
        Phase::Pending | Phase::Provisioning
            if plan.primary_resource != Some(EPHEMERAL_CLUSTER) && plan.request.is_ok() =>
        {
            "Provisioning"
        }
        // The hub reports Failed for many transient failures: the last other phase stays then.
        Phase::Pending | Phase::Provisioning if matches!(plan.health.stage, Stage::Failing(_)) => {
            let shown = evaluation.observed.composite.shown(ConditionType::EphemeralClusterPhase);
            shown
                .map(|c| c.message.as_str())
                .filter(|w| !w.is_empty() && *w != "Failed")
                .unwrap_or("Provisioning")
        }
        Phase::Pending | Phase::Provisioning if plan.lifecycle.in_quiet_period && hub == "Ready" => {
            "Provisioning"
        }
        Phase::Pending | Phase::Provisioning => hub,
    };
    Condition::new(ConditionType::EphemeralClusterPhase, ConditionStatus::True, "", bounded(word, 64))
}

fn job_url(evaluation: &ClusterEvaluation) -> Condition {
    Condition::new(
        ConditionType::ProwJobUrl,
        ConditionStatus::True,
        "",
        evaluation.plan.health.job.url.clone(),
    )
}

fn cluster_ready(evaluation: &ClusterEvaluation) -> Condition {
    use ClusterReady as R;
    use ConditionStatus::{False, True};
    let Lifecycle { phase, is_expiring: expiring, is_late: late, .. } = evaluation.plan.lifecycle;
    let given = evaluation.plan.lifecycle.ever_ready
        && evaluation.plan.lifecycle.details.is_some()
        && !evaluation.plan.lifecycle.is_withdrawn
        && !messages::is_undelivered(evaluation);
    let waiting = evaluation.plan.health.stage == Stage::Ready && !evaluation.plan.lifecycle.in_quiet_period;
    let set_up = evaluation.plan.health.set_up;
    let (status, reason) = match phase {
        Phase::Provisioning if set_up == Some(SetupLevel::SetupFailed) => (False, R::SetupFailed),
        Phase::Pending if late => (False, R::Late),
        Phase::Pending => (False, R::Pending),
        Phase::Provisioning if set_up.is_some() => (False, R::SettingUp),
        // Lateness does not matter here: the cluster exists, and another cause needs attention.
        Phase::Provisioning if waiting => (False, R::WaitingForCredentials),
        Phase::Provisioning if late => (False, R::Late),
        Phase::Provisioning => (False, R::Provisioning),
        Phase::Ready | Phase::Degraded if !given => (False, R::WaitingForCredentials),
        Phase::Ready if expiring => (True, R::Expiring),
        Phase::Ready => (True, R::Ready),
        Phase::Degraded => (True, R::Degraded),
        Phase::Deprovisioning => (if given { True } else { False }, R::Deprovisioning),
        Phase::Deprovisioned => (False, R::Deprovisioned),
        Phase::Failed => (False, R::Failed),
    };
    Condition::new(ConditionType::ClusterReady, status, reason.as_str(), messages::status_message(evaluation))
}

fn job_completed(evaluation: &ClusterEvaluation) -> Condition {
    use ConditionStatus::{False, True};
    let type_ = ConditionType::ProwJobCompleted;
    let lifecycle = &evaluation.plan.lifecycle;
    if let Some(over) = &lifecycle.completion {
        let words = if over.message.is_empty() { "nothing is left that incurs cost" } else { &over.message };
        let how = if over.reason.is_empty() { JobCompleted::TornDown.as_str() } else { &over.reason };
        let is_well = lifecycle.phase == Phase::Deprovisioned
            || matches!(
                JobCompleted::parse(how),
                Some(JobCompleted::TornDown | JobCompleted::Expired | JobCompleted::NothingToTearDown)
            );
        if is_well {
            let (reason, message) = ended_well(&bounded(how, 256), words);
            return Condition::new(type_, True, reason, message);
        }
        return Condition::new(type_, True, bounded(how, 256), words);
    }
    let (reason, message) = match lifecycle.phase {
        Phase::Pending => (JobCompleted::NotStarted, "no job has started yet".to_owned()),
        Phase::Provisioning | Phase::Ready | Phase::Degraded => {
            (JobCompleted::Running, "the cluster is incurring cost".to_owned())
        }
        Phase::Deprovisioning | Phase::Deprovisioned | Phase::Failed => {
            let message = if let Some(why) = messages::undelivered_teardown(evaluation) {
                format!(
                    "the cluster is still incurring cost, because the teardown request has not reached the hub: {why}"
                )
            } else {
                let vain = messages::teardown_failure_text(evaluation);
                format!("teardown was requested; waiting for the hub to finish{vain}")
            };
            (JobCompleted::TearingDown, message)
        }
    };
    Condition::new(type_, False, reason.as_str(), message)
}

fn credentials_published(evaluation: &ClusterEvaluation) -> Condition {
    use ConditionStatus::{False, True};
    use Credentials as R;
    let type_ = ConditionType::CredentialsPublished;
    let lifecycle = &evaluation.plan.lifecycle;
    if lifecycle.is_complete() {
        let message = if lifecycle.ever_ready {
            "kubeconfig and kubeAdminPassword were withdrawn"
        } else {
            "no kubeconfig will be published"
        };
        return Condition::new(type_, False, R::NotRunning.as_str(), message);
    }
    if lifecycle.is_withdrawn {
        let message = messages::withdrawal_message(evaluation);
        return Condition::new(type_, False, R::KubeconfigRejected.as_str(), message);
    }
    if let Some(details) = lifecycle.details.as_ref().filter(|d| d.has_kubeconfig()) {
        if let Some(refused) = evaluation.observed.claim_secret.refusal() {
            return Condition::new(type_, False, refused.reason().as_str(), refused.to_string());
        }
        let composite = &evaluation.observed.composite;
        if let Some(message) = unnamed_secret_message(evaluation) {
            return Condition::new(type_, False, R::SecretMissing.as_str(), message);
        }
        let whose = match (&composite.flavour, &composite.claim) {
            (Flavour::Namespaced(_), _) => {
                format!("Secret {}", crate::cluster::backends::secret_name(&evaluation.observed))
            }
            (Flavour::Claimed | Flavour::Homeless, Some(_)) => "the claim's Secret".to_owned(),
            (Flavour::Claimed | Flavour::Homeless, None) => "the composite's Secret".to_owned(),
        };
        let account = evaluation.plan.request.as_ref().is_ok_and(|request| request.access.is_some());
        let (reason, message) = if account {
            let what = "kubeconfig with a ServiceAccount token, which is renewed before it expires,";
            let message = format!("{what} is in {whose}; there is no kubeAdminPassword");
            (R::PublishedWithoutPassword, message)
        } else if details.has_password() {
            (R::Published, format!("kubeconfig and kubeAdminPassword are in {whose}"))
        } else {
            let message = format!("kubeconfig is in {whose}; there is no kubeAdminPassword");
            (R::PublishedWithoutPassword, message)
        };
        // Published credentials stay but expire: tokens end, and rotated credentials become invalid.
        let message = match &evaluation.plan.health.blocking {
            Some((_, why)) => format!("{message}; it is not being updated: {why}"),
            None => message,
        };
        return Condition::new(type_, True, reason.as_str(), message);
    }
    if lifecycle.in_quiet_period && lifecycle.details.is_none() {
        return Condition::new(type_, False, R::NotAssigned.as_str(), UNNAMED);
    }
    // An earlier Secret name is useless if nothing in that Secret may be read.
    let named = lifecycle.secret.as_ref().filter(|_| !evaluation.plan.health.publishes_admin);
    let Some(secret) = named else {
        if let Some((reason, message)) = &evaluation.plan.health.blocking {
            return Condition::new(type_, False, reason.as_str(), message.clone());
        }
        let reason = match evaluation.plan.health.stage {
            Stage::NotObserved | Stage::Queued => R::NotAssigned,
            Stage::Provisioning
            | Stage::Ready
            | Stage::TearingDown
            | Stage::Failing(_)
            | Stage::Lost(_)
            | Stage::Refused { .. }
            | Stage::Ended { .. } => R::NotRunning,
        };
        return Condition::new(type_, False, reason.as_str(), UNNAMED);
    };
    if evaluation
        .observed
        .credentials
        .as_ref()
        .is_some_and(crate::cluster::observed::Credentials::is_target_foreign)
    {
        let own = crate::cluster::backends::secret_name(&evaluation.observed);
        let message = format!(
            "Secret {own} already exists and does not belong to this composite, so nothing is written into it; delete or rename it"
        );
        return Condition::new(type_, False, R::SecretTaken.as_str(), message);
    }
    if lifecycle.details.is_some() {
        let own = crate::cluster::backends::secret_name(&evaluation.observed);
        let message = format!("Secret {own} is gone or has lost its kubeconfig, and is written again");
        return Condition::new(type_, False, R::SecretMissing.as_str(), message);
    }
    let named = evaluation.observed.credentials.as_ref().filter(|c| c.secret_name() == secret);
    let (reason, what) = match named {
        None => (R::SecretMissing, "was just reported and has not been read yet"),
        Some(credentials) if credentials.details_of(secret).is_some() => {
            let awaited = if evaluation.plan.health.set_up.is_some() {
                "is read; its kubeconfig is published once the cluster is set up"
            } else {
                "is read; its kubeconfig is published once the cluster is ready"
            };
            (R::NotRunning, awaited)
        }
        Some(credentials) => unpublished_reason(credentials),
    };
    Condition::new(type_, False, reason.as_str(), format!("Secret {secret} {what}"))
}

/// Core writes the kubeconfig nowhere if the claim, or a composite without a claim, names no Secret.
fn unnamed_secret_message(evaluation: &ClusterEvaluation) -> Option<String> {
    let observed = &evaluation.observed;
    if observed.claim_secret == ClaimSecret::Unnamed {
        return Some(CLAIM_NAMES_NO_SECRET.to_owned());
    }
    observed.composite.names_no_secret().then(|| {
        "the composite names no Secret for its kubeconfig; name one in spec.writeConnectionSecretToRef"
            .to_owned()
    })
}

const UNNAMED: &str = "the hub has not reported the Secret with the credentials yet";

/// Reason for which the Secret on the hub yields no kubeconfig, as its Object reports it.
fn unpublished_reason(credentials: &crate::cluster::observed::Credentials) -> (Credentials, &'static str) {
    use Credentials as R;
    let has = |message: &[&str]| message.iter().any(|w| credentials.sync_error().contains(w));
    let synced = find_condition(&credentials.object.status.conditions, "Synced");
    if credentials.is_unwritable() {
        (R::SecretMissing, "is read, and the Secret into which its kubeconfig goes cannot be written")
    } else if has(&["does not exist", "not found"]) {
        (R::SecretMissing, "does not exist on the hub")
    } else if has(&["no such field"]) || synced.is_some_and(ObservedCondition::is_true) {
        (R::KeyMissing, "has no kubeconfig yet")
    } else if credentials.is_unreadable() {
        (R::SecretMissing, "may not be read: the hub does not let this cluster's identity get and patch it")
    } else {
        (R::SecretMissing, "is not read yet")
    }
}

const HUB_AWAITED: &str = "requested; waiting for the hub to answer";

fn remote_consistent(evaluation: &ClusterEvaluation) -> Condition {
    use ConditionStatus::{False, True, Unknown};
    use Remote as R;
    let plan = &evaluation.plan;
    let made = |status, reason: R, message: String| {
        Condition::new(ConditionType::RemoteConsistent, status, reason.as_str(), message)
    };
    let Some(primary) = &evaluation.observed.primary else {
        let removed = plan.primary_resource.is_some_and(is_ended_by_removal);
        if removed && evaluation.observed.was_made_before() && plan.lifecycle.is_complete() {
            return made(True, R::InSync, "nothing is left on the hub".into());
        }
        if let Some(lost) = messages::lost_placement_message(evaluation) {
            return made(Unknown, R::PlaceUnknown, lost);
        }
        if evaluation.observed.was_made_before() && !plan.lifecycle.is_complete() {
            return made(
                Unknown,
                R::NotObserved,
                "looking for the object that was requested from the hub".into(),
            );
        }
        return made(Unknown, R::NotObserved, "no request has been sent to the hub yet".into());
    };
    if plan.lifecycle.recreates {
        return made(
            False,
            R::Recreating,
            "the remote object disappeared before the hub started on it; requested again".into(),
        );
    }
    if let Some(why) = &plan.health.unreadable {
        return made(
            False,
            R::Unreadable,
            bounded(&format!("what the hub reports cannot be read: {why}"), 512),
        );
    }
    match &primary.sync {
        // With the next step, which changes other conditions too.
        SyncState::InSync if plan.lifecycle.in_quiet_period && plan.lifecycle.phase == Phase::Pending => {
            made(Unknown, R::NotObserved, HUB_AWAITED.into())
        }
        SyncState::InSync => match plan.lifecycle.failure {
            // provider-kubernetes reports success for a deleted object once it may not recreate it.
            Some(testplatform_apis::condition::Failure::RemoteDeleted) => {
                made(False, R::RemoteDeleted, "the remote object is gone".into())
            }
            _ if primary.is_silent(evaluation.observed.now) => made(
                False,
                R::Unreadable,
                format!(
                    "the remote object was created, but Object {} does not report its state, which may be too large to store; ask the \
                    platform team to look at the Object's events",
                    primary.object.metadata.name
                ),
            ),
            _ => made(True, R::InSync, "the hub's object matches the request".into()),
        },
        SyncState::Unknown => made(Unknown, R::NotObserved, HUB_AWAITED.into()),
        SyncState::Deleted => made(False, R::RemoteDeleted, "the remote object is gone".into()),
        SyncState::Replaced => {
            made(False, R::RemoteReplaced, "another object has the remote object's name".into())
        }
        SyncState::UnknownField(path) => {
            made(False, R::UnknownField, format!("the hub does not know the field {path}"))
        }
        SyncState::Refused(words) => made(False, R::HubRefused, format!("the hub refuses: {words}")),
        SyncState::Unavailable(outage) => made(False, outage.reason(), outage.to_string()),
        SyncState::Paused => {
            made(False, R::Paused, "an administrator paused the Object; nothing reaches the hub".into())
        }
    }
}
