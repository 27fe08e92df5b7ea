//! API calls for the hub's facts.

use testplatform_apis::{hub::CONFIG_MAP, template::Backend};

use super::observe::AGENTS;
use crate::{
    credentials::cluster_kind::VERSIONS_GRANT,
    rights::{Grant, RbacScope},
};

/// Calls that do not depend on a backend.
const SHARED: [Grant; 3] = [
    Grant {
        place: RbacScope::Facts,
        group: "",
        resource: "configmaps",
        names: &[CONFIG_MAP],
        verbs: &["get", "create", "patch"],
        proxy: true,
        why: "Facts of the hub. Creation by server-side apply knows the name, so it can be restricted by it.",
    },
    VERSIONS_GRANT,
    Grant {
        place: RbacScope::Inventory,
        group: AGENTS.group,
        resource: AGENTS.plural,
        names: &[],
        verbs: &["list"],
        proxy: true,
        why: "Number of free hosts of a class.",
    },
];

const TABLE: [Grant; SHARED.len() + Backend::ALL.len()] = {
    let mut table = [SHARED[0]; SHARED.len() + Backend::ALL.len()];
    let mut i = 1;
    while i < table.len() {
        table[i] = if i < SHARED.len() { SHARED[i] } else { clusters(Backend::ALL[i - SHARED.len()]) };
        i += 1;
    }
    table
};

/// API calls for the hub's facts, whatever else is enabled.
pub const GRANTS: &[Grant] = &TABLE;

const fn clusters(backend: Backend) -> Grant {
    let kind = backend.cluster_kind();
    Grant {
        place: RbacScope::Clusters(backend),
        group: kind.group,
        resource: kind.plural,
        names: &[],
        verbs: &["list"],
        proxy: true,
        why: "Number of clusters, and of those that were never ready.",
    }
}
