//! Section `clusters` of the configuration.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use testplatform_apis::{byoc::NAMESPACE_PREFIX, duration::GoDuration, template::Backend};

use super::{Prerequisites, Switch};

/// Settings for clusters of claims with `template`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Clusters {
    /// The backends whose clusters' credentials are published, by their words. None: of no cluster are they, and no right to do so is
    /// needed.
    pub backends: BTreeMap<Backend, ClustersOf>,
    /// The namespace in which credentials are published. Not one of clusters, in which other secrets live. Only clusters that name this
    /// one are served.
    pub credentials_namespace: String,
    /// Poll interval of the credentials of each cluster: the provider has no watch of them.
    pub poll: GoDuration,
    /// Whether the object of a cluster is deleted after its latest end, an hour after the last moment to which its claim could extend it. With it
    /// no cluster outlives a claim that is lost or cannot reach the hub. It takes the right to delete such objects in the namespaces of
    /// `backends`.
    pub end_overdue: Switch,
    /// Whether bundles of templates are applied in these clusters once their credentials are published, and before they are deleted.
    pub bundles: Switch,
    /// Whether clusters of Cluster API that ask for it get a credential of their cloud of their own.
    pub cloud_credentials: CloudCredentials,
    /// Whether what templates need on the hub before their clusters is made there.
    pub prerequisites: Prerequisites,
}

/// Credentials of the clouds that clusters of Cluster API are in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct CloudCredentials {
    /// On: application credentials of OpenStack's identity service are made, rotated and deleted. It takes the right to write Secrets in the
    /// namespaces of the clusters.
    pub mode: Switch,
    /// Namespace of the issuers: Secrets of users of the cloud, which create credentials. Only the provider has to read them.
    pub issuers_namespace: String,
    /// How often it is asked whether what is published works. While a cluster is being deleted once a minute, if that is more often.
    pub probe: GoDuration,
    /// How long a credential that was replaced still works, for those who read it before.
    pub grace: GoDuration,
}

impl Default for CloudCredentials {
    fn default() -> Self {
        Self {
            mode: Switch::Off,
            issuers_namespace: "testplatform-cloud-issuers".into(),
            probe: GoDuration::from_mins(10),
            grace: GoDuration::from_mins(30),
        }
    }
}

/// The clusters of a backend.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ClustersOf {
    /// The namespaces in which the function makes their objects. Secrets are read nowhere else, but for OSAC, which has a namespace for
    /// each cluster and opens it to an account of its choice: that has to be the provider's.
    pub namespaces: BTreeSet<String>,
    /// Whether those are served too that bring their own credentials, each in a namespace of its claim. Only with hypershift. There, Secrets can
    /// be read where the function lets us in.
    #[serde(default)]
    pub byoc: Switch,
}

impl ClustersOf {
    /// Whether clusters in a namespace are served.
    pub fn serves(&self, namespace: &str) -> bool {
        self.namespaces.contains(namespace) || (self.brings() && namespace.starts_with(NAMESPACE_PREFIX))
    }

    /// Whether those in namespaces of claims are.
    pub fn brings(&self) -> bool {
        self.byoc == Switch::On
    }
}

impl Clusters {
    /// Whether any credentials are published.
    pub fn is_on(&self) -> bool {
        !self.backends.is_empty()
    }

    /// The namespaces of all clusters.
    pub fn namespaces(&self) -> BTreeSet<String> {
        self.backends.values().flat_map(|of| of.namespaces.iter().cloned()).collect()
    }

    /// The backend whose clusters' objects are of this kind, if it is served in this namespace.
    pub fn backend(&self, namespace: &str, group: &str, kind: &str) -> Option<Backend> {
        let served = self.backends.iter().filter(|(_, of)| of.namespaces.contains(namespace));
        let is = |backend: &Backend| {
            let of = backend.cluster_kind();
            of.group == group && of.kind == kind
        };
        served.map(|(backend, _)| *backend).find(is)
    }

    /// The namespaces in which prerequisites are made; none where that is off.
    pub fn prerequisite_namespaces(&self) -> BTreeSet<String> {
        match self.prerequisites.mode {
            Switch::Off => BTreeSet::new(),
            Switch::On => self.namespaces(),
        }
    }

    /// Whether bundles are applied.
    pub fn applies_bundles(&self) -> bool {
        self.bundles == Switch::On
    }

    /// The namespaces of clusters that get credentials of their cloud; none where that is off.
    pub fn cloud_namespaces(&self) -> BTreeSet<String> {
        match self.cloud_credentials.mode {
            Switch::Off => BTreeSet::new(),
            Switch::On => {
                let of = Backend::with_cloud_credentials().filter_map(|backend| self.backends.get(&backend));
                of.flat_map(|of| of.namespaces.iter().cloned()).collect()
            }
        }
    }
}

impl Default for Clusters {
    fn default() -> Self {
        Self {
            backends: BTreeMap::new(),
            credentials_namespace: "testplatform-credentials".into(),
            poll: GoDuration::from_mins(10),
            end_overdue: Switch::Off,
            bundles: Switch::Off,
            cloud_credentials: CloudCredentials::default(),
            prerequisites: Prerequisites::default(),
        }
    }
}
