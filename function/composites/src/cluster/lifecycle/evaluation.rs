//! Lifecycle of a claim: its phase, the cause of its end, and the active deadlines. It is the same for every backend.

use jiff::{SignedDuration, Timestamp};
use testplatform_apis::{
    condition::{ConditionType, Failure, JobCompleted},
    names::ours,
    phase::Phase,
};

use super::{
    phase::{self, PhaseInputs},
    policies,
};
use crate::{
    cluster::{
        backends::{Health, Stage, known_secret},
        observed::{Credentials, Details, Observed, PrimaryObject},
        request::Validated,
    },
    objects::SyncState,
    sdk::composite::Flavour,
};

/// Maximum time before its end for which a cluster is Expiring; a tenth of its lifetime if that is less.
const EXPIRING: SignedDuration = SignedDuration::from_mins(15);

/// Grace period of a ready cluster whose credentials cannot be read or written, or are not named. After it the cluster counts as one
/// without credentials at its provision timeout. It is not zero, because people grant the missing rights, and a cluster older than its
/// timeout may only have lost its status.
const WITHHELD: SignedDuration = SignedDuration::from_hours(1);

/// Phase and deadlines of the claim.
#[derive(Clone, Debug, PartialEq)]
pub struct Lifecycle {
    /// Phase that the owner sees.
    pub phase: Phase,
    /// Cause of phase Failed.
    pub failure: Option<Failure>,
    /// Cause of phase Failed in the next pass, which removes the primary Object. This pass only records it.
    pub pending_failure: Option<Failure>,
    /// Completion, once nothing is left that incurs cost.
    pub completion: Option<Completion>,
    /// Whether the claim is or ever was ready.
    pub ever_ready: bool,
    /// Whether the quiet period is active: the cluster may become ready at once, and conditions do not follow each step.
    pub in_quiet_period: bool,
    /// Whether the remote object has to be torn down.
    pub teardown: bool,
    /// Whether the end of its lifetime is the cause. A slow teardown that began earlier does not become an expiry.
    pub lifetime_ended: bool,
    /// Whether its lifetime ends soon.
    pub is_expiring: bool,
    /// Whether it is slower than 90 % of similar clusters.
    pub is_late: bool,
    /// Whether the remote object vanished before the hub processed it, and is requested again.
    pub recreates: bool,
    /// Content of the composite's connection Secret; none: not written.
    pub details: Option<Details>,
    /// Whether the kubeconfig was taken back, because it is not one that may be handed on.
    pub is_withdrawn: bool,
    /// Name of the Secret on the hub.
    pub secret: Option<String>,
    /// Creation time of the composite.
    pub started_at: Option<Timestamp>,
    /// Time at which the cluster was first ready.
    pub ready_at: Option<Timestamp>,
    /// End of its lifetime.
    pub expires_at: Option<Timestamp>,
    /// Time of its cleanup because nobody needs it any more, if that is earlier.
    pub cleanup_at: Option<Timestamp>,
    /// Time by which 90 % of similar clusters are ready.
    pub estimated_ready_at: Option<Timestamp>,
    /// Provision deadline; none once it no longer counts.
    pub provision_deadline: Option<Timestamp>,
    /// Next time at which this result changes by itself.
    pub next_deadline: Option<Timestamp>,
}

impl Lifecycle {
    /// Whether the claim has ended and nothing is left that incurs cost.
    pub fn is_complete(&self) -> bool {
        self.completion.is_some()
    }

    /// The Secret on the hub, and the Object that reads it.
    pub(super) fn known_credentials<'o>(&self, observed: &'o Observed) -> Option<(&str, &'o Credentials)> {
        self.secret.as_deref().zip(observed.credentials.as_ref())
    }
}

/// Proof that nothing is left that incurs cost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Completion {
    /// Reason of `ProwJobCompleted=True`.
    pub reason: String,
    /// Message of the hub, if any.
    pub message: String,
}

impl From<JobCompleted> for Completion {
    fn from(reason: JobCompleted) -> Self {
        Self { reason: reason.as_str().to_owned(), message: String::new() }
    }
}

/// Lifecycle of a claim that is invalid in an immutable field and has no cluster.
pub(super) fn invalid_lifecycle(observed: &Observed) -> Lifecycle {
    Lifecycle {
        phase: Phase::Failed,
        failure: Some(Failure::InvalidClaim),
        pending_failure: None,
        completion: Some(JobCompleted::NothingToTearDown.into()),
        ever_ready: false,
        teardown: false,
        lifetime_ended: false,
        is_expiring: false,
        is_late: false,
        recreates: false,
        details: Some(Details::emptied()),
        is_withdrawn: false,
        secret: None,
        started_at: observed.composite.metadata.creation_timestamp,
        ready_at: None,
        expires_at: None,
        cleanup_at: None,
        estimated_ready_at: None,
        provision_deadline: None,
        next_deadline: None,
        in_quiet_period: false,
    }
}

/// Estimate from the provisioning times of similar clusters.
fn estimated_ready_at(observed: &Observed, health: &Health) -> Option<Timestamp> {
    let estimate = || observed.environment.estimate(health.workflow.as_deref()?);
    let started_at = observed.composite.metadata.creation_timestamp;
    let at = started_at.and_then(|at| at.checked_add(estimate()?.as_signed()).ok());
    at.or(observed.composite.status.estimated_ready_at)
}

/// Whether anything but time is known to delay the kubeconfig.
fn has_credentials_failure(observed: &Observed, health: &Health) -> bool {
    use testplatform_apis::condition::Credentials as Reason;
    let is_early =
        |reason: &Reason| matches!(reason, Reason::NotAssigned | Reason::NotRunning | Reason::SecretMissing);
    let of_object =
        observed.credentials.as_ref().filter(|c| !c.is_paused()).is_some_and(|c| !c.sync_error().is_empty());
    of_object
        || health.publishes_admin
        || health.blocking.as_ref().is_some_and(|(reason, _)| !is_early(reason))
}

fn expiring_since(ready: Timestamp, end: Timestamp) -> Option<Timestamp> {
    end.checked_sub((end.duration_since(ready) / 10).clamp(SignedDuration::ZERO, EXPIRING)).ok()
}

/// Whether the hub does not know a field of the tenant. A field of the platform is for administrators to correct.
fn is_tenant_field_unknown(request: &Validated, primary: Option<&PrimaryObject>) -> bool {
    match primary.map(|primary| &primary.sync) {
        Some(SyncState::UnknownField(path)) => request.is_tenant_field(path),
        _ => false,
    }
}

/// Evaluates the lifecycle. `removal`: the cluster is ended by removing its primary Object.
pub(super) fn evaluate_lifecycle(
    request: &Validated,
    observed: &Observed,
    health: &Health,
    removal: bool,
    now: Timestamp,
) -> Lifecycle {
    let primary = observed.primary.as_ref();
    let secret = known_secret(observed, health);
    // The previous Secret no longer matches the request.
    let withdraws = withdraws_kubeconfig(health, observed);
    let named = secret.as_deref().filter(|_| !health.publishes_admin && !withdraws);
    let fresh = named.and_then(|name| observed.credentials.as_ref()?.details_of(name));
    let ever_ready = observed.ever_ready()
        || (!phase::was_final(observed) && health.stage == Stage::Ready && fresh.is_some());

    let started_at = observed.composite.metadata.creation_timestamp;
    let ready_at = ever_ready.then(|| ready_at(observed, health)).flatten();
    let life = request.lifetime.effective;
    let passed = |deadline: Option<Timestamp>| deadline.is_some_and(|d| d <= now);
    let ours = ready_at.zip(life).and_then(|(at, life)| at.checked_add(life.as_signed()).ok());
    let hubs = health.ends_at.filter(|_| ready_at.is_some());
    let expires_at = [ours, hubs].into_iter().flatten().min();
    let ending = observed.annotation(ours::ENDING);
    // A released cluster is another composite's to end.
    let released = observed.transfer.is_released();
    let is_over = passed(expires_at.filter(|_| !observed.is_delivered_now())) || passed(health.ends_at);
    let expired = !released && (is_over || ending == Some(JobCompleted::Expired.as_str()));
    // Relative to the actual lifetime, whoever ends it.
    let expiring_at = expires_at.zip(ready_at).and_then(|(end, ready)| expiring_since(ready, end));
    let by_owner = request.teardown == Some(true);
    let outlived = ending.map_or(expired && !by_owner, |why| why == JobCompleted::Expired.as_str());
    // A removed Object leaves no manifest that remembers the teardown, nor does an unobserved one. A teardown that reached the hub is not
    // withdrawn.
    let latched = observed.composite.status.phase == Some(Phase::Deprovisioning) || ending.is_some();
    let arrived = !released && (health.teardown_arrived || (latched && primary.is_none()));
    let latched = if removal { latched } else { arrived };
    let requested = by_owner || primary.is_some_and(PrimaryObject::requests_teardown) || latched;
    let provision_deadline = started_at
        .filter(|_| !ever_ready)
        .and_then(|at| at.checked_add(request.lifetime.provision_timeout()?).ok());
    let estimated_ready_at = estimated_ready_at(observed, health);

    let read = secret.as_deref().zip(observed.credentials.as_ref());
    let unnamed = named.is_none() && health.stage == Stage::Ready;
    let withheld_until = read
        .and_then(|(s, c)| c.withheld_since(s))
        .or_else(|| health.ready_since.or(started_at).filter(|_| unnamed))
        .and_then(|since| since.checked_add(WITHHELD).ok())
        .map(|until| provision_deadline.map_or(until, |deadline| deadline.max(until)));
    let looked = read.is_some_and(|(s, c)| c.read_without_kubeconfig(s)) || passed(withheld_until);
    let facts = PhaseInputs {
        ends_by_removal: removal,
        unknown_to_hub: is_tenant_field_unknown(request, primary),
        observed,
        health,
        ever_ready,
        teardown_requested: requested,
        expired,
        lifetime_ended: outlived,
        // Not timed out if only its kubeconfig has not been read yet.
        timed_out: passed(provision_deadline)
            && !observed.composite.is_ready()
            && (health.stage != Stage::Ready || looked),
    };
    let (phase, failure, again) = facts.decide_phase();
    let over = facts.decide_completion(phase, failure);
    let failing = failure.filter(|_| removal && over.is_none() && policies::records_failure_first(observed));
    let (phase, failure) = if failing.is_some() {
        let before = observed.composite.status.phase.unwrap_or(Phase::Provisioning);
        (if ever_ready { Phase::Degraded } else { before }, None)
    } else {
        (phase, failure)
    };
    // After any end a cluster that still runs is torn down.
    let ended =
        phase == Phase::Deprovisioned || (phase == Phase::Failed && failure != Some(Failure::InvalidClaim));
    let settled = matches!(phase, Phase::Deprovisioned | Phase::Failed);
    let waiting = matches!(phase, Phase::Pending | Phase::Provisioning);
    let quiet_until = observed
        .quiet_until()
        .filter(|_| waiting && !ever_ready && !requested && !has_credentials_failure(observed, health));
    let deadlines = [
        quiet_until,
        provision_deadline.filter(|_| waiting),
        estimated_ready_at.filter(|_| waiting),
        expiring_at.filter(|_| !settled && !requested && !released),
        expires_at.filter(|_| !settled && !requested && !released),
        withheld_until.filter(|_| waiting),
        request.templated().and_then(|t| t.abandons_hub_at).filter(|_| phase == Phase::Pending),
        health.changes_at.filter(|_| !settled),
    ];
    Lifecycle {
        in_quiet_period: quiet_until.is_some(),
        phase,
        failure,
        pending_failure: failing,
        is_withdrawn: withdraws && ever_ready && over.is_none(),
        details: pick_details(phase, over.is_some(), ever_ready, fresh, health, observed)
            // A token of a ServiceAccount comes without a password, and what has one is the admin's.
            .map(|details| if request.access.is_some() { details.without_password() } else { details }),
        completion: over,
        ever_ready,
        teardown: requested || expired || ended,
        lifetime_ended: outlived,
        is_expiring: passed(expiring_at) && !settled && !released,
        is_late: waiting && passed(estimated_ready_at),
        recreates: again,
        secret,
        started_at,
        ready_at,
        // A released cluster ends with its new owner.
        expires_at: expires_at.filter(|_| !released),
        cleanup_at: request.cleanup_at.filter(|at| expires_at.is_none_or(|end| *at < end)),
        estimated_ready_at,
        provision_deadline: provision_deadline.filter(|_| waiting),
        next_deadline: deadlines.into_iter().flatten().filter(|d| *d > now).min(),
    }
}

/// Time of the first readiness. It is latched, because the upstream controller moves transition times. Without a status it comes from the
/// annotation on the primary Object, then the hub's own condition, then the time at which core first showed ours.
fn ready_at(observed: &Observed, health: &Health) -> Option<Timestamp> {
    let shown = observed.composite.shown(ConditionType::ClusterReady).filter(|c| c.is_true());
    let recorded = || observed.annotations(ours::READY_AT).find_map(|at| at.parse().ok());
    observed
        .composite
        .status
        .ready_at
        .or_else(recorded)
        .or_else(|| usable_since(observed, health))
        .or_else(|| shown.and_then(|c| c.last_transition_time))
}

/// Time since which the cluster is usable: it is up, and its credentials are here. It is never before the request, whatever clocks and
/// scripts on the hub report.
fn usable_since(observed: &Observed, health: &Health) -> Option<Timestamp> {
    let up = health.ready_since?;
    if observed.transfer.adopted().is_some() {
        // A cluster that was taken over is older than the composite, and was in use before its credentials arrived.
        return observed.in_use_since().or(Some(up));
    }
    let published_at = observed.credentials.as_ref().and_then(Credentials::read_since);
    [published_at, observed.composite.metadata.creation_timestamp].into_iter().flatten().chain([up]).max()
}

fn pick_details(
    phase: Phase,
    over: bool,
    ever_ready: bool,
    fresh: Option<&Details>,
    health: &Health,
    observed: &Observed,
) -> Option<Details> {
    if ever_ready && withdraws_kubeconfig(health, observed) {
        return Some(Details::emptied());
    }
    let last = || ever_ready.then(|| last_details(fresh, health.publishes_admin, observed)).flatten();
    match phase {
        Phase::Pending | Phase::Provisioning => None,
        Phase::Ready | Phase::Degraded | Phase::Deprovisioning => last(),
        Phase::Failed if !over => last(),
        Phase::Deprovisioned | Phase::Failed => Some(Details::emptied()),
    }
}

/// Whether the kubeconfig is, or stays, taken back.
fn withdraws_kubeconfig(health: &Health, observed: &Observed) -> bool {
    health.withdrawn_kubeconfig().is_some() || holds_withdrawn(health, observed)
}

/// Whether the last read of the Secret still holds a kubeconfig that was withdrawn: provider-kubernetes keeps it until the next one.
fn holds_withdrawn(health: &Health, observed: &Observed) -> bool {
    let Some(credentials) = observed.credentials.as_ref().filter(|_| is_emptied(observed)) else {
        return false;
    };
    let is_outdated = |announced: &str| credentials.read_revision().is_some_and(|read| read != announced);
    !credentials.sync_error().is_empty()
        || health.secret.is_none()
        || health.revision.as_deref().is_some_and(is_outdated)
}

/// Whether a kubeconfig that was delivered has been taken back from the claim's Secret.
fn is_emptied(observed: &Observed) -> bool {
    // In a namespace it is the owner's own Secret, which they may empty.
    let is_claimed = observed.composite.flavour == Flavour::Claimed;
    let details = &observed.details;
    is_claimed && details.has_kubeconfig_key() && !details.has_kubeconfig() && observed.ever_ready()
}

/// Most recent details: published ones are never withdrawn before the end. `admins`: only previously published details count.
fn last_details(fresh: Option<&Details>, admins: bool, observed: &Observed) -> Option<Details> {
    // The last read may be older than the withdrawal.
    let credentials = observed.credentials.as_ref().filter(|_| !admins && !is_emptied(observed));
    let credentials = credentials.map(|c| &c.details).filter(|d| d.has_kubeconfig());
    let own = Some(&observed.details).filter(|d| d.has_kubeconfig());
    // For a composite in a namespace `credentials` writes the only copy, and the tenant may delete it. It is written again; the cluster
    // stays ready, and keys without a value show the loss.
    let missed = || match observed.composite.flavour {
        Flavour::Claimed | Flavour::Homeless => None,
        Flavour::Namespaced(_) => Some(Details::emptied()),
    };
    fresh.or(own).or(credentials).cloned().or_else(missed)
}
