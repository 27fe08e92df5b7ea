//! Controller of ProwJobs whose EphemeralCluster is deleted: observes, plans and executes.

use testplatform_apis::names::ephemeral_cluster::LABEL;
use testplatform_runtime::{
    error::Error,
    lookup,
    reconcile::{Action, Reconciler},
    workqueue::RequestQueue,
};

use super::{Controller, ControllerMode};
use crate::controllers::ephemeral_cluster::{
    object::EphemeralCluster, observed_state::Job, operation::Plan, orphan, plan,
};

/// Ends ProwJobs whose EphemeralCluster is deleted.
pub(super) struct OrphanedJobs<'a>(pub(super) &'a Controller);

impl Reconciler for OrphanedJobs<'_> {
    type Key = String;
    /// The job of an EphemeralCluster that does not exist any more, and the name of that. None: there is nothing to end.
    type Observed = Option<(Job, String)>;
    type Plan = Option<Plan>;
    type Error = Error;

    fn kind(&self, _key: &Self::Key) -> &'static str {
        "ProwJob"
    }

    fn request_queue(&self) -> &RequestQueue<String> {
        &self.0.caches.orphans
    }

    async fn wait_for_caches(&self) {
        self.0.wait_until_filled().await;
    }

    async fn observe(&self, name: &String, _bypass_caches: bool) -> Result<Option<Self::Observed>, Error> {
        let Controller { mode, hub, caches, observer, .. } = self.0;
        let Some(cached) = caches.prow_job(name) else { return Ok(None) };
        // In proxy mode the job is another controller's. EphemeralClusters in namespaces that this provider does not serve are not its concern.
        let is_served = matches!(mode, ControllerMode::Fulfil(_)) && cached.is_of_namespace(hub.namespace());
        let Some(owner) = cached.label(LABEL).filter(|_| is_served) else { return Ok(Some(None)) };
        let is_it = |object: &EphemeralCluster| plan::is_own(object, &cached);
        if cached.state().is_final() || caches.ephemeral_cluster(owner).is_some_and(|o| is_it(&o)) {
            return Ok(Some(None));
        }
        // Ending a job is irreversible, so a cache is not enough.
        let api = hub.ephemeral_clusters();
        let object = observer.call("get_ephemeral_cluster", lookup::get_opt(&api, owner)).await?;
        if object.is_some_and(|object| is_it(&object)) {
            return Ok(Some(None));
        }
        let api = hub.prow_jobs();
        let found = observer.call("get_prow_job", lookup::get_opt(&api, name)).await?;
        let Some(prow_job) = found else { return Ok(Some(None)) };
        let site = observer.site_of_orphan(&prow_job)?;
        Ok(Some(Some((Job { prow_job, site }, owner.to_owned()))))
    }

    fn plan(&self, orphan: &Self::Observed) -> Option<Plan> {
        let (job, _) = orphan.as_ref()?;
        Some(orphan::plan_orphan(job, &self.0.settings, (self.0.now)()))
    }

    async fn execute(
        &self,
        name: &String,
        orphan: Self::Observed,
        step: Option<Plan>,
    ) -> Result<Action, Error> {
        let (Some((_, owner)), Some(step)) = (orphan, step) else { return Ok(Action::AwaitChange) };
        if !step.actions.is_empty() {
            tracing::warn!(
                prowjob = name,
                ephemeralcluster = owner,
                "ending job: its EphemeralCluster is gone"
            );
        }
        self.0.executor.run(None, &step).await.map_err(|failure| failure.error)?;
        Ok(step.requeue)
    }
}
