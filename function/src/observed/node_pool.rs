//! The Objects that carry the groups of nodes of a HostedCluster: `pool-<group>`, as many as there are groups.

use std::collections::BTreeMap;

use serde_json::Value;
use testplatform_apis::foreign::{hypershift::NodePool, object::Object};

use super::{
    Unusable,
    ahead::AHEAD,
    bundles::{BUNDLES, UNDONE},
    hosted::HOSTED,
    link::{Link, is_deletable, link, whole},
};
use crate::wire;

/// How their composition resource names begin; the group's name follows.
const PREFIX: &str = "pool-";

/// Composition resource name of a group.
pub fn part_name(group: &str) -> String {
    format!("{PREFIX}{group}")
}

/// Whether a composition resource name may be one of a group, or of what else there is beside the writer. That it is ours is told by our
/// label.
pub fn is_part(name: &str) -> bool {
    [HOSTED, BUNDLES, UNDONE].contains(&name)
        || AHEAD.contains(&name)
        || name.strip_prefix(PREFIX).is_some_and(|group| !group.is_empty())
}

/// All of them, by composition resource name.
#[derive(Debug, Default)]
pub struct NodePools(pub BTreeMap<String, Part>);

impl NodePools {
    /// That of a group.
    pub fn of(&self, group: &str) -> Option<&Part> {
        self.0.get(&part_name(group))
    }
}

/// The Object that carries a group.
#[derive(Debug)]
pub struct Part {
    /// Name of the group.
    pub group: String,
    /// The Object.
    pub object: Object<NodePool>,
    /// How the NodePool stands to it.
    pub link: Link,
}

impl Part {
    pub(super) fn decode(name: &str, bytes: &[u8]) -> Result<Self, Unusable> {
        let object: Object<NodePool> = wire::from_struct(bytes).map_err(|e| super::unreadable(name, e))?;
        let link = link(&object, object.status.at_provider.manifest.as_ref().map(|r| &r.metadata));
        let group = name.strip_prefix(PREFIX).unwrap_or(name).to_owned();
        Ok(Self { group, object, link })
    }

    /// What was last asked for.
    pub fn manifest(&self) -> &Value {
        &self.object.spec.for_provider.manifest
    }

    /// Whether its end would be that of the NodePool.
    pub fn deletes(&self) -> bool {
        self.object.spec.management_policies != ["Observe"]
    }

    /// Whether it can go: it only looks, or its removal would be that of the NodePool.
    pub fn is_deletable(&self) -> bool {
        let seen = self.remote().and_then(|remote| whole(&remote.spec));
        !self.deletes() || is_deletable(&self.object, &self.link, seen)
    }

    /// What was last asked for, with the spec as the hub has it.
    pub fn as_on_the_hub(&self) -> Value {
        let mut manifest = self.manifest().clone();
        if let Some(spec) = self.remote().and_then(|remote| whole(&remote.spec)) {
            manifest["spec"] = spec.clone();
        }
        manifest
    }

    /// The NodePool as it was last observed.
    pub fn remote(&self) -> Option<&NodePool> {
        self.object.status.at_provider.manifest.as_ref()
    }
}
