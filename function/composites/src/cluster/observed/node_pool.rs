//! The Objects that carry the groups of nodes of a HostedCluster: `pool-<group>`, as many as there are groups.

use std::collections::BTreeMap;

use serde_json::Value;
use testplatform_apis::foreign::{hosted_cluster::NodePool, object::Object};

use super::{
    bundles::{BUNDLES, BUNDLES_OBSERVER},
    hosted_cluster::HOSTED,
    prerequisites::PREREQUISITE_RESOURCES,
};
use crate::{
    objects::{SyncState, is_deletable, non_empty_spec, read_sync_state},
    sdk::{
        request::{UnusableRequest, unreadable_resource},
        wire,
    },
};

/// How their composition resource names begin; the group's name follows.
const PREFIX: &str = "pool-";

/// Composition resource name of a group.
pub fn node_pool_resource_name(group: &str) -> String {
    format!("{PREFIX}{group}")
}

/// Whether a composition resource name may belong to a node group or another auxiliary Object. Our label decides whether it is ours.
pub fn is_auxiliary_name(name: &str) -> bool {
    [HOSTED, BUNDLES, BUNDLES_OBSERVER].contains(&name)
        || PREREQUISITE_RESOURCES.contains(&name)
        || name.strip_prefix(PREFIX).is_some_and(|group| !group.is_empty())
}

/// All of them, by composition resource name.
#[derive(Debug, Default)]
pub struct NodePools(pub BTreeMap<String, NodePoolObject>);

impl NodePools {
    /// That of a group.
    pub fn of(&self, group: &str) -> Option<&NodePoolObject> {
        self.0.get(&node_pool_resource_name(group))
    }
}

/// The Object that carries a group.
#[derive(Debug)]
pub struct NodePoolObject {
    /// Name of the group.
    pub group: String,
    /// The Object.
    pub object: Object<NodePool>,
    /// Sync state of the NodePool.
    pub sync: SyncState,
}

impl NodePoolObject {
    pub(super) fn decode(name: &str, bytes: &[u8]) -> Result<Self, UnusableRequest> {
        let object: Object<NodePool> = wire::from_struct(bytes).map_err(|e| unreadable_resource(name, e))?;
        let sync = read_sync_state(&object, object.status.at_provider.manifest.as_ref().map(|r| &r.metadata));
        let group = name.strip_prefix(PREFIX).unwrap_or(name).to_owned();
        Ok(Self { group, object, sync })
    }

    /// Manifest of the previous request.
    pub fn manifest(&self) -> &Value {
        &self.object.spec.for_provider.manifest
    }

    /// Whether its deletion would delete the NodePool.
    pub fn can_delete(&self) -> bool {
        self.object.spec.management_policies != ["Observe"]
    }

    /// Whether it can be deleted: it is an observer, or its deletion would delete the NodePool.
    pub fn is_deletable(&self) -> bool {
        let hub_spec = self.remote().and_then(|remote| non_empty_spec(&remote.spec));
        !self.can_delete() || is_deletable(&self.object, &self.sync, hub_spec)
    }

    /// Manifest of the previous request, with the hub's spec.
    pub fn manifest_with_hub_spec(&self) -> Value {
        let mut manifest = self.manifest().clone();
        if let Some(spec) = self.remote().and_then(|remote| non_empty_spec(&remote.spec)) {
            manifest["spec"] = spec.clone();
        }
        manifest
    }

    /// The NodePool as it was last observed.
    pub fn remote(&self) -> Option<&NodePool> {
        self.object.status.at_provider.manifest.as_ref()
    }
}
