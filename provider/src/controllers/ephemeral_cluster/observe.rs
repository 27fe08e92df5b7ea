//! Observes one EphemeralCluster and everything around it, as data. Nothing is written or decided here.

mod source;

use std::{sync::Arc, time::Duration};

use jiff::Timestamp;
use serde_json::Value;
use testplatform_apis::names::ephemeral_cluster::LABEL;
use testplatform_runtime::{
    error::{Cause, Error, Reason},
    lookup,
    timeout::with_timeout,
};

use super::{
    caches::Caches,
    hub::Hub,
    object::EphemeralCluster,
    observed_state::{Draft, Job, ObservedState},
    prow_job::{JobState, ProwJob, name_for},
    settings::{MARGIN, Settings},
    status::Phase,
};
use crate::{
    build_clusters::{BuildClusterSet, JobNamespace, JobSite, NamespaceLookup},
    credentials::{NamespaceCredentials, Published, account::guest_limiter::GuestLimiter},
};

/// Creates the job of an EphemeralCluster, or returns the reason why there is none.
pub type MakeDraft = Arc<dyn Fn(&Value, Timestamp) -> Draft + Send + Sync>;

/// Looks.
pub struct Observer {
    /// The hub.
    pub hub: Hub,
    /// Cached objects.
    pub caches: Arc<Caches>,
    /// The build clusters.
    pub build_clusters: Arc<BuildClusterSet>,
    /// Decisions of the administrators.
    pub settings: Arc<Settings>,
    /// Makes drafts; none where nothing is ever made.
    pub draft: Option<MakeDraft>,
    /// How long one call to the hub may take.
    pub patience: Duration,
    /// How long one call to a build cluster may take.
    pub build_cluster_call: Duration,
    /// Leave to call clusters that were delivered.
    pub callers: GuestLimiter,
    /// The clock.
    pub now: fn() -> Timestamp,
}

/// An EphemeralCluster and its ProwJobs, read together.
struct Read {
    object: Arc<EphemeralCluster>,
    jobs: Vec<Arc<ProwJob>>,
    draft: Option<Draft>,
    fresh: bool,
}

impl Observer {
    /// Observes an EphemeralCluster; None if the API server says that it does not exist any more.
    ///
    /// A cache alone never leads to a creation, so everything is read from the API server while no job is bound, which happens a few times in a
    /// lifetime. Otherwise caches suffice, unless `anew`.
    pub async fn observe(
        &self,
        cached: Arc<EphemeralCluster>,
        anew: bool,
    ) -> Result<Option<(Arc<EphemeralCluster>, ObservedState)>, Error> {
        let read = if anew || (self.draft.is_some() && is_unbound(&cached)) {
            self.read(cached.name()).await?
        } else {
            let jobs = self.caches.jobs_of(&cached);
            Some(Read { object: cached, jobs, draft: None, fresh: false })
        };
        let Some(Read { object, mut jobs, draft, fresh }) = read else { return Ok(None) };

        let bound = object.status.value.prow_job_id.clone();
        let mut job_is_missing = false;
        if is_missing(&object, &jobs) {
            match self.call("get_prow_job", lookup::get_opt(&self.hub.prow_jobs(), &bound)).await? {
                Some(job) => jobs.push(Arc::new(job)),
                None => job_is_missing = true,
            }
        }
        let mut published = self.caches.published(&object);
        let mut job_sites = Vec::with_capacity(jobs.len());
        for job in jobs {
            let site = self.site(&object, &job, job.name() == bound, &mut published).await?;
            job_sites.push(Job { prow_job: ProwJob::clone(&job), site });
        }
        let orphaned_site = if job_is_missing { self.find_orphaned_namespace(&bound)? } else { None };
        let settings = Arc::clone(&self.settings);
        let observed = ObservedState {
            settings,
            jobs: job_sites,
            fresh,
            draft,
            job_is_missing,
            orphaned_site,
            published,
        };
        Ok(Some((object, observed)))
    }

    /// The object and its jobs, from the API server.
    async fn read(&self, name: &str) -> Result<Option<Read>, Error> {
        let full = self.hub.dynamic_ephemeral_clusters();
        let Some(full) = self.call("get_ephemeral_cluster", lookup::get_opt(&full, name)).await? else {
            return Ok(None);
        };
        let decode = |error: serde_json::Error| bug("get_ephemeral_cluster", &error.to_string());
        let full = serde_json::to_value(full).map_err(decode)?;
        let object: EphemeralCluster = serde_json::from_value(full.clone()).map_err(decode)?;
        // Jobs are read by name: a list by label makes the API server scan all jobs. Our job has the name that the uid determines, whoever
        // created it and whatever happened to its label. A job with another name comes from an earlier controller, and existed when the watch
        // of jobs started.
        let own = name_for(object.uid());
        let mut names = self.caches.names_of_jobs(name);
        names.insert(own.clone());
        let mut jobs = Vec::with_capacity(names.len());
        for job in &names {
            let found = self.call("get_prow_job", lookup::get_opt(&self.hub.prow_jobs(), job)).await?;
            jobs.extend(
                found.filter(|job| job.name() == own || job.label(LABEL) == Some(name)).map(Arc::new),
            );
        }
        let draft = match &self.draft {
            Some(draft) if is_unbound(&object) => Some(draft(&full, (self.now)())),
            _ => None,
        };
        Ok(Some(Read { object: Arc::new(object), jobs, draft, fresh: true }))
    }

    /// Observes the build cluster where a job runs. Credentials matter only for the job that the EphemeralCluster is bound to.
    async fn site(
        &self,
        object: &EphemeralCluster,
        job: &ProwJob,
        bound: bool,
        published: &mut Published,
    ) -> Result<JobSite, Error> {
        let location = match self.locate_namespace(job)? {
            Ok(location) => location,
            Err(nowhere) => return Ok(nowhere),
        };
        let cluster = job.spec.value.cluster.clone();
        let source = if bound {
            match self.source(object, job, &cluster, &location, published).await {
                // Nothing is published any more, so what cannot be read keeps no end from being begun. A proxy begins none.
                Err(error) if self.draft.is_some() && ends(object, job, (self.now)()) => {
                    NamespaceCredentials::Unreadable(error.message)
                }
                source => source?,
            }
        } else {
            NamespaceCredentials::Pending("the credentials are not checked".to_owned())
        };
        Ok(location.into_site(cluster, source))
    }

    /// Observes the build cluster where an orphaned job runs.
    pub fn site_of_orphan(&self, job: &ProwJob) -> Result<JobSite, Error> {
        Ok(self.locate_namespace(job)?.map_or_else(
            |nowhere| nowhere,
            |here| {
                here.into_site(job.spec.value.cluster.clone(), NamespaceCredentials::Pending(String::new()))
            },
        ))
    }

    /// Looks up a job's namespace on its build cluster; the inner error says why it cannot be observed.
    fn locate_namespace(&self, job: &ProwJob) -> Result<Result<JobNamespace, JobSite>, Error> {
        let cluster = job.spec.value.cluster.clone();
        if job.state() == JobState::Scheduling || cluster.is_empty() {
            return Ok(Err(JobSite::Unscheduled));
        }
        match self.build_clusters.find_namespace(&cluster, job.name()) {
            NamespaceLookup::Unknown => Ok(Err(JobSite::Unknown { cluster })),
            NamespaceLookup::NotYet => Err(not_yet(&cluster)),
            NamespaceLookup::Unreachable(error) => Ok(Err(JobSite::Unreachable { cluster, error })),
            NamespaceLookup::NoNamespace => Ok(Err(JobSite::NoNamespace { cluster })),
            NamespaceLookup::Here(here) => Ok(Ok(here)),
        }
    }

    /// Looks for a namespace of a job that is gone, or for a cluster that may have one.
    fn find_orphaned_namespace(&self, job: &str) -> Result<Option<JobSite>, Error> {
        let Some((cluster, found)) = self.build_clusters.find_namespace_anywhere(job) else {
            return Ok(None);
        };
        let source = || NamespaceCredentials::Pending("the ProwJob is gone".to_owned());
        match found {
            NamespaceLookup::Here(here) => Ok(Some(here.into_site(cluster, source()))),
            NamespaceLookup::Unreachable(error) => Ok(Some(JobSite::Unreachable { cluster, error })),
            NamespaceLookup::NotYet => Err(not_yet(&cluster)),
            NamespaceLookup::Unknown => Ok(Some(JobSite::Unknown { cluster })),
            NamespaceLookup::NoNamespace => Ok(None),
        }
    }

    /// A call to the hub.
    pub async fn call<T>(
        &self,
        action: &'static str,
        call: impl Future<Output = kube::Result<T>>,
    ) -> Result<T, Error> {
        with_timeout(action, self.patience, async { call.await.map_err(Cause::from) }).await
    }
}

/// Whether a job may still have to be made for it, or found.
fn is_unbound(object: &EphemeralCluster) -> bool {
    let status = &object.status.value;
    status.prow_job_id.is_empty() && !matches!(status.phase, Some(Phase::Failed | Phase::Deprovisioned))
}

/// Whether the job that it is bound to is not among those found, and that matters: of what has ended and holds nothing any
/// more Prow deletes the job after a day.
fn is_missing(object: &EphemeralCluster, jobs: &[Arc<ProwJob>]) -> bool {
    use testplatform_apis::names::ephemeral_cluster::FINALIZER;
    let status = &object.status.value;
    let over = matches!(status.phase, Some(Phase::Failed | Phase::Deprovisioned));
    !status.prow_job_id.is_empty()
        && !jobs.iter().any(|job| job.name() == status.prow_job_id)
        && (!over || object.has_finalizer(FINALIZER))
}

/// Whether its end was requested or is due, or its job has finished.
fn ends(object: &EphemeralCluster, job: &ProwJob, now: Timestamp) -> bool {
    let expires_at = object.status.value.expires_at;
    let expired = expires_at.and_then(|at| at.checked_add(MARGIN).ok()).is_some_and(|end| end <= now);
    object.is_teardown_requested() || expired || job.state().is_final()
}

fn not_yet(cluster: &str) -> Error {
    let message = format!("build cluster {cluster} has not been seen for a moment");
    Error { action: "observe", reason: Reason::NotYet, message }
}

fn bug(action: &'static str, message: &str) -> Error {
    Error { action, reason: Reason::Bug, message: message.to_owned() }
}
