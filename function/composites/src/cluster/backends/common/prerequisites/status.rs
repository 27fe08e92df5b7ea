//! Status of the prerequisites: why no cluster can be requested yet, and the later condition of its cloud credential.

use testplatform_apis::{
    cloud,
    condition::{ConditionStatus, PlatformCredentials, SetupLevel, TemplateConditionType},
    phase::Phase,
    status::ErrorStatus,
    text::bounded,
};

use crate::cluster::{
    backends::{BackendCondition, Health},
    catalog::prerequisites::{
        credential_problem, is_wanted, prerequisites_problem, report_message, requested_generation,
        unanswered_message,
    },
    observed::{
        Observed,
        prerequisites::{CLOUD, PREREQUISITES, read_answer},
    },
    request::{Resolution, Templated},
};

/// Shows prerequisites as part of the template's setup: without a cluster the claim waits for them and for its credential. A failure stays
/// visible.
pub(crate) fn restore_conditions(health: &mut Health, observed: &Observed) {
    if observed.primary.is_some() || health.conditions.setup.is_some() {
        return;
    }
    if let Some(message) = credential_refusal(observed).filter(|_| health.waiting.is_empty()) {
        health.waiting = message;
    }
    health.conditions.last_error = health.conditions.last_error.take().or_else(|| credential_error(observed));
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

/// The refusal of a cloud credential. As the last error it outlives a failed pass of core, which sets every condition Unknown.
fn credential_error(observed: &Observed) -> Option<ErrorStatus> {
    let report: cloud::CloudCredentialReport =
        read_answer(observed.prerequisites.get(CLOUD)?, cloud::REPORT).unwrap_or_default();
    let state = report.state?;
    let reason = match state {
        cloud::CredentialPhase::OwnerInvalid => PlatformCredentials::OwnerInvalid,
        cloud::CredentialPhase::Blocked => PlatformCredentials::Blocked,
        cloud::CredentialPhase::Valid
        | cloud::CredentialPhase::RotationFailed
        | cloud::CredentialPhase::Unreachable
        | cloud::CredentialPhase::Leaving => return None,
    };
    Some(ErrorStatus {
        reason: Some(reason.to_string()),
        message: Some(bounded(&report_message(state, &report), 1024)),
        since: None,
        terminal: Some(false),
    })
}

/// The refusal that a Failed claim without a cluster has as its last error.
fn recorded_refusal(observed: &Observed) -> Option<(PlatformCredentials, String)> {
    let stored = &observed.composite.status;
    let error = stored.last_error.as_ref().filter(|_| stored.phase == Some(Phase::Failed))?;
    let reason = PlatformCredentials::parse(error.reason.as_deref()?)?;
    observed.primary.is_none().then(|| (reason, error.message.clone().unwrap_or_default()))
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
            && ((ended && shown.is_false()) || observed.primary.is_some() || !observed.is_unplaced())
        {
            let why = PlatformCredentials::parse(&shown.reason).filter(|_| shown.is_false());
            let refusal = why.map(|why| (why, shown.message.clone())).or_else(|| recorded_refusal(observed));
            return Some(match refusal {
                Some((why, message)) => BackendCondition::of(False, why, message),
                None => unknown("nothing maintains it any more, because its request is gone".into()),
            });
        }
        let wanted =
            matches!(&templated.resolution, Resolution::Resolved(resolved) if is_wanted(CLOUD, resolved));
        let waits = wanted && observed.is_unplaced();
        return waits.then(|| unknown("the hub has not received the request for it yet".into()));
    };
    let report: cloud::CloudCredentialReport = read_answer(part, cloud::REPORT).unwrap_or_default();
    let Some(state) = report.state else {
        return Some(unknown(unanswered_message(part, "clusters.cloudCredentials")));
    };
    let requested = requested_generation(observed).filter(|asked| Some(*asked) != report.generation);
    if let (cloud::CredentialPhase::Valid, Some(asked)) = (state, requested) {
        return Some(unknown(format!("the current one works, and number {asked} is requested")));
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
        cloud::CredentialPhase::Valid => "the cluster's own cloud credential works".to_owned(),
        _ => report_message(state, &report),
    };
    Some(BackendCondition::of(status, reason, message))
}
