//! The object that stands for a cluster, of whatever kind: what decisions need, and no more, because there may be thousands.

use std::borrow::Cow;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::{
    Resource,
    core::{ApiResource, DynamicResourceScope},
};
use serde::{Deserialize, Deserializer};
use testplatform_apis::{
    foreign::meta::{Lenient, ObservedCondition, condition},
    names::ours,
};

/// The object that stands for a cluster, or that has its credentials.
#[derive(Clone, Debug, Default)]
pub struct Cluster {
    /// Metadata, without managedFields.
    pub metadata: ObjectMeta,
    /// Parts of the spec.
    pub spec: Lenient<Spec>,
    /// Parts of the status.
    pub status: Lenient<Status>,
}

/// Parts of the spec of any kind.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Spec {
    /// Of a HostedCluster: how it is configured.
    pub configuration: Option<Configuration>,
}

/// `spec.configuration` of a HostedCluster.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Configuration {
    /// Who may log in. Where that is said, there is no `kubeadmin`.
    pub oauth: Option<OAuth>,
}

/// `spec.configuration.oauth`, of which only matters whether it is there.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct OAuth {}

/// Parts of the status of any kind.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Status {
    /// Of a ClusterTemplateInstance: how far it is.
    pub phase: String,
    /// What holds of it.
    pub conditions: Vec<ObservedCondition>,
    /// Of a Cluster in `v1beta1`: what it says in the words of `v1beta2`.
    #[serde(rename = "v1beta2")]
    pub later: Option<Later>,
    /// The Secret with the kubeconfig.
    pub kubeconfig: Option<Reference>,
    /// Of a HostedCluster whose API has a name of its own: the Secret with a kubeconfig for that name.
    pub custom_kubeconfig: Option<Reference>,
    /// Of a HostedCluster: the Secret with the password of `kubeadmin`.
    pub kubeadmin_password: Option<Reference>,
    /// Of a ClusterTemplateInstance: the Secret with the password. Named whether there is one or not.
    pub admin_password: Option<Reference>,
    /// Of a ClusterOrder: the HostedCluster that it has become.
    pub cluster_reference: Option<ClusterReference>,
}

/// `status.v1beta2` of a Cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Later {
    /// What holds of it.
    pub conditions: Vec<ObservedCondition>,
}

/// An object beside it, by its name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Reference {
    /// The name.
    pub name: String,
}

/// `status.clusterReference` of a ClusterOrder.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ClusterReference {
    /// Namespace of the HostedCluster.
    pub namespace: String,
    /// Its name.
    pub hosted_cluster_name: String,
}

/// Labels and annotations of this project.
const PREFIX: &str = "testplatform.ci.openshift.org/";

impl Cluster {
    /// Its name; empty on what is no object of an API server.
    pub fn name(&self) -> &str {
        self.metadata.name.as_deref().unwrap_or_default()
    }

    /// Its namespace; empty on what is no object of an API server.
    pub fn namespace(&self) -> &str {
        self.metadata.namespace.as_deref().unwrap_or_default()
    }

    /// Its uid; empty on what is no object of an API server.
    pub fn uid(&self) -> &str {
        self.metadata.uid.as_deref().unwrap_or_default()
    }

    /// Whether it is being deleted.
    pub fn is_deleted(&self) -> bool {
        self.metadata.deletion_timestamp.is_some()
    }

    /// The value of an annotation.
    pub fn annotation(&self, key: &str) -> Option<&str> {
        self.metadata.annotations.as_ref()?.get(key).map(String::as_str)
    }

    /// A condition of it.
    pub fn condition(&self, type_: &str) -> Option<&ObservedCondition> {
        condition(&self.status.value.conditions, type_)
    }

    /// Whether the function made it, and looks for its credentials in this namespace. What others made, or have published elsewhere,
    /// is theirs.
    pub fn is_marked_for(&self, credentials_namespace: &str) -> bool {
        self.annotation(ours::CREDENTIALS_NAMESPACE) == Some(credentials_namespace)
    }

    /// Whether it could be read.
    pub fn is_readable(&self) -> bool {
        self.spec.error.is_none() && self.status.error.is_none()
    }

    /// Drops what nobody reads. `conditions`: the types that somebody does.
    pub fn slim(&mut self, conditions: &[&str]) {
        self.metadata.labels = None;
        if let Some(annotations) = &mut self.metadata.annotations {
            annotations.retain(|key, _| key.starts_with(PREFIX));
        }
        let status = &mut self.status.value;
        for of in [Some(&mut status.conditions), status.later.as_mut().map(|l| &mut l.conditions)] {
            let Some(of) = of else { continue };
            of.retain(|c| conditions.contains(&c.type_.as_str()));
            for one in of {
                one.message.clear();
                one.reason.clear();
            }
        }
    }

    /// Whether nothing that is read of it differs: HyperShift and others write on an object every few seconds.
    pub fn is_like(&self, other: &Self) -> bool {
        let read = |c: &Self| {
            (c.metadata.uid.clone(), c.metadata.deletion_timestamp.clone(), c.metadata.annotations.clone())
        };
        read(self) == read(other) && self.spec == other.spec && self.status == other.status
    }
}

impl<'de> Deserialize<'de> for Cluster {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Whole {
            metadata: ObjectMeta,
            #[serde(default)]
            spec: Lenient<Spec>,
            #[serde(default)]
            status: Lenient<Status>,
        }
        let Whole { mut metadata, spec, status } = Whole::deserialize(deserializer)?;
        metadata.managed_fields = None;
        Ok(Self { metadata, spec, status })
    }
}

/// Which kind it is, is known only at run time: a hub may serve one version or another.
impl Resource for Cluster {
    type DynamicType = ApiResource;
    type Scope = DynamicResourceScope;

    fn kind(resource: &ApiResource) -> Cow<'_, str> {
        resource.kind.as_str().into()
    }

    fn group(resource: &ApiResource) -> Cow<'_, str> {
        resource.group.as_str().into()
    }

    fn version(resource: &ApiResource) -> Cow<'_, str> {
        resource.version.as_str().into()
    }

    fn api_version(resource: &ApiResource) -> Cow<'_, str> {
        resource.api_version.as_str().into()
    }

    fn plural(resource: &ApiResource) -> Cow<'_, str> {
        resource.plural.as_str().into()
    }

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}
