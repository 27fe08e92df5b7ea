//! Permissions on the claims' cluster for the search for remote objects that no composite owns. The kubeconfig determines the permissions on a
//! hub.

use std::collections::{BTreeMap, BTreeSet};

use testplatform_apis::{
    claim::{COMPOSITE_PLURAL, GROUP},
    test_cluster,
};

use super::{
    observe::{CLUSTER_NAMESPACE, OBJECTS},
    report::CONFIG_MAP,
};
use crate::{
    config::Orphans,
    rights::{Grant, RbacScope},
};

/// Placeholder for the configured name of the EnvironmentConfig.
pub(crate) const ENVIRONMENT_CONFIG: &str = "(environment config)";

/// Calls of every search for orphans.
pub const GRANTS: &[Grant] = &[
    owners(
        GROUP,
        COMPOSITE_PLURAL,
        "Composites own remote objects. One is read again before an orphan is ended.",
    ),
    owners(GROUP, test_cluster::PLURAL, "TestClusters own remote objects, where they are installed."),
    owners("kubernetes.crossplane.io", OBJECTS, "Objects name the remote objects of composites."),
    owners("kubernetes.m.crossplane.io", OBJECTS, "Objects name the remote objects of TestClusters."),
    Grant {
        place: RbacScope::Orphans,
        group: "apiextensions.crossplane.io",
        resource: "environmentconfigs",
        names: &[ENVIRONMENT_CONFIG],
        verbs: &["get"],
        proxy: true,
        why: "The name by which the function marks the remote objects of this Konflux cluster.",
    },
    Grant {
        place: RbacScope::Orphans,
        group: "",
        resource: "namespaces",
        names: &[CLUSTER_NAMESPACE],
        verbs: &["get"],
        proxy: true,
        why: "Its uid tells this Konflux cluster from another one of the same name.",
    },
    Grant {
        place: RbacScope::OrphanReport,
        group: "",
        resource: "configmaps",
        names: &[CONFIG_MAP],
        verbs: &["get", "create", "patch"],
        proxy: true,
        why: "The report. Creation by server-side apply knows the name, so it can be restricted by it.",
    },
    Grant {
        place: RbacScope::OrphanReport,
        group: "events.k8s.io",
        resource: "events",
        names: &[],
        verbs: &["create"],
        proxy: true,
        why: "Orphans that are found or ended, and hubs that cannot be listed.",
    },
];

const fn owners(group: &'static str, resource: &'static str, why: &'static str) -> Grant {
    Grant {
        place: RbacScope::Orphans,
        group,
        resource,
        names: &[],
        verbs: &["get", "list"],
        proxy: true,
        why,
    }
}

/// Names of the Secrets with kubeconfigs, by namespace.
pub(crate) fn kubeconfig_secrets(config: &Orphans) -> BTreeMap<&str, BTreeSet<&str>> {
    let mut secrets: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for hub in config.hubs.values() {
        let of = &hub.kubeconfig_secret_ref;
        secrets.entry(&of.namespace).or_default().insert(&of.name);
    }
    secrets
}

/// The rule for the Secrets of one namespace.
pub(crate) fn secret_rule(names: &BTreeSet<&str>) -> String {
    let names: Vec<&str> = names.iter().copied().collect();
    format!(
        "# Kubeconfigs of the hubs. No other Secret can be read.\n\
         - apiGroups: [\"\"]\n  resources: [secrets]\n  resourceNames: [{}]\n  verbs: [get]\n",
        names.join(", "),
    )
}
