//! Observed Objects of a claim with tenant credentials: its namespace on the hub and the content of that.

use std::collections::BTreeMap;

use serde_json::Value;
use testplatform_apis::{
    byoc::SecretSyncReport,
    foreign::{
        meta::Metadata,
        object::{AnyRemote, Object},
    },
    names::ours,
};

use crate::{
    objects::{SyncState, read_sync_state},
    sdk::{
        request::{UnusableRequest, unreadable_resource},
        wire,
    },
};

/// Composition resource name of the Object with the RoleBinding for the controller that copies Secrets.
pub const ACCESS: &str = "byoc-access";
/// Composition resource name of the Object with the namespace.
pub const NAMESPACE: &str = "byoc-namespace";
/// Composition resource name of the Object with the ClusterPool.
pub const POOL: &str = "byoc-pool";
/// Composition resource name of the Object with the RoleBinding for the hub-side provider, for a cluster by template.
pub const PROVIDER: &str = "byoc-provider";
/// Composition resource name of the Object with the ConfigMap for the request to copy Secrets and its answer.
pub const REQUEST: &str = "byoc-request";

/// All of them, sorted by name. Only Objects with our label count: another step may use the same names.
pub const TENANT_RESOURCES: [&str; 5] = [ACCESS, NAMESPACE, POOL, PROVIDER, REQUEST];

/// Namespace for the credentials of a claim, and the original request. Decided once.
#[derive(Clone, Debug, PartialEq)]
pub struct TenantNamespace {
    /// Name of the hub's ProviderConfig.
    pub hub: String,
    /// The namespace of the claim on that hub.
    pub namespace: String,
    /// The original request: `byoc` of the claim, and `carrier` of the catalogue entry. Of a pool also `entry`, as `namespace/name`, and
    /// `image`; of a template also `provider`, and `credentialsNamespace` of the hub. Null: no longer known.
    pub request: Value,
}

/// An observed Object.
#[derive(Debug)]
pub struct ObservedObject {
    /// The Object.
    pub object: Object<AnyRemote>,
    /// Sync state of the remote object.
    pub sync: SyncState,
}

impl ObservedObject {
    pub(super) fn decode(name: &str, bytes: &[u8]) -> Result<Self, UnusableRequest> {
        let object: Object<AnyRemote> = wire::from_struct(bytes).map_err(|e| unreadable_resource(name, e))?;
        let sync = read_sync_state(&object, object.status.at_provider.manifest.as_ref().map(|m| &m.metadata));
        Ok(Self { object, sync })
    }

    /// Manifest of the previous request.
    pub fn manifest(&self) -> &Value {
        &self.object.spec.for_provider.manifest
    }

    /// The remote object as last observed, unless it is being deleted.
    pub fn live_remote(&self) -> Option<&Metadata> {
        let remote = self.object.status.at_provider.manifest.as_ref().map(|m| &m.metadata);
        remote.filter(|m| m.deletion_timestamp.is_none())
    }

    /// Whether it exists as requested.
    pub fn is_synced(&self) -> bool {
        self.live_remote().is_some() && self.sync == SyncState::InSync
    }
}

/// All Objects of one claim, by composition resource name.
pub type ObservedObjects = BTreeMap<&'static str, ObservedObject>;

/// Namespace that was chosen for the tenant's credentials.
pub fn read_tenant_namespace(parts: &ObservedObjects) -> Option<TenantNamespace> {
    let place = |(name, part): (&&'static str, &ObservedObject)| {
        let key = if **name == *NAMESPACE { "name" } else { "namespace" };
        part.manifest()["metadata"][key].as_str().map(str::to_owned)
    };
    let note =
        |part: &ObservedObject| serde_json::from_str(part.object.metadata.annotation(ours::BYOC)?).ok();
    Some(TenantNamespace {
        hub: parts
            .values()
            .map(|part| part.object.spec.provider_config_ref.name.clone())
            .find(|hub| !hub.is_empty())?,
        namespace: parts.iter().find_map(place)?,
        request: parts.values().find_map(note).unwrap_or_default(),
    })
}

/// Report of the controller that copies Secrets.
pub fn read_report(parts: &ObservedObjects) -> Option<SecretSyncReport> {
    SecretSyncReport::from_annotation(parts.get(REQUEST)?.live_remote()?.annotation(ours::BYOC_REPORT)?)
}
