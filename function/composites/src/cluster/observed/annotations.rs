//! Memory of earlier passes: the status, which a restore may lose, and the annotations of primary Object and `credentials`.

use testplatform_apis::{
    foreign::{cluster_claim, meta::Metadata},
    names::{Uid, ours},
    phase::Phase,
};

use super::{HostedClusterObserver, NodePoolObject, Observed, PrimaryObject, Transfer, tenant_credentials};
use crate::objects::{SyncState, observer};

impl Observed {
    /// Whether the claim ever was ready. Three records besides the status count, because a restore drops the status: a kubeconfig in the
    /// composite's own connection details, the annotation of readiness on the primary Object, or a Ready composite that has or had a
    /// kubeconfig. Ready alone is not enough, because it means that the kubeconfig is there.
    pub fn ever_ready(&self) -> bool {
        let had_kubeconfig = self.details.has_kubeconfig_key()
            || self.credentials.as_ref().is_some_and(|c| c.details.has_kubeconfig());
        self.details.has_kubeconfig()
            || self.composite.status.ready_at.is_some()
            || self.annotation(ours::READY_AT).is_some()
            || (self.composite.is_ready() && had_kubeconfig)
    }

    /// Whether a cluster was created for this composite although no primary Object is observed: then none is created again.
    pub fn was_made_before(&self) -> bool {
        self.cluster_may_exist() || self.details.has_kubeconfig_key() || self.completion_record.is_some()
    }

    /// Whether that cluster may still exist. Emptied keys alone prove an end, even one before anything was created.
    pub fn cluster_may_exist(&self) -> bool {
        self.remembered_uid().is_some()
            || self.details.has_kubeconfig()
            || self.is_teardown_recorded()
            || self.has_dependents()
    }

    /// Whether resources exist that are requested only after the cluster's object was observed.
    pub fn has_dependents(&self) -> bool {
        !self.node_pools.0.is_empty() || self.hosted.is_some() || self.bundles.request.is_some()
    }

    /// Whether the HostedCluster has to be observed once more, because the cluster's object is gone. While that is unknown the previous
    /// answer holds.
    pub fn needs_reobservation(&self) -> bool {
        let is_missing = |primary: &PrimaryObject| {
            primary.found_nothing() || matches!(primary.sync, SyncState::Deleted | SyncState::Replaced)
        };
        let before = self.hosted.as_ref().is_some_and(HostedClusterObserver::is_reobserving);
        match &self.primary {
            Some(primary) => is_missing(primary) || (before && primary.is_searching()),
            None => before,
        }
    }

    /// Reason for the choice of the hub, read from the annotations of the first Objects: the primary Object, or earlier prerequisites and
    /// Secrets.
    pub fn hub_reason(&self) -> Option<String> {
        let annotation = |metadata: &Metadata| metadata.annotation(ours::HUB_REASON).map(str::to_owned);
        let primary = self.primary.as_ref().and_then(|primary| annotation(&primary.object.metadata));
        primary
            .or_else(|| self.prerequisites.values().find_map(|part| annotation(&part.object.metadata)))
            .or_else(|| {
                tenant_credentials::read_tenant_namespace(&self.tenant_credentials)?.request["hubReason"]
                    .as_str()
                    .map(str::to_owned)
            })
    }

    /// Whether the last reported phase is Pending and no cluster was ever observed. Core applies the status, then writes the keys that an
    /// end empties, and updates the conditions last, so only the keys may show an end.
    pub fn was_pending(&self) -> bool {
        self.composite.status.phase == Some(Phase::Pending) && self.remembered_uid().is_none()
    }

    /// Whether nothing was created according to the last report: the claim was pending or ended, and no cluster was ever observed.
    pub fn nothing_was_created(&self) -> bool {
        let over = matches!(self.composite.status.phase, Some(Phase::Deprovisioned | Phase::Failed));
        self.was_pending() || (over && self.remembered_uid().is_none())
    }

    /// Whether no cluster was ever requested, as far as recorded.
    pub fn was_never_requested(&self) -> bool {
        self.primary.is_none() && self.remembered_uid().is_none()
    }

    /// Whether the cluster came from a pool, as recorded by status or `credentials`.
    pub fn came_from_pool(&self) -> Option<bool> {
        let reported = self.composite.status.backend.as_ref().and_then(|b| b.kind.as_deref());
        let recorded = self.credentials_annotation(ours::POOL).map(|_| true);
        reported.map(|kind| kind == cluster_claim::KIND).or(recorded)
    }

    /// Whether the pool is not chosen yet: nothing was requested from a hub, and the claim has not ended.
    pub fn is_unplaced(&self) -> bool {
        let over = matches!(self.composite.status.phase, Some(Phase::Deprovisioned | Phase::Failed));
        // A transfer target never requests a cluster, whether its primary Object is hidden from the planner or not.
        let takes = matches!(self.transfer, Transfer::Target(_));
        self.primary.is_none() && !self.was_made_before() && !over && !takes
    }

    /// Whether the primary Object is fetched by its name. A fetched one may be the only record of the request: it is requested again then,
    /// or core would not settle.
    pub(crate) fn looks_up_primary(&self) -> bool {
        self.is_primary_unreferenced || self.is_unplaced()
    }

    /// Uid of the remote object, as recorded by status, `credentials` or `hosted`.
    pub fn remembered_uid(&self) -> Option<Uid> {
        let reported = self.composite.status.backend.as_ref().and_then(|b| b.uid.clone());
        let recorded = || self.credentials_annotation(ours::REMOTE_UID).map(str::to_owned).map(Uid);
        let of_hosted = || self.hosted.as_ref()?.uid();
        reported
            .map(Uid)
            .or_else(recorded)
            .or_else(of_hosted)
            .or_else(|| Some(self.transfer.adopted()?.uid.clone()))
    }

    /// Uid that pins the remote object, even if the primary Object is gone or has lost it. The uid of a vanished first attempt does not
    /// count.
    pub fn expected_uid(&self) -> Option<Uid> {
        let of_writer = self.primary.as_ref().and_then(PrimaryObject::remote_uid);
        of_writer.or_else(|| self.remembered_uid().filter(|uid| self.vanished_uid().as_ref() != Some(uid)))
    }

    /// Number of the current attempt: the last that primary Object, status or `credentials` record.
    pub fn attempt(&self) -> i64 {
        let reported = self.composite.status.backend.as_ref().and_then(|b| b.attempt);
        let recorded = self.credentials_annotation(ours::ATTEMPT).and_then(|a| a.parse().ok());
        reported.max(recorded).max(self.primary.as_ref().map(PrimaryObject::attempt)).unwrap_or(1)
    }

    /// Uid of the vanished first attempt, during the second one.
    pub fn vanished_uid(&self) -> Option<Uid> {
        self.annotation(ours::VANISHED_UID).map(|uid| Uid(uid.to_owned()))
    }

    /// Whether the primary Object carries the first attempt. Caches lag: `credentials` may show the second attempt earlier, while the
    /// primary Object still has the vanished uid. Status, which is even earlier, is ignored.
    pub fn is_first_attempt(&self, primary: &PrimaryObject) -> bool {
        primary.attempt() < 2 && self.vanished_uid().is_none_or(|uid| primary.remote_uid() == Some(uid))
    }

    /// An annotation of ours: on the primary Object, on `credentials` if removal of the primary Object ends the cluster, or on `ended`
    /// after that end.
    pub fn annotation(&self, key: &str) -> Option<&str> {
        self.annotations(key).next()
    }

    /// All values of an annotation of ours, in the same order.
    pub fn annotations(&self, key: &str) -> impl Iterator<Item = &str> {
        let primary = self.primary.as_ref().map(|w| &w.object.metadata);
        let credentials = self.credentials.as_ref().map(|c| &c.object.metadata);
        // One after the other: the first mostly has it.
        let all = [primary, credentials, self.completion_record.as_ref()].into_iter().flatten();
        all.filter_map(move |metadata| metadata.annotation(key))
    }

    /// Whether an earlier pass reported Failed or Deprovisioned.
    pub fn is_final(&self) -> bool {
        matches!(self.composite.status.phase, Some(Phase::Deprovisioned | Phase::Failed))
            || self.annotation(ours::FAILED).is_some()
            || self.annotation(ours::OVER).is_some()
    }

    /// An annotation of ours on `credentials`.
    pub fn credentials_annotation(&self, key: &str) -> Option<&str> {
        self.credentials.as_ref()?.object.metadata.annotation(key)
    }

    /// Whether the removal of the primary Object is recorded. Its absence proves nothing then: core drops its reference to an undesired
    /// Object, and does not wait for its deletion.
    pub fn is_teardown_recorded(&self) -> bool {
        self.annotation(ours::ENDING).is_some()
    }

    /// Whether the cluster would be deleted with its primary Object and its node groups.
    pub fn is_deletable(&self) -> bool {
        let parts = || self.node_pools.0.values().all(NodePoolObject::is_deletable);
        self.primary.as_ref().is_none_or(PrimaryObject::is_deletable) && parts()
    }

    /// Whether work inside the cluster is pending before it may be deleted.
    pub fn awaits_pre_delete(&self) -> bool {
        match &self.bundles.observer {
            Some(_) if self.bundles.was_created() => !self.bundles.is_deleted(),
            // An unobserved ConfigMap may exist until an observer has looked for it.
            Some(_) => self.annotation(ours::BUNDLES_REQUESTED).is_some() && !self.bundles.has_observation(),
            None => self.bundles.has_pre_delete() || self.may_have_unobserved_bundles(),
        }
    }

    /// Whether work inside the cluster may be in progress although no Object shows it: core removes the request before it records or
    /// creates anything else, and a pass can end in between.
    fn may_have_unobserved_bundles(&self) -> bool {
        let begun =
            || self.is_teardown_recorded() || self.primary.as_ref().is_some_and(|w| w.remote().is_some());
        // A request that was adopted only for its deletion proves nothing either.
        let has_request =
            self.bundles.request.as_ref().is_some_and(|order| !observer::is_observer(&order.object));
        !has_request
            && self.bundles.observer.is_none()
            && self.annotation(ours::BUNDLES_REQUESTED).is_some()
            && begun()
    }
}
