//! Memory of earlier passes: the status, which a restore may lose, and the annotations of primary Object and `credentials`.

use testplatform_apis::{
    foreign::{cluster_claim, meta::Metadata},
    names::{Uid, ours},
    phase::Phase,
};

use super::{
    HostedClusterObserver, NodePoolObject, Observed, PrimaryObject, SyncState, Transfer, observer,
    tenant_credentials,
};

impl Observed {
    /// Whether the claim ever was ready. Three witnesses beside the status, because a restore drops status:
    /// the composite's own connection details hold a kubeconfig, it is noted on the writer when it became ready, or the
    /// composite is Ready and a kubeconfig is or was there. Ready alone is not believed: ready means that the kubeconfig is there.
    pub fn ever_ready(&self) -> bool {
        let had_kubeconfig = self.details.has_kubeconfig_key()
            || self.credentials.as_ref().is_some_and(|c| c.details.has_kubeconfig());
        self.details.has_kubeconfig()
            || self.composite.status.ready_at.is_some()
            || self.annotation(ours::READY_AT).is_some()
            || (self.composite.is_ready() && had_kubeconfig)
    }

    /// Whether a cluster was made for this composite although no writer is observed: then none is made again.
    pub fn was_made_before(&self) -> bool {
        self.cluster_may_exist() || self.details.has_kubeconfig_key() || self.completion_record.is_some()
    }

    /// Whether it may still be there. Emptied keys alone are those of an end, also of one before anything was made.
    pub fn cluster_may_exist(&self) -> bool {
        self.remembered_uid().is_some()
            || self.details.has_kubeconfig()
            || self.is_teardown_recorded()
            || self.has_dependents()
    }

    /// Whether there is what is asked for only once the object that stands for the cluster was seen.
    pub fn has_dependents(&self) -> bool {
        !self.node_pools.0.is_empty() || self.hosted.is_some() || self.bundles.request.is_some()
    }

    /// Whether what it became is to be looked for once more: what stood for the cluster was seen to be gone. While that is not known it is as before.
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

    /// Why the hub of the cluster was selected, read from the annotations of the first Objects: the writer, or prerequisites and Secrets before it.
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

    /// Whether it waited when it was last told of, and no cluster was ever seen. Core applies the status, then writes the keys that an end
    /// empties, and updates the conditions last, so an end may have been told that only the keys know of.
    pub fn was_pending(&self) -> bool {
        self.composite.status.phase == Some(Phase::Pending) && self.remembered_uid().is_none()
    }

    /// Whether what was told last is that nothing was made: it waited, or that was over, and no cluster was ever seen.
    pub fn nothing_was_created(&self) -> bool {
        let over = matches!(self.composite.status.phase, Some(Phase::Deprovisioned | Phase::Failed));
        self.was_pending() || (over && self.remembered_uid().is_none())
    }

    /// Whether no cluster was ever asked for, as far as anybody remembers.
    pub fn was_never_requested(&self) -> bool {
        self.primary.is_none() && self.remembered_uid().is_none()
    }

    /// Whether what was made for this composite is a claim for a cluster out of a pool, as status or `credentials` remember it.
    pub fn came_from_pool(&self) -> Option<bool> {
        let reported = self.composite.status.backend.as_ref().and_then(|b| b.kind.as_deref());
        let recorded = self.credentials_annotation(ours::POOL).map(|_| true);
        reported.map(|kind| kind == cluster_claim::KIND).or(recorded)
    }

    /// Whether it is still open from which pool the cluster comes: nothing was asked of a hub, and nothing is over.
    pub fn is_unplaced(&self) -> bool {
        let over = matches!(self.composite.status.phase, Some(Phase::Deprovisioned | Phase::Failed));
        // A transfer target never requests a cluster, whether its primary Object is hidden from the planner or not.
        let takes = matches!(self.transfer, Transfer::Target(_));
        self.primary.is_none() && !self.was_made_before() && !over && !takes
    }

    /// Whether the writer is asked for by its name. That a cluster was asked for may be known by it alone, which was fetched so: it goes on being
    /// asked for then, or core would not settle.
    pub(crate) fn looks_up_primary(&self) -> bool {
        self.is_primary_unreferenced || self.is_unplaced()
    }

    /// The uid of the remote object, as status, the `credentials` Object or `hosted` remember it.
    pub fn remembered_uid(&self) -> Option<Uid> {
        let reported = self.composite.status.backend.as_ref().and_then(|b| b.uid.clone());
        let recorded = || self.credentials_annotation(ours::REMOTE_UID).map(str::to_owned).map(Uid);
        let of_hosted = || self.hosted.as_ref()?.uid();
        reported
            .map(Uid)
            .or_else(recorded)
            .or_else(of_hosted)
            .or_else(|| Some(self.transfer.taken_over()?.uid.clone()))
    }

    /// The uid that pins the remote object, also where its writer is gone, or has lost it. That of a first try which vanished is none.
    pub fn expected_uid(&self) -> Option<Uid> {
        let of_writer = self.primary.as_ref().and_then(PrimaryObject::remote_uid);
        of_writer.or_else(|| self.remembered_uid().filter(|uid| self.vanished_uid().as_ref() != Some(uid)))
    }

    /// Which try at the remote object this is: the last that the writer, status or `credentials` know of.
    pub fn attempt(&self) -> i64 {
        let reported = self.composite.status.backend.as_ref().and_then(|b| b.attempt);
        let recorded = self.credentials_annotation(ours::ATTEMPT).and_then(|a| a.parse().ok());
        reported.max(recorded).max(self.primary.as_ref().map(PrimaryObject::attempt)).unwrap_or(1)
    }

    /// Uid of the first try, which vanished, of a second one.
    pub fn vanished_uid(&self) -> Option<Uid> {
        self.annotation(ours::VANISHED_UID).map(|uid| Uid(uid.to_owned()))
    }

    /// Whether what the writer carries is the first try. Caches lag: `credentials` may show the second one before the writer does, which then still
    /// has the uid that vanished. Status, which shows it earlier still, is not asked.
    pub fn is_first_attempt(&self, primary: &PrimaryObject) -> bool {
        primary.attempt() < 2 && self.vanished_uid().is_none_or(|uid| primary.remote_uid() == Some(uid))
    }

    /// A note of ours, on the writer or, where the writer's removal is the end of the cluster, on `credentials`; after that end, on
    /// `ended`.
    pub fn annotation(&self, key: &str) -> Option<&str> {
        self.annotations(key).next()
    }

    /// A note of ours wherever it is, in the same order.
    pub fn annotations(&self, key: &str) -> impl Iterator<Item = &str> {
        let primary = self.primary.as_ref().map(|w| &w.object.metadata);
        let credentials = self.credentials.as_ref().map(|c| &c.object.metadata);
        // One after the other: the first mostly has it.
        let all = [primary, credentials, self.completion_record.as_ref()].into_iter().flatten();
        all.filter_map(move |metadata| metadata.annotation(key))
    }

    /// Whether an earlier pass said Failed or Deprovisioned.
    pub fn is_final(&self) -> bool {
        matches!(self.composite.status.phase, Some(Phase::Deprovisioned | Phase::Failed))
            || self.annotation(ours::FAILED).is_some()
            || self.annotation(ours::OVER).is_some()
    }

    /// A note of ours on `credentials`.
    pub fn credentials_annotation(&self, key: &str) -> Option<&str> {
        self.credentials.as_ref()?.object.metadata.annotation(key)
    }

    /// Whether the writer was or is to be taken away to end the cluster. That it is not observed then proves nothing: core drops its
    /// reference to what is not desired, and does not wait for it to go.
    pub fn is_teardown_recorded(&self) -> bool {
        self.annotation(ours::ENDING).is_some()
    }

    /// Whether the cluster would go if its writer and its groups of nodes were taken away.
    pub fn is_deletable(&self) -> bool {
        let parts = || self.node_pools.0.values().all(NodePoolObject::is_deletable);
        self.primary.as_ref().is_none_or(PrimaryObject::is_deletable) && parts()
    }

    /// Whether something is done inside the cluster before it may go, or is to be.
    pub fn awaits_pre_delete(&self) -> bool {
        match &self.bundles.observer {
            Some(_) if self.bundles.was_created() => !self.bundles.is_deleted(),
            // An unobserved ConfigMap may exist until an observer has looked for it.
            Some(_) => self.annotation(ours::BUNDLES_ASKED).is_some() && !self.bundles.has_observation(),
            None => self.bundles.has_pre_delete() || self.may_have_unobserved_bundles(),
        }
    }

    /// Whether something may be undone inside the cluster although nothing shows it: core takes away what tells of it before it notes, or
    /// makes, anything else, and a pass can end in between.
    fn may_have_unobserved_bundles(&self) -> bool {
        let begun =
            || self.is_teardown_recorded() || self.primary.as_ref().is_some_and(|w| w.remote().is_some());
        // A request that was adopted only for its deletion proves nothing either.
        let has_request =
            self.bundles.request.as_ref().is_some_and(|order| !observer::is_observer(&order.object));
        !has_request
            && self.bundles.observer.is_none()
            && self.annotation(ours::BUNDLES_ASKED).is_some()
            && begun()
    }
}
