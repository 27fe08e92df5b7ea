//! Reconciles one object.

use std::sync::Arc;

use kube::runtime::controller::Action as Again;
use testplatform_apis::names::ephemeral_cluster::LABEL;
use testplatform_runtime::{
    error::{Error, catch_panic},
    lookup,
    reconcile::{Requeue, requeue_after},
};

use super::{Controller, ControllerMode};
use crate::controllers::ephemeral_cluster::{
    execute::ExecutionFailure,
    object::EphemeralCluster,
    observed_state::Job,
    operation::{Operation, Plan},
    orphan, plan,
    prow_job::ProwJob,
    proxy,
    status::differs,
};

impl Controller {
    /// Reconciles an EphemeralCluster.
    pub(super) async fn reconcile_cluster(&self, cached: Arc<EphemeralCluster>) -> Result<Again, Error> {
        let (name, uid) = (cached.name().to_owned(), cached.uid().to_owned());
        let (waited, anew) = self.queue.begin(&name);
        if let Some(waited) = waited {
            self.metrics.runtime().observe_queue_wait(waited);
        }
        let looked = catch_panic(Box::pin(self.reconcile_observed(cached, anew))).await;
        Ok(requeue_after(self.metrics.runtime(), &self.queue, "ephemeralcluster", &name, &uid, looked))
    }

    async fn reconcile_observed(&self, cached: Arc<EphemeralCluster>, anew: bool) -> Result<Requeue, Error> {
        let Some((object, observed)) = self.observer.observe(cached, anew).await? else {
            return Ok(Requeue::OnChange);
        };
        let now = (self.now)();
        let mut step = match &self.mode {
            ControllerMode::Fulfil(_) => plan::plan(&object, &observed, now),
            ControllerMode::Proxy => proxy::plan_proxy(&object, &observed, now),
        };
        if let Some(remaining) = self.status_writes.postpone(&object, &mut step) {
            step.requeue = step.requeue.within(remaining);
        }
        let outcome = match self.executor.run(Some(EphemeralCluster::clone(&object)), &step).await {
            Ok(outcome) => outcome,
            Err(failure) => return Err(self.report(failure, &step).await),
        };
        for error in &outcome.forgone {
            self.count(error);
            let (namespace, ephemeralcluster) = (self.hub.namespace(), object.name());
            tracing::warn!(namespace, ephemeralcluster, %error, "left out");
        }
        if let Some(status) = &step.status {
            self.metrics.transition(&object, status);
            if differs(&object.status.value, status) {
                self.status_writes.record(object.name());
            }
        }
        if step.actions.contains(&Operation::RemoveFinalizer) {
            self.metrics.record_release(&object, now);
        }
        outcome.undone.map_or(Ok(step.requeue), Err)
    }

    /// Reports the failure to the owner, if it concerns the owner. In proxy mode the status belongs to the other controller.
    async fn report(&self, failure: ExecutionFailure<'_>, step: &Plan) -> Error {
        let ExecutionFailure { mut object, action, error } = failure;
        let message = action.and_then(|action| failure_message(action, &error));
        let status = match (&self.mode, &object, action, message) {
            (ControllerMode::Fulfil(_), Some(object), Some(action), Some(message)) => {
                plan::failed(object, step, action, &message, (self.now)())
            }
            _ => None,
        };
        if let Some(status) = status
            && let Err(unsaid) = self.executor.status(&mut object, &status).await
        {
            self.count(&unsaid);
        }
        error
    }

    /// Reconciles a ProwJob: whether its EphemeralCluster is deleted.
    pub(super) async fn reconcile_job(&self, cached: Arc<ProwJob>) -> Result<Again, Error> {
        let name = cached.name().to_owned();
        let uid = cached.metadata.uid.clone().unwrap_or_default();
        self.orphans.begin(&name);
        let looked = match &self.mode {
            ControllerMode::Fulfil(_) => catch_panic(Box::pin(self.reconcile_orphaned_job(&cached))).await,
            // The job is another controller's.
            ControllerMode::Proxy => Ok(Requeue::OnChange),
        };
        Ok(requeue_after(self.metrics.runtime(), &self.orphans, "prowjob", &name, &uid, looked))
    }

    async fn reconcile_orphaned_job(&self, cached: &ProwJob) -> Result<Requeue, Error> {
        let Some(owner) = cached.label(LABEL) else { return Ok(Requeue::OnChange) };
        // EphemeralClusters in namespaces that this provider does not serve are not its concern.
        if !cached.is_of_namespace(self.hub.namespace()) {
            return Ok(Requeue::OnChange);
        }
        let is_it = |object: &EphemeralCluster| plan::is_own(object, cached);
        if cached.state().is_final() || self.caches.ephemeral_cluster(owner).is_some_and(|o| is_it(&o)) {
            return Ok(Requeue::OnChange);
        }
        // Ending a job is irreversible, so a cache is not enough.
        let api = self.hub.ephemeral_clusters();
        let object = self.observer.call("get_ephemeral_cluster", lookup::get_opt(&api, owner)).await?;
        if object.is_some_and(|object| is_it(&object)) {
            return Ok(Requeue::OnChange);
        }
        let api = self.hub.prow_jobs();
        let Some(job) = self.observer.call("get_prow_job", lookup::get_opt(&api, cached.name())).await?
        else {
            return Ok(Requeue::OnChange);
        };
        let site = self.observer.site_of_orphan(&job)?;
        let step = orphan::plan_orphan(&Job { prow_job: job, site }, &self.settings, (self.now)());
        if !step.actions.is_empty() {
            tracing::warn!(
                prowjob = cached.name(),
                ephemeralcluster = owner,
                "ending the job of an EphemeralCluster that is gone"
            );
        }
        self.executor.run(None, &step).await.map_err(|failure| failure.error)?;
        Ok(step.requeue)
    }

    fn count(&self, error: &Error) {
        self.metrics.runtime().failed(error.action, error.reason.as_str());
    }
}

/// Message about a failure for the owner. A signal that fails to arrive is reported even if the failure may be transient: time is limited from
/// then on.
fn failure_message(action: &Operation, error: &Error) -> Option<String> {
    let counts = matches!(action, Operation::SignalWaitStep { .. }) && !error.reason.nothing_is_wrong();
    let refused = || "the build cluster does not take the signal; tried again".to_owned();
    error.owner_message().or_else(|| counts.then(refused))
}
