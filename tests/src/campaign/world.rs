//! Everything that counts, as it is at one moment, and what is to be made of it.

use anyhow::Context as _;
use serde_json::Value;
use testplatform_apis::names::ephemeral_cluster::LABEL;

use super::plan::End;
use crate::{
    actors::Fulfilled,
    cluster::{At, Cluster, at},
    crossplane::Engine,
    hive::objects::text,
    kinds::{
        CLAIM, CLUSTER_CLAIM, CLUSTER_DEPLOYMENT, COMPOSITE, EPHEMERAL_CLUSTER, Kind, NAMESPACE, OBJECT,
        PROW_JOB, SECRET,
    },
};

/// The objects of both control planes that a claim leads to.
#[derive(Clone, Debug, Default)]
pub struct World {
    /// Claims.
    pub claims: Vec<Value>,
    /// Composites.
    pub composites: Vec<Value>,
    /// provider-kubernetes' Objects.
    pub objects: Vec<Value>,
    /// Secrets of the tenants' side.
    pub secrets: Vec<Value>,
    /// Namespaces of the hub.
    pub namespaces: Vec<Value>,
    /// EphemeralClusters.
    pub ephemeral_clusters: Vec<Value>,
    /// Their jobs.
    pub jobs: Vec<Value>,
    /// ClusterClaims.
    pub cluster_claims: Vec<Value>,
    /// Hive's clusters.
    pub clusters: Vec<Value>,
    /// Secrets of the hub.
    pub secrets_of_hub: Vec<Value>,
}

/// A claim that was made, and what is to have become of it.
#[derive(Clone, Debug)]
pub struct Expected {
    /// Its namespace, which has no other.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Who fulfils it.
    pub by: Fulfilled,
    /// How it ends.
    pub end: End,
    /// Secret token in the kubeconfig that its job leaves.
    pub token: String,
    /// The password that its job leaves.
    pub password: String,
}

impl World {
    /// Looks.
    pub async fn look(engine: &Engine) -> anyhow::Result<Self> {
        let of_konflux = |kind| list(engine.konflux.cluster(), kind);
        let of_hub = |kind| list(engine.hub.cluster(), kind);
        Ok(Self {
            claims: of_konflux(CLAIM).await?,
            composites: of_konflux(COMPOSITE).await?,
            objects: of_konflux(OBJECT).await?,
            secrets: of_konflux(SECRET).await?,
            namespaces: of_hub(NAMESPACE).await?,
            ephemeral_clusters: of_hub(EPHEMERAL_CLUSTER).await?,
            jobs: of_hub(PROW_JOB).await?,
            cluster_claims: of_hub(CLUSTER_CLAIM).await?,
            clusters: of_hub(CLUSTER_DEPLOYMENT).await?,
            secrets_of_hub: of_hub(SECRET).await?,
        })
    }

    /// The claim.
    pub fn claim(&self, of: &Expected) -> Option<&Value> {
        find(&self.claims, &of.namespace, &of.name)
    }

    /// The composites behind it: there is one at most.
    pub fn composites_of(&self, of: &Expected) -> Vec<&Value> {
        let label = |composite: &&Value| {
            composite["metadata"]["labels"]["crossplane.io/claim-namespace"] == of.namespace.as_str()
        };
        self.composites.iter().filter(label).collect()
    }

    /// The Secret that it names.
    pub fn secret(&self, of: &Expected) -> Option<&Value> {
        find(&self.secrets, &of.namespace, &format!("{}-kubeconfig", of.name))
    }

    /// The job of an EphemeralCluster.
    pub fn job(&self, ephemeral_cluster: &str) -> Option<&Value> {
        self.jobs.iter().find(|job| for_cluster(job) == ephemeral_cluster)
    }

    /// Hive's clusters, those that are gone included: what they were installed with stays.
    pub fn installed(&self) -> Vec<String> {
        let kubeconfigs = self.secrets_of_hub.iter().filter(|secret| name(secret) == "0-admin-kubeconfig");
        kubeconfigs.map(|secret| namespace(secret).to_owned()).collect()
    }
}

async fn list(of: &Cluster, kind: Kind) -> anyhow::Result<Vec<Value>> {
    of.list(kind).await.with_context(|| format!("{} cannot be listed", kind.kind))
}

impl Expected {
    /// Where the Secret is that it names.
    pub fn secret_at(&self) -> At {
        at(SECRET, &self.namespace, &format!("{}-kubeconfig", self.name))
    }
}

/// An object by its namespace, which may be empty, and its name.
pub fn find<'w>(objects: &'w [Value], of: &str, called: &str) -> Option<&'w Value> {
    objects.iter().find(|object| namespace(object) == of && name(object) == called)
}

/// Name of an object.
pub fn name(object: &Value) -> &str {
    text(object, "/metadata/name")
}

/// Namespace of an object.
pub fn namespace(object: &Value) -> &str {
    text(object, "/metadata/namespace")
}

/// For which EphemeralCluster a job is.
pub fn for_cluster(job: &Value) -> &str {
    job["metadata"]["labels"][LABEL].as_str().unwrap_or_default()
}
