//! Everything around one EphemeralCluster that a decision depends on, as data.

use std::sync::Arc;

use serde_json::Value;

use super::{prow_job::ProwJob, settings::Settings};
use crate::{build_clusters::JobSite, credentials::Published};

/// Observed state. Every part of it may be out of date.
#[derive(Clone, Debug)]
pub struct ObservedState {
    /// Decisions of the administrators.
    pub settings: Arc<Settings>,
    /// The ProwJobs that carry the EphemeralCluster's name in their label, have the name that ours would have,
    /// or are named by its status.
    pub jobs: Vec<Job>,
    /// Whether object and jobs were read from the API server in this reconcile. Irreversible operations never rely on a cache: a plan that
    /// needs one requests [`Action::BypassCaches`](testplatform_runtime::reconcile::Action::BypassCaches) instead.
    pub fresh: bool,
    /// Draft of the job, or the reason why there is none. Needed only with `fresh`, and only while the status names no job.
    pub draft: Option<Draft>,
    /// Whether the ProwJob that the status names was looked for at the API server and is not there.
    pub job_is_missing: bool,
    /// Namespace of a deleted job, if there still is one.
    pub orphaned_site: Option<JobSite>,
    /// `<ec>-credentials`.
    pub published: Published,
}

/// Draft of a job.
#[derive(Clone, Debug, PartialEq)]
pub enum Draft {
    /// Its manifest.
    Job(Box<Value>),
    /// The EphemeralCluster cannot be served, ever: what is wrong is in its spec or its annotations.
    Refused(JobRefusal),
    /// It cannot be served now, for a reason that lies with us: said, and tried again.
    Later(JobRefusal),
}

/// Why an EphemeralCluster gets no job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobRefusal {
    /// Reason of `ProwJobCreating=False`; upstream's words, because they are what consumers read.
    pub reason: &'static str,
    /// One sentence with the problem, its location and the fix.
    pub message: String,
}

/// A ProwJob and what was found where it runs.
#[derive(Clone, Debug)]
pub struct Job {
    /// The job.
    pub prow_job: ProwJob,
    /// Place of the job, as far as it was found.
    pub site: JobSite,
}
