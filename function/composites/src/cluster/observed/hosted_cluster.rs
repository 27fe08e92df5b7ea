//! The Object `hosted`, which observes the underlying HostedCluster of another backend's cluster. It changes nothing on the hub.

use serde_json::Value;
use testplatform_apis::{
    foreign::{hosted_cluster::HostedCluster, meta::find_condition, object::Object},
    names::{Uid, ours},
};

use crate::{
    objects::{Outage, SyncState, found_none, is_current, read_sync_state},
    sdk::{
        request::{UnusableRequest, unreadable_resource},
        wire,
    },
};

/// Its composition resource name.
pub const HOSTED: &str = "hosted";

/// The observed Object.
#[derive(Debug)]
pub struct HostedClusterObserver {
    /// The Object.
    pub object: Object<HostedCluster>,
    /// Whether what it saw is of now.
    sync: SyncState,
}

impl HostedClusterObserver {
    pub(super) fn decode(bytes: &[u8]) -> Result<Self, UnusableRequest> {
        let object: Object<HostedCluster> =
            wire::from_struct(bytes).map_err(|e| unreadable_resource(HOSTED, e))?;
        let sync = read_sync_state(&object, object.status.at_provider.manifest.as_ref().map(|r| &r.metadata));
        Ok(Self { object, sync })
    }

    /// Manifest to observe.
    pub fn manifest(&self) -> &Value {
        &self.object.spec.for_provider.manifest
    }

    /// Namespace and name of the HostedCluster to observe.
    pub fn namespaced_name(&self) -> (&str, &str) {
        let metadata = &self.manifest()["metadata"];
        let text = |field: &str| metadata[field].as_str().unwrap_or_default();
        (text("namespace"), text("name"))
    }

    /// Uid of the cluster's object, if it identifies the HostedCluster.
    pub fn uid(&self) -> Option<Uid> {
        self.object.metadata.annotation(ours::REMOTE_UID).map(|uid| Uid(uid.to_owned()))
    }

    /// The HostedCluster as last observed, unless it is deleted.
    pub fn remote(&self) -> Option<&HostedCluster> {
        let remote = self.object.status.at_provider.manifest.as_ref()?;
        (remote.metadata.name == self.namespaced_name().1 && !self.is_deleted()).then_some(remote)
    }

    /// The HostedCluster as it is now. An older observation stays while the hub is unreachable, and does not count.
    pub fn current_remote(&self) -> Option<&HostedCluster> {
        self.object.status.at_provider.manifest.as_ref().filter(|_| self.sync == SyncState::InSync)
    }

    /// Whether it does not exist now: provider-kubernetes searched for it, and keeps its older observation.
    pub fn is_deleted(&self) -> bool {
        self.found_none() && is_current(&self.object)
    }

    fn found_none(&self) -> bool {
        find_condition(&self.object.status.conditions, "Synced").is_some_and(found_none)
    }

    /// Whether another observation was requested ([`Observed::needs_reobservation`](super::Observed::needs_reobservation)). The previous
    /// result may predate a HostedCluster that was created in the last moment.
    pub fn is_reobserving(&self) -> bool {
        self.object.spec.readiness.never
    }

    /// Outage that prevents the observation. A missing HostedCluster is no outage.
    pub fn outage(&self) -> Option<Outage> {
        match self.sync {
            SyncState::Unavailable(outage) if !self.found_none() => Some(outage),
            _ => None,
        }
    }
}
