//! What the provider may do: one table of what it calls, from which the manifests are made.

mod clusters;

use testplatform_apis::{hub::CONFIG_MAP, template::Backend};

pub use clusters::CLUSTER_GRANTS;

use crate::{
    build_clusters::SECRETS,
    config::{Config, Mode, Switch},
    hub_facts::{AGENTS, SUPPORTED},
};

/// Where something is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// In the namespace of the EphemeralClusters.
    EphemeralClusters,
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
    /// In each namespace of the ClusterPools that are looked after.
    ClusterPools,
    /// On a hub whose ClusterPools are looked after, in every namespace.
    PoolsAnywhere,
    /// In the namespace of the hub's facts.
    Facts,
    /// On the hub, in every namespace: the clusters of a backend.
    Clusters(Backend),
    /// On the hub, in every namespace: the clusters of a backend whose credentials are published.
    ClustersWatched(Backend),
    /// In each namespace of those.
    ClustersServed(Backend),
    /// In HyperShift's own namespace.
    HyperShift,
    /// In each namespace of an inventory of hosts.
    Inventory,
}

/// Calls of one kind, and what for.
#[derive(Clone, Copy, Debug)]
pub struct Grant {
    /// Where.
    pub place: Place,
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
    /// What for.
    pub why: &'static str,
}

/// Stands for the Lease's configured name.
const LEASE_NAME: &str = "(lease)";

/// Everything that the provider calls.
pub const GRANTS: &[Grant] = &[
    Grant {
        place: Place::EphemeralClusters,
        group: "ci.openshift.io",
        resource: "ephemeralclusters",
        names: &[],
        verbs: &["get", "list", "watch", "patch"],
        proxy: true,
        why: "What is asked for. The finalizer and annotations are patched, the spec never.",
    },
    Grant {
        place: Place::EphemeralClusters,
        group: "ci.openshift.io",
        resource: "ephemeralclusters/status",
        names: &[],
        verbs: &["patch"],
        proxy: false,
        why: "What became of it.",
    },
    Grant {
        place: Place::EphemeralClusters,
        group: "",
        resource: "secrets",
        names: &[],
        verbs: &["get", "list", "watch", "create", "patch", "delete"],
        proxy: true,
        why: "Published credentials. Nothing else that is secret may live in this namespace.",
    },
    Grant {
        place: Place::EphemeralClusters,
        group: "events.k8s.io",
        resource: "events",
        names: &[],
        verbs: &["create"],
        proxy: true,
        why: "Transitions, for whoever watches an EphemeralCluster.",
    },
    Grant {
        place: Place::ProwJobs,
        group: "prow.k8s.io",
        resource: "prowjobs",
        names: &[],
        verbs: &["get", "list", "watch"],
        proxy: true,
        why: "How far the jobs are, and where they run.",
    },
    Grant {
        place: Place::ProwJobs,
        group: "prow.k8s.io",
        resource: "prowjobs",
        names: &[],
        verbs: &["create", "patch"],
        proxy: false,
        why: "Jobs are made, taken over from another controller, and aborted.",
    },
    Grant {
        place: Place::ProwJobs,
        group: "prow.k8s.io",
        resource: "prowjobs/status",
        names: &[],
        verbs: &["patch"],
        proxy: false,
        why: "Aborting, should the definition of ProwJobs ever get a status subresource.",
    },
    Grant {
        place: Place::Lease,
        group: "coordination.k8s.io",
        resource: "leases",
        names: &[],
        verbs: &["create"],
        proxy: true,
        why: "One replica acts. RBAC cannot restrict creation by name.",
    },
    Grant {
        place: Place::Lease,
        group: "coordination.k8s.io",
        resource: "leases",
        names: &[LEASE_NAME],
        verbs: &["get", "patch"],
        proxy: true,
        why: "One replica acts.",
    },
    Grant {
        place: Place::BuildCluster,
        group: "",
        resource: "namespaces",
        names: &[],
        verbs: &["list", "watch"],
        proxy: true,
        why: "Where a job runs: ci-operator labels its namespace with the job's name.",
    },
    Grant {
        place: Place::BuildCluster,
        group: "",
        resource: "secrets",
        names: &SECRETS,
        verbs: &["get", "list", "watch"],
        proxy: true,
        why: "Credentials that a job made, and whether it was told to end. No other Secret can be read.",
    },
    Grant {
        place: Place::BuildCluster,
        group: "",
        resource: "secrets",
        names: &[],
        verbs: &["create"],
        proxy: false,
        why: "Tells a job to end. RBAC cannot restrict creation by name.",
    },
    Grant {
        place: Place::Hive,
        group: "hive.openshift.io",
        resource: "clusterclaims",
        names: &[],
        verbs: &["get", "list", "watch", "patch"],
        proxy: true,
        why: "Who asks for a cluster, and who waits before. Annotations are patched, the spec never.",
    },
    Grant {
        place: Place::Hive,
        group: "hive.openshift.io",
        resource: "clusterpools",
        names: &[],
        verbs: &["list", "watch"],
        proxy: true,
        why: "Why somebody waits.",
    },
    Grant {
        place: Place::Hive,
        group: "hive.openshift.io",
        resource: "clusterdeployments",
        names: &[],
        verbs: &["get", "list", "watch"],
        proxy: true,
        why: "Whose a cluster is, and how it is. Claimed ones Hive opens further, each to the subject that its claim names.",
    },
    Grant {
        place: Place::Hive,
        group: "events.k8s.io",
        resource: "events",
        names: &[],
        verbs: &["create"],
        proxy: true,
        why: "Transitions, for whoever watches a ClusterClaim.",
    },
    Grant {
        place: Place::Credentials,
        group: "",
        resource: "secrets",
        names: &[],
        verbs: &["get", "list", "watch", "create", "patch", "delete"],
        proxy: true,
        why: "Published credentials. Nothing else that is secret may live in this namespace.",
    },
];

/// Everything that is called where ClusterPools are looked after, whatever is done about EphemeralClusters.
pub const POOL_GRANTS: &[Grant] = &[
    Grant {
        place: Place::ClusterPools,
        group: "hive.openshift.io",
        resource: "clusterpools",
        names: &[],
        verbs: &["patch"],
        proxy: true,
        why: "One annotation is patched, the spec never.",
    },
    Grant {
        place: Place::ClusterPools,
        group: "hive.openshift.io",
        resource: "clusterclaims",
        names: &[],
        verbs: &["list"],
        proxy: true,
        why: "How many claims wait.",
    },
    Grant {
        place: Place::ClusterPools,
        group: "events.k8s.io",
        resource: "events",
        names: &[],
        verbs: &["create"],
        proxy: true,
        why: "Transitions, for whoever watches a pool.",
    },
    Grant {
        place: Place::PoolsAnywhere,
        group: "hive.openshift.io",
        resource: "clusterpools",
        names: &[],
        verbs: &["get", "list", "watch"],
        proxy: true,
        why: "What is asked for, and pools of the same name elsewhere.",
    },
    Grant {
        place: Place::PoolsAnywhere,
        group: "hive.openshift.io",
        resource: "clusterdeployments",
        names: &[],
        verbs: &["list", "watch"],
        proxy: true,
        why: "The clusters of the pools, each in a namespace of its own. They refer to Secrets and hold none.",
    },
    Grant {
        place: Place::PoolsAnywhere,
        group: "hive.openshift.io",
        resource: "clusterimagesets",
        names: &[],
        verbs: &["get"],
        proxy: true,
        why: "Whether another release is under the name that a pool refers to.",
    },
];

/// Everything that is called where the hub tells of itself, whatever else is done.
pub const FACT_GRANTS: &[Grant] = &[
    Grant {
        place: Place::Facts,
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
        place: Place::HyperShift,
        group: "",
        resource: "configmaps",
        names: &[SUPPORTED],
        verbs: &["get"],
        proxy: true,
        why: "Which versions HyperShift can make.",
    },
    Grant {
        place: Place::Inventory,
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
        place: Place::Clusters(backend),
        group: kind.group,
        resource: kind.plural,
        names: &[],
        verbs: &["list"],
        proxy: true,
        why: "How many clusters there are, and how many of them never were ready.",
    }
}

/// Whose the rights are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServiceAccount {
    /// Its namespace. Not that of the EphemeralClusters: whoever reads credentials there could read what belongs to it.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

const NAME: &str = "provider-testplatform";

impl Default for ServiceAccount {
    fn default() -> Self {
        Self { namespace: NAME.into(), name: NAME.into() }
    }
}

/// Manifests for the hub. Rights for what is switched on; for EphemeralClusters also where nothing is.
pub fn hub(config: &Config, account: &ServiceAccount) -> String {
    let role = |suffix: &str, place, namespace| {
        role(&format!("{NAME}{suffix}"), Some(namespace), place, config, account)
    };
    let mut parts = vec![
        "# What provider-testplatform may do on the hub, and nothing else.\n".to_owned(),
        "# Generated by `provider-testplatform rbac hub`.\n".to_owned(),
        service_account(account),
    ];
    let (claims, pools) = (config.cluster_claim.mode == Switch::On, config.cluster_pool.is_on());
    let (templated, facts) = (config.clusters.is_on(), config.hub_facts.is_on());
    if config.ephemeral_cluster.mode != Mode::Off || !(claims || pools || templated || facts) {
        parts.push(role("", Place::EphemeralClusters, &config.ephemeral_cluster.namespace));
        parts.push(role("-prowjobs", Place::ProwJobs, &config.prow.namespace));
    }
    if claims {
        let name = format!("{NAME}-clusterclaims");
        parts.push(self::role(&name, None, Place::Hive, config, account));
        let namespace = &config.cluster_claim.credentials_namespace;
        parts.push(role("-clusterclaims", Place::Credentials, namespace));
    }
    for namespace in &config.cluster_pool.namespaces {
        parts.push(role("-clusterpools", Place::ClusterPools, namespace));
    }
    if pools {
        let name = format!("{NAME}-clusterpools");
        parts.push(self::role(&name, None, Place::PoolsAnywhere, config, account));
    }
    for (backend, of) in &config.clusters.backends {
        let suffix = format!("-clusters-{backend}");
        let name = format!("{NAME}{suffix}");
        parts.push(self::role(&name, None, Place::ClustersWatched(*backend), config, account));
        for namespace in &of.namespaces {
            parts.push(role(&suffix, Place::ClustersServed(*backend), namespace));
        }
    }
    if templated {
        parts.push(role("-clusters", Place::Credentials, &config.clusters.credentials_namespace));
    }
    if facts {
        parts.push(role("-hub-facts", Place::Facts, &config.hub_facts.namespace));
        for backend in &config.hub_facts.backends {
            let name = format!("{NAME}-hub-facts-{backend}");
            parts.push(self::role(&name, None, Place::Clusters(*backend), config, account));
        }
        if config.hub_facts.backends.contains(&Backend::HyperShift) {
            parts.push(role(
                "-hub-facts-versions",
                Place::HyperShift,
                &config.hub_facts.hypershift_namespace,
            ));
        }
        for namespace in config.hub_facts.agent_namespaces() {
            parts.push(role("-hub-facts-agents", Place::Inventory, namespace));
        }
    }
    parts.push(role("-lease", Place::Lease, config.lease_namespace()));
    parts.concat()
}

/// Manifests for each build cluster.
pub fn build_cluster(config: &Config, account: &ServiceAccount) -> String {
    [
        "# What provider-testplatform may do on a build cluster, and nothing else.\n".to_owned(),
        "# Generated by `provider-testplatform rbac build-cluster`.\n".to_owned(),
        service_account(account),
        role(NAME, None, Place::BuildCluster, config, account),
    ]
    .concat()
}

fn service_account(account: &ServiceAccount) -> String {
    let ServiceAccount { namespace, name } = account;
    format!("apiVersion: v1\nkind: ServiceAccount\nmetadata:\n  name: {name}\n  namespace: {namespace}\n")
}

/// A role with everything that is called in a place, and its binding.
fn role(
    name: &str,
    namespace: Option<&str>,
    place: Place,
    config: &Config,
    account: &ServiceAccount,
) -> String {
    let kind = if namespace.is_some() { "Role" } else { "ClusterRole" };
    let namespace = namespace.map(|namespace| format!("  namespace: {namespace}\n")).unwrap_or_default();
    let is_called =
        |g: &&Grant| g.place == place && (g.proxy || config.ephemeral_cluster.mode != Mode::Proxy);
    let rules: String = GRANTS
        .iter()
        .chain(POOL_GRANTS)
        .chain(CLUSTER_GRANTS)
        .chain(FACT_GRANTS)
        .filter(is_called)
        .map(|grant| rule(grant, config))
        .collect();
    let ServiceAccount { namespace: account_namespace, name: account } = account;
    format!(
        "---
apiVersion: {API}/v1
kind: {kind}
metadata:
  name: {name}
{namespace}rules:
{rules}---
apiVersion: {API}/v1
kind: {kind}Binding
metadata:
  name: {name}
{namespace}roleRef:
  apiGroup: {API}
  kind: {kind}
  name: {name}
subjects:
- kind: ServiceAccount
  name: {account}
  namespace: {account_namespace}
"
    )
}

const API: &str = "rbac.authorization.k8s.io";

fn rule(grant: &Grant, config: &Config) -> String {
    let Grant { group, resource, names, verbs, why, .. } = grant;
    let group = if group.is_empty() { "\"\"" } else { group };
    let verbs = verbs.join(", ");
    let name = |name: &&str| match *name {
        LEASE_NAME => config.leader_election.name.clone(),
        other => other.to_owned(),
    };
    let names: Vec<String> = names.iter().map(name).collect();
    let names =
        if names.is_empty() { String::new() } else { format!("  resourceNames: [{}]\n", names.join(", ")) };
    format!("# {why}\n- apiGroups: [{group}]\n  resources: [{resource}]\n{names}  verbs: [{verbs}]\n")
}
