//! Cluster API on a hub: the real managers where they run, else their fake.

mod class;
mod fake;
mod managers;
mod objects;

use anyhow::{Context as _, bail};
use serde_json::{Value, json};

pub use fake::FakeClusterApi;
pub use managers::{ClusterApiManagers, ClusterApiPrograms};
pub use objects::ENDING;

use crate::{
    cluster::{At, at},
    hypershift::CLUSTERS,
    kinds::TOPOLOGY,
    manifests,
};

/// Name of the backend.
pub const BACKEND: &str = "cluster-api";
/// A variable that the real webhook adds to each Cluster of the example template's class, and refuses in Clusters of `openstack-v4`.
pub const DEFAULTED_VARIABLE: &str = class::DEFAULTED;
/// The template that claims name.
pub const TEMPLATE: &str = "kubernetes-openstack";
/// Namespace of the class that the example template names.
const NAMESPACE_OF_CLASS: &str = "magnum-system";
const DEFINITION: &str = "clusters.cluster.x-k8s.io";

/// Cluster API on one hub, until it is dropped.
pub enum ClusterApi {
    /// Its own managers.
    Real(ClusterApiManagers),
    /// The fake.
    Fake(FakeClusterApi),
}

impl ClusterApi {
    /// The fake, which scenarios hold at a step.
    pub fn fake(&self) -> anyhow::Result<&FakeClusterApi> {
        match self {
            Self::Fake(fake) => Ok(fake),
            Self::Real(_) => {
                bail!("this scenario holds Cluster API at a step, which the real one does not allow")
            }
        }
    }

    /// Whether it is the real one.
    pub const fn is_real(&self) -> bool {
        matches!(self, Self::Real(_))
    }

    /// Fails if one of its programs ended, with the end of its log.
    pub fn check(&self) -> anyhow::Result<()> {
        match self {
            Self::Real(managers) => managers.check(),
            Self::Fake(_) => Ok(()),
        }
    }
}

impl std::fmt::Display for ClusterApi {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Real(managers) => write!(f, "the real Cluster API {}", managers.version()),
            Self::Fake(_) => f.write_str("the fake of Cluster API"),
        }
    }
}

/// Its kind: the real one where it is there, else what we know of it.
pub fn definitions() -> anyhow::Result<Vec<Value>> {
    let mut definition = manifests::foreign_crd(DEFINITION)?;
    // Nobody is there who would convert.
    definition["spec"]["conversion"] = json!({ "strategy": "None" });
    Ok(vec![definition])
}

/// The template that we ship as an example, for everybody, with a version more to go by way of.
pub fn template() -> anyhow::Result<Value> {
    let mut template = manifests::package_one("install/examples/template-cluster-api.yaml")?;
    anyhow::ensure!(template["metadata"]["name"] == TEMPLATE, "the example is another one: {template}");
    let data = &mut template["data"];
    data["allowedTenants"] = json!(["*"]);
    data["namespace"] = CLUSTERS.into();
    let mut older = data["releases"][1].clone();
    for (key, value) in [("version", "v1.29.9"), ("imageVersion", "v1.29.9"), ("image", "of-29")] {
        older[key] = value.into();
    }
    data["releases"].as_array_mut().context("no releases")?.push(older);
    Ok(template)
}

/// Where a Cluster is.
pub fn topology(name: &str) -> At {
    at(TOPOLOGY, CLUSTERS, name)
}
