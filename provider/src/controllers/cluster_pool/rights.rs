//! API calls for managed ClusterPools.

use crate::rights::{Grant, RbacScope};

/// API calls for managed ClusterPools, whatever the mode of EphemeralClusters.
pub const GRANTS: &[Grant] = &[
    Grant {
        place: RbacScope::ClusterPools,
        group: "hive.openshift.io",
        resource: "clusterpools",
        names: &[],
        verbs: &["patch"],
        proxy: true,
        why: "One annotation is patched, the spec never.",
    },
    Grant {
        place: RbacScope::ClusterPools,
        group: "hive.openshift.io",
        resource: "clusterclaims",
        names: &[],
        verbs: &["list"],
        proxy: true,
        why: "How many claims wait.",
    },
    Grant {
        place: RbacScope::ClusterPools,
        group: "events.k8s.io",
        resource: "events",
        names: &[],
        verbs: &["create"],
        proxy: true,
        why: "Transitions, for whoever watches a pool.",
    },
    Grant {
        place: RbacScope::PoolsAnywhere,
        group: "hive.openshift.io",
        resource: "clusterpools",
        names: &[],
        verbs: &["get", "list", "watch"],
        proxy: true,
        why: "What is asked for, and pools of the same name elsewhere.",
    },
    Grant {
        place: RbacScope::PoolsAnywhere,
        group: "hive.openshift.io",
        resource: "clusterdeployments",
        names: &[],
        verbs: &["list", "watch"],
        proxy: true,
        why: "The clusters of the pools, each in a namespace of its own. They refer to Secrets and hold none.",
    },
    Grant {
        place: RbacScope::PoolsAnywhere,
        group: "hive.openshift.io",
        resource: "clusterimagesets",
        names: &[],
        verbs: &["get"],
        proxy: true,
        why: "Whether another release is under the name that a pool refers to.",
    },
];
