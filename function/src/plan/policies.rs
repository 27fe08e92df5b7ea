//! Course → [`Intent`]: what is done about the writer and the credentials.

use jiff::{SignedDuration, Timestamp};
use testplatform_apis::{
    condition::{Failure, JobCompleted},
    names::ours,
    phase::Phase,
};

use super::Lifecycle;
use crate::{
    backend::Health,
    intent::{Intent, ManagementPolicies, PrimaryAction},
    observed::{Credentials, Observed, PrimaryObject, SyncState, is_ended_by_removal},
    validate::Validated,
};

/// How long a look at lost credentials may take before it is asked for anew. Core looks at a composite whose Secret is gone more often, and a
/// look is a matter of milliseconds; but after a restore thousands may be lost at once.
const REREAD_INTERVAL: SignedDuration = SignedDuration::from_secs(30);

pub(super) fn decide_intent(
    request: &Validated,
    observed: &Observed,
    health: &Health,
    course: &Lifecycle,
    removal: bool,
    now: Timestamp,
) -> Intent {
    let over = course.completion.as_ref().map(|o| o.reason.clone());
    let write = decide_action(request, observed, health, course, removal);
    let (ends, precedes) = match &write {
        PrimaryAction::Remove => (true, false),
        PrimaryAction::Update(_) if ends_by_removal(observed, course, removal) => (true, true),
        // It goes, and whoever took it away may not have got to note why: core in a pass that broke off, or somebody by hand.
        PrimaryAction::Probe { .. }
            if ends_by_removal(observed, course, removal)
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
    let ending = if course.lifetime_ended { JobCompleted::Expired } else { JobCompleted::TornDown };
    let ending = ends.then_some(ending);
    // Said first is said for good: an owner's teardown does not become an expiry because it takes long.
    let noted = observed.annotation(ours::ENDING).map(str::to_owned);
    Intent {
        action: write,
        teardown_reason: noted.or_else(|| ending.map(|e| e.as_str().to_owned())),
        teardown: course.teardown,
        teardown_deferred: precedes,
        failure: course.failure.or(course.pending_failure),
        // A lifetime counts from it. Where Hive may take a cluster back and give another, it is also what tells that the tenant has
        // credentials, once all other witnesses are lost. At an end all others are: it is noted with that, in one write.
        ready_at: course
            .ready_at
            .filter(|_| removal || request.lifetime.effective.is_some() || is_at_end(course)),
        reread_at: observed.credentials.as_ref().and_then(|c| reread_at(c, observed, now)),
        withheld_since: course
            .known_credentials(observed)
            .and_then(|(secret, c)| c.withheld_or_unknown_since(secret)),
        wants_credentials: keeps_credentials(course),
        primary_ready: course.ever_ready || over.is_some(),
        credentials_ready: course.ever_ready && course.details.is_some(),
        transfer_annotations: vec![],
        completion: over,
    }
}

/// Whether it has come to an end, which is noted on the writer. Core applies that before it empties the kubeconfig, so a pass that sees emptied
/// keys sees the note too.
fn is_at_end(course: &Lifecycle) -> bool {
    course.is_complete() || course.failure.is_some()
}

/// One that is lost is asked for again and again, each time in other words: only a change makes provider-kubernetes look, and one look may
/// be in vain. It goes by a cache that can still show the Secret that is gone, and what it wrote can be gone before anybody saw it.
fn reread_at(credentials: &Credentials, observed: &Observed, now: Timestamp) -> Option<Timestamp> {
    let synced = credentials.loss_condition()?;
    // Steps from a time that was observed: which have passed is all that the clock tells.
    let since =
        synced.last_transition_time.or(observed.composite.metadata.creation_timestamp).unwrap_or_default();
    let passed = now.duration_since(since).as_secs().max(0);
    let step = SignedDuration::from_secs(passed - passed % REREAD_INTERVAL.as_secs());
    since.checked_add(step).ok()
}

/// The credentials leave the desired state when nothing is left that they open.
fn keeps_credentials(course: &Lifecycle) -> bool {
    match course.phase {
        Phase::Deprovisioned => false,
        Phase::Failed => course.completion.is_none(),
        Phase::Pending | Phase::Provisioning | Phase::Ready | Phase::Degraded | Phase::Deprovisioning => true,
    }
}

fn decide_action(
    request: &Validated,
    observed: &Observed,
    health: &Health,
    course: &Lifecycle,
    removal: bool,
) -> PrimaryAction {
    let Some(writer) = &observed.primary else {
        if course.is_complete() {
            return PrimaryAction::Omit;
        }
        if observed.was_made_before() {
            return PrimaryAction::Probe { uid: observed.expected_uid() };
        }
        // The only place where a cluster can begin.
        let may = course.phase == Phase::Pending && request.blocked_by.is_none();
        return if may { PrimaryAction::Create } else { PrimaryAction::Omit };
    };
    if let (true, Some(vanished)) = (course.recreates, writer.remote_uid()) {
        return PrimaryAction::Recreate { vanished };
    }
    let gives_up = request.templated().is_some_and(|t| t.abandons_hub) && !writer.remote_may_exist();
    // What the composite does not refer to core does not delete.
    if gives_up && course.phase == Phase::Pending && !course.teardown && !observed.is_primary_unreferenced {
        return PrimaryAction::Relocate;
    }
    if course.completion.is_none() && remote_remains(writer) {
        let ends = removal && course.teardown;
        // One that is on its way out is desired again, because core would not show it otherwise. It is not taken away a
        // second time, nor is one that still looks: each time would undo the other, without end.
        if writer.is_searching() || (ends && writer.is_deleting()) {
            return PrimaryAction::Probe { uid: observed.expected_uid() };
        }
        // What holds a writer that is taken away may stand on it by our word alone, which is taken back with it.
        if ends && !observed.awaits_pre_delete() {
            // What is not desired any more cannot be changed. So what the hub may refuse is taken back before: it could not be deleted.
            let taken_back = PrimaryAction::Update(ManagementPolicies::ObserveDelete);
            return if observed.is_deletable() { PrimaryAction::Remove } else { taken_back };
        }
    }
    PrimaryAction::Update(allowed_policies(writer, health, course))
}

/// Whether a writer that is kept is to be taken away, as soon as what comes before that is done.
fn ends_by_removal(observed: &Observed, course: &Lifecycle, removal: bool) -> bool {
    removal
        && course.teardown
        && course.completion.is_none()
        && observed.primary.as_ref().is_some_and(remote_remains)
}

/// Whether the next pass that finds the cluster to have Failed takes the writer away. Why has to be noted before that: core takes away before it
/// writes, and a pass can end in between.
pub(super) fn records_failure_first(observed: &Observed) -> bool {
    let said =
        observed.composite.status.phase == Some(Phase::Failed) || observed.annotation(ours::FAILED).is_some();
    let whole =
        |writer: &PrimaryObject| remote_remains(writer) && !writer.is_searching() && !writer.is_deleting();
    !said && !observed.awaits_pre_delete() && observed.primary.as_ref().is_some_and(whole)
}

/// What is gone, or somebody else's, is not ours to end; what is over has ended.
fn remote_remains(writer: &PrimaryObject) -> bool {
    !matches!(writer.sync, SyncState::Deleted | SyncState::Replaced)
}

/// The pin keeps a second cluster from being made; these keep provider-kubernetes from trying for ever, and from
/// deleting what is not ours.
fn allowed_policies(writer: &PrimaryObject, health: &Health, course: &Lifecycle) -> ManagementPolicies {
    if writer.sync == SyncState::Replaced || course.failure == Some(Failure::RemoteReplaced) {
        return ManagementPolicies::Observe;
    }
    if writer.sync == SyncState::Deleted || course.failure == Some(Failure::RemoteDeleted) {
        return ManagementPolicies::ObserveDelete;
    }
    // Nothing was seen, and nothing may be made any more: what was made all the same will be seen, and then told to
    // end.
    if writer.remote().is_none() && course.teardown && writer.remote_uid().is_none() {
        return ManagementPolicies::ObserveDelete;
    }
    // As long as something may run that was not told to end, full policies carry the teardown there: also when it
    // turned up after all where nothing seemed to exist. One that is told by its spec stays until it has ended, and only full
    // policies show that somebody deleted it before: of one that is only watched, provider-kubernetes keeps what it saw last.
    let told = health.stage.is_terminal() || (is_ended_by_removal(writer.name) && health.teardown_arrived);
    let done = match course.phase {
        Phase::Deprovisioned | Phase::Failed => told || course.completion.is_some(),
        Phase::Pending | Phase::Provisioning | Phase::Ready | Phase::Degraded | Phase::Deprovisioning => {
            false
        }
    };
    if done {
        return ManagementPolicies::ObserveDelete;
    }
    // provider-kubernetes writes over whatever it finds under the name. One that may only create leaves it as it is, and shows it.
    if writer.is_templated() && writer.remote_uid().is_none() {
        ManagementPolicies::ObserveCreateDelete
    } else {
        ManagementPolicies::Full
    }
}
