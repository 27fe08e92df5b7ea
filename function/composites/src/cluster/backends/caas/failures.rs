//! Failures of a ClusterTemplateInstance. CaaS retries everything and never marks a failure as terminal. A failure counts as terminal once
//! the status has not changed for long enough.

use jiff::SignedDuration;
use testplatform_apis::{
    foreign::caas::{conditions, phases},
    redact::redact_text,
    text::bounded,
};

use super::facts::InstanceFacts;
use crate::cluster::backends::{
    common::templated::{FailureCondition, is_network_error, is_quota_error},
    hosted_cluster::UnderlyingCluster,
};

/// Grace period for failures of CaaS itself.
const CAAS_GRACE: SignedDuration = SignedDuration::from_mins(3);
/// Grace period for failures of Argo CD, which retries by itself.
const ARGO_GRACE: SignedDuration = SignedDuration::from_mins(5);
/// Grace period for failures of the setup inside the cluster.
const SETUP_GRACE: SignedDuration = SignedDuration::from_mins(10);

/// After how long what the phase says is final, if ever. Where a HostedCluster is there, what Argo CD says of its chart is not.
fn grace_period(facts: &InstanceFacts<'_>) -> Option<SignedDuration> {
    match facts.phase() {
        phases::DEFINITION_FAILED | phases::FAILED => Some(CAAS_GRACE),
        phases::INSTALL_FAILED if facts.has_application_failed() && facts.hosted_cluster.is_none() => {
            Some(ARGO_GRACE)
        }
        phases::ARGO_FAILED => Some(ARGO_GRACE),
        phases::SETUP_CREATE_FAILED | phases::SETUP_FAILED | phases::SETUP_DEGRADED => Some(SETUP_GRACE),
        _ => None,
    }
}

fn is_failure_phase(phase: &str) -> bool {
    let known = [
        phases::DEFINITION_FAILED,
        phases::INSTALL_FAILED,
        phases::ARGO_FAILED,
        phases::SETUP_CREATE_FAILED,
        phases::SETUP_FAILED,
        phases::SETUP_DEGRADED,
        phases::CREDENTIALS_FAILED,
        phases::FAILED,
    ];
    known.contains(&phase) || phases::REGISTRATION_FAILED.contains(&phase)
}

/// Failure that the phase reports, and whether it becomes terminal once it persists.
fn phase_failure(facts: &InstanceFacts<'_>) -> Option<FailureCondition> {
    let phase = facts.phase();
    if !is_failure_phase(phase) {
        return None;
    }
    let message = failure_message(facts);
    let passes = is_quota_error(&message) || is_network_error(&message);
    let span = grace_period(facts).filter(|_| !passes);
    Some(FailureCondition {
        reason: if is_quota_error(&message) { "QuotaExceeded".into() } else { bounded(phase, 63) },
        message,
        since: facts.remote.metadata.status_changed_at,
        terminal: span.is_some(),
        grace: span.unwrap_or(SETUP_GRACE),
    })
}

/// Failure message; of the setup, one part for each failed application.
pub(super) fn failure_message(facts: &InstanceFacts<'_>) -> String {
    let setups = facts.status.cluster_setup.as_array().into_iter().flatten();
    let text = |of: &serde_json::Value, member: &str| of[member].as_str().unwrap_or_default().to_owned();
    let wrong =
        setups.filter(|s| ["ApplicationError", "ApplicationDegraded"].contains(&text(s, "status").as_str()));
    let each: Vec<String> = wrong.map(|s| format!("{}: {}", text(s, "name"), text(s, "message"))).collect();
    let of_setup = matches!(facts.phase(), phases::SETUP_FAILED | phases::SETUP_DEGRADED);
    let text_of_phase =
        if of_setup && !each.is_empty() { each.join("; ") } else { facts.status.message.clone() };
    let line = text_of_phase.lines().next().unwrap_or_default();
    bounded(&redact_text(line, 768), 768)
}

/// Failures that do not resolve by themselves. Those of a HostedCluster come first, because they are the cause. While it is not observed
/// their start is unknown.
pub(super) fn terminal_failures(facts: &InstanceFacts<'_>) -> Vec<FailureCondition> {
    let of_now = |wrong: FailureCondition| FailureCondition {
        since: wrong.since.filter(|_| facts.is_hosted_cluster_current),
        ..wrong
    };
    let of_cluster = facts.hosted_cluster.iter().flat_map(UnderlyingCluster::terminal_failures).map(of_now);
    of_cluster.chain(phase_failure(facts).filter(|wrong| wrong.terminal)).collect()
}

/// What may pass: the weightiest first.
pub(super) fn transient_failures(facts: &InstanceFacts<'_>) -> Vec<FailureCondition> {
    let of_cluster = facts.hosted_cluster.iter().flat_map(UnderlyingCluster::transient_failures);
    of_cluster.chain(phase_failure(facts).filter(|wrong| !wrong.terminal)).collect()
}

/// Failures that degrade a cluster that was ready. The phase stays Ready regardless.
pub(super) fn degrading_failures(facts: &InstanceFacts<'_>) -> Vec<FailureCondition> {
    let lost = facts.condition(conditions::INSTALLED).filter(|c| !c.is_true());
    let of_cluster = facts.hosted_cluster.iter().flat_map(UnderlyingCluster::degrading_failures);
    of_cluster.chain(lost.map(|c| FailureCondition::from_condition(c, None, false))).collect()
}
