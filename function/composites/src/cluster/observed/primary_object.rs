//! The primary Object, which carries the remote object. Its manifest is the function's memory, and its Synced condition shows whether the
//! hub accepted it.

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;
use testplatform_apis::{
    foreign::{meta::find_condition, object::Object},
    names::{Uid, crossplane, ours},
    phase::Phase,
    template::Backend,
};

use super::remote::{self, ObservedBackend, Remote};
use crate::{
    objects::{
        SyncState, began_to_create, is_current, is_deletable, non_empty_spec, observer, pinned_uid,
        read_sync_state,
    },
    sdk::{
        composite::{Composite, Flavour},
        request::UnusableRequest,
    },
};

/// Composition resource name of the primary Object of an EphemeralCluster.
pub const EPHEMERAL_CLUSTER: &str = "ec";
/// Composition resource name of the primary Object of a ClusterClaim.
pub const CLUSTER_CLAIM: &str = "claim";

/// Maximum difference between the clocks of two clusters.
pub(crate) const MAX_CLOCK_SKEW: SignedDuration = SignedDuration::from_mins(1);

/// Maximum time without a status of the remote object after its creation.
const MAX_SILENCE: SignedDuration = SignedDuration::from_mins(15);

/// Whether a composition resource name is that of a primary Object of a cluster by template. Only Objects with our label count: another
/// step may use the same names.
pub fn is_template_resource(name: &str) -> bool {
    Backend::of_primary_resource(name).is_some()
}

/// Whether a cluster is ended by removing its primary Object.
pub fn is_ended_by_removal(name: &str) -> bool {
    name == CLUSTER_CLAIM || is_template_resource(name)
}

/// Composition resource names of all primary Objects, for a sentence.
pub(super) fn list_names() -> String {
    let of_templates = Backend::ALL.map(|backend| backend.descriptor().primary_resource);
    let mut names: Vec<String> = [CLUSTER_CLAIM, EPHEMERAL_CLUSTER]
        .into_iter()
        .chain(of_templates)
        .map(|name| format!("{name:?}"))
        .collect();
    names.sort();
    let last = names.pop().unwrap_or_default();
    format!("{} and {last}", names.join(", "))
}

/// The observed primary Object.
#[derive(Debug)]
pub struct PrimaryObject {
    /// Composition resource name, which identifies the kind of remote object.
    pub name: &'static str,
    /// The Object.
    pub object: Object<Remote>,
    /// Sync state of the remote object.
    pub sync: SyncState,
}

impl PrimaryObject {
    /// Decodes the Object that carries an EphemeralCluster.
    pub(super) fn ephemeral_cluster(bytes: &[u8]) -> Result<Self, UnusableRequest> {
        let remote = |r| Remote::EphemeralCluster(Box::new(r));
        Ok(Self::new(EPHEMERAL_CLUSTER, remote::decode_object(EPHEMERAL_CLUSTER, bytes, remote)?))
    }

    /// Decodes the Object that carries a ClusterClaim.
    pub(super) fn cluster_claim(bytes: &[u8]) -> Result<Self, UnusableRequest> {
        let remote = |r| Remote::ClusterClaim(Box::new(r));
        Ok(Self::new(CLUSTER_CLAIM, remote::decode_object(CLUSTER_CLAIM, bytes, remote)?))
    }

    /// Decodes the Object that carries a cluster by template.
    pub(super) fn of_template(backend: Backend, bytes: &[u8]) -> Result<Self, UnusableRequest> {
        Ok(Self::new(backend.descriptor().primary_resource, remote::decode_template_object(backend, bytes)?))
    }

    /// Backend of the template, of an Object that carries a cluster by template.
    pub(crate) fn template_backend(&self) -> Option<Backend> {
        Backend::of_primary_resource(self.name)
    }

    /// Whether the remote object existed before: provider-kubernetes records a creation before it happens, and adopts any existing object
    /// of the name. Such a cluster is never adopted here: it belongs to somebody else, as do its credentials.
    fn found_existing_remote(&self) -> bool {
        self.object.status.at_provider.manifest.is_some()
            && !began_to_create(&self.object.metadata)
            && pinned_uid(&self.object).is_none()
            && !self.is_observer()
    }

    /// Whether an existing remote object is another owner's: any under the name of a cluster by template, and any that is older than the
    /// composite, whoever chose its name. A younger one can be its own, created through an Object that was lost since; the clocks of two
    /// clusters may differ by a minute. The one in the status is its own.
    ///
    /// The name of a composite that an administrator wrote may be in use on another Konflux cluster of the same hub. While its status reports
    /// nothing on the hub, its own remote object is no older than its Object either.
    pub(super) fn found_foreign_remote(&self, composite: &Composite) -> bool {
        let Some(found) = self.remote().map(Remote::metadata).filter(|_| self.found_existing_remote()) else {
            return false;
        };
        let reported = composite.status.backend.as_ref().and_then(|b| b.uid.as_deref());
        let skewed = found.creation_timestamp.and_then(|made| made.checked_add(MAX_CLOCK_SKEW).ok());
        let is_chosen = composite.claim.is_none() && composite.flavour == Flavour::Claimed;
        // The verdict is Failed, and stays.
        let is_unmade = reported.is_none()
            && matches!(composite.status.phase, None | Some(Phase::Pending | Phase::Failed));
        let begun = if is_chosen && is_unmade {
            self.object.metadata.creation_timestamp
        } else {
            composite.metadata.creation_timestamp
        };
        let older = skewed.zip(begun).is_some_and(|(made, begun)| made < begun);
        (self.is_templated() || older)
            && (reported.is_none() || reported != found.uid.as_ref().map(Uid::as_str))
    }

    fn new(name: &'static str, mut object: Object<Remote>) -> Self {
        let sync =
            read_sync_state(&object, object.status.at_provider.manifest.as_ref().map(Remote::metadata));
        // After a second request the first reports still show the vanished object.
        let vanished = object.metadata.annotation(ours::VANISHED_UID).map(str::to_owned);
        let remote = &mut object.status.at_provider.manifest;
        if remote
            .as_ref()
            .and_then(|r| r.metadata().uid.as_ref())
            .is_some_and(|u| Some(u.as_str()) == vanished.as_deref())
        {
            *remote = None;
        }
        Self { name, object, sync }
    }

    /// Whether it carries a cluster by template.
    pub fn is_templated(&self) -> bool {
        is_template_resource(self.name)
    }

    /// Manifest of the previous request.
    pub fn manifest(&self) -> &Value {
        &self.object.spec.for_provider.manifest
    }

    /// An annotation of the previous request's manifest.
    pub fn manifest_annotation(&self, key: &str) -> Option<&str> {
        self.manifest()["metadata"]["annotations"][key].as_str()
    }

    /// The remote object as last observed, but never another one under its name.
    pub fn remote(&self) -> Option<&Remote> {
        let remote = self.object.status.at_provider.manifest.as_ref()?;
        (self.sync != SyncState::Replaced).then_some(remote)
    }

    /// The hub's complete spec, of a cluster by template.
    pub fn hub_spec(&self) -> Option<&Value> {
        non_empty_spec(self.remote()?.template_spec()?)
    }

    /// Object of the cluster as last observed, if it is one of this backend.
    pub fn cluster_object<K: ObservedBackend>(&self) -> Option<&K::Object> {
        K::select_object(self.remote()?)
    }

    /// Whether its removal would delete the remote object. A ClusterClaim's spec never changes.
    pub fn is_deletable(&self) -> bool {
        is_deletable(&self.object, &self.sync, self.hub_spec())
    }

    /// Whether the remote object was created a while ago without any status since. provider-kubernetes observes a new object at once, and
    /// then every ten minutes by default; its observation is lost if etcd refuses an Object that large.
    pub fn is_silent(&self, now: Timestamp) -> bool {
        let made = find_condition(&self.object.status.conditions, "Synced").filter(|c| c.is_true());
        let heard_by = made.and_then(|c| c.last_transition_time?.checked_add(MAX_SILENCE).ok());
        self.remote().is_none() && heard_by.is_some_and(|heard_by| heard_by <= now)
    }

    /// Whether the hub refuses the current request, and not an earlier one.
    pub fn is_refused(&self) -> bool {
        matches!(self.sync, SyncState::Refused(_) | SyncState::UnknownField(_)) && is_current(&self.object)
    }

    /// Whether the hub accepted the current request.
    pub fn is_accepted(&self) -> bool {
        self.sync == SyncState::InSync && is_current(&self.object) && self.remote().is_some()
    }

    /// Uid that pins the cluster: the manifest's own, else that of the first observation.
    pub fn remote_uid(&self) -> Option<Uid> {
        pinned_uid(&self.object).or_else(|| self.remote()?.metadata().uid.clone())
    }

    /// Number of the attempt.
    pub fn attempt(&self) -> i64 {
        self.object.metadata.annotation(ours::ATTEMPT).and_then(|a| a.parse().ok()).unwrap_or(1)
    }

    /// Whether the Object itself is being deleted: it is gone once the remote object is gone.
    pub fn is_deleting(&self) -> bool {
        self.object.metadata.deletion_timestamp.is_some()
    }

    /// Whether teardown was requested. It is one-way: the manifest keeps the request, and a deletion cannot be withdrawn.
    pub fn requests_teardown(&self) -> bool {
        if is_ended_by_removal(self.name) {
            return self.is_deleting();
        }
        self.manifest()["spec"]["tearDownCluster"] == Value::Bool(true)
    }

    /// Whether it is an observer without a final result: it finds out whether the remote object exists, and cannot create one.
    pub fn is_probing(&self) -> bool {
        let settled =
            [ours::FAILED, ours::OVER].iter().any(|key| self.object.metadata.annotation(key).is_some());
        self.is_observer() && !settled
    }

    /// Whether it may only observe and, with its own deletion, delete.
    pub fn is_observer(&self) -> bool {
        observer::is_observer(&self.object)
    }

    /// Whether it is an observer that has not found the remote object yet.
    pub fn is_searching(&self) -> bool {
        let lost = matches!(self.sync, SyncState::Deleted | SyncState::Replaced);
        self.is_observer() && self.remote().is_none() && !lost
    }

    /// Whether an observer gets `watch` next.
    pub fn may_set_watch(&self) -> bool {
        observer::may_set_watch(&self.object)
    }

    /// Whether it searched for the remote object and did not find it.
    pub fn found_nothing(&self) -> bool {
        self.is_searching() && observer::found_nothing(&self.object)
    }

    /// Whether the remote object may exist. Before its first observation provider-kubernetes' own annotations and the hub's answer decide:
    /// a create with an unknown result may have succeeded.
    pub fn remote_may_exist(&self) -> bool {
        if self.is_deleting() {
            return true;
        }
        let is_recorded = |key| self.object.metadata.annotation(key).is_some();
        let synced = find_condition(&self.object.status.conditions, "Synced");
        let refused = matches!(self.sync, SyncState::Refused(_) | SyncState::UnknownField(_));
        // provider-kubernetes creates only after an unsuccessful search.
        if self.found_nothing() || (refused && synced.is_some_and(|c| c.message.starts_with("create failed")))
        {
            return false;
        }
        if self.remote().is_some()
            || pinned_uid(&self.object).is_some()
            || is_recorded(crossplane::EXTERNAL_CREATE_SUCCEEDED)
        {
            return !matches!(self.sync, SyncState::Deleted | SyncState::Replaced);
        }
        match self.sync {
            SyncState::Deleted | SyncState::Replaced | SyncState::Refused(_) | SyncState::UnknownField(_) => {
                false
            }
            SyncState::Unknown | SyncState::Unavailable(_) | SyncState::Paused | SyncState::InSync => {
                is_recorded(crossplane::EXTERNAL_CREATE_PENDING) || self.is_observer()
            }
        }
    }
}
