//! Object of a cluster, of any kind: the fields that decisions need, and no more, because there may be thousands.

use serde::Deserialize;
use testplatform_apis::{
    foreign::meta::{ObservedCondition, find_condition},
    names::ours,
};
use testplatform_runtime::any_kind;

use crate::{cached_object::cached_object, credentials::secret::PREFIX};

cached_object! {
    /// Object that represents a cluster, or that has its credentials.
    Cluster, Spec, Status
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
    /// Login configuration. With one, there is no `kubeadmin`.
    pub oauth: Option<OAuth>,
}

/// `spec.configuration.oauth`, of which only matters whether it is there.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct OAuth {}

/// Parts of the status of any kind.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Status {
    /// How far it is, where it says so in a word.
    pub phase: String,
    /// Conditions of the object.
    pub conditions: Vec<ObservedCondition>,
    /// The Secret with the kubeconfig.
    pub kubeconfig: Option<Reference>,
    /// For a HostedCluster whose API has a custom name: the Secret with a kubeconfig for that name.
    pub custom_kubeconfig: Option<Reference>,
    /// Of a HostedCluster: the Secret with the password of `kubeadmin`.
    pub kubeadmin_password: Option<Reference>,
    /// The Secret with the password, where it is named whether there is one or not.
    pub admin_password: Option<Reference>,
    /// The HostedCluster that it has become.
    pub cluster_reference: Option<ClusterReference>,
}

/// Name of an object in the same namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Reference {
    /// The name.
    pub name: String,
}

/// `status.clusterReference`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ClusterReference {
    /// Namespace of the HostedCluster.
    pub namespace: String,
    /// Its name.
    pub hosted_cluster_name: String,
}

impl Cluster {
    /// A condition of it.
    pub fn condition(&self, type_: &str) -> Option<&ObservedCondition> {
        find_condition(&self.status.value.conditions, type_)
    }

    /// Whether the function created it, and expects its credentials in this namespace. Objects of others, or with another credentials
    /// namespace, are not touched.
    pub fn is_marked_for(&self, credentials_namespace: &str) -> bool {
        self.annotation(ours::CREDENTIALS_NAMESPACE) == Some(credentials_namespace)
    }

    /// Whether it could be read.
    pub fn is_readable(&self) -> bool {
        self.spec.error.is_none() && self.status.error.is_none()
    }

    /// Drops unread fields. `conditions` are the types that are read.
    pub fn drop_unread_fields(&mut self, conditions: &[&str]) {
        self.metadata.labels = None;
        if let Some(annotations) = &mut self.metadata.annotations {
            annotations.retain(|key, _| key.starts_with(PREFIX));
        }
        let reported = &mut self.status.value.conditions;
        reported.retain(|c| conditions.contains(&c.type_.as_str()));
        for one in reported {
            one.message.clear();
            one.reason.clear();
        }
    }

    /// Whether nothing that is read of it differs: its controllers write on an object every few seconds.
    pub fn is_like(&self, other: &Self) -> bool {
        let read = |c: &Self| {
            (c.metadata.uid.clone(), c.metadata.deletion_timestamp.clone(), c.metadata.annotations.clone())
        };
        read(self) == read(other) && self.spec == other.spec && self.status == other.status
    }
}

any_kind!(Cluster);
