//! API calls next to the claims, for claims that bring their own credentials. Each tenant grants access to its Secrets with a Role of its own,
//! so that is not here. The function binds the calls on the hubs to the namespace of each claim.

use testplatform_apis::{
    byoc::{HUB_SECRET_NAMES, REQUEST},
    claim::{COMPOSITE_PLURAL, GROUP},
    test_cluster,
};

use crate::rights::{Grant, RbacScope};

/// API calls of the secret sync, whatever else is enabled.
pub const GRANTS: &[Grant] = &[
    Grant {
        place: RbacScope::Claims,
        group: GROUP,
        resource: COMPOSITE_PLURAL,
        names: &[],
        verbs: &["list", "watch"],
        proxy: true,
        why: "Claims with credentials of their own, and their target.",
    },
    Grant {
        place: RbacScope::TestClusters,
        group: GROUP,
        resource: test_cluster::PLURAL,
        names: &[],
        verbs: &["list", "watch"],
        proxy: true,
        why: "TestClusters with credentials of their own, and their target.",
    },
];

/// API calls of the secret sync on a hub, in the namespace of a claim: the rules of ClusterRole
/// [`CARRIER_ROLE`](testplatform_apis::byoc::CARRIER_ROLE), as resource, names and verbs.
pub const ON_HUB: [(&str, &[&str], &[&str]); 3] = [
    ("configmaps", &[REQUEST], &["get", "patch"]),
    ("secrets", &[], &["create"]),
    ("secrets", &HUB_SECRET_NAMES, &["update", "delete"]),
];
