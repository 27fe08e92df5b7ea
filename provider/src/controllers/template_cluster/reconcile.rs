//! Reconciles one cluster, or one published Secret.

use std::sync::Arc;

use kube::{ResourceExt as _, runtime::controller::Action};
use testplatform_runtime::{
    error::{Error, Reason, catch_panic},
    reconcile::{Requeue, requeue_after},
};

use super::{
    controller::{ClusterController, key},
    execute::ClusterFailure,
    overdue::LatestEnd,
    plan,
};
use crate::credentials::{
    SUFFIX,
    cluster_object::Cluster,
    publish::{Labelled, SOON},
    secret::SecretMeta,
};

impl ClusterController {
    /// Reconciles a cluster.
    pub(super) async fn reconcile_cluster(&self, cached: Arc<Cluster>) -> Result<Action, Error> {
        let (name, uid) = (key(&cached), cached.uid().to_owned());
        let (waited, anew) = self.queue.begin(&name);
        if let Some(waited) = waited {
            self.metrics.runtime().observe_queue_wait(waited);
        }
        let looked = catch_panic(Box::pin(self.reconcile_observed(cached, anew))).await;
        let kind = self.kind.backend().cluster_kind().kind;
        Ok(requeue_after(self.metrics.runtime(), &self.queue, kind, &name, &uid, looked))
    }

    async fn reconcile_observed(&self, cached: Arc<Cluster>, anew: bool) -> Result<Requeue, Error> {
        if let LatestEnd::Overdue(event) = LatestEnd::of(&cached, &self.observer.settings, (self.now)()) {
            self.executor.end_overdue(&cached, &event).await?;
            // Its deletion is seen by the watch.
            return Ok(Requeue::after(SOON));
        }
        let Some((object, observed)) = self.observer.observe(cached, anew).await? else {
            return Ok(Requeue::OnChange);
        };
        let step = plan::plan(self.kind, &object, &observed, (self.now)());
        match self.executor.run(&object, &step).await {
            Ok(forgone) => {
                for error in forgone {
                    self.metrics.runtime().failed(error.action, error.reason.as_str());
                    let (namespace, cluster) = (object.namespace(), object.name());
                    tracing::warn!(namespace, cluster, %error, "left out");
                }
                Ok(step.requeue)
            }
            Err(ClusterFailure { action, error }) => {
                // Reports the failure to the owner, if it concerns the owner.
                let failure = action.zip(error.owner_message());
                let notes = failure.and_then(|(action, message)| plan::failed(&object, action, &message));
                if let Some(notes) = notes
                    && let Err(unsaid) = self.executor.write_annotations(&object, &notes).await
                {
                    self.metrics.runtime().failed(unsaid.action, unsaid.reason.as_str());
                }
                Err(error)
            }
        }
    }

    /// Reconciles a published Secret: whether its cluster is deleted.
    pub(super) async fn reconcile_secret(&self, cached: Arc<SecretMeta>) -> Result<Action, Error> {
        let (name, uid) = (cached.name_any(), cached.uid().unwrap_or_default());
        self.orphans.begin(&name);
        let looked = catch_panic(Box::pin(self.look_at_orphan(&name, &cached))).await;
        Ok(requeue_after(self.metrics.runtime(), &self.orphans, "secret", &name, &uid, looked))
    }

    async fn look_at_orphan(&self, name: &str, cached: &SecretMeta) -> Result<Requeue, Error> {
        let kind = self.kind.backend().cluster_kind();
        let owner = Labelled::of(&cached.metadata, kind.group, kind.kind);
        let (Some(owner), Some(cluster)) = (owner, name.strip_suffix(SUFFIX)) else {
            return Ok(Requeue::OnChange);
        };
        // Clusters in namespaces that this provider does not serve are not its concern.
        if !self.of.serves(owner.namespace) {
            return Ok(Requeue::OnChange);
        }
        if let Some(known) = self.cached_cluster(&format!("{}/{cluster}", owner.namespace))
            && !owner.is_orphaned(Some(known.uid()))
        {
            return Ok(Requeue::OnChange);
        }
        // If the kind cannot be listed, the absence of an object proves nothing.
        if let Some((_, why)) = self.health[0].lag_reason() {
            let message = format!("the clusters cannot be watched: {why}");
            return Err(Error { action: "sweep_credentials", reason: Reason::NotYet, message });
        }
        let found = self.observer.object(owner.namespace, cluster).await?;
        if owner.is_orphaned(found.as_ref().map(Cluster::uid)) {
            let kind = kind.kind;
            tracing::warn!(secret = name, kind, "withdrawing the credentials of a cluster that is gone");
            self.executor.delete_orphaned_secret(name, owner.uid).await?;
        }
        Ok(Requeue::OnChange)
    }
}
