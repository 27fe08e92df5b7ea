//! Status of a ClusterClaim → [`Health`]: Hive's own conditions and the report of the hub-side provider.
//!
//! **Invariant:** without published credentials nothing is Ready, whatever Hive reports.

use testplatform_apis::{
    condition::{Assigned, Credentials, Request},
    foreign::{cluster_claim::conditions, meta::find_condition},
    hive_status::HiveStatus,
    names::ours,
    status::QueueStatus,
    text::bounded,
};

use super::{
    facts::ClaimFacts,
    hive_conditions::{
        assigned_condition, assignment_reason, awaiting_conditions, running_condition, unobserved_conditions,
    },
    messages,
};
use crate::cluster::{
    backends::{
        Health, Stage,
        api::MAX_DIAGNOSTICS,
        common::published_credentials::{PublishedCredentials, is_admin_published, read_published},
    },
    observed::{Observed, Remote},
    request::{AdmissionIssue, PoolClaim, Validated},
};

pub(super) fn assess_health(claimed: &PoolClaim, request: &Validated, observed: &Observed) -> Health {
    let mut health = Health {
        version_desired: claimed.spec.version.as_deref().map(|v| bounded(v, 64)),
        ..Health::default()
    };
    let Some(Remote::ClusterClaim(remote)) = observed.primary.as_ref().and_then(|w| w.remote()) else {
        health.mirrored = unobserved_conditions(request, observed);
        if let (Some(place), Some(_)) = (&claimed.pool, observed.quiet_until()) {
            health.waiting = messages::awaits_cluster_message(&format!("{}/{}", place.namespace, place.pool));
        }
        return health;
    };
    let annotation = remote.metadata.annotation(ours::STATUS).map(HiveStatus::from_annotation).transpose();
    let unreadable = annotation.as_ref().err().map(|e| format!("annotation {}: {e}", ours::STATUS));
    let reported = &remote.status.value.conditions;
    let facts = ClaimFacts {
        remote,
        report: annotation.unwrap_or_default().unwrap_or_default(),
        pending: find_condition(reported, conditions::PENDING),
        running: find_condition(reported, conditions::CLUSTER_RUNNING),
    };
    let place = claimed.pool.as_ref().map(|p| format!("{}/{}", p.namespace, p.pool)).unwrap_or_default();
    let report = &facts.report;
    let (secret, blocking) = read_credentials(&facts, request.access.is_some());
    health.secret = secret;
    health.blocking = blocking;
    health.publishes_admin = is_admin_published(report, request.access.is_some());
    health.stage = read_stage(&facts, health.secret.is_some(), observed);
    // A status that cannot be read may belong to an assigned cluster; a second request would create a second one.
    health.has_cluster = facts.is_bound() || remote.spec.error.is_some() || remote.status.error.is_some();
    health.teardown_arrived = remote.metadata.deletion_timestamp.is_some();
    health.teardown_failure = report.deprovision_failure.as_ref().map(messages::deprovision_failure_message);
    health.ready_since = facts.running.filter(|c| c.is_true()).and_then(|c| c.last_transition_time);
    health.revision = remote.metadata.annotation(ours::CREDENTIALS_REVISION).map(str::to_owned);
    health.ends_at = facts.ends_at();
    health.waiting = messages::waiting_message(&facts, &place);
    health.blocked_by = blocked_by(&facts, &place);
    health.mirrored = vec![assigned_condition(&facts, &place), running_condition(&facts)];
    let telling = &health.mirrored[usize::from(facts.is_claimed())];
    health.phase_word.clone_from(&telling.reason);
    health.unreadable = remote.spec.error.clone().or_else(|| remote.status.error.clone()).or(unreadable);
    let queue = report.queue.as_ref().filter(|_| !facts.is_bound() && !facts.is_pool_deleted());
    health.queue = queue.map(|q| QueueStatus {
        position: q.position.filter(|p| *p >= 1),
        depth: q.depth.filter(|d| *d >= 0),
    });
    let some =
        |text: &Option<String>, max| text.as_deref().filter(|t| !t.is_empty()).map(|t| bounded(t, max));
    health.version = some(&report.version, 64);
    health.api_server_url = some(&report.api_url, 2048);
    health.console_url = some(&report.console_url, 2048);
    let recorded = remote.metadata.annotation(ours::DIAGNOSTICS).map(|d| bounded(d, MAX_DIAGNOSTICS));
    health.diagnostics =
        recorded.or_else(|| report.provision_failure.as_ref().map(messages::provision_failure_message));
    let delivers = health.secret.as_ref().is_some_and(|secret| {
        observed
            .credentials
            .as_ref()
            .is_some_and(|credentials| credentials.details_of(secret.as_str()).is_some())
    });
    if observed.quiet_until().is_some() && !delivers && is_on_its_way(&facts) {
        leave_out_steps(&mut health, facts.is_bound(), &place);
    }
    health
}

/// Whether nothing but time is between the claim and its cluster.
fn is_on_its_way(observed_remote: &ClaimFacts<'_>) -> bool {
    let word = match assignment_reason(observed_remote) {
        Assigned::AwaitingPool
        | Assigned::NoClusters
        | Assigned::Resuming
        | Assigned::Installing
        | Assigned::AssignmentInProgress
        | Assigned::Claimed => true,
        Assigned::CapacityBlocked
        | Assigned::PoolMisconfigured
        | Assigned::InventoryExhausted
        | Assigned::PoolNotFound
        | Assigned::PoolDeleting
        | Assigned::OwnershipMismatch
        | Assigned::QuotaExceeded
        | Assigned::Returned => false,
    };
    word && ![conditions::CLUSTER_DELETED, conditions::CLUSTER_DELETING]
        .iter()
        .any(|r| observed_remote.is_not_running_for(r))
}

/// Of the steps on the way only that a cluster is chosen is told, because from then on it is paid for.
fn leave_out_steps(health: &mut Health, bound: bool, pool: &str) {
    health.mirrored = awaiting_conditions(bound, pool);
    health.phase_word = health.mirrored[0].reason.clone();
    health.waiting = if bound { String::new() } else { messages::awaits_cluster_message(pool) };
    health.queue = None;
    (health.version, health.api_server_url, health.console_url) = (None, None, None);
}

fn read_stage(observed_remote: &ClaimFacts<'_>, published: bool, observed: &Observed) -> Stage {
    if observed_remote.is_not_running_for(conditions::CLUSTER_DELETED) {
        return Stage::Lost("the hub deleted the cluster".into());
    }
    if observed_remote.is_being_deleted(observed.now) {
        return Stage::Lost("somebody deletes the cluster on the hub".into());
    }
    if observed_remote.remote.metadata.deletion_timestamp.is_some() {
        return Stage::Failing("the ClusterClaim is being deleted on the hub".into());
    }
    if observed_remote.is_foreign() {
        return Stage::Failing("the cluster that the hub assigned belongs to another claim".into());
    }
    if observed_remote.is_not_running_for(conditions::CLUSTER_DELETING) {
        return Stage::Failing("the cluster is being deleted on the hub".into());
    }
    if !observed_remote.is_bound() {
        return Stage::Queued;
    }
    match (observed_remote.is_running(), published, observed.ever_ready()) {
        (true, true, _) => Stage::Ready,
        (false, _, true) => Stage::Failing(messages::power_message(observed_remote)),
        (true, false, true) => {
            Stage::Failing("the hub does not publish its credentials at the moment".into())
        }
        (_, _, false) => Stage::Provisioning,
    }
}

/// The published Secret, or why there is none.
fn read_credentials(observed_remote: &ClaimFacts<'_>, account: bool) -> PublishedCredentials {
    let own = format!("{}-credentials", observed_remote.remote.metadata.name);
    let blocked = |reason: Credentials, message: &str| (None, Some((reason, message.to_owned())));
    if observed_remote.is_foreign() {
        return blocked(
            Credentials::OwnershipMismatch,
            "the cluster that the hub assigned belongs to another claim",
        );
    }
    match read_published(&observed_remote.report, &own, account) {
        Some(reported) => reported,
        None if !observed_remote.is_bound() => {
            blocked(Credentials::NotAssigned, "no cluster is assigned to this claim yet")
        }
        None if !observed_remote.is_running() => {
            blocked(Credentials::NotRunning, "the cluster does not run yet")
        }
        None => blocked(Credentials::SecretMissing, "the hub has not published them yet"),
    }
}

/// Issue that an administrator can resolve, or that another claim's end resolves.
fn blocked_by(observed_remote: &ClaimFacts<'_>, pool: &str) -> Option<AdmissionIssue> {
    let (reason, message) = match assignment_reason(observed_remote) {
        Assigned::PoolNotFound => (
            Request::PoolNotFound,
            format!("the hub has no pool {pool}, which the catalogue names; ask the platform team"),
        ),
        Assigned::PoolDeleting => (
            Request::PoolDeleting,
            format!(
                "pool {pool} is being deleted and no longer provides clusters; create a new claim for another pool"
            ),
        ),
        Assigned::CapacityBlocked | Assigned::InventoryExhausted => (
            Request::NoCapacity,
            format!(
                "pool {pool} has no free cluster and may create no more; this claim is served when one is returned"
            ),
        ),
        Assigned::PoolMisconfigured
        | Assigned::Claimed
        | Assigned::NoClusters
        | Assigned::Resuming
        | Assigned::Installing
        | Assigned::AssignmentInProgress
        | Assigned::OwnershipMismatch
        | Assigned::QuotaExceeded
        | Assigned::Returned
        | Assigned::AwaitingPool => return None,
    };
    Some(AdmissionIssue::new(reason, message))
}
