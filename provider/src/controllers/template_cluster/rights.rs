//! API calls in the namespaces of claims with `template`, for publishing credentials. Those in the namespace of the published credentials are in
//! [`credentials::rights`](crate::credentials::rights).

use testplatform_apis::template::Backend;

use crate::rights::{Grant, RbacScope};

/// The table.
pub const GRANTS: &[Grant] = &[
    watched(Backend::HyperShift),
    watched(Backend::ClusterApi),
    watched(Backend::Caas),
    watched(Backend::Osac),
    read_status_grant(Backend::HyperShift),
    read_status_grant(Backend::ClusterApi),
    read_status_grant(Backend::Caas),
    read_status_grant(Backend::Osac),
    read(Backend::HyperShift),
    read(Backend::ClusterApi),
    read(Backend::Caas),
    events(Backend::HyperShift),
    events(Backend::ClusterApi),
    events(Backend::Caas),
    events(Backend::Osac),
    ended(Backend::HyperShift),
    ended(Backend::ClusterApi),
    ended(Backend::Caas),
    ended(Backend::Osac),
    HOSTED,
    BROUGHT,
];

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
        why: "Which clusters there are, and when they can be used.",
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
        why: "What is published of a cluster. Annotations are patched, the spec never.",
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

const fn read(backend: Backend) -> Grant {
    Grant {
        place: RbacScope::ClustersServed(backend),
        group: "",
        resource: "secrets",
        names: &[],
        verbs: &["get"],
        proxy: true,
        why: "The credentials of clusters, each by the name that its cluster tells.",
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
        why: "Transitions, for whoever watches a cluster.",
    }
}

/// Only a caller with access to all namespaces can look for leftovers of a namespace that was deleted with its claim.
const BROUGHT: Grant = {
    let kind = Backend::HyperShift.cluster_kind();
    Grant {
        place: RbacScope::ClustersBrought,
        group: kind.group,
        resource: kind.plural,
        names: &[],
        verbs: &["get"],
        proxy: true,
        why: "Whether a cluster is gone whose claim had a namespace of its own, which goes with it, and every right there.",
    }
};

/// OSAC has a namespace for each cluster, and opens its Secrets to an account of its choice.
const HOSTED: Grant = {
    let kind = Backend::HyperShift.cluster_kind();
    Grant {
        place: RbacScope::ClustersWatched(Backend::Osac),
        group: kind.group,
        resource: kind.plural,
        names: &[],
        verbs: &["get"],
        proxy: true,
        why: "What a ClusterOrder has become, in a namespace of its own. To its Secrets OSAC lets in whom it is told to.",
    }
};
