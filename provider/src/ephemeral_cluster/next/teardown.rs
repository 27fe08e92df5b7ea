//! The end of a job: told, or, when there is nobody to tell, aborted.
//!
//! ci-operator tears a cluster down by itself once the signal is there, so an abort is only for jobs that have no
//! namespace to put the signal into, and only after a time in which one may still appear.

use jiff::Timestamp;

use super::{
    Ending,
    own::created,
    pass::{Pass, RETRY, after},
};
use crate::{
    ephemeral_cluster::{
        conditions::{CLUSTER_READY, Is, PROW_JOB_COMPLETED, Reason, TEST_COMPLETED},
        prow_job::ProwJob,
        publication,
        status::Phase,
        world::{Job, Site},
    },
    step::Action,
};

/// Begins the description of every job that this provider aborts. Written together with the abort, so it is known for
/// sure whose abort it was.
pub const ABORTED_BY_US: &str = "provider-testplatform: ";

/// What ends a job.
#[derive(Clone, Debug, PartialEq)]
pub enum Means {
    /// Nothing more: the signal is there.
    Told,
    /// The signal.
    Tell {
        /// The build cluster.
        cluster: String,
        /// ci-operator's namespace.
        namespace: String,
    },
    /// It has no namespace. Aborted, once it may be.
    Abort {
        /// Why it cannot be told.
        obstacle: String,
    },
    /// It may well have a namespace, which cannot be written to now. Tried again.
    OutOfReach {
        /// Why.
        reason: Reason,
        /// Why, as a sentence.
        obstacle: String,
    },
}

/// What ends the job at a site.
pub fn means(site: &Site) -> Means {
    match site {
        Site::Namespace { signalled: true, .. } => Means::Told,
        Site::Namespace { cluster, name, terminating: false, signalled: false, .. } => {
            Means::Tell { cluster: cluster.clone(), namespace: name.clone() }
        }
        // An API server takes nothing into it any more. The job ends when its pods are deleted with it.
        Site::Namespace { cluster, name, terminating: true, signalled: false, .. } => Means::OutOfReach {
            reason: Reason::NamespacePending,
            obstacle: publication::terminating(cluster, name),
        },
        Site::Unscheduled => Means::Abort { obstacle: "the ProwJob has no build cluster yet".into() },
        Site::NoNamespace { cluster } => Means::Abort { obstacle: publication::no_namespace(cluster) },
        Site::Unknown { cluster } => {
            Means::OutOfReach { reason: Reason::BuildClusterUnknown, obstacle: publication::unknown(cluster) }
        }
        Site::Unreachable { cluster, .. } => Means::OutOfReach {
            reason: Reason::BuildClusterUnreachable,
            obstacle: publication::unreachable(cluster),
        },
    }
}

/// From when on a job may have a namespace at any moment.
pub fn started(job: &ProwJob) -> Option<Timestamp> {
    job.status.value.pending_time.max(created(job))
}

/// Ends the bound job.
pub fn next(pass: &mut Pass<'_>, job: &Job, ending: Ending) {
    let noticed = pass.since(TEST_COMPLETED).or_else(|| deleted_at(pass)).unwrap_or(pass.now);
    // What was told once was told, even if its namespace is gone since.
    let told_before = pass.holds(TEST_COMPLETED);
    let means = match (means(&job.site), ending) {
        // It has no pod, so where it would have had one does not matter.
        (Means::OutOfReach { obstacle, .. }, Ending::NeverScheduled) => Means::Abort { obstacle },
        (means, Ending::Asked | Ending::ProvisionTimeout | Ending::NeverScheduled) => means,
    };
    let begun = match means {
        Means::Told => told(pass),
        Means::Tell { cluster, namespace } => {
            let signal = Action::Signal { cluster, namespace };
            if refused(pass) {
                tell_again(pass, job, noticed, signal)
            } else {
                // What was told once was told: nothing waits for it to be told again.
                let to = if told_before { &mut pass.afterwards } else { &mut pass.actions };
                to.push(signal);
                told(pass)
            }
        }
        Means::Abort { .. } | Means::OutOfReach { .. } if told_before => {
            pass.again_in(RETRY);
            let abort = abandon(pass, job, noticed);
            pass.actions.extend(abort);
            true
        }
        Means::Abort { obstacle } => {
            let from = match ending {
                // Its time was up before: an hour without a build cluster is grace enough.
                Ending::NeverScheduled => None,
                Ending::Asked | Ending::ProvisionTimeout => started(&job.prow_job).max(Some(noticed)),
            };
            let deadline = from.map(|t| after(t, pass.world.settings.abort_grace));
            let aborts = deadline.is_none_or(|at| pass.due(at)) && pass.is_sure();
            if aborts {
                pass.actions.push(abort(&job.prow_job, &obstacle));
            }
            pass.set(TEST_COMPLETED, Is::False, Reason::NamespacePending, obstacle);
            aborts
        }
        Means::OutOfReach { reason, obstacle } => {
            pass.again_in(RETRY);
            pass.set(TEST_COMPLETED, Is::False, reason, obstacle);
            let abort = abandon(pass, job, noticed);
            let aborts = abort.is_some();
            pass.actions.extend(abort);
            aborts
        }
    };
    // Failed is what nobody waits for any more, so the end has begun before it is said.
    let failed = Reason::verdict(pass.reason_against(CLUSTER_READY)).is_some() && begun;
    pass.enter(if failed { Phase::Failed } else { Phase::Deprovisioning });
    overdue(pass);
}

/// Whether the signal could not be written, and is not there since.
pub fn refused(pass: &Pass<'_>) -> bool {
    pass.reason_against(TEST_COMPLETED) == Reason::SignalFailed.as_str()
}

/// Nothing waits any more for a signal that has failed: neither what is to be said, nor for ever the end of what is being deleted. Whether the
/// job ends now.
fn tell_again(pass: &mut Pass<'_>, job: &Job, noticed: Timestamp, signal: Action) -> bool {
    if let Some(abort) = abandon(pass, job, noticed) {
        pass.actions.push(abort);
        return true;
    }
    pass.afterwards.push(signal);
    false
}

/// What ends a job that has no condition of its own, if anything does now.
pub fn unserved(pass: &mut Pass<'_>, job: &Job) -> Option<Action> {
    match means(&job.site) {
        Means::Told => None,
        Means::Tell { cluster, namespace } => Some(Action::Signal { cluster, namespace }),
        Means::Abort { obstacle } => {
            let deadline = started(&job.prow_job).map(|t| after(t, pass.world.settings.abort_grace));
            let aborts = deadline.is_none_or(|at| pass.due(at)) && pass.is_sure();
            aborts.then(|| abort(&job.prow_job, &obstacle))
        }
        Means::OutOfReach { .. } => {
            pass.again_in(RETRY);
            let noticed = deleted_at(pass).unwrap_or(pass.now);
            abandon(pass, job, noticed)
        }
    }
}

/// Being deleted, an EphemeralCluster does not wait for ever for what cannot be reached.
fn abandon(pass: &mut Pass<'_>, job: &Job, noticed: Timestamp) -> Option<Action> {
    let deadline = after(deleted_at(pass)?.max(noticed), pass.world.settings.deprovision_timeout);
    let why = "the EphemeralCluster is being deleted, and the job cannot be told to end";
    (pass.due(deadline) && pass.is_sure()).then(|| abort(&job.prow_job, why))
}

fn told(pass: &mut Pass<'_>) -> bool {
    pass.set(TEST_COMPLETED, Is::True, Reason::Signalled, "the ProwJob was told to end");
    true
}

fn abort(job: &ProwJob, why: &str) -> Action {
    Action::AbortProwJob { name: job.name().to_owned(), description: format!("{ABORTED_BY_US}{why}") }
}

/// A deprovision is never cut short: what it leaves behind is paid for until somebody finds it.
fn overdue(pass: &mut Pass<'_>) {
    let Some(since) = pass.since(TEST_COMPLETED) else { return };
    if !pass.due(after(since, pass.world.settings.deprovision_timeout)) {
        return;
    }
    let text = "the ProwJob has not ended in the time that its end may take";
    if pass.set(PROW_JOB_COMPLETED, Is::False, Reason::DeprovisionTimeout, text) {
        pass.emit(true, Reason::DeprovisionTimeout.as_str(), text);
    }
}

fn deleted_at(pass: &Pass<'_>) -> Option<Timestamp> {
    pass.object.metadata.deletion_timestamp.as_ref().map(|t| t.0)
}
