//! API calls for the hub's facts.

use testplatform_apis::{hub::CONFIG_MAP, template::Backend};

use super::observe::{AGENTS, SUPPORTED};
use crate::rights::{Grant, RbacScope};

/// API calls for the hub's facts, whatever else is enabled.
pub const GRANTS: &[Grant] = &[
    Grant {
        place: RbacScope::Facts,
        group: "",
        resource: "configmaps",
        names: &[CONFIG_MAP],
        verbs: &["get", "create", "patch"],
        proxy: true,
        why: "What is told of the hub. Creation by server-side apply knows the name, so it can be restricted by it.",
    },
    clusters(Backend::HyperShift),
    clusters(Backend::ClusterApi),
    clusters(Backend::Caas),
    clusters(Backend::Osac),
    Grant {
        place: RbacScope::HyperShift,
        group: "",
        resource: "configmaps",
        names: &[SUPPORTED],
        verbs: &["get"],
        proxy: true,
        why: "Which versions HyperShift can make.",
    },
    Grant {
        place: RbacScope::Inventory,
        group: AGENTS.group,
        resource: AGENTS.plural,
        names: &[],
        verbs: &["list"],
        proxy: true,
        why: "How many hosts of a class are free.",
    },
];

const fn clusters(backend: Backend) -> Grant {
    let kind = backend.cluster_kind();
    Grant {
        place: RbacScope::Clusters(backend),
        group: kind.group,
        resource: kind.plural,
        names: &[],
        verbs: &["list"],
        proxy: true,
        why: "How many clusters there are, and how many of them never were ready.",
    }
}
