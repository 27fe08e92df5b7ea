//! Status of the prerequisites: why no cluster can be requested yet, and the later condition of its cloud credential.

use testplatform_apis::{
    bundle::{self, BundleProgress},
    cloud,
    condition::{ConditionStatus, PlatformCredentials, Request, SetupLevel, TemplateConditionType},
    prerequisites,
};

use super::{is_wanted, requested_generation};
use crate::{
    cluster::{
        backends::{BackendCondition, Health, common::bundles::report_text},
        observed::{
            Observed,
            prerequisites::{CLOUD, PREREQUISITE_RESOURCES, PREREQUISITES, read_answer},
            tenant_credentials::ObservedObject,
        },
        request::{AdmissionIssue, Resolution, ResolvedSpec, Templated},
    },
    objects::SyncState,
    text::bounded,
};

/// Why no cluster can be asked for yet.
pub(crate) fn check_ready(resolved: &ResolvedSpec, observed: &Observed) -> Result<(), AdmissionIssue> {
    for name in PREREQUISITE_RESOURCES {
        let part = observed.prerequisites.get(name);
        if part.is_none() && !is_wanted(name, resolved) {
            continue;
        }
        let waits = match name {
            CLOUD => credential_problem(part).map(|message| (Request::PlatformCredentialsNotReady, message)),
            _ => prerequisites_problem(part).map(|(_, message)| (Request::PrerequisitesNotReady, message)),
        };
        if let Some((reason, message)) = waits {
            return Err(AdmissionIssue::new(reason, message));
        }
    }
    Ok(())
}

/// Why the cluster waits for its prerequisites, and whether they have failed.
fn prerequisites_problem(part: Option<&ObservedObject>) -> Option<(SetupLevel, String)> {
    let Some(part) = part else {
        return Some((SetupLevel::Running, "the hub is told what it has to have before the cluster".into()));
    };
    if is_deleting(part) {
        return Some((SetupLevel::Running, deleting_message(part)));
    }
    let report: bundle::BundleReport = read_answer(part, prerequisites::REPORT).unwrap_or_default();
    let message = |what: &str| {
        let bundle = report.bundle.as_deref().map_or_else(|| "a bundle".to_owned(), |name| bounded(name, 96));
        let rest = report_text(&bundle::BundleReport { bundle: None, ..report.clone() });
        if rest.is_empty() { format!("{bundle} {what}") } else { format!("{bundle} {what}: {rest}") }
    };
    match report.state {
        Some(BundleProgress::Applied) => None,
        Some(BundleProgress::SetupFailed) => {
            Some((SetupLevel::SetupFailed, message("was not ready in time on the hub")))
        }
        Some(BundleProgress::Running | BundleProgress::BeforeDeletion) => {
            Some((SetupLevel::Running, message("is being set up on the hub")))
        }
        None => Some((SetupLevel::Running, unanswered_message(part, "clusters.prerequisites"))),
    }
}

/// Why the cluster waits for its credential.
fn credential_problem(part: Option<&ObservedObject>) -> Option<String> {
    let Some(part) = part else { return Some("the hub is told to make a credential of the cloud".into()) };
    if is_deleting(part) {
        return Some(deleting_message(part));
    }
    let report: cloud::CloudCredentialReport = read_answer(part, cloud::REPORT).unwrap_or_default();
    match report.state {
        // A working one is there, and it is rotated later.
        Some(cloud::CredentialPhase::Valid | cloud::CredentialPhase::RotationFailed) => None,
        Some(state) => Some(format!("no credential of the cloud yet: {}", report_message(state, &report))),
        None => Some(unanswered_message(part, "clusters.cloudCredentials")),
    }
}

/// Whether it is being deleted, here or on the hub: what it was answered holds no longer.
fn is_deleting(part: &ObservedObject) -> bool {
    let remote = part.object.status.at_provider.manifest.as_ref();
    let of_remote = remote.and_then(|remote| remote.metadata.deletion_timestamp);
    part.object.metadata.deletion_timestamp.or(of_remote).is_some()
}

fn deleting_message(part: &ObservedObject) -> String {
    format!("somebody deletes {}, which is made again after that", config_map_name(part))
}

fn config_map_name(part: &ObservedObject) -> String {
    let metadata = &part.manifest()["metadata"];
    let text = |field: &str| metadata[field].as_str().unwrap_or_default();
    format!("ConfigMap {}/{}", text("namespace"), text("name"))
}

/// Message while the hub-side provider has not answered.
fn unanswered_message(part: &ObservedObject, setting: &str) -> String {
    let map = config_map_name(part);
    match &part.sync {
        SyncState::Refused(message) => format!("the hub refuses {map}: {message}"),
        SyncState::Unavailable(outage) => format!("{map} cannot be made: {outage}"),
        SyncState::Paused => format!("an administrator paused the Object with {map}"),
        SyncState::Unknown
        | SyncState::InSync
        | SyncState::Deleted
        | SyncState::Replaced
        | SyncState::UnknownField(_) => format!(
            "the hub-side provider has not answered in {map} yet; {setting} of its configuration has to be on"
        ),
    }
}

fn report_message(state: cloud::CredentialPhase, report: &cloud::CloudCredentialReport) -> String {
    report.message.as_deref().map_or_else(|| state.as_str().to_owned(), |message| bounded(message, 512))
}

/// Shows prerequisites as part of the template's setup: without a cluster the claim waits for them and for its credential. A failure stays
/// visible.
pub(crate) fn restore_conditions(health: &mut Health, observed: &Observed) {
    if observed.primary.is_some() || health.conditions.setup.is_some() {
        return;
    }
    if let Some(message) = credential_refusal(observed).filter(|_| health.waiting.is_empty()) {
        health.waiting = message;
    }
    let shown = || {
        let shown = observed.composite.of_template(TemplateConditionType::TemplateApplied)?;
        let failed = shown.is_false() && shown.reason == SetupLevel::SetupFailed.as_str();
        (failed && !observed.ever_ready()).then(|| (SetupLevel::SetupFailed, shown.message.clone()))
    };
    let part = observed.prerequisites.get(PREREQUISITES);
    let waits = part.map_or_else(shown, |part| prerequisites_problem(Some(part)));
    if let Some((reason, message)) = waits {
        if reason == SetupLevel::SetupFailed {
            health.waiting.clone_from(&message);
        }
        health.conditions.setup = Some(BackendCondition::of(ConditionStatus::False, reason, message));
    }
}

/// Why there is no credential of the cloud, as it is told now, else as it was shown before.
fn credential_refusal(observed: &Observed) -> Option<String> {
    if let Some(part) = observed.prerequisites.get(CLOUD) {
        return credential_problem(Some(part));
    }
    let shown = observed.composite.of_template(TemplateConditionType::PlatformCredentialsValid)?;
    (shown.is_false() && !observed.ever_ready()).then(|| shown.message.clone())
}

/// State of the cloud credential. None: the cluster has none of its own, and never had. Of a claim that has `ended` the last failure stays.
pub(crate) fn credential_condition(
    templated: &Templated,
    observed: &Observed,
    ended: bool,
) -> Option<BackendCondition<PlatformCredentials>> {
    use ConditionStatus::{False, True, Unknown};
    let unknown = |message: String| BackendCondition::of(Unknown, PlatformCredentials::NotReported, message);
    let Some(part) = observed.prerequisites.get(CLOUD) else {
        // Core keeps what is left out.
        if let Some(shown) = observed.composite.of_template(TemplateConditionType::PlatformCredentialsValid)
            && (ended || observed.primary.is_some() || !observed.is_unplaced())
        {
            let why = PlatformCredentials::parse(&shown.reason).filter(|_| shown.is_false());
            return Some(match why {
                Some(why) => BackendCondition::of(False, why, shown.message.clone()),
                None => unknown("nobody looks after it any more: its order is gone".into()),
            });
        }
        let wanted =
            matches!(&templated.resolution, Resolution::Resolved(resolved) if is_wanted(CLOUD, resolved));
        let waits = wanted && observed.is_unplaced();
        return waits.then(|| unknown("the hub was not told yet to make it".into()));
    };
    let report: cloud::CloudCredentialReport = read_answer(part, cloud::REPORT).unwrap_or_default();
    let Some(state) = report.state else {
        return Some(unknown(unanswered_message(part, "clusters.cloudCredentials")));
    };
    let requested = requested_generation(observed).filter(|asked| Some(*asked) != report.generation);
    if let (cloud::CredentialPhase::Valid, Some(asked)) = (state, requested) {
        return Some(unknown(format!("the one that was made before works, and number {asked} is asked for")));
    }
    let (status, reason) = match state {
        cloud::CredentialPhase::Valid => (True, PlatformCredentials::Valid),
        cloud::CredentialPhase::RotationFailed => (False, PlatformCredentials::RotationFailed),
        cloud::CredentialPhase::OwnerInvalid => (False, PlatformCredentials::OwnerInvalid),
        cloud::CredentialPhase::Blocked => (False, PlatformCredentials::Blocked),
        cloud::CredentialPhase::Unreachable => (Unknown, PlatformCredentials::Unreachable),
        cloud::CredentialPhase::Leaving => (Unknown, PlatformCredentials::Leaving),
    };
    let message = match state {
        cloud::CredentialPhase::Valid => "the cluster's own credential of the cloud works".to_owned(),
        _ => report_message(state, &report),
    };
    Some(BackendCondition::of(status, reason, message))
}
