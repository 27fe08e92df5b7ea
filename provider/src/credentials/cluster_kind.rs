//! Differences between kinds: the object that has the credentials, when they are safe to read, and their location. Pure.
//!
//! Each backend has a module here. Everything else that the provider knows of it is in its
//! [`BackendDescriptor`](testplatform_apis::template::descriptor::BackendDescriptor).

mod caas;
mod cluster_api;
mod hypershift;
mod osac;

use jiff::Timestamp;
use testplatform_apis::template::Backend;

use super::cluster_object::{Cluster, Reference};
use crate::{
    credentials::publish::{Key, SecretOwner},
    rights::{Grant, RbacScope},
};

pub use hypershift::VERSIONS_GRANT;

/// Properties of a kind.
pub trait ClusterKind: Sync {
    /// Backend of the clusters.
    fn backend(&self) -> Backend;

    /// Names of the watch of its published Secrets and of their queue, in log lines and metrics.
    fn secret_names(&self) -> [&'static str; 2];

    /// The types of conditions that are read of it.
    fn conditions(&self) -> &'static [&'static str];

    /// Which object has the credentials.
    fn holder<'a>(&self, _object: &'a Cluster) -> CredentialsHolder<'a> {
        CredentialsHolder::Itself
    }

    /// Whether its cluster can be used. `holder`: the object that has the credentials.
    ///
    /// # Errors
    /// If it cannot be yet, with why, as a sentence.
    fn runs(&self, holder: &Cluster) -> Result<(), &'static str>;

    /// Where its credentials are.
    ///
    /// # Errors
    /// Returns a sentence if the object does not name them yet.
    fn place<'a>(&self, holder: &'a Cluster) -> Result<CredentialsLocation<'a>, &'static str>;
}

/// Which object has the credentials of a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CredentialsHolder<'a> {
    /// The cluster's object itself.
    Itself,
    /// It is not said yet; a sentence.
    NotNamed(&'static str),
    /// An object of the backend that makes its clusters.
    Underlying {
        /// That backend.
        backend: Backend,
        /// Its namespace.
        namespace: &'a str,
        /// Its name.
        name: &'a str,
    },
}

/// Where credentials are, in the namespace of the object that has them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CredentialsLocation<'a> {
    /// The kubeconfig.
    pub kubeconfig: Key<'a>,
    /// The password.
    pub password: Password<'a>,
}

/// Where the password of a cluster is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Password<'a> {
    /// It has none.
    None,
    /// Here; without it nothing is published.
    At(Key<'a>),
    /// It may have one: it is waited for, but not for long.
    Perhaps {
        /// Location of the password; None: the object does not say.
        at: Option<Key<'a>>,
        /// Since when it should be there. None: since always.
        since: Option<Timestamp>,
    },
}

/// The table of a backend: the registration of the backends in this crate.
pub fn of(backend: Backend) -> &'static dyn ClusterKind {
    match backend {
        Backend::HyperShift => &hypershift::HostedCluster,
        Backend::ClusterApi => &cluster_api::ClusterApiCluster,
        Backend::Caas => &caas::ClusterTemplateInstance,
        Backend::Osac => &osac::ClusterOrder,
    }
}

/// The call by which the credentials of a backend's clusters are found.
pub const fn credentials_grant(backend: Backend) -> Grant {
    match backend {
        Backend::HyperShift | Backend::ClusterApi | Backend::Caas => read_secrets(backend),
        Backend::Osac => osac::CREDENTIALS_GRANT,
    }
}

const fn read_secrets(backend: Backend) -> Grant {
    Grant {
        place: RbacScope::ClustersServed(backend),
        group: "",
        resource: "secrets",
        names: &[],
        verbs: &["get"],
        proxy: true,
        why: "Credentials of clusters, each read by the name that its cluster reports.",
    }
}

/// Whom the published Secret of an object is for.
pub fn owner(backend: Backend, object: &Cluster) -> SecretOwner<'_> {
    let kind = backend.cluster_kind();
    let (namespace, name, uid) = (object.namespace(), object.name(), object.uid());
    SecretOwner { group: kind.group, kind: kind.kind, namespace, name, uid }
}

fn named(reference: Option<&Reference>) -> Option<&str> {
    reference.map(|of| of.name.as_str()).filter(|name| !name.is_empty())
}
