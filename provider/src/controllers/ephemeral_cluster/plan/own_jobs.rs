//! Which ProwJobs are an EphemeralCluster's own, and which of them is the one that is served.

use jiff::Timestamp;
use testplatform_apis::names::{ephemeral_cluster as theirs, ours};

use crate::controllers::ephemeral_cluster::{
    conditions::{PROW_JOB_COMPLETED, find},
    object::EphemeralCluster,
    observed_state::{Job, ObservedState},
    prow_job::{self, ProwJob},
    status::Condition,
};

/// The one job whose cluster is the EphemeralCluster's.
#[derive(Clone, Copy, Debug)]
pub enum BoundJob<'a> {
    /// None was ever seen.
    Unbound,
    /// This one.
    To(&'a Job),
    /// The status names one that is not among the jobs; it was not looked for at the API server.
    Unseen,
    /// The status names one that does not exist any more.
    Gone,
    /// The status names one that was made for another object.
    Foreign(&'a Job),
}

/// The jobs of one EphemeralCluster.
#[derive(Clone, Debug)]
pub struct OwnJobs<'a> {
    /// The one that is served.
    pub bound: BoundJob<'a>,
    /// Others that have not ended. There should be none; two controllers can make them.
    pub strays: Vec<&'a Job>,
}

impl<'a> OwnJobs<'a> {
    /// Sorts the jobs of a world.
    pub fn of(object: &EphemeralCluster, observed: &'a ObservedState) -> Self {
        let own: Vec<&Job> = observed.jobs.iter().filter(|job| is_own(object, &job.prow_job)).collect();
        let bound = if object.status.value.prow_job_id.is_empty() {
            first(object, &own)
        } else {
            the_named(object, &own, observed)
        };
        let strays = own
            .into_iter()
            .filter(|job| !job.prow_job.state().is_final())
            .filter(|job| !matches!(bound, BoundJob::To(b) if b.prow_job.name() == job.prow_job.name()))
            .collect();
        Self { bound, strays }
    }

    /// Whether a job of its own has not ended.
    pub fn runs(&self) -> bool {
        let bound = match self.bound {
            BoundJob::To(job) => !job.prow_job.state().is_final(),
            BoundJob::Unseen => true,
            BoundJob::Unbound | BoundJob::Gone | BoundJob::Foreign(_) => false,
        };
        bound || !self.strays.is_empty()
    }
}

/// The deterministic name first: another controller's job may be older and still have to yield, because ours is the
/// one that every later pass finds again.
fn first<'a>(object: &EphemeralCluster, own: &[&'a Job]) -> BoundJob<'a> {
    let ours = prow_job::name_for(object.uid());
    let oldest = || own.iter().min_by_key(|job| (created(&job.prow_job), job.prow_job.name().to_owned()));
    own.iter()
        .find(|job| job.prow_job.name() == ours)
        .or_else(oldest)
        .map_or(BoundJob::Unbound, |job| BoundJob::To(job))
}

fn the_named<'a>(object: &EphemeralCluster, own: &[&'a Job], observed: &'a ObservedState) -> BoundJob<'a> {
    let status = &object.status.value;
    let named = status.prow_job_id.as_str();
    let concluded = find(&status.conditions, PROW_JOB_COMPLETED).is_some_and(Condition::is_true);
    let has_name = |job: &&Job| job.prow_job.name() == named;
    if let Some(job) = own.iter().copied().find(has_name) {
        return BoundJob::To(job);
    }
    match observed.jobs.iter().find(has_name) {
        Some(job) => BoundJob::Foreign(job),
        None if observed.job_is_missing => BoundJob::Gone,
        // Jobs are swept; a finished one needs no further read.
        None if concluded => BoundJob::Gone,
        None => BoundJob::Unseen,
    }
}

/// The uid on a job is the last word. Without one it is a job of the upstream controller's, which knows names only, and only
/// those of one namespace; one that is older than the EphemeralCluster was made for an earlier object of that name.
pub fn is_own(object: &EphemeralCluster, job: &ProwJob) -> bool {
    if let Some(uid) = job.label(ours::EPHEMERAL_CLUSTER_UID) {
        return uid == object.uid();
    }
    let since = object.metadata.creation_timestamp.as_ref().map(|t| t.0);
    let vouched =
        || job.name() == prow_job::name_for(object.uid()) || job.name() == object.status.value.prow_job_id;
    let named = match job.label(theirs::LABEL) {
        Some(name) => name == object.name(),
        None => vouched(),
    };
    let namespace = object.metadata.namespace.as_deref().unwrap_or_default();
    named && job.is_of_namespace(namespace) && created(job) >= since
}

/// When a job was made.
pub fn created(job: &ProwJob) -> Option<Timestamp> {
    job.metadata.creation_timestamp.as_ref().map(|t| t.0)
}

/// Whether a job was made for another tenant or Konflux cluster than the EphemeralCluster names: the hub authorised the
/// one and would give the credentials to the other. A job that was not claimed yet has nothing on record.
pub fn is_for_another(object: &EphemeralCluster, job: &ProwJob) -> bool {
    let recorded = job.label(ours::EPHEMERAL_CLUSTER_UID).is_some();
    let differs = |key: &str| {
        let value_or_empty = |value: Option<&str>| value.unwrap_or_default().to_owned();
        value_or_empty(job.annotation(key)) != value_or_empty(object.annotation(key))
    };
    recorded && [theirs::KONFLUX_TENANT, theirs::KONFLUX_CLUSTER].into_iter().any(differs)
}
