//! API calls for the hub's facts.

use testplatform_apis::{
    hub::{CONFIG_MAP, ResourceKind},
    template::Backend,
};

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

/// Number of backends with classes of clusters.
const CLASSES: usize = {
    let (mut count, mut i) = (0, 0);
    while i < Backend::ALL.len() {
        if Backend::ALL[i].descriptor().cluster_class.is_some() {
            count += 1;
        }
        i += 1;
    }
    count
};

const TABLE: [Grant; SHARED.len() + Backend::ALL.len() + CLASSES] = {
    let mut table = [SHARED[0]; SHARED.len() + Backend::ALL.len() + CLASSES];
    let (mut i, mut next) = (0, 0);
    while i < SHARED.len() {
        table[next] = SHARED[i];
        (i, next) = (i + 1, next + 1);
    }
    i = 0;
    while i < Backend::ALL.len() {
        table[next] = clusters(Backend::ALL[i]);
        next += 1;
        if let Some(kind) = Backend::ALL[i].descriptor().cluster_class {
            table[next] = cluster_classes(Backend::ALL[i], kind);
            next += 1;
        }
        i += 1;
    }
    table
};

/// API calls for the hub's facts, whatever else is enabled.
pub const GRANTS: &[Grant] = &TABLE;

const fn clusters(backend: Backend) -> Grant {
    let kind = backend.cluster_kind();
    list(backend, kind.group, kind.plural, "Number of clusters, and of those that were never ready.")
}

const fn cluster_classes(backend: Backend, kind: ResourceKind) -> Grant {
    let why = "Names of the classes of clusters, so that no claim is sent to a hub without its class.";
    list(backend, kind.group, kind.plural, why)
}

const fn list(backend: Backend, group: &'static str, resource: &'static str, why: &'static str) -> Grant {
    let place = RbacScope::Clusters(backend);
    Grant { place, group, resource, names: &[], verbs: &["list"], proxy: true, why }
}
