//! API calls next to the claims, for the cleanup of clusters that nobody needs any more.

use testplatform_apis::{
    claim::{CLAIM_PLURAL, GROUP},
    test_cluster,
};

use super::{observe::TEKTON, plan::RunKind};
use crate::rights::{Grant, RbacScope};

/// API calls of the cleanup, whatever else is enabled.
pub const GRANTS: &[Grant] = &[
    asking(
        RbacScope::CleanedClaims,
        CLAIM_PLURAL,
        "Which claims want to be cleaned up. An annotation and spec.tearDownCluster are patched.",
    ),
    asking(
        RbacScope::CleanedTestClusters,
        test_cluster::PLURAL,
        "Which TestClusters want to be cleaned up. An annotation and spec.tearDownCluster are patched.",
    ),
    owners(RunKind::PipelineRun.plural()),
    owners(RunKind::TaskRun.plural()),
    Grant {
        place: RbacScope::Owners,
        group: "events.k8s.io",
        resource: "events",
        names: &[],
        verbs: &["create"],
        proxy: true,
        why: "What is decided, for whoever watches a claim.",
    },
];

const fn asking(place: RbacScope, resource: &'static str, why: &'static str) -> Grant {
    Grant { place, group: GROUP, resource, names: &[], verbs: &["list", "watch", "patch"], proxy: true, why }
}

const fn owners(resource: &'static str) -> Grant {
    Grant {
        place: RbacScope::Owners,
        group: TEKTON,
        resource,
        names: &[],
        verbs: &["get", "watch"],
        proxy: true,
        why: "Whether those that own claims are over, one by one by their names. They are never listed.",
    }
}
