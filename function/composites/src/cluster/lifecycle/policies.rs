//! Lifecycle → [`Intent`]: actions on the primary Object and on the credentials.

use jiff::{SignedDuration, Timestamp};
use testplatform_apis::{
    condition::{Failure, JobCompleted},
    names::ours,
    phase::Phase,
};

use super::Lifecycle;
use crate::{
    cluster::{
        backends::{
            Health,
            intent::{Intent, ManagementPolicies, PrimaryAction},
        },
        observed::{Credentials, Observed, PrimaryObject, is_ended_by_removal},
        request::Validated,
    },
    objects::SyncState,
};

/// Time that one read of lost credentials may take before it is requested again. Core reconciles a composite with a missing Secret more
/// often, and a read takes milliseconds; but after a restore thousands may be lost at once.
const REREAD_INTERVAL: SignedDuration = SignedDuration::from_secs(30);

pub(super) fn decide_intent(
    request: &Validated,
    observed: &Observed,
    health: &Health,
    lifecycle: &Lifecycle,
    removal: bool,
    now: Timestamp,
) -> Intent {
    let over = lifecycle.completion.as_ref().map(|o| o.reason.clone());
    let write = decide_action(request, observed, health, lifecycle, removal);
    let (ends, precedes) = match &write {
        PrimaryAction::Remove => (true, false),
        PrimaryAction::Update(_) if ends_by_removal(observed, lifecycle, removal) => (true, true),
        // The Object is being deleted, and the cause may not be recorded: core may have aborted the pass, or somebody deleted it by hand.
        PrimaryAction::Probe { .. }
            if ends_by_removal(observed, lifecycle, removal)
                && observed.primary.as_ref().is_some_and(PrimaryObject::is_deleting) =>
        {
            (true, false)
        }
        PrimaryAction::Omit
        | PrimaryAction::Create
        | PrimaryAction::Update(_)
        | PrimaryAction::Probe { .. }
        | PrimaryAction::Recreate { .. }
        | PrimaryAction::Relocate => (false, false),
    };
    let ending = if lifecycle.lifetime_ended { JobCompleted::Expired } else { JobCompleted::TornDown };
    let ending = ends.then_some(ending);
    // The first cause stays: an owner's teardown does not become an expiry because it takes long.
    let recorded = observed.annotation(ours::ENDING).map(str::to_owned);
    Intent {
        action: write,
        teardown_reason: recorded.or_else(|| ending.map(|e| e.as_str().to_owned())),
        teardown: lifecycle.teardown,
        teardown_deferred: precedes,
        failure: lifecycle.failure.or(lifecycle.pending_failure),
        // The lifetime counts from it. If Hive can replace a cluster, it also proves that the tenant has credentials, once all other
        // records are lost. At an end all others are lost: it is recorded with the end, in one write.
        ready_at: lifecycle
            .ready_at
            .filter(|_| removal || request.lifetime.effective.is_some() || is_at_end(lifecycle)),
        reread_at: observed.credentials.as_ref().and_then(|c| reread_at(c, observed, now)),
        withheld_since: lifecycle
            .known_credentials(observed)
            .and_then(|(secret, c)| c.withheld_or_unknown_since(secret)),
        wants_credentials: keeps_credentials(lifecycle),
        primary_ready: lifecycle.ever_ready || over.is_some(),
        credentials_ready: lifecycle.ever_ready && lifecycle.details.is_some(),
        transfer_annotations: vec![],
        completion: over,
    }
}

/// Whether the claim has ended, which is recorded on the primary Object. Core applies that before it empties the kubeconfig, so a pass that
/// sees emptied keys sees the annotation too.
fn is_at_end(lifecycle: &Lifecycle) -> bool {
    lifecycle.is_complete() || lifecycle.failure.is_some()
}

/// Repeats the request for lost credentials, each time with another value: only a change makes provider-kubernetes reconcile, and one
/// reconcile may not suffice. Its cache can still show the deleted Secret, and its result can be gone before anybody saw it.
fn reread_at(credentials: &Credentials, observed: &Observed, now: Timestamp) -> Option<Timestamp> {
    let synced = credentials.loss_condition()?;
    // Steps from an observed time: the clock only decides how many have passed.
    let since =
        synced.last_transition_time.or(observed.composite.metadata.creation_timestamp).unwrap_or_default();
    let passed = now.duration_since(since).as_secs().max(0);
    let step = SignedDuration::from_secs(passed - passed % REREAD_INTERVAL.as_secs());
    since.checked_add(step).ok()
}

/// Whether the credentials stay desired: they are dropped once the cluster that they open is gone.
fn keeps_credentials(lifecycle: &Lifecycle) -> bool {
    match lifecycle.phase {
        Phase::Deprovisioned => false,
        Phase::Failed => lifecycle.completion.is_none(),
        Phase::Pending | Phase::Provisioning | Phase::Ready | Phase::Degraded | Phase::Deprovisioning => true,
    }
}

fn decide_action(
    request: &Validated,
    observed: &Observed,
    health: &Health,
    lifecycle: &Lifecycle,
    removal: bool,
) -> PrimaryAction {
    let Some(primary) = &observed.primary else {
        if lifecycle.is_complete() {
            return PrimaryAction::Omit;
        }
        if observed.was_made_before() {
            return PrimaryAction::Probe { uid: observed.expected_uid() };
        }
        // The only place where a cluster can be created.
        let may = lifecycle.phase == Phase::Pending && request.blocked_by.is_none();
        return if may { PrimaryAction::Create } else { PrimaryAction::Omit };
    };
    if let (true, Some(vanished)) = (lifecycle.recreates, primary.remote_uid()) {
        return PrimaryAction::Recreate { vanished };
    }
    let gives_up = request.templated().is_some_and(|t| t.abandons_hub) && !primary.remote_may_exist();
    // Core deletes nothing that the composite does not refer to.
    if gives_up
        && lifecycle.phase == Phase::Pending
        && !lifecycle.teardown
        && !observed.is_primary_unreferenced
    {
        return PrimaryAction::Relocate;
    }
    if lifecycle.completion.is_none() && remote_remains(primary) {
        let ends = removal && lifecycle.teardown;
        // An Object that is being deleted is desired again, because core would not show it otherwise. It is not removed a second time, nor
        // is one that is still searching: the two actions would undo each other for ever.
        if primary.is_searching() || (ends && primary.is_deleting()) {
            return PrimaryAction::Probe { uid: observed.expected_uid() };
        }
        // A finalizer of a removed primary Object may come from this function alone, and core withdraws it with the Object.
        if ends && !observed.awaits_pre_delete() {
            // An Object that is no longer desired cannot be changed. A spec that the hub may refuse could not be deleted, so the hub's spec
            // is restored first.
            let restore = PrimaryAction::Update(ManagementPolicies::ObserveDelete);
            return if observed.is_deletable() { PrimaryAction::Remove } else { restore };
        }
    }
    PrimaryAction::Update(allowed_policies(primary, health, lifecycle))
}

/// Whether an existing primary Object has to be removed, as soon as the preceding steps are done.
fn ends_by_removal(observed: &Observed, lifecycle: &Lifecycle, removal: bool) -> bool {
    removal
        && lifecycle.teardown
        && lifecycle.completion.is_none()
        && observed.primary.as_ref().is_some_and(remote_remains)
}

/// Whether the next pass that finds the claim Failed removes the primary Object. The cause has to be recorded before that: core removes
/// before it writes, and a pass can end in between.
pub(super) fn records_failure_first(observed: &Observed) -> bool {
    let is_recorded =
        observed.composite.status.phase == Some(Phase::Failed) || observed.annotation(ours::FAILED).is_some();
    let is_active = |primary: &PrimaryObject| {
        remote_remains(primary) && !primary.is_searching() && !primary.is_deleting()
    };
    !is_recorded && !observed.awaits_pre_delete() && observed.primary.as_ref().is_some_and(is_active)
}

/// A missing or foreign object is not ours to end; a completed one has ended.
fn remote_remains(primary: &PrimaryObject) -> bool {
    !matches!(primary.sync, SyncState::Deleted | SyncState::Replaced)
}

/// Management policies of the primary Object. The pin prevents a second cluster; the policies keep provider-kubernetes from retrying for
/// ever, and from deleting foreign objects.
fn allowed_policies(primary: &PrimaryObject, health: &Health, lifecycle: &Lifecycle) -> ManagementPolicies {
    if primary.sync == SyncState::Replaced || lifecycle.failure == Some(Failure::RemoteReplaced) {
        return ManagementPolicies::Observe;
    }
    if primary.sync == SyncState::Deleted || lifecycle.failure == Some(Failure::RemoteDeleted) {
        return ManagementPolicies::ObserveDelete;
    }
    // Nothing was observed, and nothing may be created any more: an unexpected object will be observed, and then torn down.
    if primary.remote().is_none() && lifecycle.teardown && primary.remote_uid().is_none() {
        return ManagementPolicies::ObserveDelete;
    }
    // As long as something may run whose teardown did not arrive, full policies carry the teardown there, even if it turned up
    // unexpectedly. A cluster that is ended by a field stays until it has ended, and only full policies show that somebody deleted it
    // before: of an observed object provider-kubernetes keeps the last observation.
    let is_ended =
        health.stage.is_terminal() || (is_ended_by_removal(primary.name) && health.teardown_arrived);
    let done = match lifecycle.phase {
        Phase::Deprovisioned | Phase::Failed => is_ended || lifecycle.completion.is_some(),
        Phase::Pending | Phase::Provisioning | Phase::Ready | Phase::Degraded | Phase::Deprovisioning => {
            false
        }
    };
    if done {
        return ManagementPolicies::ObserveDelete;
    }
    // provider-kubernetes overwrites any object under the name. An Object that may only create leaves it unchanged, and shows it.
    if primary.is_templated() && primary.remote_uid().is_none() {
        ManagementPolicies::ObserveCreateDelete
    } else {
        ManagementPolicies::Full
    }
}
