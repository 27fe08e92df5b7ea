//! Tells of orders by events on their ConfigMaps.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{Api, Client, Resource as _, ResourceExt as _};

use crate::{
    execute::{event, limited},
    metrics::Metrics,
    step::Event,
};

/// Who tells.
pub(crate) struct Teller {
    /// The hub.
    pub client: Client,
    /// How long one call to the hub may take.
    pub patience: Duration,
    /// Who this process is.
    pub instance: String,
    /// Where it counts what could not be told.
    pub metrics: Metrics,
}

impl Teller {
    /// Makes an event. Somebody may miss it, but nothing depends on it.
    pub async fn tell(&self, key: &str, map: &ConfigMap, event: &Event, now: Timestamp) {
        let events = Api::namespaced(self.client.clone(), &map.namespace().unwrap_or_default());
        let made = event::emit(&events, &self.instance, map.object_ref(&()), event, now);
        if let Err(error) = limited("emit", self.patience, made).await {
            self.metrics.failed(error.action, error.reason.as_str());
            tracing::warn!(order = key, %error, "left out");
        }
    }
}
