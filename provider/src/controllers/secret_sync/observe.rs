//! Observes a claim: the ConfigMap on its hub that requests Secrets, and those Secrets.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::Api;
use testplatform_apis::{
    byoc::{REQUEST, SecretSyncReport},
    names::ours,
};
use testplatform_runtime::{
    error::{Cause, Reason, is_forbidden},
    lookup,
    reconcile::Action,
};
use tokio::time::Instant;

use super::{
    controller::{NET, ObservedCopies, ObservedSync, RequestMap, SecretSyncController},
    execute,
    plan::{FOREIGN, SyncRequest},
    state::SecretSyncState,
};

impl SecretSyncController {
    pub(super) async fn observe_claim(&self, key: &str, order: &SyncRequest) -> Result<ObservedSync, Cause> {
        // Nothing is watched on the hub, and what is missing there may be missing for days.
        let (state, later) = if order.over {
            (SecretSyncState::Removed, Action::AwaitChange)
        } else {
            (SecretSyncState::Waiting, Action::Backoff)
        };
        let (Some(hub), Some(namespace)) = (&order.hub, &order.namespace) else {
            return Ok(ObservedSync::Unmade(state, Action::AwaitChange));
        };
        let client = self.hubs.client(hub).await?;
        let maps: Api<ConfigMap> = Api::namespaced(client.clone(), namespace);
        let found = lookup::get_opt(&maps, REQUEST).await;
        self.log_access_denied(key, &format!("{hub}/{namespace}"), found.as_ref().err());
        let map = match found {
            Ok(Some(map)) => map,
            // Not created yet, or deleted for good.
            Ok(None) => return Ok(ObservedSync::Unmade(state, later)),
            // We have no permission yet, or not any more.
            Err(error) if is_forbidden(&error) => return Ok(ObservedSync::Unmade(state, later)),
            Err(error) => return Err(Cause::from(error).at("the hub")),
        };
        let data = map.data.clone().unwrap_or_default();
        if !order.owns(&data) {
            return Err(Cause::new(Reason::Foreign, FOREIGN));
        }
        if order.over {
            return Ok(ObservedSync::Over(client, namespace.clone()));
        }
        let note = map.metadata.annotations.as_ref().and_then(|notes| notes.get(ours::BYOC_REPORT));
        let before = note.and_then(|note| SecretSyncReport::from_annotation(note));
        let on_hub = RequestMap { maps, map };
        let parcels = match order.requested_copies(&data) {
            Ok(parcels) => parcels,
            Err(why) => {
                let carried = before.is_some_and(|before| before.carried);
                return Ok(ObservedSync::Invalid { on_hub: Box::new(on_hub), why, carried });
            }
        };
        let secrets: Api<Secret> = Api::namespaced(self.client.clone(), &order.tenant);
        let (mut found, mut contents) = (BTreeMap::new(), BTreeMap::new());
        for parcel in &parcels {
            let (state, content) = execute::read_secret(&secrets, parcel).await?;
            found.insert(parcel.field.clone(), state);
            contents.insert(parcel.field.clone(), content);
        }
        let remembered = self.lock_written().get(key).filter(|(at, _)| at.elapsed() < NET).cloned();
        // Another process may have begun: without a report nothing was written into this very namespace.
        let written =
            remembered.filter(|_| before.is_some()).unwrap_or_else(|| (Instant::now(), BTreeMap::new()));
        let namespace = namespace.clone();
        let copies =
            ObservedCopies { hub: client, namespace, on_hub, parcels, found, contents, written, before };
        Ok(ObservedSync::Copies(Box::new(copies)))
    }
}
