//! Failed provisions, reported while the evidence exists, because Hive replaces a failed cluster, and its conditions are lost. And clusters
//! that cannot be destroyed, which cost money until somebody helps.

use jiff::Timestamp;
use serde_json::json;
use testplatform_apis::{
    foreign::meta::ObservedCondition,
    hive_status::{DeprovisionFailure, ProvisionFailure},
};
use testplatform_runtime::{
    diagnostics::{entry, fit_to_size, is_word},
    time::truncate_to_seconds,
};

use super::{
    deployment::conditions,
    object::{ClusterClaim, ClusterDeployment},
    redact::redact_text,
};

/// The longest sentence about one.
const LONGEST: usize = 1024;

/// A failure, and its diagnostics.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailureRecord {
    /// Failure in the status.
    pub failure: ProvisionFailure,
    /// The diagnostics.
    pub diagnostics: Option<String>,
}

/// Last failure: the newest observed, unless the recorded one is newer.
pub fn last<'a>(
    claim: &ClusterClaim,
    deployments: impl Iterator<Item = &'a ClusterDeployment>,
    recorded: Option<FailureRecord>,
    now: Timestamp,
) -> Option<FailureRecord> {
    let born = claim.metadata.creation_timestamp.as_ref().map(|t| t.0);
    // A failure from before the claim does not concern its owner.
    let concerns = |at: Option<Timestamp>| at.is_none() || born.is_none() || at >= born;
    let newest = deployments
        .filter_map(|deployment| Some((deployment, failed(deployment)?)))
        .filter(|(_, failure)| concerns(failure.last_transition_time))
        .max_by_key(|(deployment, failure)| (failure.last_transition_time, deployment.name().to_owned()));
    let Some((deployment, failure)) = newest else { return recorded };
    let reason = if is_word(&failure.reason) { failure.reason.as_str() } else { "ProvisionFailed" };
    if let Some(recorded) = recorded {
        let same =
            recorded.failure.cluster_deployment == deployment.name() && recorded.failure.reason == reason;
        let newer = failure.last_transition_time > recorded.failure.time;
        if same || !newer {
            return Some(recorded);
        }
    }
    Some(FailureRecord {
        failure: ProvisionFailure {
            cluster_deployment: deployment.name().to_owned(),
            reason: reason.to_owned(),
            message: redact_text(&failure.message, LONGEST),
            time: Some(truncate_to_seconds(now)),
        },
        diagnostics: Some(diagnostics(deployment, reason)),
    })
}

/// Condition of a failed installation.
fn failed(deployment: &ClusterDeployment) -> Option<&ObservedCondition> {
    let holds = |type_| deployment.condition(type_).filter(|c| c.is_true());
    holds(conditions::PROVISION_FAILED).or_else(|| holds(conditions::PROVISION_STOPPED))
}

/// Reason why a cluster in deletion cannot be destroyed, if Hive reports it. Of its two conditions, the one that knows the cause.
pub fn of_removal(deployment: &ClusterDeployment) -> Option<DeprovisionFailure> {
    let refused = deployment.condition(conditions::DEPROVISION_LAUNCH_ERROR).filter(|c| c.is_true());
    let failed = || {
        let condition = deployment.condition(conditions::PROVISIONED)?;
        (condition.is_false() && condition.reason == conditions::DEPROVISION_FAILED).then_some(condition)
    };
    let condition = deployment.is_deleted().then(|| refused.or_else(failed)).flatten()?;
    let reason =
        if is_word(&condition.reason) { condition.reason.as_str() } else { conditions::DEPROVISION_FAILED };
    Some(DeprovisionFailure { reason: reason.to_owned(), message: redact_text(&condition.message, LONGEST) })
}

fn diagnostics(deployment: &ClusterDeployment, reason: &str) -> String {
    let entry = |c: &ObservedCondition| entry(&c.type_, &c.status, &c.reason, c.last_transition_time);
    let timeline = deployment.status.value.conditions.iter().map(entry).collect();
    let pool = deployment.spec.value.cluster_pool_ref.clone().unwrap_or_default();
    let summary = json!({
        "reason": reason,
        "clusterDeployment": deployment.name(),
        "pool": format!("{}/{}", pool.namespace, pool.pool_name),
    });
    fit_to_size(summary, timeline)
}
