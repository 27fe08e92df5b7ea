//! Clients for the hubs, each by a kubeconfig file that may be replaced at any time.

use std::{collections::BTreeMap, path::Path, sync::Mutex, sync::PoisonError};

use kube::{Client, config::Kubeconfig};
use testplatform_runtime::{
    client::{Trust, build_config, check_authority, set_timeouts, token_expiry},
    error::{Cause, Reason},
    metrics::RuntimeMetrics,
};

use crate::config::Carry;

/// The hubs by the names of their ProviderConfigs.
pub(super) struct Hubs {
    config: Carry,
    trust: Trust,
    metrics: RuntimeMetrics,
    /// By hub: what the file said, and the client that was made of it.
    clients: Mutex<BTreeMap<String, (String, Client)>>,
}

impl Hubs {
    pub fn new(config: Carry, trust: Trust, metrics: RuntimeMetrics) -> Self {
        Self { config, trust, metrics, clients: Mutex::default() }
    }

    /// One hub, for which there is a client.
    #[cfg(test)]
    pub fn one(hub: &str, client: Client) -> Self {
        // There is nothing in the file, and nothing was in it when the client was made.
        let of = crate::config::CarryHub { kubeconfig: "/dev/null".into() };
        let config = Carry { hubs: BTreeMap::from([(hub.to_owned(), of)]), ..Carry::default() };
        let clients = BTreeMap::from([(hub.to_owned(), (String::new(), client))]);
        let metrics = RuntimeMetrics::default();
        Self { config, trust: Trust::Kubeconfig, metrics, clients: Mutex::new(clients) }
    }

    /// A client for a hub.
    pub async fn client(&self, hub: &str) -> Result<Client, Cause> {
        let Some(of) = self.config.hubs.get(hub) else {
            let words = format!("carry.hubs has no hub {hub}; add its kubeconfig");
            return Err(Cause::new(Reason::Unreachable, words));
        };
        // The error about the file must not quote it.
        let unusable =
            |why: &str| Cause::new(Reason::Unreachable, format!("{} {why}", of.kubeconfig.display()));
        let text = read(&of.kubeconfig).map_err(|kind| unusable(&format!("cannot be read: {kind}")))?;
        if let Some((_, client)) = self.clients().get(hub).filter(|(before, _)| *before == text) {
            return Ok(client.clone());
        }
        let kubeconfig = Kubeconfig::from_yaml(&text).map_err(|_| unusable("is not a kubeconfig"))?;
        let expires = token_expiry(&kubeconfig);
        let config = build_config(kubeconfig).await;
        let mut config = config.map_err(|_| unusable("is not a kubeconfig that can be used"))?;
        check_authority(&config, self.trust).map_err(|why| unusable(&format!("cannot be used: {why}")))?;
        set_timeouts(&mut config);
        let client = Client::try_from(config).map_err(|_| unusable("makes no client"))?;
        self.metrics.set_kubeconfig_expiry(hub, expires);
        self.clients().insert(hub.to_owned(), (text, client.clone()));
        Ok(client)
    }

    fn clients(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, (String, Client)>> {
        self.clients.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn read(file: &Path) -> Result<String, std::io::ErrorKind> {
    std::fs::read_to_string(file).map_err(|error| error.kind())
}
