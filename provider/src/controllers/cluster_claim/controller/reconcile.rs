//! Reconciles one ClusterClaim, or one published Secret.

use std::sync::Arc;

use kube::runtime::controller::Action;
use testplatform_apis::foreign::cluster_claim::KIND;
use testplatform_runtime::{
    error::{Error, Reason, catch_panic},
    lookup,
    reconcile::{Requeue, requeue_after},
};

use super::{ClaimController, claim_key};
use crate::{
    controllers::cluster_claim::{
        execute::ClaimFailure,
        object::{ClusterClaim, GROUP},
        plan,
    },
    credentials::{SUFFIX, publish::Labelled, secret::SecretMeta},
};

impl ClaimController {
    /// Reconciles a ClusterClaim.
    pub(super) async fn reconcile_claim(&self, cached: Arc<ClusterClaim>) -> Result<Action, Error> {
        let (name, uid) = (claim_key(cached.namespace(), cached.name()), cached.uid().to_owned());
        let (waited, anew) = self.queue.begin(&name);
        if let Some(waited) = waited {
            self.metrics.runtime().observe_queue_wait(waited);
        }
        let looked = catch_panic(Box::pin(self.reconcile_observed(cached, anew))).await;
        Ok(requeue_after(self.metrics.runtime(), &self.queue, "clusterclaim", &name, &uid, looked))
    }

    async fn reconcile_observed(&self, cached: Arc<ClusterClaim>, anew: bool) -> Result<Requeue, Error> {
        let Some((claim, observed)) = self.observer.observe_claim(cached, anew).await? else {
            return Ok(Requeue::OnChange);
        };
        let step = plan::plan(&claim, &observed, (self.now)());
        match self.executor.run(&claim, &step).await {
            Ok(forgone) => {
                for error in forgone {
                    self.metrics.runtime().failed(error.action, error.reason.as_str());
                    let (namespace, clusterclaim) = (claim.namespace(), claim.name());
                    tracing::warn!(namespace, clusterclaim, %error, "left out");
                }
                Ok(step.requeue)
            }
            Err(ClaimFailure { action, error }) => {
                // Reports the failure to the owner, if it concerns the owner.
                let failure = action.zip(error.owner_message());
                let notes = failure.and_then(|(action, message)| plan::failed(&claim, action, &message));
                if let Some(notes) = notes
                    && let Err(unsaid) = self.executor.write_annotations(&claim, &notes).await
                {
                    self.metrics.runtime().failed(unsaid.action, unsaid.reason.as_str());
                }
                Err(error)
            }
        }
    }

    /// Reconciles a published Secret: whether its claim is deleted.
    pub(super) async fn reconcile_secret(&self, cached: Arc<SecretMeta>) -> Result<Action, Error> {
        let name = cached.metadata.name.clone().unwrap_or_default();
        let uid = cached.metadata.uid.clone().unwrap_or_default();
        self.orphans.begin(&name);
        let looked = catch_panic(Box::pin(self.look_at_orphan(&name, &cached))).await;
        Ok(requeue_after(self.metrics.runtime(), &self.orphans, "secret", &name, &uid, looked))
    }

    async fn look_at_orphan(&self, name: &str, cached: &SecretMeta) -> Result<Requeue, Error> {
        let (Some(owner), Some(claim)) =
            (Labelled::of(&cached.metadata, GROUP, KIND), name.strip_suffix(SUFFIX))
        else {
            return Ok(Requeue::OnChange);
        };
        if let Some(known) = self.observer.cached_claim(owner.namespace, claim)
            && !owner.is_orphaned(Some(known.uid()))
        {
            return Ok(Requeue::OnChange);
        }
        // If the kind cannot be listed, the absence of an object proves nothing.
        if let Some((_, why)) = self.health[0].lag_reason() {
            let message = format!("the claims cannot be watched: {why}");
            return Err(Error { action: "sweep_credentials", reason: Reason::NotYet, message });
        }
        let api = self.hub.claims(owner.namespace);
        let found = self.observer.call_api("get_cluster_claim", lookup::get_opt(&api, claim)).await?;
        if owner.is_orphaned(found.as_ref().map(ClusterClaim::uid)) {
            tracing::warn!(secret = name, "withdrawing the credentials of a ClusterClaim that is gone");
            self.executor.delete_orphaned_secret(name, owner.uid).await?;
        }
        Ok(Requeue::OnChange)
    }
}
