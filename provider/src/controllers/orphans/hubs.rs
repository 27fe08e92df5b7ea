//! Clients for the hubs, each from the Secret of its kubeconfig, which may change at any time.

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};

use k8s_openapi::api::core::v1::Secret;
use kube::{Api, Client, config::Kubeconfig};
use testplatform_runtime::{
    client::{Trust, build_config, check_authority, set_timeouts, token_expiry},
    error::{Cause, Reason},
    metrics::RuntimeMetrics,
};

use crate::config::{KubeconfigSecretRef, OrphanHub};

/// The hubs by the names of their ProviderConfigs.
pub(super) struct HubClients {
    konflux: Client,
    trust: Trust,
    metrics: RuntimeMetrics,
    /// By hub: the bytes of the kubeconfig, and the client that was made of it.
    clients: Mutex<BTreeMap<String, (Vec<u8>, Client)>>,
}

impl HubClients {
    pub fn new(konflux: Client, trust: Trust, metrics: RuntimeMetrics) -> Self {
        Self { konflux, trust, metrics, clients: Mutex::default() }
    }

    /// A client for a hub.
    pub async fn connect(&self, hub: &str, of: &OrphanHub) -> Result<Client, Cause> {
        let KubeconfigSecretRef { namespace, name, key } = &of.kubeconfig_secret_ref;
        let secrets: Api<Secret> = Api::namespaced(self.konflux.clone(), namespace);
        let place = format!("Secret {namespace}/{name}");
        let secret = secrets.get(name).await.map_err(|error| Cause::about_secret(&error).at(&place))?;
        // The message must not quote the kubeconfig.
        let unusable = |why: &str| Cause::new(Reason::Unreachable, format!("{place}, key {key}: {why}"));
        let bytes = secret.data.and_then(|mut data| data.remove(key)).map(|bytes| bytes.0);
        let bytes = bytes.ok_or_else(|| unusable("is missing"))?;
        let known = |clients: &BTreeMap<String, (Vec<u8>, Client)>| {
            clients.get(hub).filter(|(before, _)| *before == bytes).map(|(_, client)| client.clone())
        };
        if let Some(client) = known(&self.clients.lock().unwrap_or_else(PoisonError::into_inner)) {
            return Ok(client);
        }
        let text = std::str::from_utf8(&bytes).map_err(|_| unusable("is not a kubeconfig"))?;
        let kubeconfig = Kubeconfig::from_yaml(text).map_err(|_| unusable("is not a kubeconfig"))?;
        let expires = token_expiry(&kubeconfig);
        let config = build_config(kubeconfig).await;
        let mut config = config.map_err(|_| unusable("is not a kubeconfig that can be used"))?;
        check_authority(&config, self.trust).map_err(|why| unusable(&why.to_string()))?;
        set_timeouts(&mut config);
        let client = Client::try_from(config).map_err(|_| unusable("makes no client"))?;
        self.metrics.set_kubeconfig_expiry(hub, expires);
        let mut clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        clients.insert(hub.to_owned(), (bytes, client.clone()));
        Ok(client)
    }
}
