//! API calls in the namespaces of claims with `template`, for publishing credentials. Those in the namespace of the published credentials are in
//! [`credentials::rights`](crate::credentials::rights).

use testplatform_apis::template::Backend;

use crate::{
    credentials::cluster_kind::credentials_grant,
    rights::{Grant, RbacScope},
};

/// Calls for the clusters of each backend.
const CALLS: usize = 5;

/// Calls of all backends, and the one for clusters in namespaces of claims.
const TABLE: [Grant; CALLS * Backend::ALL.len() + 1] = {
    let mut table = [BROUGHT; CALLS * Backend::ALL.len() + 1];
    let mut i = 0;
    while i < CALLS * Backend::ALL.len() {
        table[i] = grants_of(Backend::ALL[i / CALLS])[i % CALLS];
        i += 1;
    }
    table
};

/// The table.
pub const GRANTS: &[Grant] = &TABLE;

const fn grants_of(backend: Backend) -> [Grant; CALLS] {
    [
        watched(backend),
        read_status_grant(backend),
        credentials_grant(backend),
        events(backend),
        ended(backend),
    ]
}

/// RBAC cannot let somebody watch some namespaces in one call.
const fn watched(backend: Backend) -> Grant {
    let kind = backend.cluster_kind();
    Grant {
        place: RbacScope::ClustersWatched(backend),
        group: kind.group,
        resource: kind.plural,
        names: &[],
        verbs: &["list", "watch"],
        proxy: true,
        why: "Clusters and their readiness.",
    }
}

const fn read_status_grant(backend: Backend) -> Grant {
    let kind = backend.cluster_kind();
    Grant {
        place: RbacScope::ClustersServed(backend),
        group: kind.group,
        resource: kind.plural,
        names: &[],
        verbs: &["get", "patch"],
        proxy: true,
        why: "Published state of a cluster. Annotations are patched, the spec never.",
    }
}

const fn ended(backend: Backend) -> Grant {
    let kind = backend.cluster_kind();
    Grant {
        place: RbacScope::ClustersEnded(backend),
        group: kind.group,
        resource: kind.plural,
        names: &[],
        verbs: &["delete"],
        proxy: true,
        why: "Clusters that are past their latest end.",
    }
}

const fn events(backend: Backend) -> Grant {
    Grant {
        place: RbacScope::ClustersServed(backend),
        group: "events.k8s.io",
        resource: "events",
        names: &[],
        verbs: &["create"],
        proxy: true,
        why: "Events about transitions, for those who watch a cluster.",
    }
}

/// Only a caller with access to all namespaces can look for leftovers of a namespace that was deleted with its claim.
const BROUGHT: Grant = {
    let kind = Backend::OF_TENANT_CREDENTIALS.cluster_kind();
    Grant {
        place: RbacScope::ClustersBrought,
        group: kind.group,
        resource: kind.plural,
        names: &[],
        verbs: &["get"],
        proxy: true,
        why: "Whether the cluster of a claim with a namespace of its own is gone.",
    }
};
