//! Report about a ClusterClaim, except its credentials.

use testplatform_apis::{
    hive_status::{ClusterDeploymentReport, HiveStatus, Ownership},
    names::ours,
};
use testplatform_runtime::diagnostics::is_word;

use super::{
    failure,
    object::{ClusterClaim, ClusterDeployment},
    observed_state::{ClaimState, DeploymentState},
    supply,
};

/// The longest URL, and the longest version.
const LONGEST: (usize, usize) = (2048, 64);

/// Stored annotations. Unreadable ones count as missing and are written again.
pub fn stored(claim: &ClusterClaim) -> HiveStatus {
    let text = claim.annotation(ours::STATUS);
    text.and_then(|text| HiveStatus::from_annotation(text).ok()).unwrap_or_default()
}

/// The pool, the queue and the cluster.
pub fn of(claim: &ClusterClaim, observed: &ClaimState, ownership: Option<Ownership>) -> HiveStatus {
    let mut status = HiveStatus { pool: Some(supply::pool(observed)), ownership, ..HiveStatus::default() };
    match &observed.deployment {
        DeploymentState::Unassigned => {
            status.queue = supply::queue(claim, observed);
            status.supply = supply::supply(claim, observed);
        }
        DeploymentState::Gone => {
            status.cluster_deployment =
                claim.assigned().map(|name| ClusterDeploymentReport { name: name.to_owned() });
        }
        DeploymentState::Here(deployment) => {
            status.cluster_deployment = Some(ClusterDeploymentReport { name: deployment.name().to_owned() });
            if ownership == Some(Ownership::Confirmed) {
                cluster(&mut status, deployment);
            }
        }
    }
    status
}

/// Not even this is reported about another claim's cluster.
fn cluster(status: &mut HiveStatus, deployment: &ClusterDeployment) {
    let reported = &deployment.status.value;
    status.power_state = deployment.power_state().filter(|word| is_word(word)).map(str::to_owned);
    status.api_url = link(&reported.api_url);
    status.console_url = link(&reported.console_url);
    let is_version = |text: &&str| {
        text.len() <= LONGEST.1 && text.bytes().all(|b| b.is_ascii_alphanumeric() || b".-+_".contains(&b))
    };
    status.version = deployment.version().filter(is_version).map(str::to_owned);
    status.deprovision_failure = failure::of_removal(deployment);
}

/// A URL that may be shown: one that a person can follow, and without a login in it.
fn link(url: &str) -> Option<String> {
    let rest = url.strip_prefix("https://")?;
    let plain = !rest.is_empty()
        && !rest.contains('@')
        && !url.contains(|c: char| c.is_control() || c.is_whitespace());
    (plain && url.len() <= LONGEST.0).then(|| url.to_owned())
}
