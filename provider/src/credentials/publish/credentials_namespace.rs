//! Secrets on the hub: those of clusters, and those that are published.

use k8s_openapi::api::{core::v1::Secret, events::v1::Event};
use kube::{Api, Client, core::PartialObjectMeta};

/// Where credentials are published on a hub, and a client for each kind that this takes.
#[derive(Clone)]
pub struct CredentialsNamespace {
    client: Client,
    namespace: String,
}

impl CredentialsNamespace {
    /// Credentials are published in one namespace.
    pub fn new(client: Client, namespace: &str) -> Self {
        Self { client, namespace: namespace.to_owned() }
    }

    /// The client of the hub.
    pub fn client(&self) -> Client {
        self.client.clone()
    }

    /// Namespace of the published credentials.
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    /// Secrets of a cluster, in a namespace of its own or of many. Only some may be read, and none watched.
    pub fn secrets_of(&self, namespace: &str) -> Api<Secret> {
        Api::namespaced(self.client(), namespace)
    }

    /// Published credentials.
    pub fn secrets(&self) -> Api<Secret> {
        Api::namespaced(self.client(), &self.namespace)
    }

    /// Published credentials without what is in them.
    pub fn secrets_metadata(&self) -> Api<PartialObjectMeta<Secret>> {
        Api::namespaced(self.client(), &self.namespace)
    }

    /// Events about what is in a namespace.
    pub fn events(&self, namespace: &str) -> Api<Event> {
        Api::namespaced(self.client(), namespace)
    }
}
