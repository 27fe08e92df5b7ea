//! What a ClusterClaim shows → [`Health`]: Hive's own conditions, and beside them what the hub-side provider reports.
//!
//! **Invariant:** without published credentials nothing is Ready, whatever Hive says.

use jiff::Timestamp;
use testplatform_apis::{
    condition::{Assigned, Credentials, Request},
    foreign::{
        cluster_claim::{ClusterClaim, conditions},
        meta::{ObservedCondition, condition},
    },
    hive_status::{HiveStatus, Ownership},
    names::ours,
    status::QueueStatus,
};

use super::{
    mirrored::{assigned, running, unassigned, unseen, word},
    words,
};
use crate::{
    backend::{
        Health, MAX_DIAGNOSTICS, Stage,
        published::{Told, is_admins, published},
    },
    observed::{MAX_CLOCK_SKEW, Observed, Remote},
    text::bounded,
    validate::{AdmissionIssue, Claimed, Validated},
};

/// The whole picture of one ClusterClaim.
pub(super) struct Seen<'a> {
    pub remote: &'a ClusterClaim,
    pub report: HiveStatus,
    /// Hive's condition.
    pub pending: Option<&'a ObservedCondition>,
    /// Hive's condition.
    pub running: Option<&'a ObservedCondition>,
}

impl Seen<'_> {
    /// Hive has chosen a cluster.
    pub fn bound(&self) -> bool {
        !self.remote.spec.value.namespace.is_empty()
    }

    /// The cluster has confirmed that it is this claim's.
    pub fn claimed(&self) -> bool {
        self.bound() && self.pending.is_some_and(ObservedCondition::is_false) && !self.foreign()
    }

    /// Whether no cluster comes any more, because the pool is on its way out.
    pub fn is_pool_deleted(&self) -> bool {
        !self.bound() && self.report.pool.as_ref().is_some_and(|pool| pool.found && pool.deleting)
    }

    /// Whether the cluster, or its claim, is being deleted on the hub before its time. Nothing that was deleted comes back. At the end of its own
    /// lifetime Hive deletes a claim, and the clocks of two clusters differ.
    fn is_being_deleted(&self, now: Timestamp) -> bool {
        let soon = now.checked_add(MAX_CLOCK_SKEW).unwrap_or(now);
        let deleted =
            self.remote.metadata.deletion_timestamp.is_some() || self.cluster(conditions::CLUSTER_DELETING);
        self.bound() && deleted && ends_at(self).is_none_or(|end| end > soon)
    }

    pub fn foreign(&self) -> bool {
        self.report.ownership == Some(Ownership::Mismatch)
    }

    pub fn runs(&self) -> bool {
        self.claimed() && self.running.is_some_and(ObservedCondition::is_true)
    }

    /// Whether the cluster is being, or was, deleted under the claim.
    pub fn cluster(&self, reason: &str) -> bool {
        self.bound() && self.running.is_some_and(|c| c.is_false() && c.reason == reason)
    }
}

pub(super) fn health(claimed: &Claimed, request: &Validated, observed: &Observed) -> Health {
    let mut health = Health {
        version_desired: claimed.wanted.version.as_deref().map(|v| bounded(v, 64)),
        ..Health::default()
    };
    let remote = match observed.primary.as_ref().and_then(|w| w.remote()) {
        Some(Remote::ClusterClaim(remote)) => remote,
        Some(
            Remote::EphemeralCluster(_)
            | Remote::HostedCluster(_)
            | Remote::Topology(_)
            | Remote::Order(_)
            | Remote::Instance(_),
        )
        | None => {
            health.mirrored = unseen(request, observed);
            if let (Some(place), Some(_)) = (&claimed.place, observed.quiet_until()) {
                health.waiting = words::awaits_cluster(&format!("{}/{}", place.namespace, place.pool));
            }
            return health;
        }
    };
    let annotation = remote.metadata.annotation(ours::STATUS).map(HiveStatus::read).transpose();
    let unreadable = annotation.as_ref().err().map(|e| format!("annotation {}: {e}", ours::STATUS));
    let reported = &remote.status.value.conditions;
    let seen = Seen {
        remote,
        report: annotation.unwrap_or_default().unwrap_or_default(),
        pending: condition(reported, conditions::PENDING),
        running: condition(reported, conditions::CLUSTER_RUNNING),
    };
    let place = claimed.place.as_ref().map(|p| format!("{}/{}", p.namespace, p.pool)).unwrap_or_default();
    let report = &seen.report;
    let (secret, blocking) = credentials(&seen, request.access.is_some());
    health.secret = secret;
    health.blocking = blocking;
    health.publishes_admin = is_admins(report, request.access.is_some());
    health.stage = stage(&seen, health.secret.is_some(), observed);
    // What cannot be read may well be bound; asking again would make a second one.
    health.has_cluster = seen.bound() || remote.spec.error.is_some() || remote.status.error.is_some();
    health.teardown_arrived = remote.metadata.deletion_timestamp.is_some();
    health.teardown_failure = report.deprovision_failure.as_ref().map(words::deprovision_failure);
    health.ready_since = seen.running.filter(|c| c.is_true()).and_then(|c| c.last_transition_time);
    health.revision = remote.metadata.annotation(ours::CREDENTIALS_REVISION).map(str::to_owned);
    health.ends_at = ends_at(&seen);
    health.waiting = words::waiting(&seen, &place);
    health.blocked_by = obstacle(&seen, &place);
    health.mirrored = vec![assigned(&seen, &place), running(&seen)];
    let telling = &health.mirrored[usize::from(seen.claimed())];
    health.phase_word.clone_from(&telling.reason);
    health.unreadable = remote.spec.error.clone().or_else(|| remote.status.error.clone()).or(unreadable);
    let queue = report.queue.as_ref().filter(|_| !seen.bound() && !seen.is_pool_deleted());
    health.queue = queue.map(|q| QueueStatus {
        position: q.position.filter(|p| *p >= 1),
        depth: q.depth.filter(|d| *d >= 0),
    });
    let some =
        |text: &Option<String>, max| text.as_deref().filter(|t| !t.is_empty()).map(|t| bounded(t, max));
    health.version = some(&report.version, 64);
    health.api_server_url = some(&report.api_url, 2048);
    health.console_url = some(&report.console_url, 2048);
    let noted = remote.metadata.annotation(ours::DIAGNOSTICS).map(|d| bounded(d, MAX_DIAGNOSTICS));
    health.diagnostics = noted.or_else(|| report.provision_failure.as_ref().map(words::failure));
    let delivers = health.secret.as_ref().is_some_and(|secret| {
        observed.credentials.as_ref().is_some_and(|credentials| credentials.of(secret.as_str()).is_some())
    });
    if observed.quiet_until().is_some() && !delivers && is_on_its_way(&seen) {
        leave_out_steps(&mut health, seen.bound(), &place);
    }
    health
}

/// Whether nothing but time is between the claim and its cluster.
fn is_on_its_way(seen: &Seen<'_>) -> bool {
    let word = match word(seen) {
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
    word && ![conditions::CLUSTER_DELETED, conditions::CLUSTER_DELETING].iter().any(|r| seen.cluster(r))
}

/// Of the steps on the way only that a cluster is chosen is told, because from then on it is paid for.
fn leave_out_steps(health: &mut Health, bound: bool, pool: &str) {
    health.mirrored = unassigned(bound, pool);
    health.phase_word = health.mirrored[0].reason.clone();
    health.waiting = if bound { String::new() } else { words::awaits_cluster(pool) };
    health.queue = None;
    (health.version, health.api_server_url, health.console_url) = (None, None, None);
}

fn stage(seen: &Seen<'_>, published: bool, observed: &Observed) -> Stage {
    if seen.cluster(conditions::CLUSTER_DELETED) {
        return Stage::Lost("the hub deleted the cluster".into());
    }
    if seen.is_being_deleted(observed.now) {
        return Stage::Lost("somebody deletes the cluster on the hub".into());
    }
    if seen.remote.metadata.deletion_timestamp.is_some() {
        return Stage::Failing("the ClusterClaim is being deleted on the hub".into());
    }
    if seen.foreign() {
        return Stage::Failing("the cluster that the hub assigned belongs to another claim".into());
    }
    if seen.cluster(conditions::CLUSTER_DELETING) {
        return Stage::Failing("the cluster is being deleted on the hub".into());
    }
    if !seen.bound() {
        return Stage::Queued;
    }
    match (seen.runs(), published, observed.ever_ready()) {
        (true, true, _) => Stage::Ready,
        (false, _, true) => Stage::Failing(words::power(seen)),
        (true, false, true) => Stage::Failing("the hub does not publish its credentials now".into()),
        (_, _, false) => Stage::Provisioning,
    }
}

/// The published Secret, or why there is none.
fn credentials(seen: &Seen<'_>, account: bool) -> Told {
    let own = format!("{}-credentials", seen.remote.metadata.name);
    let blocked = |reason: Credentials, message: &str| (None, Some((reason, message.to_owned())));
    if seen.foreign() {
        return blocked(
            Credentials::OwnershipMismatch,
            "the cluster that the hub assigned belongs to another claim",
        );
    }
    match published(&seen.report, &own, account) {
        Some(told) => told,
        None if !seen.bound() => {
            blocked(Credentials::NotAssigned, "no cluster is assigned to this claim yet")
        }
        None if !seen.runs() => blocked(Credentials::NotRunning, "the cluster does not run yet"),
        None => blocked(Credentials::SecretMissing, "the hub has not published them yet"),
    }
}

/// Hive counts from the end of Pending on, and deletes the claim by itself.
fn ends_at(seen: &Seen<'_>) -> Option<Timestamp> {
    let since = seen.pending.filter(|c| c.is_false())?.last_transition_time?;
    let lifetime = seen.remote.status.value.lifetime.value?;
    since.checked_add(lifetime.get()).ok()
}

/// What an administrator can lift, or another claim's end.
fn obstacle(seen: &Seen<'_>, pool: &str) -> Option<AdmissionIssue> {
    let (reason, message) = match word(seen) {
        Assigned::PoolNotFound => (
            Request::PoolNotFound,
            format!("the hub has no pool {pool}, which the catalogue names; ask the platform team"),
        ),
        Assigned::PoolDeleting => (
            Request::PoolDeleting,
            format!(
                "pool {pool} is being deleted and gives no clusters any more; create a new claim for another pool"
            ),
        ),
        Assigned::CapacityBlocked | Assigned::InventoryExhausted => (
            Request::NoCapacity,
            format!(
                "pool {pool} has no cluster left and may make no more; this claim is served when one is given back"
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
