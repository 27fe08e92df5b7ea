//! API calls for ClusterClaims. Those in the namespace of their credentials are in [`credentials::rights`](crate::credentials::rights).

use crate::rights::{Grant, RbacScope};

/// The table.
pub const GRANTS: &[Grant] = &[
    Grant {
        place: RbacScope::Hive,
        group: "hive.openshift.io",
        resource: "clusterclaims",
        names: &[],
        verbs: &["get", "list", "watch", "patch"],
        proxy: true,
        why: "Who asks for a cluster, and who waits before. Annotations are patched, the spec never.",
    },
    Grant {
        place: RbacScope::Hive,
        group: "hive.openshift.io",
        resource: "clusterpools",
        names: &[],
        verbs: &["list", "watch"],
        proxy: true,
        why: "Why somebody waits.",
    },
    Grant {
        place: RbacScope::Hive,
        group: "hive.openshift.io",
        resource: "clusterdeployments",
        names: &[],
        verbs: &["get", "list", "watch"],
        proxy: true,
        why: "Whose a cluster is, and how it is. Claimed ones Hive opens further, each to the subject that its claim names.",
    },
    Grant {
        place: RbacScope::Hive,
        group: "events.k8s.io",
        resource: "events",
        names: &[],
        verbs: &["create"],
        proxy: true,
        why: "Transitions, for whoever watches a ClusterClaim.",
    },
];
