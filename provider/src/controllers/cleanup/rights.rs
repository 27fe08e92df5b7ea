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
        "Claims with spec.cleanup. An annotation and spec.tearDownCluster are patched.",
    ),
    asking(
        RbacScope::CleanedTestClusters,
        test_cluster::PLURAL,
        "TestClusters with spec.cleanup. An annotation and spec.tearDownCluster are patched.",
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
        why: "Events about decisions, for those who watch a claim.",
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
        why: "Runs that own claims, each read by its name. They are never listed.",
    }
}
