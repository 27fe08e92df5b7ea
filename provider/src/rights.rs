//! Types of rights: API calls, each with its scope and its purpose. Each controller declares its table in its own module `rights`.

use testplatform_apis::template::Backend;

/// Where something is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RbacScope {
    /// In the namespace of the EphemeralClusters.
    EphemeralClusters,
    /// On the hub, in every namespace: EphemeralClusters. Kubernetes deletes the Roles of a namespace with it, and what is in it has to be ended then.
    EphemeralClustersAnywhere,
    /// In the namespace of the ProwJobs.
    ProwJobs,
    /// In the namespace of the Lease.
    Lease,
    /// On a build cluster, in every namespace.
    BuildCluster,
    /// On the hub, in every namespace: pools, their claims and their clusters.
    Hive,
    /// In the namespace of the credentials of ClusterClaims and of clusters by template.
    Credentials,
    /// In each namespace of the managed ClusterPools.
    ClusterPools,
    /// On a hub with managed ClusterPools, in every namespace.
    PoolsAnywhere,
    /// In the namespace of the hub's facts.
    Facts,
    /// On the hub, in every namespace: the clusters of a backend.
    Clusters(Backend),
    /// On the hub, in every namespace: the clusters of a backend whose credentials are published.
    ClustersWatched(Backend),
    /// In each namespace of those.
    ClustersServed(Backend),
    /// In each namespace in which overdue clusters are deleted.
    ClustersEnded(Backend),
    /// On the hub, in every namespace: clusters that are in the namespaces of claims, with credentials of their own.
    ClustersBrought,
    /// In each namespace of clusters in which bundles are applied.
    Bundles,
    /// In each namespace of clusters that get credentials of their cloud.
    CloudCredentials,
    /// In the namespace of their issuers.
    CloudIssuers,
    /// In each namespace of clusters for which prerequisites are made.
    Prerequisites,
    /// In the namespace in which a backend lists the versions that it supports.
    SupportedVersions,
    /// In each namespace of an inventory of hosts.
    Inventory,
    /// On the hub, in every namespace: spaces.
    Spaces,
    /// In the namespace of the credentials of spaces.
    SpaceCredentials,
    /// On the claims' cluster: their composites.
    Claims,
    /// On the claims' cluster: composites in the namespaces of tenants.
    TestClusters,
    /// On the claims' cluster: the claims themselves, for cleanup.
    CleanedClaims,
    /// The same of composites in the namespaces of tenants.
    CleanedTestClusters,
    /// On the claims' cluster, in every namespace: the runs that own claims.
    Owners,
    /// On the claims' cluster, in every namespace: owners of remote objects.
    Orphans,
    /// On the claims' cluster, in the namespace of the orphan report.
    OrphanReport,
}

/// A role that a configuration needs.
#[derive(Clone, Debug)]
pub struct Role {
    /// Name, after the name of the provider.
    pub suffix: String,
    /// Namespace of a Role. None: it is a ClusterRole.
    pub namespace: Option<String>,
    /// Calls of this scope.
    pub scope: Option<RbacScope>,
    /// Rules of what the configuration names, as YAML.
    pub configured: String,
    /// Full name of a ClusterRole that is bound by somebody else, where it is needed.
    pub unbound: Option<&'static str>,
}

impl Role {
    /// A role for all namespaces.
    pub fn anywhere(suffix: impl Into<String>, scope: RbacScope) -> Self {
        let (namespace, configured) = (None, String::new());
        Self { suffix: suffix.into(), namespace, scope: Some(scope), configured, unbound: None }
    }

    /// A role for one namespace.
    pub fn within(namespace: &str, suffix: impl Into<String>, scope: RbacScope) -> Self {
        Self { namespace: Some(namespace.to_owned()), ..Self::anywhere(suffix, scope) }
    }
}

/// Calls of one kind, and what for.
#[derive(Clone, Copy, Debug)]
pub struct Grant {
    /// Where.
    pub place: RbacScope,
    /// API group; empty for the core.
    pub group: &'static str,
    /// Resource.
    pub resource: &'static str,
    /// Only objects of these names; all if there are none.
    pub names: &'static [&'static str],
    /// Verbs.
    pub verbs: &'static [&'static str],
    /// Whether mode `proxy` makes these calls too.
    pub proxy: bool,
    /// Purpose of these calls.
    pub why: &'static str,
}
